/** HTTP requests for a body: as kube-apiserver sends them, and in every odd way. */
import { gzipSync } from 'node:zlib'
import type { Random } from '../random.ts'

export interface Case {
  path: string
  body: Buffer
  /** How it is sent; absent for a plain POST. */
  form?: string
}

type Form = (path: string, body: Buffer) => Buffer | string

const head = (method: string, path: string, headers: readonly string[], version = '1.1') =>
  `${method} ${path} HTTP/${version}\r\n${headers.map((line) => `${line}\r\n`).join('')}\r\n`

const HOST = 'Host: localhost'
const JSON_TYPE = 'Content-Type: application/json'
const length = (body: Buffer) => `Content-Length: ${body.length}`

function posted(path: string, body: Buffer, headers: readonly string[], version?: string): Buffer {
  return Buffer.concat([Buffer.from(head('POST', path, [HOST, ...headers], version)), body])
}

function chunked(path: string, body: Buffer, size: number): Buffer {
  const parts: Buffer[] = [Buffer.from(head('POST', path, [HOST, JSON_TYPE, 'Transfer-Encoding: chunked']))]
  for (let at = 0; at < body.length; at += size) {
    const chunk = body.subarray(at, at + size)
    parts.push(Buffer.from(`${chunk.length.toString(16)}\r\n`), chunk, Buffer.from('\r\n'))
  }
  return Buffer.concat([...parts, Buffer.from('0\r\n\r\n')])
}

/** Each is answered, or its connection is closed; the last of them end the request early. */
const FORMS: Readonly<Record<string, Form>> = {
  'type text/plain': (path, body) => posted(path, body, ['Content-Type: text/plain', length(body)]),
  'type with charset': (path, body) =>
    posted(path, body, ['Content-Type: application/json; charset=latin1', length(body)]),
  'no type': (path, body) => posted(path, body, [length(body)]),
  'odd type': (path, body) => posted(path, body, ['Content-Type: \x01/;;=,', length(body)]),
  'announced gzip': (path, body) => posted(path, body, [JSON_TYPE, 'Content-Encoding: gzip', length(body)]),
  'real gzip': (path, body) => {
    const packed = gzipSync(body, { level: 1 })
    return posted(path, packed, [JSON_TYPE, 'Content-Encoding: gzip', length(packed)])
  },
  'large chunks': (path, body) => chunked(path, body, 4_096),
  'small chunks': (path, body) => chunked(path, body.subarray(0, 3_000), 3),
  'chunk extensions': (path, body) =>
    chunked(path, body, 512).toString('latin1').replaceAll('200\r\n', '200;name="value"\r\n'),
  'method GET': (path) => head('GET', path, [HOST]),
  'method PUT': (path, body) => Buffer.concat([Buffer.from(head('PUT', path, [HOST, JSON_TYPE, length(body)])), body]),
  'method OPTIONS': (path) => head('OPTIONS', path, [HOST]),
  'method unknown': (path) => head('BREW', path, [HOST]),
  'path unknown': (path, body) => posted(`${path}/../../x?y=%00&__proto__=1`, body, [JSON_TYPE, length(body)]),
  'path invalid': (path, body) => posted(`${path}/%zz%`, body, [JSON_TYPE, length(body)]),
  'path long': (path, body) => posted(`${path}?${'q'.repeat(6_000)}`, body, [JSON_TYPE, length(body)]),
  'query of kube-apiserver': (path, body) => posted(`${path}?timeout=10s`, body, [JSON_TYPE, length(body)]),
  'absolute URI': (path, body) => posted(`https://localhost${path}`, body, [JSON_TYPE, length(body)]),
  'HTTP/1.0': (path, body) => posted(path, body, [JSON_TYPE, length(body)], '1.0'),
  'HTTP/9.9': (path, body) => posted(path, body, [JSON_TYPE, length(body)], '9.9'),
  'headers beyond the limit': (path, body) => posted(path, body, [JSON_TYPE, length(body), `X: ${'x'.repeat(20_000)}`]),
  'many headers': (path, body) =>
    posted(path, body, [JSON_TYPE, length(body), ...Array.from({ length: 900 }, (_, i) => `X-${i}: 1`)]),
  'two lengths': (path, body) => posted(path, body, [JSON_TYPE, length(body), 'Content-Length: 7']),
  'length and chunked': (path, body) => posted(path, body, [JSON_TYPE, length(body), 'Transfer-Encoding: chunked']),
  'negative length': (path, body) => posted(path, body, [JSON_TYPE, 'Content-Length: -5']),
  'length beyond the limit': (path) => posted(path, Buffer.alloc(0), [JSON_TYPE, 'Content-Length: 99999999999']),
  'length too short': (path, body) => posted(path, body, [JSON_TYPE, `Content-Length: ${body.length >> 1}`]),
  'expects 100-continue': (path, body) => posted(path, body, [JSON_TYPE, length(body), 'Expect: 100-continue']),
  'expects more': (path, body) => posted(path, body, [JSON_TYPE, length(body), 'Expect: the-impossible']),
  'asks for an upgrade': (path, body) =>
    posted(path, body, [JSON_TYPE, length(body), 'Connection: Upgrade', 'Upgrade: h2c']),
  'no host': (path, body) => Buffer.concat([Buffer.from(head('POST', path, [JSON_TYPE, length(body)])), body]),
  'bare line feeds': (path, body) =>
    posted(path, body, [JSON_TYPE, length(body)])
      .toString('latin1')
      .replaceAll('\r\n', '\n'),
  'control characters in a header': (path, body) => posted(path, body, [JSON_TYPE, length(body), 'X: \x00\x01']),
  'no HTTP': (_path, body) => body,
  'HTTP/2 preface': () => 'PRI * HTTP/2.0\r\n\r\nSM\r\n\r\n',
  'length too long': (path, body) => posted(path, body, [JSON_TYPE, `Content-Length: ${body.length + 10}`]),
  'last chunk missing': (path, body) => chunked(path, body, 1_000).subarray(0, -5),
}

const FORM_NAMES = Object.keys(FORMS)

export function encodeRequest({ path, body, form }: Case): Buffer {
  const encode = form === undefined ? undefined : FORMS[form]
  const request = encode ? encode(path, body) : posted(path, body, [JSON_TYPE, length(body)])
  return Buffer.isBuffer(request) ? request : Buffer.from(request, 'latin1')
}

export function anyForm(random: Random): string {
  return random.pick(FORM_NAMES)
}
