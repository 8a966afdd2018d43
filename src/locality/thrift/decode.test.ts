/** Tests the decoder of Thrift's binary protocol: any split of the bytes gives the same result, and invalid bytes cause an error. */
import fc from 'fast-check'
import { describe, expect, test } from 'vitest'
import { ByteQueue } from './byte-queue.ts'
import { FrameReader } from './connection.ts'
import { type Decoding, readListSize, readStruct, readText, readTexts, skip } from './decode.ts'
import { ThriftProtocolError, TYPES } from './protocol.ts'
import { readReply } from './reply.ts'
import { type Encoded, int32, list, message, struct, text, texts, zeros } from './values.fake.ts'

/** Decodes bytes that arrive in chunks, and counts the used ones; undefined if the decoder waits for more. */
function decode<T>(
  chunks: readonly Buffer[],
  read: (input: ByteQueue) => Decoding<T>,
): { value: T; used: number } | undefined {
  const input = new ByteQueue()
  const decoding = read(input)
  let pushed = 0
  let step = decoding.next()
  for (const chunk of chunks) {
    if (step.done === true) break
    input.push(chunk)
    pushed += chunk.length
    step = decoding.next()
  }
  return step.done === true ? { value: step.value, used: pushed - input.size } : undefined
}

function split(bytes: Buffer, sizes: readonly number[]): Buffer[] {
  const chunks: Buffer[] = []
  for (let at = 0, i = 0; at < bytes.length; i++) {
    const size = sizes[i % sizes.length] ?? 1
    chunks.push(bytes.subarray(at, at + size))
    at += size
  }
  return chunks
}

const anyValue: fc.Arbitrary<Encoded> = fc.letrec<{ value: Encoded }>((tie) => ({
  value: fc.oneof(
    { maxDepth: 4 },
    fc.string().map(text),
    fc.integer().map(int32),
    fc.constantFrom(
      zeros(TYPES.bool, 1),
      zeros(TYPES.byte, 1),
      zeros(TYPES.double, 8),
      zeros(TYPES.int16, 2),
      zeros(TYPES.int64, 8),
      zeros(TYPES.uuid, 16),
    ),
    fc.dictionary(fc.string({ maxLength: 5 }), fc.string()).map(texts),
    fc.array(fc.string().map(text)).map((some) => list(TYPES.text, some, TYPES.set)),
    fc.array(fc.integer().map(int32)).map((some) => list(TYPES.int32, some)),
    fc.array(tie('value'), { maxLength: 5 }).map((some) => struct({ ...some.map((one) => one) })),
    tie('value').map((one) => list(TYPES.struct, [struct({ 1: one }), struct({})])),
  ),
})).value

const chunkSizes = fc.array(fc.integer({ min: 1, max: 9 }), { minLength: 1 })

test('skips any value exactly, however its bytes arrive', () => {
  fc.assert(
    fc.property(anyValue, chunkSizes, (value, sizes) => {
      const chunks = split(Buffer.concat([value.bytes, Buffer.from('!')]), sizes)
      expect(decode(chunks, (input) => skip(input, value.type))?.used).toBe(value.bytes.length)
    }),
  )
})

test('reads the requested fields, and skips others and fields of another type', () => {
  const bytes = struct({ 1: text('a'), 2: int32(7), 3: text('wrong type'), 900: struct({ 1: text('deep') }) }).bytes
  const seen: unknown[] = []
  const keep = {
    type: TYPES.text,
    *read(input: ByteQueue): Decoding<void> {
      seen.push(yield* readText(input, 100))
    },
  }
  expect(
    decode([bytes], (input) => readStruct(input, { 1: keep, 2: keep, 3: { ...keep, type: TYPES.int32 } })),
  ).toMatchObject({
    used: bytes.length,
  })
  expect(seen).toEqual(['a'])
})

test('keeps the wanted texts of a map, and neither long keys nor long values', () => {
  const given = { a: '1', ['k'.repeat(300)]: '2', b: 'x'.repeat(11), c: '3', ü: 'ö' }
  const wanted = new Set(['a', 'b', 'ü'])
  const { bytes } = texts(given)
  expect(decode(split(bytes, [3]), (input) => readTexts(input, wanted, 10))).toEqual({
    value: { a: '1', ü: 'ö' },
    used: bytes.length,
  })
})

test('counts the elements of a list', () => {
  const bytes = list(TYPES.struct, [struct({ 1: text('a') }), struct({ 1: text('b') })]).bytes
  expect(decode([bytes], readListSize)).toEqual({ value: 2, used: bytes.length })
})

describe('rejects', () => {
  const nested = (depth: number) =>
    Buffer.concat([...Array<Buffer>(depth).fill(Buffer.from([TYPES.struct, 0, 1])), Buffer.alloc(depth + 1)])
  test.each([
    { name: 'a text of 2 GiB', type: TYPES.text, bytes: int32(0x7fffffff).bytes },
    { name: 'a text of negative length', type: TYPES.text, bytes: int32(-1).bytes },
    {
      name: 'a list of 2 billion elements',
      type: TYPES.list,
      bytes: Buffer.concat([Buffer.from([TYPES.bool]), int32(0x7fffffff).bytes]),
    },
    { name: 'a map of negative size', type: TYPES.map, bytes: Buffer.concat([Buffer.from([2, 2]), int32(-5).bytes]) },
    { name: 'an unknown type', type: 99, bytes: Buffer.alloc(0) },
    { name: 'a field of an unknown type', type: TYPES.struct, bytes: Buffer.from([1, 0, 1]) },
    { name: 'a list of an unknown type', type: TYPES.list, bytes: Buffer.from([7, 0, 0, 0, 1]) },
    { name: '100 nested structs', type: TYPES.struct, bytes: nested(100) },
  ])('$name', ({ type, bytes }) => {
    expect(() => decode([bytes], (input) => skip(input, type))).toThrow(ThriftProtocolError)
  })

  test('nothing with 60 nested structs', () => {
    expect(decode([nested(60)], (input) => skip(input, TYPES.struct))).toMatchObject({ used: nested(60).length })
  })

  test.each([
    { name: 'HTTP', bytes: Buffer.from('HTTP/1.1 400 Bad Request\r\n\r\n'), want: 'not one of Thrift' },
    { name: 'TLS', bytes: Buffer.from([0x15, 3, 1, 0, 2, 2, 10]), want: 'endpoint.tls.enabled' },
    { name: 'SASL', bytes: Buffer.from([4, 0, 0, 0, 1, 33]), want: 'endpoint.auth' },
    { name: 'a frame', bytes: Buffer.from([0, 0, 0, 9, 0x80, 1, 0, 2]), want: 'extra.framed' },
    { name: 'another method', bytes: message('reply', 'other', 1, struct({})), want: 'another call' },
    { name: 'another call', bytes: message('reply', 'mine', 2, struct({})), want: 'another call' },
    { name: 'a call', bytes: message('call', 'mine', 1, struct({})), want: 'neither a reply nor an exception' },
  ])('$name instead of a reply', ({ bytes, want }) => {
    expect(() => decode([bytes], (input) => readReply(input, 'mine', 1, readListSize))).toThrow(want)
  })
})

describe('frames', () => {
  test('lose their lengths, however the bytes arrive', () => {
    const frames = ['one', 'x', 'three'].map((part) => Buffer.concat([int32(part.length).bytes, Buffer.from(part)]))
    fc.assert(
      fc.property(chunkSizes, (sizes) => {
        const reader = new FrameReader()
        const content = split(Buffer.concat(frames), sizes).flatMap((chunk) => reader.unframe(chunk))
        expect(Buffer.concat(content).toString()).toBe('onexthree')
      }),
    )
  })

  test.each([0, -1, 0x7fffffff, 8 * 1024 * 1024 + 1])('of the length %s are rejected', (length) => {
    expect(() => new FrameReader().unframe(int32(length).bytes)).toThrow(ThriftProtocolError)
  })
})
