import { expect, test } from 'vitest'
import { isInNetwork, isLoopback, parseAddress } from './network.ts'

test.each([
  { text: '10.1.2.3', want: '10.1.2.3' },
  { text: '::1', want: '::1' },
  { text: '[::1]', want: '::1' },
  { text: '2001:db8:0::8:800:200c:417a', want: '2001:db8::8:800:200c:417a' },
  { text: '::ffff:127.0.0.1', want: '127.0.0.1' },
  { text: '::ffff:7f00:1', want: '127.0.0.1' },
  ...['', '10.1.2', '10.1.2.256', '10.1.2.3.4', '0x7f.1', 'a.b.c.d', '1::2::3', ':::', '1:2:3:4:5:6:7', 'g::1'].map(
    (text) => ({ text, want: undefined }),
  ),
  ...['12345::', 'example.org', '[10.0.0.1'].map((text) => ({ text, want: undefined })),
])('the address $text', ({ text, want }) => {
  expect(parseAddress(text)?.toString()).toBe(want)
})

test.each([
  { address: '10.200.0.1', network: '10.0.0.0/8', want: true },
  { address: '11.0.0.1', network: '10.0.0.0/8', want: false },
  { address: '192.168.1.9', network: '192.168.1.8/31', want: true },
  { address: '192.168.1.10', network: '192.168.1.8/31', want: false },
  { address: '8.8.8.8', network: '0.0.0.0/0', want: true },
  { address: 'fd00::7', network: 'fd00::/8', want: true },
  { address: 'fe80::7', network: 'fd00::/8', want: false },
  { address: '10.0.0.1', network: '::/0', want: false },
  { address: 'example.org', network: '10.0.0.0/8', want: false },
  { address: '10.0.0.1', network: '10.0.0.0/33', want: undefined },
  { address: '10.0.0.1', network: '10.0.0.1', want: undefined },
  { address: '10.0.0.1', network: 'example.org/8', want: undefined },
])('$address in $network: $want', ({ address, network, want }) => {
  expect(isInNetwork(parseAddress(address), network)).toBe(want)
})

test.each([
  { host: 'localhost', want: true },
  { host: 'LOCALHOST', want: true },
  { host: '127.8.8.8', want: true },
  { host: '[::1]', want: true },
  { host: '[::ffff:7f00:1]', want: true },
  { host: '128.0.0.1', want: false },
  { host: '[::2]', want: false },
  { host: 'localhost.example.org', want: false },
])('$host is this machine: $want', ({ host, want }) => {
  expect(isLoopback(host)).toBe(want)
})
