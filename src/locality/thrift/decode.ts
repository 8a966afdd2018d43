/**
 * Decodes Thrift's binary protocol from bytes as they arrive. A decoder is a generator that yields while it waits for bytes. It keeps only
 * the requested fields, so a large message needs no memory, and each byte is read once.
 */
import type { ByteQueue } from './byte-queue.ts'
import { MAX_DEPTH, MAX_MESSAGE_BYTES, ThriftProtocolError, TYPES } from './protocol.ts'

export type Decoding<T> = Generator<undefined, T, undefined>

/** The decoder of a field, and the type that the field must have. A field of another type is skipped. */
export interface FieldDecoder {
  type: number
  read(input: ByteQueue): Decoding<void>
}

/** The size in bytes of the types with a fixed size. */
const WIDTHS: Readonly<Record<number, number>> = {
  [TYPES.bool]: 1,
  [TYPES.byte]: 1,
  [TYPES.double]: 8,
  [TYPES.int16]: 2,
  [TYPES.int32]: 4,
  [TYPES.int64]: 8,
  [TYPES.uuid]: 16,
}

/** Reads a struct: the fields of `fields`, by their id, and skips others. */
export function* readStruct(input: ByteQueue, fields: Readonly<Record<number, FieldDecoder>>): Decoding<void> {
  for (;;) {
    while (input.size < 1) yield
    const type = input.byte()
    if (type === TYPES.stop) return
    while (input.size < 2) yield
    const field = fields[input.int16()]
    yield* field?.type === type ? field.read(input) : skip(input, type)
  }
}

export function* readInt32(input: ByteQueue): Decoding<number> {
  while (input.size < 4) yield
  return input.int32()
}

/** Reads a text; undefined for one with more than `maxBytes`, which it skips. */
export function* readText(input: ByteQueue, maxBytes: number): Decoding<string | undefined> {
  const length = yield* readSize(input)
  if (length > maxBytes) {
    yield* drop(input, length)
    return undefined
  }
  while (input.size < length) yield
  return input.text(length)
}

/** Reads a list of any elements, and returns only their number. */
export function* readListSize(input: ByteQueue): Decoding<number> {
  const list = yield* readContainer(input, TYPES.list)
  const { left } = list
  yield* skipAll(input, [list])
  return left
}

/** Reads a map of texts: the values of the wanted keys. It skips values with more than `maxBytes`. */
export function* readTexts(input: ByteQueue, wanted: Pick<ReadonlySet<string>, 'has'>, maxBytes: number) {
  const { types, left } = yield* readContainer(input, TYPES.map)
  const values: Record<string, string> = {}
  for (let i = 0; i < left; i += 2) {
    if (types[0] !== TYPES.text || types[1] !== TYPES.text) throw new ThriftProtocolError('a map is not one of texts')
    const key = yield* readText(input, MAX_KEY_BYTES)
    const isWanted = key !== undefined && wanted.has(key)
    const value = yield* readText(input, isWanted ? maxBytes : 0)
    if (isWanted && value !== undefined) values[key] = value
  }
  return values
}

const MAX_KEY_BYTES = 256

/** Skips a value of any type. */
export function* skip(input: ByteQueue, type: number): Decoding<void> {
  const pending = yield* readOrOpen(input, type)
  if (pending !== undefined) yield* skipAll(input, [pending])
}

/** A struct or container whose remaining elements are skipped. A struct ends with a field of the type "stop". */
interface Pending {
  /** The types of the elements, which repeat: one for a list, two for a map, none for a struct. */
  types: readonly number[]
  left: number
}

/** Skips the rest of nested values, without recursion: the depth is chosen by the server. */
function* skipAll(input: ByteQueue, stack: Pending[]): Decoding<void> {
  for (let top = stack.at(-1); top !== undefined; top = stack.at(-1)) {
    const type = top.types.length === 0 ? yield* readFieldType(input) : elementType(top)
    if (type === TYPES.stop) {
      stack.pop()
      continue
    }
    const inner = yield* readOrOpen(input, type)
    if (inner === undefined) continue
    if (stack.length >= MAX_DEPTH) throw new ThriftProtocolError(`values nest more than ${MAX_DEPTH} levels`)
    stack.push(inner)
  }
}

/** The type of the next element; "stop" after the last one. */
function elementType(container: Pending): number {
  const { types, left } = container
  if (left === 0) return TYPES.stop
  container.left--
  return types[(types.length - (left % types.length)) % types.length] ?? TYPES.stop
}

function* readFieldType(input: ByteQueue): Decoding<number> {
  while (input.size < 1) yield
  const type = input.byte()
  if (type !== TYPES.stop) yield* drop(input, 2)
  return type
}

/** Skips a value without elements. Returns one that has elements, to be skipped next. */
function* readOrOpen(input: ByteQueue, type: number): Decoding<Pending | undefined> {
  const width = WIDTHS[type]
  if (width !== undefined) yield* drop(input, width)
  else if (type === TYPES.text) yield* drop(input, yield* readSize(input))
  else if (type === TYPES.struct) return { types: [], left: 0 }
  else return yield* readContainer(input, type)
  return undefined
}

function* readContainer(input: ByteQueue, type: number): Decoding<Pending> {
  if (type !== TYPES.map && type !== TYPES.list && type !== TYPES.set) {
    throw new ThriftProtocolError(`there is no type ${type}`)
  }
  const types: number[] = []
  for (let i = type === TYPES.map ? 2 : 1; i > 0; i--) {
    while (input.size < 1) yield
    types.push(input.byte())
  }
  const left = (yield* readSize(input)) * types.length
  return { types, left }
}

/** Reads the size of a text or container. Every element has at least one byte, so a larger size than the message's is invalid. */
function* readSize(input: ByteQueue): Decoding<number> {
  const size = yield* readInt32(input)
  if (size < 0 || size > MAX_MESSAGE_BYTES) throw new ThriftProtocolError('a size is negative or larger than 8 MiB')
  return size
}

function* drop(input: ByteQueue, length: number): Decoding<void> {
  for (let left = length; left > 0; ) {
    while (input.size === 0) yield
    left -= input.drop(left)
  }
}
