import { mkdir, rename, symlink, writeFile } from 'node:fs/promises'
import { join } from 'node:path'
import { afterEach, beforeAll, beforeEach, describe, expect, test } from 'vitest'
import { temporaryFolder } from '../../test/temporary-folder.ts'
import { defined } from '../base/json.ts'
import { openCertificateFiles } from './files.ts'
import { readIssuer } from './issuer.ts'
import { makeLeaf } from './leaf.ts'
import { keyIdentifier, makeCertificate } from './new-certificate.ts'
import { makeAuthority } from './renewal.ts'
import type { CertificateSource } from './source.ts'
import type { PemPair } from './x509.ts'

const now = Date.now()
const MINUTE = 60_000
let clock: number
let ca: PemPair
let otherCa: PemPair
let one: PemPair
let two: PemPair
let foreign: PemPair
let folder: string
let source: CertificateSource | undefined
const failures: string[] = []

beforeAll(async () => {
  ;[ca, otherCa] = await Promise.all([makeAuthority(now), makeAuthority(now)])
  const hosts = ['localhost']
  one = await makeLeaf({ ca, hosts, now })
  two = await makeLeaf({ ca, hosts, now })
  foreign = await makeLeaf({ ca: otherCa, hosts, now })
})
beforeEach(() => {
  clock = now
  failures.length = 0
  folder = temporaryFolder()
})
afterEach(() => {
  source?.stop()
  source = undefined
})

/** Makes the certificate of a CA below `issuer`. */
async function makeIntermediate(issuer: PemPair, notAfter: number): Promise<PemPair> {
  return makeCertificate({
    commonName: (serial) => `intermediate ${serial}`,
    validity: { notBefore: now - 60 * MINUTE, notAfter },
    issuer: { ...readIssuer(issuer.certPem), keyPem: issuer.keyPem },
    extensions: (publicKey) => [
      { name: 'basicConstraints', critical: true, cA: true },
      { name: 'keyUsage', critical: true, keyCertSign: true },
      { name: 'subjectKeyIdentifier', subjectKeyIdentifier: keyIdentifier(publicKey) },
    ],
  })
}

/** Makes a certificate that is valid for longer than its issuer. */
async function makeLongLeaf(issuer: PemPair): Promise<PemPair> {
  return makeCertificate({
    commonName: () => 'localhost',
    validity: { notBefore: now - 60 * MINUTE, notAfter: now + 60 * MINUTE },
    issuer: { ...readIssuer(issuer.certPem), keyPem: issuer.keyPem },
    extensions: () => [{ name: 'basicConstraints', critical: true, cA: false }],
  })
}

async function put(files: Record<string, string>, where = folder): Promise<void> {
  for (const [name, text] of Object.entries(files)) await writeFile(join(where, name), text)
}
function filesOf(leaf: PemPair, caPem?: string): Record<string, string> {
  return defined({ 'tls.crt': leaf.certPem, 'tls.key': leaf.keyPem, 'ca.crt': caPem })
}
async function open(): Promise<CertificateSource> {
  const observer = { failed: (error: Error) => void failures.push(error.message) }
  source = await openCertificateFiles({ folder, now: () => clock, observer })
  return source
}

describe('certificates in a folder', () => {
  test('are served with their CA', async () => {
    await put(filesOf(one, ca.certPem))
    const { current } = await open().then((source) => ({ current: source.current() }))
    expect(current).toMatchObject({ certPem: one.certPem, keyPem: one.keyPem, caBundlePem: ca.certPem })
  })

  test('need no CA: callers can get the CA from elsewhere', async () => {
    await put(filesOf(one))
    expect((await open()).current().caBundlePem).toBeUndefined()
  })

  test.each(['', '\n'])('need no CA: cert-manager leaves ca.crt empty for some issuers (%j)', async (empty) => {
    await put(filesOf(one, empty))
    expect((await open()).current()).toMatchObject({ certPem: one.certPem, caBundlePem: undefined })
  })

  test('keep their CA while ca.crt is being written', async () => {
    await put(filesOf(one, ca.certPem))
    const source = await open()
    await put(filesOf(two, ''))
    await source.check()
    expect(source.current()).toMatchObject({ certPem: one.certPem, caBundlePem: ca.certPem })
    expect(failures.at(-1)).toContain('ca.crt has no certificate')
  })

  test('are served with their intermediates', async () => {
    await put({ ...filesOf(one, ca.certPem), 'tls.crt': one.certPem + ca.certPem })
    expect((await open()).current().certPem).toBe(one.certPem + ca.certPem)
  })

  test('may have intermediates in any order that lead to a CA in ca.crt', async () => {
    const upper = await makeIntermediate(ca, now + 60 * MINUTE)
    const lower = await makeIntermediate(upper, now + 60 * MINUTE)
    const leaf = await makeLeaf({ ca: lower, hosts: ['localhost'], now })
    const chain = leaf.certPem + upper.certPem + lower.certPem
    await put({ ...filesOf(leaf, ca.certPem), 'tls.crt': chain })
    expect((await open()).current()).toMatchObject({ certPem: chain, caBundlePem: ca.certPem })
  })

  test('are rejected with an intermediate that has expired, which callers reject', async () => {
    const intermediate = await makeIntermediate(ca, now + MINUTE)
    const leaf = await makeLongLeaf(intermediate)
    await put({ ...filesOf(leaf, ca.certPem), 'tls.crt': leaf.certPem + intermediate.certPem })
    clock += 2 * MINUTE
    await expect(open()).rejects.toThrow('tls.crt is signed by no CA in ca.crt that is still valid')
  })

  test('are rejected with the intermediate of another certificate', async () => {
    const [own, other] = await Promise.all([makeIntermediate(ca, now + MINUTE), makeIntermediate(ca, now + MINUTE)])
    const leaf = await makeLeaf({ ca: own, hosts: ['localhost'], now })
    await put({ ...filesOf(leaf, ca.certPem), 'tls.crt': leaf.certPem + other.certPem })
    await expect(open()).rejects.toThrow('tls.crt is signed by no CA in ca.crt that is still valid')
  })

  test('are read again without a requested check when the kubelet replaces its link', async () => {
    for (const [name, leaf] of [
      ['..1', one],
      ['..2', two],
    ] as const) {
      await mkdir(join(folder, name))
      await put(filesOf(leaf, ca.certPem), join(folder, name))
    }
    await symlink('..1', join(folder, '..data'))
    for (const name of ['tls.crt', 'tls.key', 'ca.crt']) await symlink(`..data/${name}`, join(folder, name))
    const source = await open()
    const changed = new Promise((resolve) => source.subscribe(resolve))
    // After this time, the first CA no longer counts as new.
    clock += 3 * MINUTE
    await symlink('..2', join(folder, '..data_tmp'))
    await rename(join(folder, '..data_tmp'), join(folder, '..data'))
    expect(await changed).toMatchObject({ certPem: two.certPem, keyPem: two.keyPem })
  })

  test('that do not belong together are rejected, and the old ones stay', async () => {
    await put(filesOf(one))
    const source = await open()
    await put({ 'tls.crt': two.certPem })
    await source.check()
    expect(failures[0]).toMatch(/: tls\.key does not belong to the certificate in tls\.crt; put a certificate/)
    expect(source.current().certPem).toBe(one.certPem)
    await put({ 'tls.key': two.keyPem })
    await source.check()
    expect(source.current()).toMatchObject({ certPem: two.certPem, keyPem: two.keyPem })
  })

  test('that have expired are rejected, and the old ones stay', async () => {
    const hosts = ['localhost']
    const expired = await makeLeaf({ ca, hosts, now: now - 100 * 24 * 60 * MINUTE })
    await put(filesOf(one))
    const source = await open()
    await put(filesOf(expired))
    await source.check()
    expect(failures[0]).toMatch(/tls\.crt expired at \d{4}-/)
    expect(source.current().certPem).toBe(one.certPem)
  })

  test.each([
    { name: 'with a CA', hasCa: true },
    { name: 'without a CA', hasCa: false },
  ])('that are not valid yet are served when they are, $name', async ({ hasCa }) => {
    const caPem = hasCa ? ca.certPem : undefined
    // Certificates are valid from an hour before.
    const later = await makeLeaf({ ca, hosts: ['localhost'], now: now + 70 * MINUTE })
    await put(filesOf(one, caPem))
    const source = await open()
    clock += 5 * MINUTE
    await put(filesOf(later, caPem))
    await source.check()
    expect(source.current()).toMatchObject({ certPem: one.certPem, keyPem: one.keyPem, caBundlePem: caPem })
    clock += 5 * MINUTE
    await source.check()
    expect(source.current()).toMatchObject({ certPem: later.certPem, keyPem: later.keyPem, caBundlePem: caPem })
  })

  test('that are not valid yet are served if there are no others', async () => {
    const later = await makeLeaf({ ca, hosts: ['localhost'], now: now + 70 * MINUTE })
    await put(filesOf(later, ca.certPem))
    expect((await open()).current().certPem).toBe(later.certPem)
  })

  test('of a CA that is not in ca.crt are rejected', async () => {
    await put(filesOf(one, otherCa.certPem))
    await expect(open()).rejects.toThrow('tls.crt is signed by no CA in ca.crt')
  })

  test('that are missing at the start cause an error with the file name', async () => {
    await put({ 'tls.crt': one.certPem })
    await expect(open()).rejects.toThrow(`certificate folder ${folder}: tls.key is missing; `)
    await expect(openCertificateFiles({ folder: join(folder, 'none'), now: () => clock })).rejects.toThrow(
      'tls.crt is missing',
    )
  })

  test('of a new CA are served after the overlap', async () => {
    await put(filesOf(one, ca.certPem))
    const source = await open()
    clock += 10 * MINUTE
    await put(filesOf(foreign, otherCa.certPem))
    await source.check()
    const caBundlePem = otherCa.certPem + ca.certPem
    expect(source.current()).toMatchObject({ certPem: one.certPem, caBundlePem })
    clock += MINUTE
    await source.check()
    expect(source.current().certPem).toBe(one.certPem)
    clock += MINUTE
    await source.check()
    expect(source.current()).toMatchObject({ certPem: foreign.certPem, caBundlePem })
  })
})
