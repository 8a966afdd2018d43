/** Downloads from a server that lies: whatever it lists and sends, nothing is written outside of the volume, and the mover ends and says why. */
import { mkdirSync, rmSync, writeFileSync } from 'node:fs'
import { createServer, type Server } from 'node:http'
import type { AddressInfo } from 'node:net'
import { join } from 'node:path'
import fc from 'fast-check'
import { afterAll, beforeAll, beforeEach, describe, expect, test } from 'vitest'
import { FAILURES } from '../../src/core/mover-contract/contract.ts'
import { makeRoot, readTree, runMover } from './mover-run.ts'

interface Listed {
  key: string
  /** As it is written in the listing. */
  size: string
  etag: string
  body: string
}

let server: Server
let pages: (page: number) => { objects: Listed[]; next: string | undefined }
let asked = 0
let outside: string
let root: string

beforeAll(async () => {
  server = createServer((request, response) => {
    const { pathname, searchParams } = new URL(request.url ?? '', 'http://s3')
    if (searchParams.has('list-type')) {
      const { objects, next } = pages(asked++)
      return void response.end(listingOf(objects, next))
    }
    const key = decodeURIComponent(pathname.replace('/lake/', ''))
    const found = pages(0).objects.find((one) => one.key === key)
    response.setHeader('etag', `"${(found?.etag ?? '').replace(/[^\x20-\x7e]/g, '')}"`)
    response.end(found?.body)
  })
  await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve))
})
afterAll(() => void server.close().closeAllConnections())

beforeEach(() => {
  asked = 0
  outside = makeRoot()
  root = join(outside, 'volume')
  mkdirSync(root)
  writeFileSync(join(outside, 'witness'), 'untouched')
})

const escaped = (text: string) =>
  text.replace(/[&<>\p{Cc}]/gu, (char) => `&#${char.charCodeAt(0)};`).replace(/[\uD800-\uDFFF]/gu, '&#xD800;')

function listingOf(objects: Listed[], next: string | undefined): string {
  const contents = objects.map(
    ({ key, size, etag }) =>
      `<Contents><Key>${escaped(key)}</Key><Size>${size}</Size><ETag>${escaped(etag)}</ETag></Contents>`,
  )
  const more =
    next === undefined ? '' : `<IsTruncated>true</IsTruncated><NextContinuationToken>${next}</NextContinuationToken>`
  return `<ListBucketResult>${more}${contents.join('')}</ListBucketResult>`
}

async function download() {
  const endpoint = `http://127.0.0.1:${(server.address() as AddressInfo).port}`
  const words = [
    '--endpoint',
    endpoint,
    '--source',
    's3://lake/raw/',
    '--region',
    'x',
    '--retries',
    '0',
    '--verify',
    'size',
  ]
  return runMover(root, ['download', ...words])
}

/** Only what is the mover's is where it may be, and the result is one that the contract has. */
async function expectContained(result: Awaited<ReturnType<typeof download>>['result']) {
  const tree = Object.keys(await readTree(outside))
  const own = /^(witness$|volume\/(termination$|data(\/|$)|\.data\.mover\/))/
  expect(tree.filter((path) => !own.test(path))).toEqual([])
  expect((await readTree(outside))['witness']).toBe('untouched')
  expect(tree.some((path) => path.split('/').includes('..'))).toBe(false)
  if (result.outcome === 'completed') return
  expect(Object.keys(FAILURES)).toContain(result.code)
  expect(result.code).not.toBe('Unexpected')
  expect(result.message.length).toBeGreaterThan(10)
}

const name = fc.constantFrom(
  'a',
  'b',
  'c/d',
  '..',
  '.',
  '',
  'x'.repeat(256),
  'new\nline',
  '\0',
  'ö',
  '%2e%2e',
  '~',
  '-rf',
  'data',
)
const key = fc
  .tuple(
    fc.constantFrom('raw/', 'raw/', 'raw/', 'raw/../', 'raw//', '/', '/etc/', '../', 'rawest/'),
    fc.array(name, { minLength: 1, maxLength: 4 }),
    fc.constantFrom('', '/'),
  )
  .map(([begin, parts, end]) => begin + parts.join('/') + end)
const object: fc.Arbitrary<Listed> = fc.record({
  key,
  size: fc.constantFrom('1', '1', '1', '0', '2', '-1', '', 'x', '1e9', '9007199254740993', '9007199254740991'),
  etag: fc.constantFrom('e', 'e', '', '"e"', 'e\r\nx-injected: 1', 'd41d8cd98f00b204e9800998ecf8427e'),
  body: fc.constantFrom('1', '1', '', 'more than that'),
})

test('whatever the keys, sizes, ETags and bodies', async () => {
  await fc.assert(
    fc
      .asyncProperty(fc.array(object, { minLength: 1, maxLength: 3 }), async (objects) => {
        pages = () => ({ objects, next: undefined })
        await expectContained((await download()).result)
      })
      .beforeEach(() => {
        // Nothing is left of the run before.
        rmSync(root, { recursive: true, force: true })
        mkdirSync(root)
      }),
    { numRuns: 120 },
  )
}, 120_000)

test('sizes whose sum is no exact number are refused', async () => {
  const objects = ['raw/a', 'raw/b'].map((key) => ({ key, size: '9007199254740991', etag: 'e', body: '1' }))
  pages = () => ({ objects, next: undefined })

  const { result } = await download()

  expect(result).toMatchObject({ outcome: 'failed', code: 'Rejected', retry: false })
  expect(result.message).toContain('the server lists more bytes than any disk has')
})

describe('a listing that does not end is refused', () => {
  const good = (key: string): Listed => ({ key, size: '1', etag: 'e', body: '1' })

  test.each([
    { what: 'pages without an object', page: () => [], code: 'Rejected' },
    {
      what: 'the same object again and again',
      page: () => Array.from({ length: 1000 }, () => good('raw/a')),
      code: 'Rejected',
    },
    {
      what: 'keys that are no paths',
      page: () => Array.from({ length: 1000 }, () => good('raw/../a')),
      code: 'UnsafeKey',
    },
    { what: 'the same token', page: () => [good('raw/a')], code: 'Rejected', token: () => 'same' },
  ])(
    'with $what',
    async ({ page, code, token }) => {
      pages = (number) => ({ objects: page(), next: token?.() ?? `t${number}` })

      const { result } = await download()

      expect(result).toMatchObject({ outcome: 'failed', code, retry: false })
      await expectContained(result)
    },
    120_000,
  )

  test('that has keys of another prefix is as well, with the key', async () => {
    pages = () => ({ objects: [good('other/a')], next: undefined })

    const { result } = await download()

    expect(result).toMatchObject({ outcome: 'failed', code: 'Rejected' })
    expect(result.message).toContain('"other/a", which is not below raw/')
  })
})

test.each([...['', '{', 'null', '[]', '{"origin":1}', '{"origin":"s3://lake/raw/","files":1}', '\0\0']])(
  'a record, a journal and a manifest that are %j are as good as none',
  async (content) => {
    pages = () => ({ objects: [{ key: 'raw/a', size: '1', etag: 'e', body: '1' }], next: undefined })
    mkdirSync(join(root, '.data.mover', 'files'), { recursive: true })
    for (const file of ['complete.json', 'journal', 'manifest']) writeFileSync(join(root, '.data.mover', file), content)

    const { result } = await download()

    expect(result).toMatchObject({ outcome: 'completed', files: 1, bytes: 1 })
    expect(await readTree(join(root, 'data'))).toEqual({ a: '1' })
  },
)
