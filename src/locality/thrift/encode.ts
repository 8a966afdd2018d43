/** Encodes calls in Thrift's binary protocol. */
import { MESSAGE_TYPES, TYPES, VERSION } from './protocol.ts'

/** A value of an argument, with its type. */
export type ThriftValue =
  | { text: string }
  | { texts: readonly string[] }
  | { int32s: readonly number[] }
  | { struct: ThriftFields }

/** Values by the id of their field. A field without a value is left out. */
export type ThriftFields = Readonly<Record<number, ThriftValue | undefined>>

/** Encodes the call of a method. `sequence` is returned in the reply. */
export function encodeCall(method: string, sequence: number, fields: ThriftFields): Buffer {
  return Buffer.concat([int32(VERSION | MESSAGE_TYPES.call), text(method), int32(sequence), struct(fields)])
}

/** A 32-bit integer, as in sizes and in the length of a frame. */
export function int32(value: number): Buffer {
  const bytes = Buffer.alloc(4)
  bytes.writeInt32BE(value)
  return bytes
}

function text(value: string): Buffer {
  const bytes = Buffer.from(value, 'utf8')
  return Buffer.concat([int32(bytes.length), bytes])
}

function struct(fields: ThriftFields): Buffer {
  const parts = Object.entries(fields).flatMap(([id, value]) => {
    if (value === undefined) return []
    const { type, bytes } = encode(value)
    return [Buffer.from([type, Number(id) >> 8, Number(id) & 0xff]), bytes]
  })
  return Buffer.concat([...parts, Buffer.from([TYPES.stop])])
}

function encode(value: ThriftValue): { type: number; bytes: Buffer } {
  if ('text' in value) return { type: TYPES.text, bytes: text(value.text) }
  if ('struct' in value) return { type: TYPES.struct, bytes: struct(value.struct) }
  if ('texts' in value) return { type: TYPES.list, bytes: list(TYPES.text, value.texts.map(text)) }
  return { type: TYPES.list, bytes: list(TYPES.int32, value.int32s.map(int32)) }
}

function list(type: number, elements: readonly Buffer[]): Buffer {
  return Buffer.concat([Buffer.from([type]), int32(elements.length), ...elements])
}
