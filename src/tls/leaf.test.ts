import { generateKeyPairSync } from 'node:crypto'
import { once } from 'node:events'
import { type AddressInfo, connect } from 'node:net'
import * as tls from 'node:tls'
import { beforeAll, describe, expect, test } from 'vitest'
import { defined } from '../base/json.ts'
import { normalizeHosts } from './hosts.ts'
import { makeLeaf } from './leaf.ts'
import { otherAuthorities } from './other-authorities.fake.ts'
import { makeAuthority } from './renewal.ts'
import { belongsTo, certificateHosts, isSignedBy, type PemPair, parseCertificates, uncoveredHosts } from './x509.ts'

const now = Date.now()
const DAY = 24 * 3600 * 1000
const HOSTS = ['lodestone.lodestone-system.svc.', 'LOCALHOST', '*.example.com.', '127.0.0.1', '::1', '2001:DB8:0::7']
let ca: PemPair
let leaf: PemPair

beforeAll(async () => {
  ca = await makeAuthority(now)
  leaf = await makeLeaf({ ca, hosts: HOSTS, now })
})

describe('a serving certificate', () => {
  test('has its DNS names and IP addresses as hosts, and no others', () => {
    const [parsed] = parseCertificates(leaf.certPem)
    expect(uncoveredHosts(parsed, HOSTS)).toEqual([])
    const others = ['example.com', 'lodestone', '127.0.0.2', '::2', '*.lodestone-system.svc']
    expect(uncoveredHosts(parsed, others)).toEqual(others)
    expect(certificateHosts(parsed)).toHaveLength(HOSTS.length)
    expect(certificateHosts(parsed).filter((host) => host.endsWith('.'))).toEqual([])
    expect(normalizeHosts(certificateHosts(parsed))).toEqual(normalizeHosts(HOSTS))
  })

  test('is signed by its CA, belongs to its key, and can serve but not sign', () => {
    const [parsed] = parseCertificates(leaf.certPem)
    const [authority] = parseCertificates(ca.certPem)
    expect(isSignedBy(parsed, authority)).toBe(true)
    expect(isSignedBy(authority, parsed)).toBe(false)
    expect(belongsTo(parsed, leaf.keyPem)).toBe(true)
    expect(belongsTo(parsed, ca.keyPem)).toBe(false)
    expect(parsed.x509.ca).toBe(false)
    expect(parsed.x509.keyUsage).toEqual(['1.3.6.1.5.5.7.3.1'])
    expect(authority.x509.ca).toBe(true)
  })

  test('is valid from an hour ago, for slow clocks, for 90 days, within its CA', async () => {
    const [parsed] = parseCertificates(leaf.certPem)
    const second = 1000
    expect(now - parsed.notBefore).toBeGreaterThanOrEqual(3600 * second)
    expect(Math.abs(parsed.notAfter - now - 90 * DAY)).toBeLessThan(second)
    const late = await makeLeaf({ ca, hosts: ['a.b'], now: now + 300 * DAY })
    expect(parseCertificates(late.certPem)[0].notAfter).toBe(parseCertificates(ca.certPem)[0].notAfter)
  })

  test('has a unique serial number, and so has the CA', () => {
    const serials = [leaf, ca].map((pair) => parseCertificates(pair.certPem)[0].x509.serialNumber)
    expect(new Set(serials).size).toBe(2)
    for (const serial of serials) expect(serial).toMatch(/^[4-7][0-9A-F]{31}$/)
  })

  test.each(['localhost', '127.0.0.1'])('is accepted by the TLS of Node for %s', async (host) => {
    expect(await isAccepted(leaf, ca, host)).toBe(true)
  })

  test.each(otherAuthorities)('is signed by a CA of another tool with a key of $name', async ({ ca: other }) => {
    const signed = await makeLeaf({ ca: other, hosts: HOSTS, now })
    const [parsed] = parseCertificates(signed.certPem)
    const [authority] = parseCertificates(other.certPem)
    expect(isSignedBy(parsed, authority)).toBe(true)
    expect(belongsTo(parsed, signed.keyPem)).toBe(true)
    expect(await isAccepted(signed, other, 'localhost')).toBe(true)
  })

  test('is signed by no CA whose key cannot sign here, with the remedy in the message', async () => {
    const { privateKey } = generateKeyPairSync('x25519')
    const keyPem = privateKey.export({ type: 'pkcs8', format: 'pem' }).toString()
    await expect(makeLeaf({ ca: { ...ca, keyPem }, hosts: HOSTS, now })).rejects.toThrow(
      'the key of the CA is of type x25519; use RSA, ECDSA or Ed25519',
    )
  })

  test('is signed by no certificate of a server, since no caller would accept it', async () => {
    await expect(makeLeaf({ ca: leaf, hosts: HOSTS, now })).rejects.toThrow(
      'the CA may not sign certificates; use one with the key usage keyCertSign',
    )
  })
})

/** Whether a client that trusts the CA accepts the certificate of a server. */
async function isAccepted(pair: PemPair, authority: PemPair, host: string): Promise<boolean> {
  const server = tls.createServer({ cert: pair.certPem, key: pair.keyPem }).listen(0, '127.0.0.1')
  await once(server, 'listening')
  const socket = connect((server.address() as AddressInfo).port, '127.0.0.1')
  const secure = tls.connect(
    defined({ socket, host, ca: authority.certPem, servername: host === 'localhost' ? host : undefined }),
  )
  await once(secure, 'secureConnect')
  const { authorized } = secure
  secure.destroy()
  server.close()
  return authorized
}

test.each([
  { name: 'an empty list', hosts: [] },
  { name: 'a URL', hosts: ['https://a.b'] },
  { name: 'a port', hosts: ['a.b:9443'] },
  { name: 'an incomplete address', hosts: ['10.0.0'] },
  { name: 'an address with a zone', hosts: ['fe80::1%eth0'] },
  { name: 'a label that is too long', hosts: [`${'a'.repeat(64)}.svc`] },
  { name: 'a star in the middle', hosts: ['a.*.b'] },
])('throws for $name', ({ hosts }) => {
  expect(() => normalizeHosts(hosts)).toThrow(/host|DNS name/)
})
