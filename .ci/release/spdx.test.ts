import { describe, expect, test } from 'vitest'
import { lockedPackages } from './lock.ts'
import { type SbomPackage, spdxOf } from './spdx.ts'

const subject = { name: 'lodestone', version: '1.2.3', purpose: 'APPLICATION', timeSeconds: 1_700_000_000 } as const
const one: SbomPackage = {
  name: 'one',
  version: '1.0.0',
  license: 'MIT',
  purl: 'pkg:npm/one@1.0.0',
  sha512: 'ab'.repeat(64),
}

interface Document {
  documentNamespace: string
  creationInfo: { created: string }
  packages: { SPDXID: string; name: string; licenseDeclared: string; checksums?: unknown[] }[]
  relationships: { spdxElementId: string; relatedSpdxElement: string }[]
}
const documentOf = (packages: readonly SbomPackage[]) => spdxOf(subject, packages) as unknown as Document

describe('a bill of materials', () => {
  test('describes the subject, which contains each package', () => {
    const { packages, relationships } = documentOf([one])
    expect(packages).toMatchObject([
      { SPDXID: 'SPDXRef-Subject', name: 'lodestone', licenseDeclared: 'Apache-2.0' },
      { name: 'one', checksums: [{ algorithm: 'SHA512', checksumValue: one.sha512 }] },
    ])
    expect(relationships.map(({ relatedSpdxElement }) => relatedSpdxElement)).toEqual(
      packages.map(({ SPDXID }) => SPDXID),
    )
  })

  test('has the time of the commit, and the same namespace in each build', () => {
    const two = { ...one, purl: 'pkg:npm/two@1.0.0' }
    expect(documentOf([one, two, one])).toEqual(documentOf([two, one]))
    expect(documentOf([one]).creationInfo.created).toBe('2023-11-14T22:13:20Z')
    expect(documentOf([one]).documentNamespace).not.toBe(documentOf([two]).documentNamespace)
  })

  test.each([
    { license: 'MIT', want: 'MIT' },
    { license: '(MIT OR Apache-2.0)', want: '(MIT OR Apache-2.0)' },
    { license: 'GPL-3.0-or-later WITH GCC-exception-3.1', want: 'GPL-3.0-or-later WITH GCC-exception-3.1' },
    { license: 'SEE LICENSE IN file', want: 'NOASSERTION' },
    { license: '', want: 'NOASSERTION' },
  ])('declares the license $license as $want', ({ license, want }) => {
    expect(documentOf([{ ...one, license }]).packages[1]?.licenseDeclared).toBe(want)
  })

  test('of package-lock.json has a valid identifier and a hash for each dependency', () => {
    const { packages, relationships } = documentOf([...lockedPackages('.').values()])
    const ids = packages.map(({ SPDXID }) => SPDXID)
    expect(ids.filter((id) => !/^SPDXRef-[A-Za-z0-9.-]+$/.test(id))).toEqual([])
    expect(new Set(ids).size).toBe(ids.length)
    expect(packages.slice(1).filter(({ checksums }) => checksums?.length !== 1)).toEqual([])
    const known = new Set([...ids, 'SPDXRef-DOCUMENT'])
    const named = relationships.flatMap(({ spdxElementId, relatedSpdxElement }) => [spdxElementId, relatedSpdxElement])
    expect(named.filter((id) => !known.has(id))).toEqual([])
  })
})
