import { expect, test } from 'vitest'
import { base64ToHex, md5FromBase64 } from './checksum.ts'

test.each([
  { text: '', want: '' },
  { text: 'DUoRhQ==', want: '0d4a1185' },
  { text: '1B2M2Y8AsgTpgAmY7PhCfg==', want: 'd41d8cd98f00b204e9800998ecf8427e' },
  { text: '+/8=', want: 'fbff' },
  { text: '?', want: undefined },
])('$text in hexadecimal is $want', ({ text, want }) => {
  expect(base64ToHex(text)).toBe(want)
})

test.each([
  { text: '1B2M2Y8AsgTpgAmY7PhCfg==', want: 'd41d8cd98f00b204e9800998ecf8427e' },
  { text: 'DUoRhQ==', want: undefined },
  { text: undefined, want: undefined },
])('the MD5 in $text is $want', ({ text, want }) => {
  expect(md5FromBase64(text)).toBe(want)
})
