/** Tests the contract of `CertificateStorage`. The test of each implementation runs this suite. */
import { beforeAll, describe, expect, test } from 'vitest'
import { makeLeaf } from './leaf.ts'
import { makeAuthority } from './renewal.ts'
import { openCertificates } from './rotation.ts'
import type { CertificateStorage, StoredCertificates } from './storage.ts'

/** Two states for tests: one with a CA and a leaf, and one with a next CA, a retired CA and another leaf in addition. */
export type StoredSamples = [StoredCertificates, StoredCertificates]

let samples: Promise<StoredSamples> | undefined

/** Returns the samples, which are created once per test file, because keys take time. */
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

/** Describes a storage. `open` returns two views of one empty storage, as two replicas have. */
export function describeStorage(open: () => Promise<[CertificateStorage, CertificateStorage]>): void {
  describe('a certificate storage', () => {
    let first: StoredCertificates
    let second: StoredCertificates

    beforeAll(async () => {
      ;[first, second] = await storedSamples()
    })

    test('is empty at first', async () => {
      const [storage] = await open()
      expect(await storage.read()).toBeUndefined()
    })

    test('returns the certificates that another replica wrote', async () => {
      const [a, b] = await open()
      expect(await a.write(first, undefined)).toBe(true)
      expect(await b.read()).toEqual(first)
      expect(await b.write(second, first)).toBe(true)
      expect(await a.read()).toEqual(second)
      expect(await a.write(first, second)).toBe(true)
      expect(await b.read()).toEqual(first)
    })

    test('rejects a write that is based on an old state', async () => {
      const [a, b] = await open()
      await a.write(first, undefined)
      expect(await b.write(second, undefined)).toBe(false)
      expect(await a.write(second, first)).toBe(true)
      expect(await b.write(first, first)).toBe(false)
      expect(await b.read()).toEqual(second)
    })

    test('accepts one of two concurrent writes', async () => {
      const [a, b] = await open()
      const won = await Promise.all([a.write(first, undefined), b.write(second, undefined)])
      expect(won.filter(Boolean)).toHaveLength(1)
      expect(await a.read()).toEqual(won[0] ? first : second)
    })

    test('gives two replicas that start at once the same certificate', async () => {
      const hosts = ['localhost']
      const open2 = (await open()).map((storage) => openCertificates({ storage, hosts, now: Date.now }))
      const [a, b] = await Promise.all(open2)
      expect(a?.current()).toEqual(b?.current())
      a?.stop()
      b?.stop()
    })
  })
}
