/** Tests the text that a signature by an account key covers, with the example of Microsoft's documentation. */
import { expect, test } from 'vitest'
import { stringToSign } from './shared-key.ts'

test('a request without a body', () => {
  const request = {
    method: 'GET',
    path: '/mycontainer',
    query: { restype: 'container', comp: 'metadata', timeout: '20' },
    headers: { 'x-ms-date': 'Fri, 26 Jun 2015 23:39:12 GMT', 'x-ms-version': '2015-02-21' },
    contentLength: 0,
  }

  expect(stringToSign(request, 'myaccount')).toBe(
    'GET\n\n\n\n\n\n\n\n\n\n\n\nx-ms-date:Fri, 26 Jun 2015 23:39:12 GMT\nx-ms-version:2015-02-21\n' +
      '/myaccount/mycontainer\ncomp:metadata\nrestype:container\ntimeout:20',
  )
})

test('a range, a condition and a body have lines of their own', () => {
  const request = {
    method: 'PUT',
    path: '/lake/a%20b',
    query: {},
    headers: { range: 'bytes=0-4', 'if-match': '"0x8D"', 'content-md5': 'MD5', 'x-ms-blob-type': 'BlockBlob' },
    contentLength: 11,
  }

  expect(stringToSign(request, 'sales').split('\n')).toEqual([
    'PUT',
    '',
    '',
    '11',
    'MD5',
    '',
    '',
    '',
    '"0x8D"',
    '',
    '',
    'bytes=0-4',
    'x-ms-blob-type:BlockBlob',
    '/sales/lake/a%20b',
  ])
})

test('metadata is in the order of .NET: an underscore before digits and letters', () => {
  const names = [
    'x-ms-date',
    'x-ms-meta-crc_type',
    'x-ms-meta-crc32',
    'x-ms-meta-crc',
    'x-ms-meta-crca',
    'x-ms-version',
  ]
  const headers = Object.fromEntries(names.toReversed().map((name) => [name, '1']))
  const text = stringToSign({ method: 'PUT', path: '/lake/a', query: {}, headers, contentLength: 0 }, 'sales')

  expect(text.split('\n').filter((line) => line.startsWith('x-ms-'))).toEqual([
    'x-ms-date:1',
    'x-ms-meta-crc:1',
    'x-ms-meta-crc_type:1',
    'x-ms-meta-crc32:1',
    'x-ms-meta-crca:1',
    'x-ms-version:1',
  ])
})
