/** Encodes and decodes values of Thrift's binary protocol of any type, for tests. Plugins only need a part of the types. */
import { MESSAGE_TYPES, TYPES, VERSION } from './protocol.ts'

/** A value with its type. */
export interface Encoded {
  type: number
  bytes: Buffer
}

export function text(value: string): Encoded {
  const bytes = Buffer.from(value, 'utf8')
  return { type: TYPES.text, bytes: Buffer.concat([int32(bytes.length).bytes, bytes]) }
}

export function int32(value: number): Encoded {
  const bytes = Buffer.alloc(4)
  bytes.writeInt32BE(value | 0)
  return { type: TYPES.int32, bytes }
}

/** A value of a type with a fixed size, filled with zeros. */
export function zeros(type: number, size: number): Encoded {
  return { type, bytes: Buffer.alloc(size) }
}

export function struct(fields: Readonly<Record<number, Encoded>>): Encoded {
  const parts = Object.entries(fields).flatMap(([id, { type, bytes }]) => [
    Buffer.from([type, Number(id) >> 8, Number(id) & 0xff]),
    bytes,
  ])
  return { type: TYPES.struct, bytes: Buffer.concat([...parts, Buffer.from([TYPES.stop])]) }
}

export function list(elementType: number, elements: readonly Encoded[], type: number = TYPES.list): Encoded {
  const bytes = [Buffer.from([elementType]), int32(elements.length).bytes, ...elements.map((one) => one.bytes)]
  return { type, bytes: Buffer.concat(bytes) }
}

export function texts(values: Readonly<Record<string, string>>): Encoded {
  const entries = Object.entries(values).flatMap(([key, value]) => [text(key).bytes, text(value).bytes])
  const head = [Buffer.from([TYPES.text, TYPES.text]), int32(entries.length / 2).bytes]
  return { type: TYPES.map, bytes: Buffer.concat([...head, ...entries]) }
}

/** A message of the type `reply` or `exception`. */
export function message(type: keyof typeof MESSAGE_TYPES, method: string, sequence: number, body: Encoded): Buffer {
  return Buffer.concat([
    int32(VERSION | MESSAGE_TYPES[type]).bytes,
    text(method).bytes,
    int32(sequence).bytes,
    body.bytes,
  ])
}

export interface ParsedCall {
  method: string
  sequence: number
  /** All texts in the arguments, in their order. */
  texts: string[]
  /** The length of the whole message. */
  length: number
}

/** Parses the first call in `bytes`; undefined if it is not complete. Arguments have texts, 32-bit integers, structs and lists. */
export function parseCall(bytes: Buffer): ParsedCall | undefined {
  const found: string[] = []
  let at = 4
  const number = () => {
    at += 4
    return bytes.readInt32BE(at - 4)
  }
  const string = () => {
    const length = number()
    if (at + length > bytes.length) throw new RangeError('incomplete')
    at += length
    return bytes.toString('utf8', at - length, at)
  }
  const value = (type: number): void => {
    if (type === TYPES.text) found.push(string())
    else if (type === TYPES.int32) number()
    else if (type === TYPES.struct) fields()
    else if (type === TYPES.list) elements()
    else throw new Error(`a call has the type ${type}`)
  }
  const elements = (): void => {
    const type = bytes.readUInt8(at++)
    for (let left = number(); left > 0; left--) value(type)
  }
  const fields = (): void => {
    for (let type = bytes.readUInt8(at++); type !== TYPES.stop; type = bytes.readUInt8(at++)) {
      at += 2
      value(type)
    }
  }
  try {
    const method = string()
    const sequence = number()
    fields()
    return { method, sequence, texts: found, length: at }
  } catch (error) {
    if (error instanceof RangeError) return undefined
    throw error
  }
}
