/**
 * Computes CRC-32C and CRC-64/NVME in WebAssembly, which has integers of 64 bits. It is about twice as fast as JavaScript.
 *
 * Eight bytes are one step with eight tables ("slicing by 8"). A step must wait for the one before it. Therefore four segments of a block are
 * computed in turns, and then combined.
 */
import { CRC_MODELS, type CrcModel, multiply, powerOfX } from './combine-crcs.ts'
import * as wasm from './wasm.ts'

/** The checksum of bytes that arrive in chunks. */
export interface Hasher {
  update(chunk: Uint8Array): void
  /** In hexadecimal. */
  digest(): string
}

const SLICES = 8
const ENTRIES = 256
const TABLES_BYTES = SLICES * ENTRIES * 8
const SEGMENTS = 4
const SEGMENT_BYTES = 1024

/** The memory: tables for a step of eight bytes, tables for a step of a segment, and the data. */
const STEP_TABLES = 0
const SEGMENT_TABLES = TABLES_BYTES
const DATA = 2 * TABLES_BYTES
const DATA_BYTES = 256 * 1024

/** Returns the remainder after the bytes of the memory from `at` to `end`. */
type Run = (remainder: bigint, at: number, end: number) => bigint

/** The parameters and variables of this function. The first segment continues the remainder, the others begin at zero. */
const [FIRST, AT, END, SEGMENT_END, VALUE] = [0, 1, 2, 3, 4] as const
const OTHERS = [5, 6, 7] as const

/** Combines the entries for the eight bytes of a value, each from a table of its own. */
function lookUp(tables: number, value: wasm.Code): wasm.Code {
  const entries = Array.from({ length: SLICES }, (_, byte) => {
    const shifted = byte === 0 ? wasm.shiftLeft64(wasm.get(VALUE), 3) : wasm.shiftRight64(wasm.get(VALUE), 8 * byte - 3)
    const entry = wasm.and32(wasm.toI32(shifted), wasm.i32((ENTRIES - 1) * 8))
    return wasm.load64(entry, tables + byte * ENTRIES * 8)
  })
  return [...wasm.set(VALUE, value), ...entries.reduce(wasm.xor64)]
}

const step = (segment: wasm.Local, offset: number) =>
  wasm.set(segment, lookUp(STEP_TABLES, wasm.xor64(wasm.get(segment), wasm.load64(wasm.get(AT), offset))))
const advance = (bytes: number) => wasm.set(AT, wasm.add32(wasm.get(AT), wasm.i32(bytes)))
const left = wasm.sub32(wasm.get(END), wasm.get(AT))

const MODULE = wasm.encodeModule({
  parameters: ['i64', 'i32', 'i32'],
  variables: ['i32', 'i64', 'i64', 'i64', 'i64'],
  result: 'i64',
  memoryBytes: DATA + DATA_BYTES,
  body: [
    wasm.whileTrue(
      wasm.isAtLeast32(left, wasm.i32(SEGMENTS * SEGMENT_BYTES)),
      ...OTHERS.map((segment) => wasm.set(segment, wasm.i64(0))),
      wasm.set(SEGMENT_END, wasm.add32(wasm.get(AT), wasm.i32(SEGMENT_BYTES))),
      wasm.whileTrue(
        wasm.isLess32(wasm.get(AT), wasm.get(SEGMENT_END)),
        ...[FIRST, ...OTHERS].map((segment, i) => step(segment, i * SEGMENT_BYTES)),
        advance(8),
      ),
      ...OTHERS.map((segment) =>
        wasm.set(FIRST, wasm.xor64(lookUp(SEGMENT_TABLES, wasm.get(FIRST)), wasm.get(segment))),
      ),
      advance((SEGMENTS - 1) * SEGMENT_BYTES),
    ),
    wasm.whileTrue(wasm.isAtLeast32(left, wasm.i32(8)), step(FIRST, 0), advance(8)),
    wasm.whileTrue(wasm.isLess32(wasm.get(AT), wasm.get(END)), stepOfOneByte(), advance(1)),
    wasm.get(FIRST),
  ],
})

/** The last table is the effect of a byte that no other byte follows. */
function stepOfOneByte(): wasm.Code {
  const low = wasm.toI32(wasm.xor64(wasm.get(FIRST), wasm.loadByte(wasm.get(AT))))
  const entry = wasm.shiftLeft32(wasm.and32(low, wasm.i32(ENTRIES - 1)), 3)
  const effect = wasm.load64(entry, STEP_TABLES + (SLICES - 1) * ENTRIES * 8)
  return wasm.set(FIRST, wasm.xor64(effect, wasm.shiftRight64(wasm.get(FIRST), 8)))
}

interface Engine {
  run: Run
  /** The data in the memory of the function. */
  data: Uint8Array
}

/** Node has this global, but its types do not declare it. */
declare const WebAssembly: {
  Module: new (bytes: Uint8Array) => object
  Instance: new (module: object) => { exports: unknown }
}

/** Compiles the function and fills its tables. */
function createEngine(model: CrcModel): Engine {
  const { run, memory } = new WebAssembly.Instance(new WebAssembly.Module(MODULE)).exports as {
    run: Run
    memory: { buffer: ArrayBuffer }
  }
  fillTables(new BigUint64Array(memory.buffer, STEP_TABLES, SLICES * ENTRIES), SLICES, model)
  fillTables(new BigUint64Array(memory.buffer, SEGMENT_TABLES, SLICES * ENTRIES), SEGMENT_BYTES, model)
  return { run, data: new Uint8Array(memory.buffer, DATA, DATA_BYTES) }
}

/** Fills the tables of a step: the effect of each byte of a value. The effect of several bits is the sum of their effects. */
function fillTables(tables: BigUint64Array, stepBytes: number, model: CrcModel): void {
  for (let byte = 0; byte < SLICES; byte++) {
    const table = tables.subarray(byte * ENTRIES, (byte + 1) * ENTRIES)
    const factor = powerOfX((stepBytes - byte) * 8, model)
    for (let bit = 0; bit < 8; bit++) {
      const effect = multiply(1n << BigInt(bit), factor, model)
      for (let lower = 0; lower < 1 << bit; lower++) table[(1 << bit) + lower] = (table[lower] ?? 0n) ^ effect
    }
  }
}

const engines = new Map<string, Engine>()

/** Creates a hasher. Hashers of one kind use the same memory, since `update` is synchronous. */
export function createCrc(name: 'crc32c' | 'crc64nvme'): Hasher {
  const model = CRC_MODELS[name]
  const { run, data } = engines.get(name) ?? createEngine(model)
  engines.set(name, { run, data })
  const ones = (1n << BigInt(model.width)) - 1n
  let remainder = ones
  return {
    update(chunk) {
      for (let at = 0; at < chunk.length; at += DATA_BYTES) {
        const part = chunk.subarray(at, at + DATA_BYTES)
        data.set(part)
        remainder = BigInt.asUintN(64, run(remainder, DATA, DATA + part.length))
      }
    },
    digest: () => (remainder ^ ones).toString(16).padStart(model.width / 4, '0'),
  }
}
