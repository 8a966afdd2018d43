import fc from 'fast-check'
import { describe, expect, test, vi } from 'vitest'
import { ProtocolError, ResponseReader } from './response-reader.ts'

const OK = 'HTTP/1.1 200 OK\r\n'
const CHUNKED = `${OK}Transfer-Encoding: chunked\r\n\r\n`

/** Reads a response in pieces of `size` bytes. The buffer is overwritten each time, as that of a connection. */
function read(text: string, size: number, method = 'GET') {
  const bytes = Buffer.from(text, 'latin1')
  const reader = new ResponseReader(method)
  const buffer = Buffer.alloc(size)
  const result = { body: '', isComplete: false }
  for (let from = 0; from < bytes.length && !result.isComplete; from += size) {
    const filled = buffer.subarray(0, bytes.copy(buffer.fill('#'), 0, from, from + size))
    for (let at = 0; ; ) {
      const step = reader.next(filled, at)
      if (step.kind === 'more') break
      at = step.at
      if (step.kind === 'head') Object.assign(result, step.head)
      if (step.kind === 'body') result.body += step.chunk.toString('latin1')
      result.isComplete = step.kind === 'end'
      if (result.isComplete) break
    }
  }
  return { ...result, mayStayOpen: reader.mayStayOpen, mayEndHere: reader.mayEndHere }
}

describe.each([1, 2, 3, 7, 64, 4096])('in pieces of %i bytes', (size) => {
  test.each([
    {
      what: 'a body with a length',
      text: `${OK}Content-Length: 5\r\nX-A:  b \r\n\r\nhello`,
      expected: { status: 200, headers: { 'content-length': '5', 'x-a': 'b' }, body: 'hello', mayStayOpen: true },
    },
    {
      what: 'a body that looks like a head',
      text: `${OK}Content-Length: 4\r\n\r\n\r\n\r\n`,
      expected: { body: '\r\n\r\n' },
    },
    { what: 'no body', text: `${OK}Content-Length: 0\r\n\r\n`, expected: { body: '' } },
    { what: 'a status without a phrase', text: 'HTTP/1.1 204\r\n\r\n', expected: { status: 204, body: '' } },
    {
      what: 'chunks with extensions and trailers',
      text: `${CHUNKED}3\r\nabc\r\nA;x=y\r\n0123456789\r\n0\r\nX-T: 1\r\n\r\n`,
      expected: { body: 'abc0123456789', mayStayOpen: true },
    },
    {
      what: 'informational responses first',
      text: `HTTP/1.1 100 Continue\r\n\r\nHTTP/1.1 103 Early Hints\r\nLink: x\r\n\r\n${OK}Content-Length: 1\r\n\r\nx`,
      expected: { status: 200, body: 'x' },
    },
    {
      what: 'the last response of a connection',
      text: `${OK}Connection: close\r\nContent-Length: 1\r\n\r\nx`,
      expected: { body: 'x', mayStayOpen: false },
    },
    {
      what: 'HTTP/1.0, which closes the connection',
      text: 'HTTP/1.0 200 OK\r\nContent-Length: 1\r\n\r\nx',
      expected: { body: 'x', mayStayOpen: false },
    },
    {
      what: 'a body that ends with the connection',
      text: `${OK}\r\nall of it`,
      expected: { body: 'all of it', isComplete: false, mayEndHere: true, mayStayOpen: false },
    },
    {
      what: 'headers that repeat',
      text: `${OK}A: 1\r\nA: 2\r\nContent-Length: 1\r\nContent-Length: 1\r\n\r\nx`,
      expected: { headers: { a: '1, 2', 'content-length': '1' }, body: 'x' },
    },
  ])('$what', ({ text, expected }) => {
    expect(read(text, size)).toMatchObject({ isComplete: true, ...expected })
  })

  test('the response to HEAD has a length and no body', () => {
    expect(read(`${OK}Content-Length: 5\r\n\r\n`, size, 'HEAD')).toMatchObject({ isComplete: true, body: '' })
  })

  test.each([
    { what: 'another protocol', text: 'SSH-2.0-OpenSSH_9\r\n\r\n' },
    { what: 'an invalid status', text: 'HTTP/1.1 2000 OK\r\n\r\n' },
    { what: 'a header without a name', text: `${OK}: x\r\n\r\n` },
    { what: 'a header that continues in the next line', text: `${OK}A: 1\r\n 2\r\n\r\n` },
    { what: 'a space before the colon', text: `${OK}Content-Length : 5\r\n\r\n` },
    { what: 'two lengths', text: `${OK}Content-Length: 5\r\nContent-Length: 6\r\n\r\n` },
    { what: 'a negative length', text: `${OK}Content-Length: -5\r\n\r\n` },
    { what: 'an unknown coding', text: `${OK}Transfer-Encoding: gzip, chunked\r\n\r\n` },
    { what: 'a chunk without a size', text: `${CHUNKED}x\r\n` },
    { what: 'a chunk that is longer than its size', text: `${CHUNKED}1\r\nab\r\n` },
    { what: 'an endless head', text: `${OK}A: ${'x'.repeat(70_000)}` },
  ])('$what is rejected', ({ text }) => {
    expect(() => read(text, size)).toThrow(ProtocolError)
  })
})

const piece = fc.oneof(
  fc.constantFrom(
    ...[OK, CHUNKED, 'HTTP/1.1 100 Continue\r\n\r\n', 'HTTP/1.0 206 x\r\n', 'HTTP/2 200\r\n', 'HTTP/1.1 999\r\n'],
    ...['content-length: 5\r\n', 'content-length: -1\r\n', 'content-length: 999999999999999\r\n'],
    ...['transfer-encoding: gzip\r\n', 'connection: close\r\n', ': x\r\n', ' folded\r\n'],
    ...['\r\n', '\n', '5\r\nhello\r\n', '0\r\n', 'ffffffffffff\r\n', 'g\r\n', 'hello', '5;x=y\r\n', '\0', '\r'],
  ),
  fc.string({ unit: 'binary', maxLength: 10 }),
)
const stream = fc
  .tuple(fc.boolean(), fc.array(piece, { maxLength: 15 }))
  .map(([hasStatus, pieces]) => `${hasStatus ? OK : ''}${pieces.join('')}`)

test('many small chunks are decoded once: a line does not decode the chunks after it', () => {
  const bytes = Buffer.from(CHUNKED + '1\r\nx\r\n'.repeat(10_000), 'latin1')
  const decode = vi.spyOn(bytes, 'toString')
  const reader = new ResponseReader('GET')
  for (let at = 0, step = reader.next(bytes, at); step.kind !== 'more'; step = reader.next(bytes, at)) at = step.at

  const decoded = decode.mock.calls.reduce((sum, [, start = 0, end = 0]) => sum + end - start, 0)
  expect(decoded).toBeGreaterThan(10_000)
  expect(decoded).toBeLessThanOrEqual(bytes.length)
})

test('the size of the pieces makes no difference', () => {
  const attempt = (text: string, size: number, method: string) => {
    try {
      return read(text, size, method)
    } catch (error) {
      return (error as Error).name
    }
  }
  fc.assert(
    fc.property(stream, fc.integer({ min: 1, max: 40 }), fc.constantFrom('GET', 'HEAD'), (text, size, method) => {
      expect(attempt(text, size, method)).toEqual(attempt(text, 64 * 1024, method))
    }),
    { numRuns: 500 },
  )
})
