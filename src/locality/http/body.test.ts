/** Tests bodies of responses: gzip, and the limits before and after decompression. */
import { setImmediate as nextTurn } from 'node:timers/promises'
import { brotliCompressSync, gzipSync } from 'node:zlib'
import { expect, test } from 'vitest'
import { queryError } from '../locality.suite.ts'
import { openBodyReader } from './body.ts'

const MIB = 1024 * 1024
const never = new AbortController().signal
const zipped = gzipSync('{"a":1}')

async function* chunks(...parts: (Uint8Array | string)[]): AsyncGenerator<Uint8Array> {
  for (const part of parts) yield typeof part === 'string' ? Buffer.from(part) : part
}

const read = (encoding: string | undefined, ...parts: (Uint8Array | string)[]) =>
  openBodyReader().read(chunks(...parts), encoding, 'GET http://x/', never)

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

/** A body of 7 MiB that tells how many of its bytes were read. */
async function* largeBody(tell: (bytes: number) => void, mayEnd: Promise<void> = Promise.resolve()) {
  const chunk = Buffer.alloc(64 * 1024, 'a')
  for (let bytes = 0; bytes < 7 * MIB; bytes += chunk.length) {
    tell(chunk.length)
    yield chunk
  }
  await mayEnd
}

test('large bodies that do not fit into the memory together are read one by one', async () => {
  const reader = openBodyReader()
  let bytes = 0
  let most = 0
  const read = async () => {
    const body = largeBody((more) => {
      bytes += more
      most = Math.max(most, bytes)
    })
    const text = await reader.read(body, undefined, 'GET http://x/', never)
    bytes -= text.length
    return text.length
  }

  expect(await Promise.all(Array.from({ length: 6 }, read))).toEqual(Array(6).fill(7 * MIB))
  expect(most).toBeLessThanOrEqual(32 * MIB)
})

test('bodies that are large after decompression are read one by one too', async () => {
  const reader = openBodyReader()
  const zippedBody = gzipSync(Buffer.alloc(7 * MIB, 'a'))
  const texts = Array.from({ length: 6 }, () => reader.read(chunks(zippedBody), 'gzip', 'GET http://x/', never))
  for (const text of await Promise.all(texts)) expect(text).toHaveLength(7 * MIB)
})

test('a small body, such as a token, does not wait for large ones', async () => {
  const reader = openBodyReader()
  const gate = Promise.withResolvers<void>()
  const large = Array.from({ length: 4 }, () =>
    reader.read(
      largeBody(() => undefined, gate.promise),
      undefined,
      'GET http://x/',
      never,
    ),
  )
  await nextTurn()

  expect(await reader.read(chunks('{"a"', ':1}'), undefined, 'POST http://x/', never)).toBe('{"a":1}')

  gate.resolve()
  await Promise.all(large)
})

test('a body whose request ends while it waits makes room for others', async () => {
  const reader = openBodyReader()
  const gate = Promise.withResolvers<void>()
  const stuck = reader.read(
    largeBody(() => undefined, gate.promise),
    undefined,
    'GET http://x/',
    never,
  )
  const ending = new AbortController()
  const late = new Error('too late')
  const waiting = Array.from({ length: 3 }, () =>
    reader.read(
      largeBody(() => undefined),
      undefined,
      'GET http://x/',
      ending.signal,
    ),
  )
  await nextTurn()
  ending.abort(late)
  for (const ended of await Promise.allSettled(waiting)) expect(ended).toEqual({ status: 'rejected', reason: late })

  expect(await reader.read(chunks(Buffer.alloc(7 * MIB, 'a')), undefined, 'GET http://x/', never)).toHaveLength(7 * MIB)

  gate.resolve()
  await stuck
})

function broken(bytes: Buffer): Buffer {
  const copy = Buffer.from(bytes)
  copy.writeUInt8(copy.readUInt8(copy.length - 6) ^ 0xff, copy.length - 6)
  return copy
}
