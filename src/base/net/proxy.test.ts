/** Tests which proxy a request uses. */
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
  { url: 'https://example.org', noProxy: '.example.org', want: 'http://proxy:3128' },
  { url: 'https://example.org', noProxy: '*.example.org', want: 'http://proxy:3128' },
  { url: 'https://example.org.', noProxy: 'example.org', want: undefined },
  { url: 'http://s3.example.org:9000', noProxy: 'example.org:9000', want: undefined },
  { url: 'http://s3.example.org:9001', noProxy: 'example.org:9000', want: 'http://plain:3128' },
  { url: 'http://10.1.2.3:9000', noProxy: '10.0.0.0/8', want: undefined },
  { url: 'http://11.1.2.3', noProxy: '10.0.0.0/8', want: 'http://plain:3128' },
  { url: 'http://s3.example.org', noProxy: '10.0.0.0/8', want: 'http://plain:3128' },
  { url: 'http://10.1.2.3:9000', noProxy: '10.1.2.3:9000', want: undefined },
  { url: 'http://10.1.2.3:9000', noProxy: '10.1.2.3:80', want: 'http://plain:3128' },
  { url: 'http://[fd00::7]:9000', noProxy: 'fd00::/8', want: undefined },
  { url: 'http://[fd00::7]:9000', noProxy: '[fd00::7]:9000', want: undefined },
  { url: 'http://[fd00::7]', noProxy: 'fd00:0:0::7', want: undefined },
  { url: 'http://[fd00::7]', noProxy: 'fd00::8', want: 'http://plain:3128' },
  { url: 'http://s3.example.org', noProxy: ':80, ,', want: 'http://plain:3128' },
])('$url with NO_PROXY=$noProxy', ({ url, noProxy, want }) => {
  expect(proxyFor(new URL(url), { ...env, NO_PROXY: noProxy })).toBe(want)
})

test('without variables there is no proxy', () => {
  expect(proxyFor({ protocol: 'https:', hostname: 'h', port: '443' }, {})).toBeUndefined()
})
