/**
 * Encodes a WebAssembly module with one function, from expressions that read like its text format.
 * https://webassembly.github.io/spec/core/binary
 */

/** The bytes of an instruction, with those of its operands before it. */
export type Code = readonly number[]

/** A variable of the function, by its index. Parameters come first. */
export type Local = number

const KINDS = { i32: 0x7f, i64: 0x7e }
const NO_RESULT = 0x40
const PAGE_BYTES = 64 * 1024
/** Addresses are not aligned. This is only a hint, as a power of two. */
const ALIGNMENT = 0

export const get = (local: Local): Code => [0x20, local]
export const set = (local: Local, value: Code): Code => [...value, 0x21, local]
export const i32 = (value: number): Code => [0x41, ...signed(value)]
export const i64 = (value: number): Code => [0x42, ...signed(value)]
export const add32 = (a: Code, b: Code): Code => [...a, ...b, 0x6a]
export const sub32 = (a: Code, b: Code): Code => [...a, ...b, 0x6b]
export const and32 = (a: Code, b: Code): Code => [...a, ...b, 0x71]
export const shiftLeft32 = (a: Code, bits: number): Code => [...a, ...i32(bits), 0x74]
export const isLess32 = (a: Code, b: Code): Code => [...a, ...b, 0x49]
export const isAtLeast32 = (a: Code, b: Code): Code => [...a, ...b, 0x4f]
export const xor64 = (a: Code, b: Code): Code => [...a, ...b, 0x85]
export const shiftLeft64 = (a: Code, bits: number): Code => [...a, ...i64(bits), 0x86]
export const shiftRight64 = (a: Code, bits: number): Code => [...a, ...i64(bits), 0x88]
export const toI32 = (a: Code): Code => [...a, 0xa7]
export const load64 = (address: Code, offset = 0): Code => [...address, 0x29, ALIGNMENT, ...unsigned(offset)]
export const loadByte = (address: Code): Code => [...address, 0x31, ALIGNMENT, 0]

/** Repeats the body as long as the condition holds. */
export const whileTrue = (condition: Code, ...body: Code[]): Code => {
  const [block, loop, end, isZero, branchIf, branch] = [0x02, 0x03, 0x0b, 0x45, 0x0d, 0x0c]
  const leave = [isZero, branchIf, 1]
  return [block, NO_RESULT, loop, NO_RESULT, ...condition, ...leave, ...body.flat(), branch, 0, end, end]
}

type Kind = keyof typeof KINDS

interface Program {
  parameters: readonly Kind[]
  variables: readonly Kind[]
  result: Kind
  body: readonly Code[]
  memoryBytes: number
}

/** Encodes a module that exports its function as `run` and its memory as `memory`. */
export function encodeModule({ parameters, variables, result, body, memoryBytes }: Program): Uint8Array<ArrayBuffer> {
  const type = [0x60, ...vector(parameters.map((kind) => [KINDS[kind]])), 1, KINDS[result]]
  const code = [...vector(variables.map((kind) => [1, KINDS[kind]])), ...body.flat(), 0x0b]
  const pages = Math.ceil(memoryBytes / PAGE_BYTES)
  const exports = [
    [...text('run'), 0x00, 0],
    [...text('memory'), 0x02, 0],
  ]
  return Uint8Array.from([
    ...[0x00, 0x61, 0x73, 0x6d, 0x01, 0x00, 0x00, 0x00],
    ...section(1, vector([type])),
    ...section(3, vector([[0]])),
    ...section(5, vector([[0x01, ...unsigned(pages), ...unsigned(pages)]])),
    ...section(7, vector(exports)),
    ...section(10, vector([[...unsigned(code.length), ...code]])),
  ])
}

function section(id: number, content: Code): Code {
  return [id, ...unsigned(content.length), ...content]
}

function vector(items: readonly Code[]): Code {
  return [...unsigned(items.length), ...items.flat()]
}

function text(name: string): Code {
  return [...unsigned(name.length), ...Buffer.from(name)]
}

/** LEB128: seven bits in a byte, the lowest first. The highest bit means that another byte follows. */
function unsigned(value: number): Code {
  return value < 128 ? [value] : [(value & 127) | 128, ...unsigned(value >>> 7)]
}

function signed(value: number): Code {
  return value >= -64 && value < 64 ? [value & 127] : [(value & 127) | 128, ...signed(value >> 7)]
}
