/** The mover and a server for Azure Blob Storage that fails, changes its blobs, or answers what it must not. */
import { createServer, type IncomingMessage, type ServerResponse } from 'node:http'
import type { AddressInfo } from 'node:net'
import { join } from 'node:path'
import { expect, onTestFinished, test } from 'vitest'
import { makeRoot, readTree, runMover } from './mover-run.ts'

const SIGNATURE = 'c2VjcmV0LXNpZ25hdHVyZQ=='
const ENV = {
  AZURE_STORAGE_ACCOUNT: 'sales',
  AZURE_STORAGE_SAS_TOKEN: `?sv=2024-11-04&sp=rl&sig=${encodeURIComponent(SIGNATURE)}`,
}

type Answer = (request: Asked, response: ServerResponse) => void

interface Asked {
  method: string | undefined
  url: URL
  headers: IncomingMessage['headers']
}

const blob = (name: string, size: number) =>
  `<Blob><Name>${name}</Name><Properties><Etag>0x8D</Etag><Content-Length>${size}</Content-Length></Properties></Blob>`
const page = (blobs: string, marker = '') =>
  `<?xml version="1.0"?><EnumerationResults><Blobs>${blobs}</Blobs><NextMarker>${marker}</NextMarker></EnumerationResults>`
const fault = (code: string, message = 'no') =>
  `<?xml version="1.0"?><Error><Code>${code}</Code><Message>${message}</Message></Error>`

/** Starts a server, and runs a download of everything below `raw/` from it. */
async function downloadFrom(
  answer: Answer,
  { env = ENV, words = [] }: { env?: Record<string, string>; words?: string[] } = {},
) {
  const requests: URL[] = []
  const server = createServer((request, response) => {
    const url = new URL(request.url ?? '', 'http://azure')
    requests.push(url)
    answer({ method: request.method, url, headers: request.headers }, response)
  })
  await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve))
  onTestFinished(() => void server.close().closeAllConnections())
  const endpoint = `http://127.0.0.1:${(server.address() as AddressInfo).port}`
  const root = makeRoot()
  const allowed = { MOVER_CREDENTIAL_ENDPOINTS: endpoint, ...env }
  const { said, result } = await runMover(
    root,
    ['download', '--source', 'az://lake/raw/', '--endpoint', endpoint, '--retries', '2', ...words],
    { env: allowed },
  )
  return { said: said + JSON.stringify(result), result, requests, root }
}

const isListing = (url: URL) => url.searchParams.get('comp') === 'list'

test('every request has the parameters of the SAS token, and no output its signature', async () => {
  const { said, result, requests } = await downloadFrom(({ url }, response) => {
    response.end(isListing(url) ? page(blob('raw/a', 3)) : 'one')
  })

  expect(result.outcome).toBe('completed')
  expect(requests.map(({ searchParams }) => searchParams.get('sig'))).toEqual([SIGNATURE, SIGNATURE])
  expect(requests[0]?.searchParams.get('include')).toBe('metadata')
  expect(said).not.toContain(SIGNATURE)
  expect(said).not.toContain(encodeURIComponent(SIGNATURE))
})

test('a server that is busy is asked again, and a body that ends early is continued', async () => {
  let busy = 2
  const ranges: (string | undefined)[] = []
  const { result, root } = await downloadFrom(({ url, headers }, response) => {
    if (busy-- > 0) return void response.writeHead(503, { 'x-ms-error-code': 'ServerBusy' }).end(fault('ServerBusy'))
    if (isListing(url)) return void response.end(page(blob('raw/a', 6)))
    ranges.push(headers.range)
    if (headers.range === undefined) {
      response.writeHead(200, { etag: '"0x8D"', 'content-length': 6 })
      return void response.write('one', () => response.destroy())
    }
    response.writeHead(206, { etag: '"0x8D"', 'content-range': 'bytes 3-5/6' }).end('two')
  })

  expect(result.outcome).toBe('completed')
  expect(await readTree(join(root, 'data'))).toEqual({ a: 'onetwo' })
  expect(ranges).toEqual([undefined, 'bytes=3-5'])
})

test('a blob that changes during the download is listed again', async () => {
  const conditions = new Set<string | undefined>()
  let listings = 0
  const { result, root } = await downloadFrom(({ method, url, headers }, response) => {
    if (isListing(url)) {
      listings += 1
      return void response.end(page(blob('raw/a', 3)).replace('0x8D', listings === 1 ? '0x1' : '0x2'))
    }
    if (method === 'GET') conditions.add(headers['if-match'])
    if (headers['if-match'] === '"0x2"') return void response.writeHead(200, { etag: '"0x2"' }).end('new')
    response.writeHead(412, { 'x-ms-error-code': 'ConditionNotMet' }).end(fault('ConditionNotMet'))
  })

  expect(result.outcome).toBe('completed')
  expect([...conditions]).toEqual(['"0x1"', '"0x2"'])
  expect(await readTree(join(root, 'data'))).toEqual({ a: 'new' })
})

test.each<{ name: string; answer: Answer; code: string; says: string }>([
  {
    name: 'a page that is none',
    answer: (_, response) => void response.end('<html/>'),
    code: 'Rejected',
    says: 'not a page of List Blobs',
  },
  {
    name: 'a blob that is not below the prefix',
    answer: (_, response) => void response.end(page(blob('other/a', 1))),
    code: 'Rejected',
    says: 'which is not below raw/',
  },
  {
    name: 'a page again and again',
    answer: (_, response) => void response.end(page(blob('raw/a', 1), 'again')),
    code: 'Rejected',
    says: 'repeats a page',
  },
  {
    name: 'a name that leaves the target',
    answer: (_, response) => void response.end(page(blob('raw/../../a', 1))),
    code: 'UnsafeKey',
    says: 'contains ..',
  },
  {
    name: 'a redirect with the query in it',
    answer: ({ url }, response) => {
      response.writeHead(307, { location: `https://other.example.org${url.pathname}${url.search}` }).end()
    },
    code: 'Rejected',
    says: 'redirects to https://other.example.org/lake; check the endpoint',
  },
  {
    name: 'an error with the URL in it',
    answer: ({ url }, response) => {
      response.writeHead(403).end(fault('AuthenticationFailed', `${url.href.replaceAll('&', '&amp;')} is not allowed`))
    },
    code: 'AccessDenied',
    says: 'the SAS token or the key is invalid or has expired',
  },
  {
    name: 'a body larger than the blob',
    answer: ({ url }, response) => void response.end(isListing(url) ? page(blob('raw/a', 1)) : 'more'),
    code: 'SourceChanged',
    says: 'its size changed',
  },
  {
    name: 'a container that was deleted after its listing',
    answer: ({ url }, response) => {
      if (isListing(url)) response.end(page(blob('raw/a', 1)))
      else response.writeHead(404, { 'x-ms-error-code': 'ContainerNotFound' }).end(fault('ContainerNotFound'))
    },
    code: 'NotFound',
    says: 'the container does not exist',
  },
  {
    name: 'an archived blob',
    answer: ({ url }, response) => {
      if (isListing(url)) response.end(page(blob('raw/a', 1)))
      else response.writeHead(409, { 'x-ms-error-code': 'BlobArchived' }).end(fault('BlobArchived'))
    },
    code: 'Rejected',
    says: 'rehydrate it first',
  },
  {
    name: 'no answer but failures',
    answer: (_, response) => void response.writeHead(500).end(fault('InternalError')),
    code: 'Unreachable',
    says: 'after 3 attempts',
  },
])('a server that answers with $name fails the download with $code', async ({ answer, code, says }) => {
  const { said, result } = await downloadFrom(answer)

  expect(result).toMatchObject({ outcome: 'failed', code, message: expect.stringContaining(says) })
  expect(said).not.toContain(SIGNATURE)
  expect(said).not.toContain(encodeURIComponent(SIGNATURE))
})

test.each([
  { name: 'no account', env: { AZURE_STORAGE_SAS_TOKEN: 'sig=a' }, says: 'has no azurestorageaccountname' },
  {
    name: 'an account only',
    env: { AZURE_STORAGE_ACCOUNT: 'sales' },
    says: 'has neither azurestorageaccountsastoken nor azurestorageaccountkey',
  },
  {
    name: 'a token without a signature',
    env: { AZURE_STORAGE_ACCOUNT: 'sales', AZURE_STORAGE_SAS_TOKEN: 'secret' },
    says: 'is not a SAS token',
  },
  {
    name: 'a key that is not base64',
    env: { AZURE_STORAGE_ACCOUNT: 'sales', AZURE_STORAGE_KEY: '!' },
    says: 'is not base64',
  },
])('credentials with $name are rejected before any request', async ({ env, says }) => {
  const { result, requests } = await downloadFrom((_, response) => void response.end(), { env })

  expect(result).toMatchObject({ code: 'AccessDenied', retry: false, message: expect.stringContaining(says) })
  expect(requests).toEqual([])
})

test('without an endpoint or with an unknown URL, the arguments are invalid', async () => {
  const root = makeRoot()

  const missing = await runMover(root, ['download', '--source', 'az://lake/raw/'], { env: ENV })
  const unknown = await runMover(root, ['download', '--source', `https://lake/raw/?sig=${SIGNATURE}`], { env: ENV })

  expect(missing).toMatchObject({ status: 2, said: expect.stringContaining('--endpoint is missing') })
  expect(unknown).toMatchObject({ status: 2, said: expect.stringContaining('az://container/prefix/') })
  expect(unknown.said).not.toContain(SIGNATURE)
})
