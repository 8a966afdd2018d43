/**
 * Computes CRC-32C and CRC-64/NVME in WebAssembly, which has integers of 64 bits. It is about twice as fast as JavaScript. The function is in
 * crc.wat, this file fills its tables. A test compares its bytes in crc-module.ts with the text.
 */
import { CRC_MODELS, type CrcModel, multiply, powerOfX } from './combine-crcs.ts'
import { CRC_MODULE } from './crc-module.ts'

/** The checksum of bytes that arrive in chunks. */
export interface Hasher {
  update(chunk: Uint8Array): void
  /** In hexadecimal. */
  digest(): string
}

const SLICES = 8
const ENTRIES = 256
const TABLES_BYTES = SLICES * ENTRIES * 8
const SEGMENT_BYTES = 1024

/** The memory, as crc.wat uses it: tables for a step of eight bytes, tables for a segment of zeros, and the data. */
const STEP_TABLES = 0
const SEGMENT_TABLES = TABLES_BYTES
const DATA = 2 * TABLES_BYTES
const DATA_BYTES = 256 * 1024

/** Returns the remainder after the bytes of the memory from `at` to `end`. */
type Run = (remainder: bigint, at: number, end: number) => bigint

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
  const module = new WebAssembly.Module(Buffer.from(CRC_MODULE, 'base64'))
  const { run, memory } = new WebAssembly.Instance(module).exports as {
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
