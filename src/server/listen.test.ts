import { once } from 'node:events'
import { type AddressInfo, connect, createServer } from 'node:net'
import type { networkInterfaces } from 'node:os'
import { expect, test } from 'vitest'
import { listen, usableHost } from './listen.ts'

type Interfaces = ReturnType<typeof networkInterfaces>

const address = (family: 'IPv4' | 'IPv6') => ({ family }) as NonNullable<Interfaces[string]>[number]

test.each([
  { name: 'a machine with both families', interfaces: { lo: [address('IPv4')], eth0: [address('IPv6')] }, want: '::' },
  { name: 'a pod of a cluster with IPv6 only', interfaces: { eth0: [address('IPv6')] }, want: '::' },
  { name: 'a kernel without IPv6', interfaces: { lo: [address('IPv4')] }, want: '0.0.0.0' },
  { name: 'an interface without addresses', interfaces: { lo: undefined }, want: '0.0.0.0' },
])('every address of $name is $want', ({ interfaces, want }) => {
  expect(usableHost('::', interfaces)).toBe(want)
})

test.each(['0.0.0.0', '127.0.0.1', '::1', 'localhost'])('the host %s is used as it is', (host) => {
  expect(usableHost(host, {})).toBe(host)
})

test.each([
  {
    code: 'EADDRNOTAVAIL',
    given: { hostSetting: 'server.host' },
    want: 'the host is not an address of this machine; change server.host',
  },
  {
    code: 'EADDRNOTAVAIL',
    given: { hostSetting: '--address' },
    want: 'the host is not an address of this machine; change --address',
  },
  { code: 'ENOTFOUND', given: { hostSetting: '--address' }, want: 'the host has no address; change --address' },
  {
    code: 'EADDRINUSE',
    given: { hostSetting: '--address' },
    want: 'another process uses the port; choose another one with --port, 0 for a free one',
  },
  {
    code: 'EADDRINUSE',
    given: { hostSetting: 'server.host', portKey: 'server.port' },
    want: 'another process uses the port; choose another one with --port or server.port, 0 for a free one',
  },
])('$code names the setting to change: $want', async ({ code, given, want }) => {
  const refused = listen({ host: '10.9.9.9', port: 443, option: '--port', ...given }, async () => {
    throw Object.assign(new Error('refused'), { code })
  })
  await expect(refused).rejects.toThrow(`cannot listen on 10.9.9.9:443: ${want}`)
})

test('a server that listens on all addresses accepts a client with IPv4', async () => {
  const server = createServer((socket) => socket.end('hello'))
  await listen({ host: '::', port: 0, option: '--port', hostSetting: '--address' }, async (host) => {
    server.listen(0, host)
    await once(server, 'listening')
  })
  const socket = connect((server.address() as AddressInfo).port, '127.0.0.1')
  const [data] = (await once(socket, 'data')) as [Buffer]
  expect(data.toString()).toBe('hello')
  socket.destroy()
  server.close()
})
