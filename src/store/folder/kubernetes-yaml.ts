/** Reads the documents of YAML as kubectl does, which uses go-yaml (go.yaml.in/yaml/v2, through sigs.k8s.io/yaml). */

import {
  Composer,
  CST,
  type Document,
  Lexer,
  type LineCounter,
  Parser,
  type YAMLParseError,
  type YAMLWarning,
} from 'yaml'
import { parseJson } from '../../base/json.ts'
import { ValueError, ValueReader } from './kubernetes-yaml-values.ts'

/** Why a document is not read, with the offset in the text. */
export interface YamlMistake {
  offset: number | undefined
  message: string
  /** Whether the text is not YAML, and not only a value is wrong. */
  isSyntax: boolean
}

export interface YamlDocument {
  /** Null for an empty document; undefined if there are mistakes. */
  value: unknown
  /** Absent if the text has only comments. */
  document: Document.Parsed | undefined
  mistakes: readonly YamlMistake[]
}

/** The most open brackets. With more, the parser would need seconds to find that they are not closed. */
const MAX_OPEN_BRACKETS = 1_000
/** The most lists and maps that are open at once, without brackets. The time of the parser grows with the square of their number. */
const MAX_OPEN_BLOCKS = 1_000

/**
 * Reads the documents of a text. An invalid one has mistakes, and the others are read.
 *
 * Throws for text that is nested too deeply.
 *
 * @param lines is filled, so that offsets have lines
 */
export function readYaml(text: string, lines: LineCounter): YamlDocument[] {
  refuseDeepNesting(text)
  lines.addNewLine(0)
  for (const { index } of text.matchAll(/\n/g)) lines.addNewLine(index + 1)
  // go-yaml ends a line with a carriage return alone, too. Editors do not count it.
  return splitChunks(text.replaceAll(/\r(?!\n)/g, '\n')).flatMap((chunk) => readChunk(chunk))
}

/** Throws for text that is nested too deeply for the parser. */
export function refuseDeepNesting(text: string): void {
  if (openBrackets(text) > MAX_OPEN_BRACKETS)
    throw new Error(`more than ${MAX_OPEN_BRACKETS} brackets are open at once`)
}

/** The most brackets that are open at once. It counts brackets in strings too, because they are few, or closed as well. */
function openBrackets(text: string): number {
  let most = 0
  let open = 0
  for (const bracket of text.matchAll(/[[\]{}]/g)) {
    open += bracket[0] === '[' || bracket[0] === '{' ? 1 : -1
    if (open > most) most = open
  }
  return most
}

interface Chunk {
  text: string
  /** Its offset in the whole text. */
  start: number
  mistakes: readonly YamlMistake[]
}

/**
 * Divides a text at its separators, as kubectl does before it parses (YAMLReader, pkg/util/yaml/decoder.go of apimachinery). A separator is
 * a line that begins with `---` and has only a comment behind it.
 */
function splitChunks(text: string): Chunk[] {
  const chunks: Chunk[] = []
  let start = 0
  let mistakes: YamlMistake[] = []
  for (const { 0: line, 1: rest = '', index } of text.matchAll(/^---(.*)$/gm)) {
    chunks.push({ text: text.slice(start, index), start, mistakes })
    start = index + line.length
    const isSeparator = /^\s*(#|$)/.test(rest)
    mistakes = isSeparator
      ? []
      : [syntax(index + 3, 'only a comment may follow ---; begin the document in the next line')]
  }
  return [...chunks, { text: text.slice(start), start, mistakes }]
}

function syntax(offset: number | undefined, message: string): YamlMistake {
  return { offset, message: `is not valid YAML: ${message}`, isSyntax: true }
}

function readChunk(chunk: Chunk): YamlDocument[] {
  if (chunk.mistakes.length > 0) return [{ value: undefined, document: undefined, mistakes: chunk.mistakes }]
  let { start } = chunk
  // kubectl reads JSON with a parser of its own, which allows for example \/ in a text.
  const objects = readJson(chunk.text).map((text) => {
    const { document } = parseChunk({ ...chunk, text, start })
    start += text.length
    return { value: JSON.parse(text) as unknown, document, mistakes: [] }
  })
  if (objects.length > 0) return objects
  const { document, mistakes } = parseChunk(chunk)
  if (mistakes.length > 0) return [{ value: undefined, document, mistakes }]
  return document ? [{ document, ...readValue(document, chunk) }] : []
}

/** The JSON objects that a text consists of, each with the space around it; empty if it is no JSON. */
function readJson(text: string): string[] {
  if (!/^\s*\{/.test(text)) return []
  if (isJson(text)) return [text]
  // A stream of JSON objects has one after the other.
  const parts = text.split(/(?<=\})(?=\s*\{)/)
  return parts.length > 1 && parts.every(isJson) ? parts : []
}

function isJson(text: string): boolean {
  return parseJson(text) !== undefined
}

type Generated = Generator<string, unknown, unknown>

/** The methods of the lexer that depend on the indent. Its declaration calls them private. */
interface IndentedLexer {
  indentNext: number
  flowLevel: number
  lex(source: string): Generator<string>
  charAt(n: number): string
  parseFlowCollection(): Generated
  parseQuotedScalar(): Generated
}

const BaseLexer = Lexer as unknown as new () => IndentedLexer

/** A lexer for which the indent of a line in quotes or brackets does not matter, as for go-yaml. YAML 1.2 requires one. */
class LenientLexer extends BaseLexer {
  override *parseFlowCollection(): Generated {
    return yield* this.#withoutIndent(super.parseFlowCollection())
  }

  override *parseQuotedScalar(): Generated {
    return yield* this.#withoutIndent(super.parseQuotedScalar())
  }

  /** In brackets, a dash before a bracket or a comma is a text, as in `[cat, -]`: for the lexer, a letter follows the dash. */
  override charAt(n: number): string {
    const character = super.charAt(n)
    const isText = n === 1 && this.flowLevel > 0 && super.charAt(0) === '-' && /[,[\]{}]/.test(character)
    return isText ? 'x' : character
  }

  *#withoutIndent(lexemes: Generated): Generated {
    const { indentNext } = this
    this.indentNext = 0
    const next = yield* lexemes
    this.indentNext = indentNext
    return next
  }
}

const OPTIONS = { version: '1.2', uniqueKeys: false, prettyErrors: false, logLevel: 'silent' } as const

/** Parses the first document of a chunk. kubectl ignores what follows an end marker `...`. */
function parseChunk({ text, start }: Chunk): { document: Document.Parsed | undefined; mistakes: YamlMistake[] } {
  const guard = new TokenGuard(start)
  const control = /[^\t\n\r\u0020-\u007e\u0085\u00a0-\ud7ff\ue000-\ufffd\u{10000}-\u{10ffff}]/u.exec(text)
  if (control) guard.mistakes.push(syntax(start + control.index, 'control characters are not allowed'))
  const [document] = new Composer(OPTIONS).compose(parseTokens(text, start, guard))
  const found = [...(document?.errors ?? []), ...(document?.warnings ?? [])]
    .filter((problem) => !isTolerated(problem, text.slice(problem.pos[0] - start)))
    .map(({ pos, message }) => syntax(pos[0], message))
  return { document, mistakes: found.length > 0 ? found : guard.mistakes }
}

function* parseTokens(text: string, start: number, guard: TokenGuard) {
  const parser = new Parser()
  parser.offset = start
  for (const lexeme of new LenientLexer().lex(text)) {
    guard.observe(lexeme)
    if (guard.isAtEnd) break
    yield* parser.next(lexeme)
  }
  yield* parser.end()
}

/**
 * Whether go-yaml accepts what YAML 1.2 does not allow.
 *
 * @param at the text from the place of the problem
 */
function isTolerated({ code, name }: YAMLParseError | YAMLWarning, at: string): boolean {
  switch (code) {
    // An unknown tag has no effect. A tag with an unknown handle, such as !e!x, is an error.
    case 'TAG_RESOLVE_FAILED':
      return !/^![\w-]+!/.test(at)
    // The end of a flow collection may have any indent.
    case 'BAD_INDENT':
      return name === 'YAMLWarning'
    // YAML has no escape for a single quote.
    case 'BAD_DQ_ESCAPE':
      return at.startsWith("\\'")
    // A comment may follow a bracket or a quote directly.
    case 'MISSING_CHAR':
      return at.startsWith('#')
    default:
      return false
  }
}

const EMPTY: ReadonlySet<string> = new Set(['byte-order-mark', 'comment', 'newline', 'space'])
/** Lexemes of the lexer that stand for no text. */
const MARKS: ReadonlySet<string> = new Set(['scalar', 'doc-mode', 'flow-error-end'])
const FLOW_LEVELS: Readonly<Record<string, number>> = {
  'flow-map-start': 1,
  'flow-seq-start': 1,
  'flow-map-end': -1,
  'flow-seq-end': -1,
}
const TABS = 'Tabs are not allowed as indentation'

/** Finds what YAML 1.2 allows and kubectl rejects: directives, an end marker before any content, tabs, and some texts in brackets. */
class TokenGuard {
  readonly mistakes: YamlMistake[] = []
  /** Whether the document ended with an end marker. */
  isAtEnd = false
  readonly #block = new BlockPosition()
  #offset: number
  #flowLevel = 0
  /** Whether a key may begin here, in a block: there, go-yaml allows spaces only (yaml_parser_scan_to_next_token). */
  #mayBeginKey = true
  #isScalar = false
  /** The header of a block text whose lines are next. */
  #header: string | undefined
  #hasContent = false

  constructor(start: number) {
    this.#offset = start
  }

  observe(lexeme: string): void {
    const type = this.#isScalar ? 'scalar-source' : (CST.tokenType(lexeme) ?? '')
    this.#isScalar = type === 'scalar'
    if (MARKS.has(type)) return
    this.#check(lexeme, type)
    this.#follow(lexeme, type)
    this.#offset += lexeme.length
  }

  #check(lexeme: string, type: string): void {
    switch (type) {
      case 'directive-line':
        this.#report(0, 'directives such as %YAML are not supported; remove the line')
        break
      case 'doc-end':
        if (!this.#hasContent) this.#report(0, 'there is no document before ...; remove the line')
        break
      case 'scalar-source':
        if (this.#header !== undefined) this.#checkBlockText(lexeme, this.#header)
        else if (this.#flowLevel > 0) this.#checkFlowText(lexeme)
        break
      case 'space':
        if (this.#mayBeginKey && this.#flowLevel === 0) this.#checkSpace(lexeme)
    }
  }

  /** Moves on behind a lexeme. */
  #follow(lexeme: string, type: string): void {
    this.isAtEnd = type === 'doc-end' && this.#hasContent
    const isBlockText = type === 'scalar-source' && this.#header !== undefined
    if (!EMPTY.has(type)) {
      this.#hasContent = true
      this.#header = type === 'block-scalar-header' ? lexeme : undefined
    }
    this.#flowLevel = Math.max(0, this.#flowLevel + (FLOW_LEVELS[type] ?? 0))
    if (type !== 'space' && type !== 'comment')
      this.#mayBeginKey = lexeme.endsWith('\n') || type === 'seq-item-ind' || type === 'explicit-key-ind'
    this.#block.observe(lexeme, isBlockText ? 'block-scalar' : type, this.#flowLevel > 0)
  }

  #checkSpace(space: string): void {
    const at = space.indexOf('\t')
    if (at !== -1 && !this.#block.isInText(at)) this.#report(at, TABS)
  }

  /** Without a digit in its header, go-yaml takes the indent of a block text from its first lines (yaml_parser_scan_block_scalar_breaks). */
  #checkBlockText(text: string, header: string): void {
    const [start = ''] = /^(?: *\r?\n)* */.exec(text) ?? []
    if (/[0-9]/.test(header)) return
    if (text[start.length] === '\t') this.#report(start.length, TABS)
    const lines = start.split(/\r?\n/)
    const indent = lines.at(-1)?.length ?? 0
    const isContent = start.length < text.length
    if (isContent && lines.some(({ length }) => length > indent))
      this.#report(0, 'the empty lines at the beginning have more spaces than the text; remove these spaces')
  }

  /** In brackets, go-yaml ends a text at a question mark, and begins none with a colon. */
  #checkFlowText(text: string): void {
    const at = text.startsWith(':') ? 0 : text.indexOf('?')
    if (at !== -1) this.#report(at, `a text in brackets cannot have ${text[at]} there; write it in quotes`)
  }

  #report(at: number, message: string): void {
    if (this.mistakes.length === 0) this.mistakes.push(syntax(this.#offset + at, message))
  }
}

/** Knows the indent of the innermost block, and whether the scanner of go-yaml is still in a plain text (yaml_parser_scan_plain_scalar). */
class BlockPosition {
  /** The column of the keys or dashes of the block; -1 outside of all blocks. */
  #indent = -1
  #column = 0
  /** Where the key began that a colon may follow. */
  #keyColumn: number | undefined
  #isInText = false
  /** The columns of the open blocks, from the outermost to the innermost. */
  readonly #open: number[] = []

  /** Whether a tab behind the next characters belongs to the space behind a plain text. It must be further to the right than the block. */
  isInText(characters: number): boolean {
    return this.#isInText && this.#column + characters > this.#indent
  }

  /** Throws for text that is nested too deeply. */
  observe(lexeme: string, type: string, isInFlow: boolean): void {
    const isSpace = type === 'space' || type === 'newline'
    if (!isSpace) this.#isInText = type === 'scalar-source' && !isInFlow
    const isIndicator = type === 'seq-item-ind' || type === 'explicit-key-ind'
    if (!isInFlow && isIndicator) this.#openBlock(this.#column)
    if (!isInFlow && type === 'map-value-ind') this.#openBlock(this.#keyColumn ?? this.#column)
    if (isIndicator) this.#keyColumn = undefined
    else if (!EMPTY.has(type)) this.#keyColumn ??= this.#column
    const end = lexeme.lastIndexOf('\n')
    this.#column = end === -1 ? this.#column + lexeme.length : lexeme.length - end - 1
    if (end !== -1) this.#keyColumn = undefined
  }

  #openBlock(column: number): void {
    this.#indent = column
    while ((this.#open.at(-1) ?? -1) >= column) this.#open.pop()
    this.#open.push(column)
    if (this.#open.length > MAX_OPEN_BLOCKS)
      throw new Error(`more than ${MAX_OPEN_BLOCKS} lists and maps are open at once`)
  }
}

function readValue(document: Document.Parsed, chunk: Chunk): Pick<YamlDocument, 'value' | 'mistakes'> {
  try {
    return { value: new ValueReader(chunk).read(document.contents), mistakes: [] }
  } catch (error) {
    if (!(error instanceof ValueError)) throw error
    return { value: undefined, mistakes: [{ offset: error.offset, message: error.message, isSyntax: false }] }
  }
}
