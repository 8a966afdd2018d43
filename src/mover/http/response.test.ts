/** HTTP/1.1 answers, in whatever pieces they come. */
import { describe, expect, test } from 'vitest'
import { ProtocolError, ResponseReader } from './response.ts'

interface Read {
  status?: number
  headers?: Record<string, string>
  body: string
  complete: boolean
  mayStayOpen: boolean
}

/** Reads an answer that comes in pieces of this many bytes; the buffer is overwritten each time, as the real one is. */
function read(text: string, size: number, method = 'GET'): Read {
  const bytes = Buffer.from(text, 'latin1')
  const reader = new ResponseReader(method)
  const buffer = Buffer.alloc(size)
  const result: Read = { body: '', complete: false, mayStayOpen: true }
  for (let from = 0; from < bytes.length && !result.complete; from += size) {
    const end = bytes.copy(buffer.fill('#'), 0, from, from + size)
    let at = 0
    for (;;) {
      const step = reader.next(buffer, at, end)
      if (step.kind === 'more') break
      at = step.at
      if (step.kind === 'head') Object.assign(result, step.head)
      if (step.kind === 'body') result.body += step.piece.toString('latin1')
      if (step.kind !== 'end') continue
      expect(from + at, 'nothing is read beyond the end').toBe(bytes.length)
      result.complete = true
      break
    }
  }
  result.mayStayOpen = reader.mayStayOpen
  return result
}

const SIZES = [1, 2, 3, 7, 64, 4096]

describe.each(SIZES)('in pieces of %i bytes', (size) => {
  test.each([
    {
      name: 'a body of a length',
      text: 'HTTP/1.1 200 OK\r\nContent-Length: 5\r\nX-A:  b \r\n\r\nhello',
      want: {
        status: 200,
        headers: { 'content-length': '5', 'x-a': 'b' },
        body: 'hello',
        complete: true,
        mayStayOpen: true,
      },
    },
    {
      name: 'a body that looks like a head',
      text: 'HTTP/1.1 206 Partial Content\r\nContent-Length: 8\r\n\r\n\r\n\r\n\r\n\r\n',
      want: { status: 206, body: '\r\n\r\n\r\n\r\n', complete: true },
    },
    {
      name: 'no body',
      text: 'HTTP/1.1 200 OK\r\nContent-Length: 0\r\n\r\n',
      want: { status: 200, body: '', complete: true },
    },
    {
      name: 'an answer without a phrase',
      text: 'HTTP/1.1 204\r\n\r\n',
      want: { status: 204, body: '', complete: true },
    },
    {
      name: 'chunks, with extensions and trailers',
      text: 'HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n3\r\nabc\r\nA;x=y\r\n0123456789\r\n0\r\nX-T: 1\r\n\r\n',
      want: { status: 200, body: 'abc0123456789', complete: true, mayStayOpen: true },
    },
    {
      name: 'what only announces the answer',
      text: 'HTTP/1.1 100 Continue\r\n\r\nHTTP/1.1 103 Early Hints\r\nLink: x\r\n\r\nHTTP/1.1 200 OK\r\nContent-Length: 1\r\n\r\nx',
      want: { status: 200, body: 'x', complete: true },
    },
    {
      name: 'the last answer of a connection',
      text: 'HTTP/1.1 200 OK\r\nConnection: close\r\nContent-Length: 1\r\n\r\nx',
      want: { body: 'x', complete: true, mayStayOpen: false },
    },
    {
      name: 'HTTP/1.0, which closes',
      text: 'HTTP/1.0 200 OK\r\nContent-Length: 1\r\n\r\nx',
      want: { body: 'x', complete: true, mayStayOpen: false },
    },
    {
      name: 'a body that ends with the connection',
      text: 'HTTP/1.1 200 OK\r\n\r\nall of it',
      want: { body: 'all of it', complete: false, mayStayOpen: false },
    },
    {
      name: 'two headers of one name',
      text: 'HTTP/1.1 200 OK\r\nA: 1\r\nA: 2\r\nContent-Length: 1\r\nContent-Length: 1\r\n\r\nx',
      want: { headers: { a: '1, 2', 'content-length': '1' }, body: 'x' },
    },
  ])('$name', ({ text, want }) => {
    expect(read(text, size)).toMatchObject(want)
  })

  test('the answer to HEAD has a length and no body', () => {
    expect(read('HTTP/1.1 200 OK\r\nContent-Length: 5\r\n\r\n', size, 'HEAD')).toMatchObject({
      complete: true,
      body: '',
    })
  })

  test.each([
    { name: 'something else than HTTP', text: 'SSH-2.0-OpenSSH_9\r\n\r\n' },
    { name: 'a status that is none', text: 'HTTP/1.1 2000 OK\r\n\r\n' },
    { name: 'a header without a name', text: 'HTTP/1.1 200 OK\r\n: x\r\n\r\n' },
    { name: 'a header that goes on in the next line', text: 'HTTP/1.1 200 OK\r\nA: 1\r\n 2\r\n\r\n' },
    { name: 'a blank before the colon', text: 'HTTP/1.1 200 OK\r\nContent-Length : 5\r\n\r\n' },
    { name: 'two lengths', text: 'HTTP/1.1 200 OK\r\nContent-Length: 5\r\nContent-Length: 6\r\n\r\n' },
    { name: 'a length that is no number', text: 'HTTP/1.1 200 OK\r\nContent-Length: -5\r\n\r\n' },
    { name: 'a coding that is not known', text: 'HTTP/1.1 200 OK\r\nTransfer-Encoding: gzip, chunked\r\n\r\n' },
    { name: 'a chunk without a size', text: 'HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\nx\r\n' },
    { name: 'a chunk that is too long', text: 'HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n1\r\nab\r\n' },
    { name: 'a head without end', text: `HTTP/1.1 200 OK\r\nA: ${'x'.repeat(70_000)}` },
  ])('$name is refused', ({ text }) => {
    expect(() => read(text, size)).toThrow(ProtocolError)
  })
})
