/** Reads the prose of source files: comments and messages of TypeScript, comments of YAML and shell scripts. */
import ts from 'typescript'
import { markdownBlocks } from './markdown.ts'
import { type Block, CODE } from './sentences.ts'

/** Fewer words than this are a name or an identifier, not a message. */
const WORDS_OF_A_MESSAGE = 3
const DIRECTIVE = /^\s*(?:biome-ignore|@ts-|eslint|c8 ignore|#!)/

export function typescriptBlocks(text: string): Block[] {
  const file = ts.createSourceFile('source.ts', text, ts.ScriptTarget.Latest, true)
  const comments = new Map<number, ts.CommentRange>()
  const messages: Block[] = []
  const lineAt = (position: number) => file.getLineAndCharacterOfPosition(position).line + 1

  const visit = (node: ts.Node) => {
    for (const range of ts.getLeadingCommentRanges(text, node.getFullStart()) ?? []) comments.set(range.pos, range)
    for (const range of ts.getTrailingCommentRanges(text, node.getEnd()) ?? []) comments.set(range.pos, range)
    const message = messageOf(node)
    if (message !== undefined && isMessage(message)) {
      messages.push({ line: lineAt(node.getStart()), text: message, message: true })
    }
    for (const child of node.getChildren(file))
      if (child.kind < ts.SyntaxKind.FirstJSDocNode || child.kind > ts.SyntaxKind.LastJSDocNode) visit(child)
  }
  visit(file)

  const ordered = [...comments.values()].sort((a, b) => a.pos - b.pos)
  const lines = ordered.map(({ pos, end }) => {
    const { line, character } = file.getLineAndCharacterOfPosition(pos)
    return { line: line + 1, column: character, text: text.slice(pos, end) }
  })
  return [...joinComments(lines).flatMap(({ line, text }) => markdownBlocks(text, line)), ...messages]
}

/** Comments of a language whose comments begin with `#`. */
export function hashBlocks(text: string): Block[] {
  const comments = text.split('\n').flatMap((line, i) => {
    const found = /^(\s*)#(?!!)(.*)$/.exec(line)
    return found === null ? [] : [{ line: i + 1, column: found[1]?.length ?? 0, text: `//${found[2]}` }]
  })
  return joinComments(comments).flatMap(({ line, text }) => markdownBlocks(text, line))
}

function messageOf(node: ts.Node): string | undefined {
  if (ts.isStringLiteral(node) || ts.isNoSubstitutionTemplateLiteral(node)) return node.text
  if (!ts.isTemplateExpression(node)) return undefined
  return node.head.text + node.templateSpans.map(({ literal }) => CODE + literal.text).join('')
}

function isMessage(text: string): boolean {
  return (
    !text.includes('\n') && (text.match(/\p{L}{2,}/gu)?.length ?? 0) >= WORDS_OF_A_MESSAGE && /\p{L} \p{L}/u.test(text)
  )
}

interface Comment {
  line: number
  column: number
  text: string
}

/** Joins line comments on consecutive lines of one column, and removes the comment marks. */
function joinComments(comments: readonly Comment[]): Block[] {
  const joined: (Comment & { end: number })[] = []
  for (const { line, column, text } of comments) {
    const last = joined.at(-1)
    const body = text.startsWith('//')
      ? text.slice(2)
      : text
          .slice(2, -2)
          .replaceAll(/^[^\S\n]*\*+ ?/gm, '')
          .replace(/^\*/, '')
    if (DIRECTIVE.test(body)) continue
    const plain = body.replaceAll(/^[^\S\n]*@(?:param|returns?|throws)\b/gm, '').replace(/^ /, '')
    if (text.startsWith('//') && last?.end === line - 1 && last.column === column) {
      last.text += `\n${plain}`
      last.end = line
    } else {
      joined.push({ line, column, text: plain, end: text.startsWith('//') ? line : Number.NaN })
    }
  }
  return joined.map(({ line, text }) => ({ line, text }))
}
