import { afterEach, beforeAll, beforeEach, describe, expect, test, vi } from 'vitest'
import { makeLeaf } from './leaf.ts'
import { openMemoryStorage } from './memory-storage.ts'
import { otherAuthorities } from './other-authorities.fake.ts'
import { CA_LIFE_MS, LEAF_LIFE_MS } from './renew.ts'
import { makeAuthority } from './renewal.ts'
import { type OpenCertificatesInput, openCertificates } from './rotation.ts'
import type { CertificateSource } from './source.ts'
import { BrokenCertificatesError, type CertificateStorage, type StoredCertificates } from './storage.ts'
import { joinCaBundle } from './stored-files.ts'
import { certificateHosts, isSignedBy, parseCertificates } from './x509.ts'

const MINUTE = 60_000
const DAY = 24 * 60 * MINUTE
const START = Date.UTC(2030, 0, 1)

let clock: number
let storage: CertificateStorage
/** Created once, at START, because keys take time. */
let seed: StoredCertificates
const sources: CertificateSource[] = []
const heard: string[] = []

beforeAll(async () => {
  const signing = await makeAuthority(START)
  seed = { signing, retired: [], leaf: await makeLeaf({ ca: signing, hosts: ['localhost'], now: START }) }
})
beforeEach(async () => {
  clock = START
  storage = openMemoryStorage()
  await storage.write(seed, undefined)
  heard.length = 0
})
afterEach(() => {
  for (const source of sources.splice(0)) source.stop()
})

async function open(more: Partial<OpenCertificatesInput> = {}): Promise<CertificateSource> {
  const observer = {
    renewed: (what: string, reason: string) => void heard.push(`${what}: ${reason}`),
    failed: (error: Error) => void heard.push(error.message),
  }
  const source = await openCertificates({ storage, hosts: ['localhost'], now: () => clock, observer, ...more })
  sources.push(source)
  return source
}

/** The CAs in the bundle of a source, and the index of the CA that signed its leaf. */
function trustOf(source: CertificateSource): { bundle: string[]; issuer: number } {
  const { certPem, caBundlePem = '' } = source.current()
  const cas = parseCertificates(caBundlePem)
  const [leaf] = parseCertificates(certPem)
  return { bundle: cas.map(({ pem }) => pem), issuer: cas.findIndex((ca) => isSignedBy(leaf, ca)) }
}

describe('the rotation', () => {
  test('creates a CA and a leaf at the first start, and reads them at the next one', async () => {
    storage = openMemoryStorage()
    const source = await open()
    expect(source.current().notAfter).toBe(START + LEAF_LIFE_MS)
    expect(heard).toEqual(['signing CA: missing', 'serving certificate: missing'])
    expect((await open()).current()).toEqual(source.current())
    expect(heard).toHaveLength(2)
  })

  test.each(otherAuthorities)('signs with the CA that the user stored, with a key of $name', async ({ ca }) => {
    await storage.write({ ...seed, signing: ca }, seed)
    const source = await open()
    expect(heard).toEqual(['serving certificate: not-signed-by-ca'])
    expect(trustOf(source)).toEqual({ bundle: [parseCertificates(ca.certPem)[0].pem], issuer: 0 })
  })

  test('names the reason if the CA that the user stored cannot sign', async () => {
    await storage.write({ ...seed, signing: seed.leaf }, seed)
    await expect(open()).rejects.toThrow('the CA may not sign certificates')
  })

  test('renews the leaf at two thirds of its life, calls subscribers, and keeps the CA', async () => {
    const source = await open()
    const before = source.current()
    const listener = vi.fn()
    const unsubscribe = source.subscribe(listener)
    clock += 59 * DAY
    await source.check()
    expect(listener).not.toHaveBeenCalled()
    clock += 2 * DAY
    await source.check()
    expect(listener.mock.calls).toEqual([[source.current()]])
    expect(source.current().certPem).not.toBe(before.certPem)
    expect(source.current().caBundlePem).toBe(before.caBundlePem)
    unsubscribe()
    clock += 61 * DAY
    await source.check()
    expect(listener).toHaveBeenCalledOnce()
  })

  test('keeps the old CA in the bundle until it expires', async () => {
    const source = await open()
    const old = trustOf(source).bundle[0]
    clock = START + CA_LIFE_MS * 0.7
    await source.check()
    expect(trustOf(source)).toMatchObject({ bundle: [expect.anything(), old], issuer: 1 })
    clock += 3 * MINUTE
    await source.check()
    expect(trustOf(source)).toMatchObject({ bundle: [expect.anything(), old], issuer: 0 })
    clock = START + CA_LIFE_MS - MINUTE
    await source.check()
    expect(trustOf(source).bundle).toContain(old)
    clock = START + CA_LIFE_MS
    await source.check()
    expect(trustOf(source).bundle).toHaveLength(1)
    expect(trustOf(source).bundle).not.toContain(old)
  })

  test('does not change the bundle when the new CA begins to sign', async () => {
    const source = await open({ renewAuthority: true })
    const { caBundlePem } = source.current()
    const stored = await storage.read()
    expect(stored && joinCaBundle(stored)).toBe(caBundlePem)
    clock += 3 * MINUTE
    await source.check()
    expect(heard).toEqual(['next CA: requested', 'signing CA: requested', 'serving certificate: not-signed-by-ca'])
    expect(source.current().caBundlePem).toBe(caBundlePem)
  })

  test('does not sign with a new CA while the registration lacks it', async () => {
    let published = false
    await open()
    const source = await open({ renewAuthority: true, isPublished: () => published })
    clock += DAY
    await source.check()
    expect(trustOf(source).issuer).toBe(1)
    published = true
    await source.check()
    expect(trustOf(source).issuer).toBe(0)
  })

  test('covers old and new hosts in a rollout, and drops old ones at the next renewal', async () => {
    const before = await open({ hosts: ['localhost'] })
    const after = await open({ hosts: ['new.svc', '10.0.0.1'] })
    await before.check()
    expect(before.current()).toEqual(after.current())
    expect(certificateHosts(parseCertificates(after.current().certPem)[0])).toEqual([
      'new.svc',
      '10.0.0.1',
      'localhost',
    ])
    clock += 61 * DAY
    await after.check()
    expect(certificateHosts(parseCertificates(after.current().certPem)[0])).toEqual(['new.svc', '10.0.0.1'])
  })

  test('serves the certificate that another replica renewed', async () => {
    const [a, b] = [await open(), await open()]
    clock += 61 * DAY
    await Promise.all([a.check(), b.check()])
    await Promise.all([a.check(), b.check()])
    expect(a.current()).toEqual(b.current())
    expect(heard.filter((line) => line.startsWith('serving certificate: two-thirds'))).toHaveLength(1)
  })

  test('does not serve the certificate of a replica with a wrong clock', async () => {
    const good = await open()
    const before = good.current()
    const wrong = await open({ now: () => START - 400 * DAY })
    wrong.stop()
    await good.check()
    expect(good.current().notAfter).toBe(START + LEAF_LIFE_MS)
    expect(trustOf(good).bundle).toEqual([before.caBundlePem])
  })

  test('replaces all certificates that expired while no replica ran', async () => {
    const first = await open()
    first.stop()
    clock += 2 * CA_LIFE_MS
    const source = await open()
    expect(trustOf(source)).toMatchObject({ bundle: [expect.anything()], issuer: 0 })
    expect(source.current().notAfter).toBe(clock + LEAF_LIFE_MS)
  })

  test('publishes a new CA after a deletion, and signs with the old one for the overlap', async () => {
    let current = storage
    const source = await open({
      storage: { read: () => current.read(), write: (next, previous) => current.write(next, previous) },
    })
    const before = source.current()
    current = openMemoryStorage()
    await source.check()
    expect(source.current().certPem).toBe(before.certPem)
    expect(trustOf(source)).toMatchObject({ bundle: [expect.anything(), before.caBundlePem], issuer: 1 })
    clock += 3 * MINUTE
    await source.check()
    expect(trustOf(source).issuer).toBe(0)
  })
})

describe('a storage that fails', () => {
  const broken = new BrokenCertificatesError('Secret a/b: tls.key is missing; restore it')

  test('at the start causes an error', async () => {
    const read = () => Promise.reject(broken)
    await expect(open({ storage: { ...storage, read } })).rejects.toThrow(broken)
  })

  test('later is reported, and the last valid certificate stays in use', async () => {
    let fails = false
    const source = await open({
      storage: { ...storage, read: () => (fails ? Promise.reject(broken) : storage.read()) },
    })
    const before = source.current()
    fails = true
    await source.check()
    expect(heard).toContain(broken.message)
    expect(source.current()).toBe(before)
  })

  test('at a write serves the stored certificate although its renewal is due', async () => {
    const before = (await open()).current()
    clock += 61 * DAY
    const write = () => Promise.reject(new Error('secrets is forbidden'))
    const source = await open({ storage: { ...storage, write } })
    expect(source.current()).toEqual(before)
    expect(heard).toContain('secrets is forbidden')
  })

  test('calls the other subscribers when one throws', async () => {
    const source = await open()
    const listener = vi.fn()
    source.subscribe(() => {
      throw new Error('no such socket')
    })
    source.subscribe(listener)
    clock += 61 * DAY
    await source.check()
    expect(listener).toHaveBeenCalledOnce()
    expect(heard).toContain('no such socket')
  })
})

test.each([
  { name: 'a jump of two months', ms: 61 * DAY },
  { name: 'a jump beyond the end of the CA', ms: 2 * CA_LIFE_MS },
])('the ticker checks by the wall clock after $name, and ends after stop', async ({ ms }) => {
  vi.useFakeTimers({ toFake: ['setTimeout', 'clearTimeout'] })
  try {
    const read = vi.fn(storage.read)
    const source = await open({ storage: { ...storage, read } })
    const renewed = new Promise((resolve) => source.subscribe(resolve))
    // The machine slept: the wall clock advanced, the timers did not.
    clock += ms
    vi.advanceTimersByTime(MINUTE)
    await renewed
    await source.check()
    expect(source.current().notAfter).toBe(clock + LEAF_LIFE_MS)
    expect(trustOf(source).issuer).toBeGreaterThanOrEqual(0)
    const timers = vi.getTimerCount()
    source.stop()
    // Compared within one step: connections of other test files may have timers too.
    expect(vi.getTimerCount()).toBe(timers - 1)
    const reads = read.mock.calls.length
    await source.check()
    expect(read).toHaveBeenCalledTimes(reads)
  } finally {
    vi.useRealTimers()
  }
})
