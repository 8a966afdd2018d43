// The data mover with a real server for Azure Blob Storage.
import { randomBytes } from 'node:crypto'
import { mkdir, readFile, writeFile } from 'node:fs/promises'
import { dirname, join } from 'node:path'
import { afterAll, beforeAll, describe, expect, test } from 'vitest'
import { makeRoot, readTree, runMover, startMover } from '../integration/mover-run.ts'
import { type Azurite, startAzurite } from './peers/azurite.ts'
import { eventually } from './poll.ts'
import { makeTemporaryFolder, removeTemporaryFolder } from './processes.ts'

let dir: string
let azurite: Azurite

beforeAll(async () => {
  dir = await makeTemporaryFolder()
  azurite = await startAzurite(dir)
})
afterAll(async () => {
  await azurite?.stop()
  await removeTemporaryFolder(dir)
})

const withSas = (rights = 'rl', expires?: Date) => ({
  AZURE_STORAGE_ACCOUNT: azurite.account,
  AZURE_STORAGE_SAS_TOKEN: azurite.sasToken(rights, expires),
  MOVER_CREDENTIAL_ENDPOINTS: azurite.origin,
})
const withKey = (key = azurite.key) => ({
  AZURE_STORAGE_ACCOUNT: azurite.account,
  AZURE_STORAGE_KEY: key,
  MOVER_CREDENTIAL_ENDPOINTS: azurite.origin,
})

const download = (root: string, source: string, env: Record<string, string>, words: string[] = []) =>
  runMover(root, ['download', '--source', source, '--endpoint', azurite.url, ...words], { env })

const upload = (root: string, target: string, env: Record<string, string>, words: string[] = []) =>
  runMover(root, ['upload', '--source', join(root, 'data'), '--target', target, '--endpoint', azurite.url, ...words], {
    env,
  })

/** A container with these blobs, which no other test uses. */
async function containerWith(blobs: Record<string, string | Uint8Array>, name = `c${randomBytes(6).toString('hex')}`) {
  await azurite.createContainer(name)
  for (const [blob, content] of Object.entries(blobs)) await azurite.putBlob(name, blob, content)
  return name
}

function expectNoSecret(said: string, env: Record<string, string>): void {
  const sas = env['AZURE_STORAGE_SAS_TOKEN'] ?? ''
  const signature = new URLSearchParams(sas).get('sig') ?? ''
  const secrets = [sas, signature, encodeURIComponent(signature), env['AZURE_STORAGE_KEY'] ?? ''].filter(Boolean)
  expect(secrets.filter((secret) => said.includes(secret))).toEqual([])
}

describe('a download', () => {
  const awkward = { "a b/ö+%&'(1)*!.txt": 'named', '$dir/=x;y,z@~': 'odd', 'deep/er/c': 'deep' }

  test.each([
    { name: 'a SAS token', credentials: () => withSas() },
    { name: 'the key of the account', credentials: () => withKey() },
  ])('with $name has all blobs below a prefix, large ones in parts', async ({ credentials }) => {
    const large = randomBytes(3 * 1024 * 1024 + 1)
    const blobs = Object.fromEntries(Object.entries(awkward).map(([key, text]) => [`raw/${key}`, text]))
    const container = await containerWith({ ...blobs, 'raw/large': large, 'raw/empty': '', 'other/a': 'other' })
    const root = makeRoot()
    const env = credentials()

    const { status, said, result } = await download(root, `az://${container}/raw/`, env, ['--part-size', '1Mi'])

    expect({ status, result }).toMatchObject({ status: 0, result: { outcome: 'completed', files: 5 } })
    expect(await readTree(join(root, 'data'))).toEqual({ ...awkward, empty: '', large: large.toString('latin1') })
    expectNoSecret(said + JSON.stringify(result), env)
    expect((await download(root, `az://${container}/raw/`, env)).result.message).toBe('the data is complete already')
  })

  test('needs no credentials for a public container', async () => {
    const container = `public${randomBytes(4).toString('hex')}`
    await azurite.createContainer(container, { isPublic: true })
    await azurite.putBlob(container, 'a', 'one')
    const root = makeRoot()

    expect((await download(root, `az://${container}/`, {})).result.outcome).toBe('completed')
    expect(await readTree(join(root, 'data'))).toEqual({ a: 'one' })
  })

  test('follows the pages of a listing', async () => {
    const container = await containerWith({})
    const names = Array.from({ length: 1001 }, (_, i) => `n/${i}`)
    for (let at = 0; at < names.length; at += 50) {
      await Promise.all(names.slice(at, at + 50).map((name) => azurite.putBlob(container, name, name)))
    }
    const root = makeRoot()

    const { result } = await download(root, `az://${container}/n/`, withSas())

    expect(result).toMatchObject({ outcome: 'completed', files: 1001 })
    expect(await readFile(join(root, 'data', '1000'), 'utf8')).toBe('n/1000')
  })

  test('leaves out the directories of a hierarchical namespace', async () => {
    const container = await containerWith({ 'dir/sub/a': 'one' })
    for (const name of ['dir', 'dir/sub', 'dir/none'])
      await azurite.putBlob(container, name, '', { metadata: { hdi_isfolder: 'true' } })
    const root = makeRoot()

    expect((await download(root, `az://${container}/`, withKey())).result).toMatchObject({ files: 1 })
    expect(await readTree(join(root, 'data'))).toEqual({ 'dir/sub/a': 'one' })
    const { result } = await download(makeRoot(), `az://${container}/dir`, withKey())
    expect(result).toMatchObject({ code: 'NotFound', retry: false })
    expect(result.message).toContain('is a directory; the source of a prefix must end in a slash')
  })

  test('of one blob, with globs, and flat is as from S3', async () => {
    const container = await containerWith({ 'raw/0_1.csv': '1', 'raw/deep/1_1.csv': '2', 'raw/deep/1_1.log': '3' })
    const of = async (source: string, words: string[] = []) => {
      const root = makeRoot()
      await download(root, source, withSas(), words)
      return readTree(join(root, 'data'))
    }

    expect(await of(`az://${container}/raw/0_1.csv`)).toEqual({ '0_1.csv': '1' })
    expect(await of(`az://${container}/raw/`, ['--match', '*1_1*', '--exclude', '*.log'])).toEqual({
      'deep/1_1.csv': '2',
    })
    expect(await of(`az://${container}/raw/`, ['--match', `az/${container}/raw/0*`])).toEqual({ '0_1.csv': '1' })
    expect(await of(`az://${container}/raw/`, ['--flat', 'true', '--in-place', 'true'])).toEqual({
      '0_1.csv': '1',
      '1_1.csv': '2',
      '1_1.log': '3',
    })
  })

  test('continues after a mover that was killed', async () => {
    const large = randomBytes(48 * 1024 * 1024)
    const container = await containerWith({ large })
    const root = makeRoot()
    const words = ['--part-size', '256Ki', '--parallel', '1']
    const source = ['--source', `az://${container}/large`, '--endpoint', azurite.url]
    const first = startMover(root, ['download', ...source, ...words], withSas())
    const journal = join(root, '.data.mover', 'journal')
    const partsDone = async () => (await readFile(journal, 'utf8').catch(() => '')).split('\n').length
    await eventually('some parts are done', async () => (await partsDone()) > 20)
    first.kill('SIGKILL')
    await first.ended

    const { result } = await download(root, `az://${container}/large`, withSas(), words)

    expect(result).toMatchObject({ outcome: 'completed', bytes: large.length })
    expect(result.movedBytes).toBeLessThan(large.length - 10 * 256 * 1024)
    expect(large.equals(await readFile(join(root, 'data', 'large')))).toBe(true)
  })

  test('compares the MD5 of a blob, if the server has one', async () => {
    const container = await containerWith({})
    const wrong = Buffer.alloc(16, 7).toString('base64')
    await azurite.putBlob(container, 'wrong/small', 'content', { md5: wrong })
    await azurite.putBlob(container, 'parts/large', randomBytes(300 * 1024), { md5: wrong })
    await azurite.putBlob(container, 'none/a', 'content', { md5: false })
    const codeOf = async (prefix: string, words: string[] = []) =>
      (await download(makeRoot(), `az://${container}/${prefix}/`, withSas(), words)).result.code

    expect(await codeOf('wrong')).toBe('ChecksumMismatch')
    expect(await codeOf('parts', ['--part-size', '64Ki'])).toBe('ChecksumMismatch')
    expect(await codeOf('wrong', ['--verify', 'size'])).toBeUndefined()
    expect(await codeOf('none')).toBeUndefined()
  })

  test.each([
    { name: 'a SAS token that has expired', env: () => withSas('rl', new Date(0)), want: 'AccessDenied' },
    { name: 'a SAS token that cannot list', env: () => withSas('w'), want: 'AccessDenied' },
    { name: 'the wrong key', env: () => withKey(randomBytes(32).toString('base64')), want: 'AccessDenied' },
    { name: 'no credentials for a private container', env: () => ({}), want: 'AccessDenied' },
    { name: 'a container that is missing', env: () => withSas(), container: 'missing', want: 'NotFound' },
    { name: 'a prefix that is missing', env: () => withSas(), key: 'missing/', want: 'NotFound' },
    { name: 'a blob that is missing', env: () => withSas(), key: 'missing', want: 'NotFound' },
    { name: 'a glob without matches', env: () => withSas(), words: ['--match', 'x'], want: 'NothingSelected' },
  ])('with $name fails at once with $want', async ({ env, container, key = '', words = [], want }) => {
    const used = container ?? (await containerWith({ a: 'one' }))
    const given: Record<string, string> = env()

    const { said, result } = await download(makeRoot(), `az://${used}/${key}`, given, words)

    expect(result).toMatchObject({ outcome: 'failed', retry: false, code: expect.stringMatching(want) })
    expectNoSecret(said + JSON.stringify(result), given)
  })

  test('sends credentials only to the servers that the Secret lists', async () => {
    const container = await containerWith({ a: 'one' })
    const { MOVER_CREDENTIAL_ENDPOINTS: _, ...without } = withSas()

    for (const env of [without, { ...without, MOVER_CREDENTIAL_ENDPOINTS: 'https://sales.blob.core.windows.net' }]) {
      const { result } = await download(makeRoot(), `az://${container}/`, env)
      expect(result).toMatchObject({ code: 'AccessDenied', message: expect.stringContaining('may not be sent to') })
    }
  })
})

describe('an upload', () => {
  test('sends new and changed files, large ones in blocks, and each arrives with its MD5', async () => {
    const container = await containerWith({ 'run/same': 'same', 'run/changed': 'old' })
    const root = makeRoot()
    const large = randomBytes(11 * 1024 * 1024)
    const files = { same: 'same', changed: 'new', 'models/a b': 'weights', large }
    const env = withSas('rwlc')
    expect((await download(root, `az://${container}/run/`, env)).result).toMatchObject({ outcome: 'completed' })
    const { same: _same, ...written } = files
    for (const [name, content] of Object.entries(written)) {
      await mkdir(dirname(join(root, 'data', name)), { recursive: true })
      await writeFile(join(root, 'data', name), content)
    }

    const { said, result } = await upload(root, `az://${container}/run/`, env, ['--part-size', '5Mi'])

    expect(result).toMatchObject({ outcome: 'completed', files: 4, movedBytes: large.length + 10 })
    expect((await azurite.getBlob(container, 'run/changed')).body.toString()).toBe('new')
    expect((await azurite.getBlob(container, 'run/models/a b')).body.toString()).toBe('weights')
    expect(large.equals((await azurite.getBlob(container, 'run/large')).body)).toBe(true)
    expectNoSecret(said + JSON.stringify(result), env)
    expect((await upload(root, `az://${container}/run/`, withKey())).result).toMatchObject({ movedBytes: 0 })
    const back = makeRoot()
    expect((await download(back, `az://${container}/run/`, env, ['--part-size', '1Mi'])).result.code).toBeUndefined()
    expect(await readTree(join(back, 'data'))).toEqual({ ...files, large: large.toString('latin1') })
  })

  test.each([
    { name: 'in one piece', bytes: 3 },
    { name: 'in blocks', bytes: 6 * 1024 * 1024 },
  ])('keeps the content type and the metadata of a blob, signed by the key, $name', async ({ bytes }) => {
    const container = await containerWith({})
    // Servers sort these two names in another order than their bytes.
    const metadata = { owner: 'sales', crc32: '1', crc_type: 'c' }
    await azurite.putBlob(container, 'run/a', 'old', { metadata })
    const { 'content-type': type } = (await azurite.getBlob(container, 'run/a')).headers
    const root = makeRoot()
    await download(root, `az://${container}/run/`, withKey())
    await writeFile(join(root, 'data', 'a'), randomBytes(bytes))

    const { result } = await upload(root, `az://${container}/run/`, withKey(), ['--part-size', '5Mi'])

    expect(result).toMatchObject({ outcome: 'completed', movedBytes: bytes })
    expect((await azurite.getBlob(container, 'run/a')).headers).toMatchObject({
      'content-type': type,
      'x-ms-meta-owner': 'sales',
      'x-ms-meta-crc32': '1',
      'x-ms-meta-crc_type': 'c',
    })
  })

  test('without the right to write fails at once', async () => {
    const container = await containerWith({})
    const root = makeRoot()
    await mkdir(join(root, 'data'))
    await writeFile(join(root, 'data', 'a'), 'one')

    expect((await upload(root, `az://${container}/run/`, withSas('rl'))).result).toMatchObject({
      code: 'AccessDenied',
      retry: false,
    })
  })
})
