import { mkdir, mkdtemp, readdir, readFile, rm, stat, unlink, writeFile } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { afterAll, beforeAll, describe, expect, test } from 'vitest'
import { openFolderStorage } from './folder-storage.ts'
import { describeStorage, storedSamples } from './storage.suite.ts'
import type { StoredCertificates } from './storage.ts'
import { encodeStoredFiles } from './stored-files.ts'

let root: string
let first: StoredCertificates
let second: StoredCertificates
beforeAll(async () => {
  root = await mkdtemp(join(tmpdir(), 'lodestone-certs-'))
  ;[first, second] = await storedSamples()
})
afterAll(() => rm(root, { recursive: true }))

async function freshFolder(): Promise<string> {
  return join(await mkdtemp(join(root, 'f-')), 'certs')
}

describeStorage(async () => {
  const folder = await freshFolder()
  return [openFolderStorage(folder), openFolderStorage(folder)]
})

describe('a certificate folder', () => {
  test('is private, and so are the keys in it', async () => {
    const folder = await freshFolder()
    await openFolderStorage(folder).write(second, undefined)
    expect((await stat(folder)).mode & 0o777).toBe(0o700)
    for (const name of ['ca.key', 'tls.key', 'current/ca-next.key']) {
      expect((await stat(join(folder, name))).mode & 0o777).toBe(0o600)
    }
  })

  test('has links to the newest state, and keeps the previous state', async () => {
    const folder = await freshFolder()
    const storage = openFolderStorage(folder)
    await storage.write(first, undefined)
    await storage.write(second, first)
    await storage.write(first, second)
    expect(await readFile(join(folder, 'tls.crt'), 'utf8')).toBe(first.leaf.certPem)
    expect((await readdir(folder)).sort()).toEqual(['ca.crt', 'ca.key', 'current', 'tls.crt', 'tls.key', 'v2', 'v3'])
  })

  test('repairs its links after a crash in the middle of a write', async () => {
    const folder = await freshFolder()
    const storage = openFolderStorage(folder)
    await storage.write(first, undefined)
    await unlink(join(folder, 'current'))
    await storage.read()
    expect(await readFile(join(folder, 'tls.crt'), 'utf8')).toBe(first.leaf.certPem)
  })

  test('that cannot be created is named, with the remedy', async () => {
    const file = join(root, 'file')
    await writeFile(file, '')
    await expect(openFolderStorage(join(file, 'certs')).write(second, undefined)).rejects.toThrow(
      `certificate folder ${join(file, 'certs')} cannot be written: a part of the path is not a directory; set certificates.directory`,
    )
  })

  test('that cannot be written is named, with the remedy', async () => {
    const folder = await freshFolder()
    // As with a full disk, a write fails in the middle.
    await mkdir(join(folder, 'current', 'other'), { recursive: true })
    await expect(openFolderStorage(folder).write(second, undefined)).rejects.toThrow(
      /^certificate folder .* cannot be written: .*; set certificates\.directory/,
    )
  })

  test('with a file that cannot be read is named, with the remedy', async () => {
    const folder = await freshFolder()
    await mkdir(join(folder, 'tls.key'), { recursive: true })
    await expect(openFolderStorage(folder).read()).rejects.toThrow(
      `certificate folder ${folder}: tls.key cannot be read: is a directory, not a file; let the user of this process`,
    )
  })

  test('may be restored from plain files, which the next write turns into a state', async () => {
    const folder = await mkdtemp(join(root, 'plain-'))
    for (const [name, text] of Object.entries(encodeStoredFiles(first))) await writeFile(join(folder, name), text)
    const storage = openFolderStorage(folder)
    expect(await storage.read()).toEqual(first)
    expect(await storage.write(second, first)).toBe(true)
    expect(await storage.read()).toEqual(second)
    expect(await readFile(join(folder, 'tls.crt'), 'utf8')).toBe(second.leaf.certPem)
  })

  test.each([
    { name: 'a missing key', change: { 'tls.key': undefined }, want: /: tls\.key is missing; restore the folder/ },
    { name: 'a missing CA', change: { 'ca.crt': undefined }, want: /: ca\.crt is missing/ },
    {
      name: 'an incomplete certificate',
      change: { 'tls.crt': '-----BEGIN CERTIFICATE-----\nMII' },
      want: /: tls\.crt has no cert/,
    },
    {
      name: 'an invalid certificate',
      change: { 'ca.crt': '-----BEGIN CERTIFICATE-----\nMIIB\n-----END CERTIFICATE-----' },
      want: /: ca\.crt has an invalid certificate/,
    },
    { name: 'an invalid key', change: { 'ca.key': 'secret' }, want: /: ca\.key has no private key in PEM form/ },
  ])('throws an error with the file and the remedy for $name', async ({ change, want }) => {
    const folder = await mkdtemp(join(root, 'broken-'))
    for (const [name, text] of Object.entries({ ...encodeStoredFiles(first), ...change })) {
      if (text !== undefined) await writeFile(join(folder, name), text)
    }
    const read = openFolderStorage(folder).read()
    await expect(read).rejects.toThrow(want)
    await expect(read).rejects.toThrow(folder)
    await expect(read).rejects.not.toThrow('secret')
  })

  test('rejects a key that belongs to another certificate', async () => {
    const folder = await mkdtemp(join(root, 'strangers-'))
    const files = { ...encodeStoredFiles(first), 'tls.key': second.leaf.keyPem }
    for (const [name, text] of Object.entries(files)) await writeFile(join(folder, name), text)
    await expect(openFolderStorage(folder).read()).rejects.toThrow(
      'tls.key does not belong to the certificate in tls.crt',
    )
  })
})
