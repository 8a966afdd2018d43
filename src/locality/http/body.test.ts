/** Tests bodies of responses: gzip, and the limits before and after decompression. */
import { setImmediate as nextTurn } from 'node:timers/promises'
import { brotliCompressSync, gzipSync } from 'node:zlib'
import { expect, test } from 'vitest'
import { queryError } from '../locality.suite.ts'
import { openBodyReader } from './body.ts'

const MIB = 1024 * 1024
const zipped = gzipSync('{"a":1}')

async function* chunks(...parts: (Uint8Array | string)[]): AsyncGenerator<Uint8Array> {
  for (const part of parts) yield typeof part === 'string' ? Buffer.from(part) : part
}

const read = (encoding: string | undefined, ...parts: (Uint8Array | string)[]) =>
  openBodyReader().read(chunks(...parts), encoding, 'GET http://x/')

test.each([
  { name: 'a plain body', encoding: undefined, parts: ['{"a"', ':1}'] },
  { name: 'identity', encoding: 'identity', parts: ['{"a":1}'] },
  { name: 'a body with a byte order mark', encoding: undefined, parts: ['\uFEFF{"a"', ':1}'] },
  { name: 'gzip', encoding: 'gzip', parts: [zipped] },
  { name: 'gzip with its old name', encoding: ' X-GZIP', parts: [zipped] },
  { name: 'gzip in pieces', encoding: 'gzip', parts: [...zipped].map((byte) => Uint8Array.of(byte)) },
  { name: 'gzip in two members', encoding: 'gzip', parts: [gzipSync('{"a"'), gzipSync(':1}')] },
])('$name is read', async ({ encoding, parts }) => {
  expect(await read(encoding, ...parts)).toBe('{"a":1}')
})

test('an empty body has no encoding, as in the response to HEAD', async () => {
  expect(await read('gzip')).toBe('')
})

test.each([
  { name: 'truncated gzip', encoding: 'gzip', body: zipped.subarray(0, -5), want: 'is not valid gzip' },
  { name: 'text that is declared as gzip', encoding: 'gzip', body: Buffer.from('{"a":1}'), want: 'is not valid gzip' },
  { name: 'gzip with a wrong checksum', encoding: 'gzip', body: broken(zipped), want: 'is not valid gzip' },
  {
    name: 'an encoding that was not accepted',
    encoding: 'br',
    body: brotliCompressSync('{}'),
    want: 'other than gzip',
  },
  { name: 'gzip twice', encoding: 'gzip, gzip', body: gzipSync(zipped), want: 'other than gzip' },
  { name: '9 MiB of text', encoding: undefined, body: Buffer.alloc(9 * MIB), want: 'is larger than 8 MiB' },
  {
    name: '9 MiB that are declared as gzip',
    encoding: 'gzip',
    body: Buffer.alloc(9 * MIB),
    want: 'is larger than 8 MiB',
  },
  { name: '100 MiB in 100 KiB of gzip', encoding: 'gzip', body: gzipSync(Buffer.alloc(100 * MIB)), want: '8 MiB' },
])('$name: $want', async ({ encoding, body, want }) => {
  const error = await queryError(read(encoding, body))
  expect([error.code, error.message]).toEqual(['invalidResponse', expect.stringContaining(want)])
})

test('the largest allowed body is read', async () => {
  expect((await read(undefined, Buffer.alloc(8 * MIB, 'a'))).length).toBe(8 * MIB)
  expect((await read('gzip', gzipSync(Buffer.alloc(8 * MIB, 'a')))).length).toBe(8 * MIB)
})

test('concurrent bodies have a common limit, and finished ones do not count', async () => {
  const reader = openBodyReader()
  const gate = Promise.withResolvers<void>()
  async function* slow() {
    yield Buffer.alloc(7 * MIB)
    await gate.promise
  }
  const large = Array.from({ length: 4 }, () => reader.read(slow(), undefined, 'GET http://x/'))
  await nextTurn()

  const error = await queryError(reader.read(chunks(Buffer.alloc(5 * MIB)), undefined, 'GET http://x/'))

  expect(error).toMatchObject({ code: 'unavailable', message: expect.stringContaining('larger than 32 MiB') })
  gate.resolve()
  await Promise.all(large)
  expect(await reader.read(chunks(Buffer.alloc(5 * MIB, 'a')), undefined, 'GET http://x/')).toHaveLength(5 * MIB)
})

test('concurrent bodies have the common limit after decompression too', async () => {
  const reader = openBodyReader()
  const small = gzipSync(Buffer.alloc(7 * MIB, 'a'))

  const read = await Promise.allSettled(
    Array.from({ length: 8 }, () => reader.read(chunks(small), 'gzip', 'GET http://x/')),
  )

  const refused = read.filter((one) => one.status === 'rejected')
  expect(refused[0]?.reason).toMatchObject({ code: 'unavailable', message: expect.stringContaining('than 32 MiB') })
  expect(await reader.read(chunks(small), 'gzip', 'GET http://x/')).toHaveLength(7 * MIB)
})

function broken(bytes: Buffer): Buffer {
  const copy = Buffer.from(bytes)
  copy.writeUInt8(copy.readUInt8(copy.length - 6) ^ 0xff, copy.length - 6)
  return copy
}
