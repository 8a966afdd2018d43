/** Movers with the keys of a role: by the token of a ServiceAccount from STS, or from the agent of the node. */
import { writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { describe, expect, test } from 'vitest'
import { openHttpClient } from '../../src/mover/http/client.ts'
import { roleCredentials } from '../../src/mover/s3/role-credentials.ts'
import { KEYS, makeRoot, readResult, readTree, runMover, startMover } from './mover-run.ts'
import { type S3Server, startS3Server } from './s3-server.ts'
import { type Grant, startStsServer } from './sts-server.ts'

const HOUR = 3_600_000
const ROLE = 'arn:aws:iam::123456789012:role/reader'
const tokensIn = (s3: S3Server) => s3.requests.map(({ headers }) => headers['x-amz-security-token'])

async function worldWith(grantOf: (nth: number) => Grant) {
  const root = makeRoot()
  const tokenFile = join(root, 'token')
  writeFileSync(tokenFile, 'first.web.token\n')
  const [s3, sts] = [await startS3Server(), await startStsServer(grantOf)]
  s3.put('train/a', 'one')
  const words = ['download', '--endpoint', s3.url, '--source', 's3://lake/train/', '--region', 'eu-north-1']
  const webIdentity = {
    AWS_ROLE_ARN: ROLE,
    AWS_WEB_IDENTITY_TOKEN_FILE: tokenFile,
    AWS_ENDPOINT_URL_STS: sts.url,
    POD_NAME: 'sales-vol1-0',
  }
  return { root, tokenFile, s3, sts, words, webIdentity }
}

test('keys that expire during a long download are renewed, with the replaced token', async () => {
  const { root, tokenFile, s3, sts, words, webIdentity } = await worldWith((nth) => ({
    lifeMs: nth === 1 ? 1500 : HOUR,
  }))
  for (const name of ['b', 'c', 'd']) s3.put(`train/${name}`, name)
  let isRevoked = false
  let isFirst = true
  const untilExpired = async () => {
    writeFileSync(tokenFile, 'second.web.token')
    await expect.poll(() => Date.now()).toBeGreaterThan(sts.expirations[0] ?? 0)
    isRevoked = true
  }
  s3.misbehave(({ method, key, headers }) => {
    if (isRevoked && headers['x-amz-security-token'] === 'token-1') return { status: 403, code: 'ExpiredToken' }
    if (method !== 'GET' || key === '' || !isFirst) return undefined
    isFirst = false
    return { hold: untilExpired() }
  })

  const mover = startMover(root, [...words, '--parallel', '1'], webIdentity)

  expect(await mover.ended).toBe(0)
  expect(readResult(root)).toMatchObject({ outcome: 'completed', files: 4 })
  expect(await readTree(join(root, 'data'))).toEqual({ a: 'one', b: 'b', c: 'c', d: 'd' })
  expect(tokensIn(s3).at(-1)).toMatch(/^token-[2-9]$/)
  expect(sts.requests[0]).toMatchObject({
    path: '/',
    parameters: {
      Action: 'AssumeRoleWithWebIdentity',
      RoleArn: ROLE,
      RoleSessionName: 'sales-vol1-0',
      Version: '2011-06-15',
    },
  })
  expect(sts.requests.at(-1)?.parameters['WebIdentityToken']).toBe('second.web.token')
})

test('the agent of the node gives keys for the token of the Pod', async () => {
  const { root, tokenFile, s3, sts, words } = await worldWith(() => ({ lifeMs: HOUR }))
  const agent = `${sts.url}/v1/credentials`
  const env = {
    AWS_CONTAINER_CREDENTIALS_FULL_URI: agent,
    AWS_CONTAINER_AUTHORIZATION_TOKEN_FILE: tokenFile,
    // A proxy does not reach the node.
    HTTP_PROXY: 'http://127.0.0.1:1',
    NO_PROXY: new URL(s3.url).host,
  }

  expect((await runMover(root, words, { env })).result).toMatchObject({ outcome: 'completed' })
  expect(sts.requests).toMatchObject([{ path: '/v1/credentials', authorization: 'first.web.token' }])
  expect(new Set(tokensIn(s3))).toEqual(new Set(['token-1']))
})

test('the keys of a Secret come before those of a role', async () => {
  const { root, s3, sts, words, webIdentity } = await worldWith(() => ({ lifeMs: HOUR }))

  const { result } = await runMover(root, words, { env: { ...KEYS, ...webIdentity } })

  expect(result).toMatchObject({ outcome: 'completed' })
  expect(sts.requests).toEqual([])
  expect(s3.requests[0]?.headers.authorization).toContain('ACCESS-KEY')
})

describe('a role that cannot be used', () => {
  const refusal =
    '<ErrorResponse><Error><Code>AccessDenied</Code><Message>Not authorized</Message></Error></ErrorResponse>'

  test.each<{ name: string; grant: Grant; env?: Record<string, string>; code: string; want: string; asked: number }>([
    {
      name: 'is refused by STS: one clear error',
      grant: { status: 403, body: refusal },
      code: 'AccessDenied',
      asked: 1,
      want: 'check its trust policy, and the annotation of the ServiceAccount (403 AccessDenied Not authorized)',
    },
    {
      name: 'gets an answer without keys',
      grant: { status: 200, body: '<html>SECRET-1</html>' },
      code: 'Rejected',
      asked: 1,
      want: 'the answer has no temporary keys',
    },
    {
      name: 'gets no token over an open connection',
      grant: { lifeMs: HOUR },
      env: { AWS_ENDPOINT_URL_STS: 'http://sts.example.org' },
      code: 'Rejected',
      asked: 0,
      want: 'AWS_ENDPOINT_URL_STS must be a URL with https',
    },
    {
      name: 'has a token that is missing',
      grant: { lifeMs: HOUR },
      env: { AWS_WEB_IDENTITY_TOKEN_FILE: '/nowhere' },
      code: 'AccessDenied',
      asked: 0,
      want: 'the token of the ServiceAccount cannot be read: /nowhere',
    },
    {
      name: 'is that of the node, which a Pod must not take',
      grant: { lifeMs: HOUR },
      env: { AWS_ROLE_ARN: '', AWS_CONTAINER_CREDENTIALS_FULL_URI: 'http://169.254.169.254/latest' },
      code: 'Rejected',
      asked: 0,
      want: '169.254.169.254 is a link-local address',
    },
  ])('$name', async ({ grant, env = {}, code, want, asked }) => {
    const { root, s3, sts, words, webIdentity } = await worldWith(() => grant)

    const { result, said } = await runMover(root, words, { env: { ...webIdentity, ...env } })

    expect(result).toMatchObject({ outcome: 'failed', code, retry: false })
    expect(result.message).toContain(want)
    expect(`${said}${result.message}`).not.toMatch(/web\.token|SECRET-|token-1/)
    expect([sts.requests.length, s3.requests.length]).toEqual([asked, 0])
  })
})

test('a renewal that fails does not stop a download while the last keys are valid', async () => {
  const { tokenFile, sts } = await worldWith((nth) => (nth === 2 ? { status: 403, body: 'no' } : { lifeMs: HOUR }))
  const http = openHttpClient({ env: {}, localNetworks: ['127.0.0.0/8'] })
  let now = Date.now()
  const retry = { retries: 0, firstDelayMs: 1, maxDelayMs: 1 }
  const { signal } = new AbortController()
  const keys = roleCredentials(
    { kind: 'webIdentity', endpoint: sts.url, roleArn: ROLE, sessionName: 'test', tokenFile },
    { http, agentHttp: http, retry, now: () => now, signal },
  )
  const ids = [(await keys())?.accessKeyId, (await keys())?.accessKeyId]
  now += HOUR - 200_000
  ids.push((await keys())?.accessKeyId)
  await expect.poll(() => sts.requests.length).toBe(2)
  // The next renewal has a pause.
  ids.push((await keys())?.accessKeyId)
  // The pause begins when the failed response has been read, which may be later than here.
  const idAfterPause = async () => {
    now += 10_001
    return (await keys())?.accessKeyId
  }
  await expect.poll(idAfterPause).toBe('ID-3')

  expect(ids).toEqual(['ID-1', 'ID-1', 'ID-1', 'ID-1'])
  expect(sts.requests).toHaveLength(3)
  http.close()
})
