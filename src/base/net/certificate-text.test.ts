/** Tests which texts have a certificate in PEM form. */
import { expect, test } from 'vitest'
import { certificateProblem } from './certificate-text.ts'

const block = (label: string, end = label) => `-----BEGIN ${label}-----\nMIIB\n-----END ${end}-----\n`

test.each([
  { name: 'a certificate', text: block('CERTIFICATE') },
  { name: 'CRLF and text around it', text: `# my CA\r\n${block('CERTIFICATE').replaceAll('\n', '\r\n')}` },
  { name: 'a certificate behind a key', text: block('PRIVATE KEY') + block('CERTIFICATE') },
  { name: 'the labels of OpenSSL', text: block('TRUSTED CERTIFICATE') },
])('$name is accepted', ({ text }) => {
  expect(certificateProblem(text)).toBeUndefined()
})

test.each([
  { name: 'an empty text', text: '' },
  { name: 'another text', text: 'MIIB' },
  { name: 'a key', text: block('PRIVATE KEY') },
  { name: 'an incomplete certificate', text: '-----BEGIN CERTIFICATE-----\nMIIB' },
  { name: 'a certificate with another end', text: block('CERTIFICATE', 'PRIVATE KEY') },
])('$name is a problem', ({ text }) => {
  expect(certificateProblem(text)).toBe('has no certificate in PEM form')
})
