import { networkInterfaces } from 'node:os'
import fc from 'fast-check'
import { describe, expect, test } from 'vitest'
import { isNetwork, localHostFault } from './local-address.ts'

describe('an endpoint may not be at', () => {
  test.each([
    ...['127.0.0.1', '127.1', '127.255.255.254', '2130706433', '0x7f000001', '0x7f.1', '0177.0.0.1', '017700000001'],
    ...['127.0.0.1.', '0x7F.0.0.0x1', '0', '0.0.0.0', '0.1.2.3'],
    ...['169.254.169.254', '2852039166', '0xa9fea9fe', '0251.0376.0251.0376', '169.254.43518', '169.254.0.1'],
    ...['::1', '[::1]', '0:0:0:0:0:0:0:1', '::', '[::]', 'fe80::1', '[fe80::1]', 'febf::1', 'fe80::1%eth0'],
    ...['::ffff:127.0.0.1', '[::ffff:7f00:1]', '::ffff:169.254.169.254', '::127.0.0.1', '::7f00:1'],
    ...['64:ff9b::a9fe:a9fe', '2002:7f00:1::', '2002:a9fe:a9fe::1', '::ffff:0:7f00:1'],
    ...['fd00:ec2::254', '[FD00:EC2::254]', '100.100.100.200'],
    ...['168.63.129.16', '::ffff:168.63.129.16', '192.0.0.192', 'fd20:ce::254', '[fd20:ce::254]'],
    ...['64:ff9b:1::1', '64:ff9b:1:ffff::a00:7', '2001::1', '2001:0:7f00:1::', '224.0.0.1', '239.255.255.255'],
    ...['ff02::1', 'ff0e::1', '255.255.255.255', '::ffff:255.255.255.255', '64:ff9b::a83f:8110', '2002:e000:1::'],
    ...['localhost', 'LOCALHOST', 'localhost.', 'a.localhost', 'localhost.localdomain', 'ip6-loopback'],
    ...['127.0.0.256', '1.2.3.4.5', '08', '0x', '1.2.3.0xg.0x'],
  ])('%s', (host) => {
    expect(localHostFault(host, [])).toContain(host)
  })
})

describe('an endpoint may be at', () => {
  test.each([
    ...['10.0.0.7', '192.168.0.1', '172.16.0.1', '203.0.113.7', '126.255.255.255', '128.0.0.1', '169.253.1.1'],
    ...['168.63.129.17', '192.0.0.191', 'fd20:ce::253', '64:ff9b:2::1', '2001:1::1', '223.255.255.255'],
    ...['[fd00::7]', '2001:db8::1', 'fec0::1', '::ffff:10.0.0.7', '64:ff9b::a00:7', '2002:a00:7::'],
    ...[
      'minio',
      's3.eu-central-1.amazonaws.com',
      'localhost.example.org',
      'notlocalhost',
      '127.0.0.1.example.org',
      '1a',
    ],
  ])('%s', (host) => {
    expect(localHostFault(host, [])).toBeUndefined()
  })
})

describe('an allowed network', () => {
  test.each([
    { host: '127.0.0.1', allowed: ['127.0.0.0/8'], want: true },
    { host: '0x7f.1', allowed: ['127.0.0.1'], want: true },
    { host: 'localhost', allowed: ['127.0.0.0/8'], want: true },
    { host: '::ffff:127.0.0.1', allowed: ['127.0.0.0/8'], want: true },
    { host: '::1', allowed: ['127.0.0.0/8'], want: false },
    { host: '::1', allowed: ['::1'], want: true },
    { host: '127.0.0.2', allowed: ['127.0.0.1/32'], want: false },
    { host: '169.254.169.254', allowed: ['127.0.0.0/8'], want: false },
    { host: '169.254.169.254', allowed: ['127.0.0.0/8', '169.254.169.254/32'], want: true },
    { host: 'localhost', allowed: ['::1/128'], want: false },
  ])('$allowed allows $host: $want', ({ host, allowed, want }) => {
    expect(localHostFault(host, allowed) === undefined).toBe(want)
  })

  test.each([
    ...[
      ['127.0.0.0/8', true],
      ['::1', true],
      ['fe80::/10', true],
      ['127.0.0.1', true],
    ],
    ...[
      ['127.0.0.0/33', false],
      ['localhost', false],
      ['', false],
      ['/8', false],
    ],
  ] as [string, boolean][])('%s is one: %s', (text, want) => {
    expect(isNetwork(text)).toBe(want)
  })
})

const octet = fc.integer({ min: 0, max: 255 })
const spelled = (value: number) =>
  fc.constantFrom(
    `${value}`,
    `0x${value.toString(16)}`,
    `0X${value.toString(16).toUpperCase()}`,
    `0${value.toString(8)}`,
  )
const joined = (parts: number[]) => fc.tuple(...parts.map(spelled)).map((texts) => texts.join('.'))

/** An IPv4 address in any notation of inet_aton. */
const spelling = fc
  .tuple(octet, octet, octet, octet)
  .chain(([a, b, c, d]) =>
    fc
      .oneof(
        joined([a, b, c, d]),
        joined([a, b, c * 256 + d]),
        joined([a, b * 65_536 + c * 256 + d]),
        joined([a * 16_777_216 + b * 65_536 + c * 256 + d]),
        fc.constant(`::ffff:${a}.${b}.${c}.${d}`),
      )
      .map((text) => ({ text, octets: [a, b, c, d] as const })),
  )

const SINGLE = new Set(['100.100.100.200', '168.63.129.16', '192.0.0.192', '255.255.255.255'])

test('in any notation, an address is treated as the one that a connection uses', () => {
  fc.assert(
    fc.property(spelling, ({ text, octets }) => {
      // The independent check: Node's URL parser, which returns the address of a connection.
      const { hostname } = new URL(text.includes(':') ? `http://[${text}]/` : `http://${text}/`)
      expect(text.includes(':') || hostname === octets.join('.'), `${text} is ${hostname}`).toBe(true)
      const [a, b, , d] = octets
      const isMulticast = a >= 224 && a <= 239
      const isLocal = a === 127 || a === 0 || (a === 169 && b === 254) || isMulticast || SINGLE.has(octets.join('.'))
      expect([text, d, localHostFault(text, []) !== undefined]).toEqual([text, d, isLocal])
    }),
    { numRuns: 1_000 },
  )
})

test('every loopback and link-local address of this machine is rejected', () => {
  const own = Object.values(networkInterfaces()).flatMap((list) => list ?? [])
  const local = own.filter(({ address }) => /^(127\.|169\.254\.|fe80:|::1$)/.test(address))
  for (const { address } of local) expect(localHostFault(address, [])).toBeDefined()
})

test('never throws, for any host', () => {
  const host = fc.oneof(
    fc.string({ unit: 'binary', maxLength: 20 }),
    fc.string({ unit: fc.constantFrom(...'0123456789abcdefx.:%[]/') }),
  )
  fc.assert(
    fc.property(host, (text) => void localHostFault(text, ['127.0.0.0/8', '::1'])),
    { numRuns: 1_000 },
  )
})
