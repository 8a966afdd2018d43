/** Gives the nodes of a YAML document the values that go-yaml gives them (go.yaml.in/yaml/v2: decode.go and resolve.go). */
import { CST, isAlias, isMap, isPair, isScalar, isSeq, type Node, type Scalar } from 'yaml'
import { isObject } from '../../base/json.ts'

/** The most values that aliases add to a document. It stops the "billion laughs" attack; go-yaml has a similar limit. */
const MAX_ALIASED_VALUES = 100_000

/** The text of a document, and its offset in the file. */
interface Source {
  text: string
  start: number
}

/** A value that an object cannot have. */
export class ValueError extends Error {
  readonly offset: number | undefined

  constructor(node: Node | undefined, message: string) {
    super(`is not valid YAML: ${message}`)
    this.offset = node?.range?.[0]
  }
}

interface Anchor {
  node: Node
  value: unknown
  /** The number of values in it; absent while it is read. */
  size?: number
}

/** Gives the nodes of a document their values (go-yaml, decode.go). */
export class ValueReader {
  readonly #source: Source
  readonly #anchors = new Map<string, Anchor>()
  #size = 0
  #aliased = 0

  constructor(source: Source) {
    this.#source = source
  }

  read(node: unknown): unknown {
    this.#size += 1
    if (isAlias(node)) return this.#readAlias(node)
    const { anchor } = (node ?? {}) as { anchor?: string }
    if (anchor === undefined) return this.#readContent(node)
    const before = this.#size
    const entry: Anchor = { node: node as Node, value: undefined }
    this.#anchors.set(anchor, entry)
    entry.value = this.#readContent(node)
    entry.size = this.#size - before + 1
    return entry.value
  }

  #readContent(node: unknown): unknown {
    if (isScalar(node)) return this.#readScalar(node as Scalar)
    if (isMap(node)) return this.#readMap(node.items)
    // An ordered map of YAML 1.1 has pairs in a list.
    if (isSeq(node)) return node.items.map((item) => (isPair(item) ? this.#readMap([item]) : this.read(item)))
    return null
  }

  #readAlias(node: Node & { source: string }): unknown {
    const anchor = this.#anchors.get(node.source)
    if (!anchor) throw new ValueError(node, `there is no anchor ${node.source} before its alias`)
    if (anchor.size === undefined) throw new ValueError(node, `the anchor ${node.source} contains itself`)
    this.#size += anchor.size
    this.#aliased += anchor.size
    if (this.#aliased > MAX_ALIASED_VALUES)
      throw new ValueError(node, `Excessive alias count: aliases add more than ${MAX_ALIASED_VALUES} values`)
    return anchor.value
  }

  /** A later entry replaces an earlier one with its key. A merge key does as well. */
  #readMap(items: readonly { key: unknown; value: unknown }[]): Record<string, unknown> {
    const entries = new Map<string, unknown>()
    for (const { key, value } of items) {
      if (isMergeKey(key)) this.#merge(value as Node, entries)
      else entries.set(this.#readKey(key as Node), this.read(value))
    }
    // Defines each entry, also one with the name __proto__.
    return Object.fromEntries(entries)
  }

  #merge(node: Node, entries: Map<string, unknown>): void {
    const maps = isSeq(node) ? node.items.toReversed() : [node]
    for (const map of maps as Node[]) {
      const target = isAlias(map) ? this.#anchors.get(map.source)?.node : map
      const value = this.read(map)
      if (!isMap(target) || !isObject(value))
        throw new ValueError(map, 'the value of a merge key must be a map, or a list of maps')
      for (const [name, each] of Object.entries(value)) entries.set(name, each)
    }
  }

  #readKey(node: Node): string {
    const value = this.read(node)
    if (!['string', 'number', 'boolean'].includes(typeof value))
      throw new ValueError(node, 'a key must be a string, a number or a boolean')
    return String(value)
  }

  #readScalar(node: Scalar): unknown {
    const { source = '', type, tag } = node
    const isPlain = type === undefined || type === 'PLAIN'
    if (type === 'QUOTE_DOUBLE') this.#refuseEscape(node)
    if (tag === undefined && !isPlain) return type === 'QUOTE_DOUBLE' ? this.#readQuoted(node, source) : source
    const resolved = resolveScalar(source, tag?.replace(YAML_TAG, '') ?? '')
    if (resolved === INVALID) throw new ValueError(node, `${source || "''"} is no value of the tag ${tag}`)
    if (typeof resolved === 'number' && !Number.isFinite(resolved))
      throw new ValueError(node, `${source} cannot be sent to an API server; write it in quotes`)
    return resolved
  }

  /**
   * The empty lines behind an escaped line break are line breaks. The parser folds the first one into a space, and does not know the escape of a
   * single quote.
   */
  #readQuoted(node: Scalar, value: string): string {
    const text = this.#textOf(node)
    if (!/\\(?:'|\r?\n[ \t]*\r?\n)/.test(text)) return value
    const source = text.replaceAll(ESCAPES, (each) => {
      if (each === "\\'") return "'"
      const emptyLines = each.split('\n').length - 2
      return emptyLines > 0 ? `${'\\n'.repeat(emptyLines)}\\\n` : each
    })
    return CST.resolveAsScalar({ type: 'double-quoted-scalar', offset: 0, indent: 0, source, end: [] }).value
  }

  #textOf(node: Scalar): string {
    const { text, start } = this.#source
    const [from = 0, to = 0] = node.range ?? []
    return text.slice(from - start, to - start)
  }

  /** go-yaml does not know `\/`, and no half of a character. */
  #refuseEscape(node: Scalar): void {
    const escapes = this.#textOf(node).match(ESCAPES) ?? []
    const unknown = escapes.find((each) => /^\\(?:\/|u[dD][89a-fA-F])/.test(each))
    if (unknown !== undefined)
      throw new ValueError(node, `the escape ${unknown} is not known; write the character itself`)
  }
}

/** The escapes of double quotes: an escaped line break has the empty lines behind it. */
const ESCAPES = /\\(?:\r?\n(?:[ \t]*\r?\n)*[ \t]*|u[0-9a-fA-F]{4}|[\s\S])/g

const YAML_TAG = /^tag:yaml\.org,2002:/

function isMergeKey(key: unknown): boolean {
  if (!isScalar(key)) return false
  const { source, type, tag } = key as Scalar
  return source === '<<' && (tag === undefined ? type === 'PLAIN' : tag.replace(YAML_TAG, '') === 'merge')
}

const INVALID = Symbol('no value of its tag')

const WORDS: ReadonlyMap<string, unknown> = new Map<string, unknown>([
  ...['y', 'Y', 'yes', 'Yes', 'YES', 'true', 'True', 'TRUE', 'on', 'On', 'ON'].map((word) => [word, true] as const),
  ...['n', 'N', 'no', 'No', 'NO', 'false', 'False', 'FALSE', 'off', 'Off', 'OFF'].map((word) => [word, false] as const),
  ...['', '~', 'null', 'Null', 'NULL'].map((word) => [word, null] as const),
  ...['.nan', '.NaN', '.NAN'].map((word) => [word, Number.NaN] as const),
  ...['.inf', '.Inf', '.INF', '+.inf', '+.Inf', '+.INF'].map((word) => [word, Number.POSITIVE_INFINITY] as const),
  ...['-.inf', '-.Inf', '-.INF'].map((word) => [word, Number.NEGATIVE_INFINITY] as const),
])

const TYPES: Readonly<Record<string, (value: unknown) => boolean>> = {
  bool: (value) => typeof value === 'boolean',
  float: (value) => typeof value === 'number',
  int: (value) => Number.isInteger(value),
  null: (value) => value === null,
}

/** The value of a scalar (go-yaml, resolve.go). A time stays a text. A tag that is not known has no effect. */
function resolveScalar(source: string, tag: string): unknown {
  if (tag === 'binary') return decodeBase64(source)
  if (tag === 'timestamp') return /^\d{4}-\d\d?-\d\d?([Tt\s].*)?$/.test(source) ? source : INVALID
  if (tag !== '' && !Object.hasOwn(TYPES, tag)) return source
  const value = WORDS.has(source) ? WORDS.get(source) : (readNumber(source) ?? source)
  return tag === '' || TYPES[tag]?.(value) ? value : INVALID
}

function decodeBase64(text: string): string | typeof INVALID {
  const packed = text.replaceAll(/[\r\n]/g, '')
  const isValid = packed.length % 4 === 0 && /^[A-Za-z0-9+/]*={0,2}$/.test(packed)
  return isValid ? Buffer.from(packed, 'base64').toString('utf8') : INVALID
}

const FLOAT = /^[-+]?(\.[0-9]+|[0-9]+(\.[0-9]*)?)([eE][-+]?[0-9]+)?$/
const INTEGER = /^([-+]?)(0[xX][0-9a-fA-F]+|0[bB][01]+|0[oO][0-7]+|0[0-7]*|[1-9][0-9]*)$/

/** A number of Go: with underscores, in base 2, 8, 10 or 16. A leading 0 makes it octal, as in file modes. */
function readNumber(source: string): number | undefined {
  if (!/^[-+.0-9]/.test(source)) return undefined
  const plain = source.startsWith('.') ? source : source.replaceAll('_', '')
  const [, sign, digits = ''] = INTEGER.exec(plain) ?? []
  if (sign !== undefined) {
    const size = BigInt(digits.replace(/^0(?=[0-7])/, '0o'))
    const value = sign === '-' ? -size : size
    const isInRange = sign === '' ? size < 2n ** 64n : value >= -(2n ** 63n) && value < 2n ** 63n
    if (isInRange) return Number(value)
  }
  const value = FLOAT.test(plain) ? Number(plain) : undefined
  // A number that is too large for Go is a text.
  return value !== undefined && Number.isFinite(value) ? value : undefined
}
