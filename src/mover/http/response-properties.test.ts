/** What holds for every stream of bytes that a server may send as its answer. */
import fc from 'fast-check'
import { expect, test } from 'vitest'
import { ProtocolError, ResponseReader } from './response.ts'

/** Reads a stream in pieces. Gives how it ended: every step has to get on, or the piece has to be used up. */
function read(
  bytes: Buffer,
  cuts: readonly number[],
  method = 'GET',
): { ended: 'end' | 'more' | 'refused'; body: number } {
  const reader = new ResponseReader(method)
  const edges = [...new Set(cuts.map((cut) => cut % (bytes.length + 1)))].sort((a, b) => a - b)
  let body = 0
  let from = 0
  try {
    for (const to of [...edges, bytes.length]) {
      for (let at = from; at < to; ) {
        const step = reader.next(bytes, at, to)
        if (step.kind === 'more') break
        if (step.kind === 'end') return { ended: 'end', body }
        if (step.kind === 'body') body += step.piece.length
        expect(step.at).toBeGreaterThan(at)
        at = step.at
      }
      from = to
    }
    return { ended: 'more', body }
  } catch (error) {
    expect(error).toBeInstanceOf(ProtocolError)
    return { ended: 'refused', body }
  }
}

const piece = fc.oneof(
  fc.constantFrom(
    ...[
      'HTTP/1.1 200 OK\r\n',
      'HTTP/1.1 100 Continue\r\n\r\n',
      'HTTP/1.0 206 x\r\n',
      'HTTP/2 200\r\n',
      'HTTP/1.1 999\r\n',
    ],
    ...[
      'content-length: 5\r\n',
      'content-length: -1\r\n',
      'content-length: 999999999999999\r\n',
      'content-length: 1e3\r\n',
    ],
    ...[
      'transfer-encoding: chunked\r\n',
      'transfer-encoding: gzip\r\n',
      'connection: close\r\n',
      ': x\r\n',
      ' folded\r\n',
    ],
    ...['\r\n', '\n', '5\r\nhello\r\n', '0\r\n', 'ffffffffffff\r\n', 'g\r\n', 'hello', '5;x=y\r\n', '\0', '\r'],
  ),
  fc.string({ unit: 'binary', maxLength: 10 }),
)
const stream = fc
  .tuple(fc.boolean(), fc.array(piece, { maxLength: 15 }))
  .map(([begins, pieces]) => Buffer.from(`${begins ? 'HTTP/1.1 200 OK\r\n' : ''}${pieces.join('')}`, 'latin1'))
const cuts = fc.array(fc.nat(400), { maxLength: 6 })

test('a stream is read or refused, and every step gets on; where it is cut makes no difference', () => {
  fc.assert(
    fc.property(stream, cuts, fc.constantFrom('GET', 'HEAD'), (bytes, at, method) => {
      expect(read(bytes, at, method)).toEqual(read(bytes, [], method))
    }),
    { numRuns: 3_000 },
  )
})

test.each([
  { what: 'announcements of an answer', head: '', line: 'HTTP/1.1 100 Continue\r\n\r\n' },
  { what: 'trailers', head: 'HTTP/1.1 200 OK\r\ntransfer-encoding: chunked\r\n\r\n0\r\n', line: 'a: b\r\n' },
  { what: 'headers', head: 'HTTP/1.1 200 OK\r\n', line: 'a: b\r\n' },
  { what: 'extensions of a chunk', head: 'HTTP/1.1 200 OK\r\ntransfer-encoding: chunked\r\n\r\n5', line: ';a=b' },
])('endless $what are refused', ({ head, line }) => {
  expect(read(Buffer.from(head + line.repeat(50_000)), []).ended).toBe('refused')
  expect(read(Buffer.from(head + line.repeat(50_000)), [1000, 2000, 70_000]).ended).toBe('refused')
})
