/** Which proxy a request goes through. */
import { expect, test } from 'vitest'
import { proxyFor } from './proxy.ts'

const env = { HTTPS_PROXY: 'http://proxy:3128', http_proxy: 'http://plain:3128' }

test.each([
  { url: 'https://s3.example.org', noProxy: '', want: 'http://proxy:3128' },
  { url: 'http://s3.example.org', noProxy: '', want: 'http://plain:3128' },
  { url: 'https://s3.example.org', noProxy: '*', want: undefined },
  { url: 'https://s3.example.org', noProxy: 'example.org', want: undefined },
  { url: 'https://s3.example.org', noProxy: 'x, .example.org', want: undefined },
  { url: 'https://s3.example.org', noProxy: '*.example.org', want: undefined },
  { url: 'https://s3.EXAMPLE.org', noProxy: 'Example.ORG', want: undefined },
  { url: 'https://notexample.org', noProxy: 'example.org', want: 'http://proxy:3128' },
  { url: 'https://s3.example.org', noProxy: 'example.org:443', want: undefined },
  { url: 'https://s3.example.org', noProxy: 'example.org:9000', want: 'http://proxy:3128' },
  { url: 'http://10.0.0.1', noProxy: '10.0.0.1', want: undefined },
])('$url with NO_PROXY=$noProxy', ({ url, noProxy, want }) => {
  const { protocol, hostname } = new URL(url)
  const port = protocol === 'https:' ? '443' : '80'

  expect(proxyFor({ protocol, hostname, port }, { ...env, NO_PROXY: noProxy })).toBe(want)
})

test('without variables there is none', () => {
  expect(proxyFor({ protocol: 'https:', hostname: 'h', port: '443' }, {})).toBeUndefined()
})
