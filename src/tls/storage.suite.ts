/** The behavior of every certificate storage; the test of each implementation runs it. */
import { beforeAll, describe, expect, test } from 'vitest'
import { makeAuthority } from './authority.ts'
import { makeLeaf } from './leaf.ts'
import { openCertificates } from './rotation.ts'
import type { CertificateStorage, StoredCertificates } from './storage.ts'

/** Two states for tests: a CA that stands alone, and the same with a next CA, a retired one and another leaf. */
export type StoredSamples = [StoredCertificates, StoredCertificates]

let samples: Promise<StoredSamples> | undefined

/** The samples, made once per test file: keys take time. */
export function storedSamples(): Promise<StoredSamples> {
  samples ??= makeSamples(Date.now())
  return samples
}

async function makeSamples(now: number): Promise<StoredSamples> {
  const [signing, next] = await Promise.all([makeAuthority(now), makeAuthority(now)])
  const hosts = ['localhost']
  const [leaf, otherLeaf] = await Promise.all([
    makeLeaf({ ca: signing, hosts, now }),
    makeLeaf({ ca: signing, hosts, now }),
  ])
  return [
    { signing, retired: [], leaf },
    { signing, next, retired: [next.certPem], leaf: otherLeaf },
  ]
}

/** Describes a storage; `open` gives two views of one fresh, empty storage, as two replicas have. */
export function describeStorage(open: () => Promise<[CertificateStorage, CertificateStorage]>): void {
  describe('as a certificate storage', () => {
    let first: StoredCertificates
    let second: StoredCertificates

    beforeAll(async () => {
      ;[first, second] = await storedSamples()
    })

    test('it is empty at first', async () => {
      const [storage] = await open()
      expect(await storage.read()).toBeUndefined()
    })

    test('what one replica writes, the other reads', async () => {
      const [a, b] = await open()
      expect(await a.write(first, undefined)).toBe(true)
      expect(await b.read()).toEqual(first)
      expect(await b.write(second, first)).toBe(true)
      expect(await a.read()).toEqual(second)
      expect(await a.write(first, second)).toBe(true)
      expect(await b.read()).toEqual(first)
    })

    test('a write that comes too late changes nothing', async () => {
      const [a, b] = await open()
      await a.write(first, undefined)
      expect(await b.write(second, undefined)).toBe(false)
      expect(await a.write(second, first)).toBe(true)
      expect(await b.write(first, first)).toBe(false)
      expect(await b.read()).toEqual(second)
    })

    test('of two who write at once, one wins', async () => {
      const [a, b] = await open()
      const won = await Promise.all([a.write(first, undefined), b.write(second, undefined)])
      expect(won.filter(Boolean)).toHaveLength(1)
      expect(await a.read()).toEqual(won[0] ? first : second)
    })

    test('two replicas that start at once serve the same certificate of the same CA', async () => {
      const hosts = ['localhost']
      const open2 = (await open()).map((storage) => openCertificates({ storage, hosts, now: Date.now }))
      const [a, b] = await Promise.all(open2)
      expect(a?.current()).toEqual(b?.current())
      a?.stop()
      b?.stop()
    })
  })
}
