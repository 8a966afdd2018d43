/** Downloads with options about requests: headers, requester pays, path style, certificates, and a prefix without a slash. */
import { createServer } from 'node:https'
import type { AddressInfo } from 'node:net'
import { join } from 'node:path'
import { beforeEach, expect, onTestFinished, test } from 'vitest'
import { makeLeaf } from '../../src/tls/leaf.ts'
import { makeAuthority } from '../../src/tls/renewal.ts'
import { KEYS, makeRoot, readTree, runMover } from './mover-run.ts'
import { type S3Server, startS3Server } from './s3-server.ts'

let s3: S3Server
let root: string

beforeEach(async () => {
  s3 = await startS3Server()
  root = makeRoot()
  s3.put('raw/0_1.csv', '1')
  s3.put('raw/1_1.csv', '2')
})

const download = (source: string, ...more: string[]) =>
  runMover(root, ['download', '--endpoint', s3.url, '--source', source, '--retries', '1', ...more])

test('every request has the headers of the options, signed where they are of AWS', async () => {
  const words = ['--requester-pays', 'true', '--header', 'X-Tenant: sales', '--header', 'x-amz-request-id:7']

  expect((await download('s3://lake/raw/', ...words)).result.outcome).toBe('completed')
  for (const { headers } of s3.requests) {
    expect(headers).toMatchObject({ 'x-amz-request-payer': 'requester', 'x-tenant': 'sales' })
  }
  // The request for the region is anonymous.
  const signed = s3.requests.flatMap(({ headers }) => headers.authorization ?? [])
  expect(signed.length).toBeGreaterThan(0)
  expect(signed.filter((text) => !text.includes('x-amz-request-payer'))).toEqual([])
})

test('temporary credentials sign each request with their token', async () => {
  const env = { ...KEYS, AWS_SESSION_TOKEN: 'SESSION' }
  const words = ['download', '--endpoint', s3.url, '--source', 's3://lake/raw/', '--region', 'eu-north-1']

  expect((await runMover(root, words, { env })).result.outcome).toBe('completed')
  expect(s3.requests.length).toBeGreaterThan(0)
  for (const { headers } of s3.requests) {
    expect(headers['x-amz-security-token']).toBe('SESSION')
    expect(headers.authorization).toContain('x-amz-security-token')
  }
})

test('a bucket in the host name of an IP address is one clear permanent error', async () => {
  const { status, result } = await download('s3://lake/raw/', '--path-style', 'false')

  expect({ status, ...result }).toMatchObject({ status: 3, code: 'Rejected', retry: false })
  expect(result.message).toContain('the endpoint 127.0.0.1 is an IP address')
  expect(s3.requests).toEqual([])
})

test('with a glob, a source without a slash is a prefix', async () => {
  expect((await download('s3://lake/raw', '--match', '*0_1*')).result.outcome).toBe('completed')
  expect(await readTree(join(root, 'data'))).toEqual({ '0_1.csv': '1' })
})

test('certificates of a private CA come from a file, or from the variable of a Secret', async () => {
  const authority = await makeAuthority(Date.now())
  const leaf = await makeLeaf({ ca: authority, hosts: ['127.0.0.1'], now: Date.now() })
  const server = createServer({ cert: leaf.certPem, key: leaf.keyPem }, (request, response) => {
    response.writeHead(200, { etag: '"e"', 'content-length': 1 }).end(request.method === 'HEAD' ? undefined : '1')
  })
  await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve))
  onTestFinished(() => void server.close().closeAllConnections())
  const endpoint = `https://127.0.0.1:${(server.address() as AddressInfo).port}`
  const one = (env: Record<string, string>) =>
    runMover(
      root,
      ['download', '--endpoint', endpoint, '--region', 'r', '--source', 's3://lake/raw/a', '--retries', '1'],
      {
        env: { ...KEYS, ...env },
      },
    )

  const refused = await one({})
  expect(refused.result).toMatchObject({ outcome: 'failed', retry: false })
  expect(refused.result.message).toContain('the key ca.crt of the Secret')
  expect((await one({ MOVER_CA: authority.certPem })).result.outcome).toBe('completed')
})
