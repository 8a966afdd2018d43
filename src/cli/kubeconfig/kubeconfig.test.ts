import { execFileSync } from 'node:child_process'
import { lstatSync, mkdirSync, readFileSync, statSync, symlinkSync, writeFileSync } from 'node:fs'
import { readFile } from 'node:fs/promises'
import { join } from 'node:path'
import { beforeAll, describe, expect, test } from 'vitest'
import { parse, parseAllDocuments } from 'yaml'
import { serviceAccounts } from '../../api/dependencies.ts'
import { propagationPolicies } from '../../api/karmada.ts'
import type { ResourceType } from '../../api/meta.ts'
import { type Answer, type ApiRequest, json, status } from '../../store/cluster/api-responses.fake.ts'
import { type FakeApiServer, startFakeApiServer } from '../../store/cluster/api-server.fake.ts'
import { makeLeaf } from '../../tls/leaf.ts'
import { makeAuthority } from '../../tls/renewal.ts'
import { makeFolder, readFolder, runWords } from '../cli.fake.ts'

interface Hub {
  api: FakeApiServer
  folder: string
  kubeconfig: string
}

let ca: string
let tls: { cert: string; key: string }
beforeAll(async () => {
  const now = Date.now()
  const authority = await makeAuthority(now)
  const leaf = await makeLeaf({ ca: authority, hosts: ['127.0.0.1', 'karmada-apiserver'], now })
  ca = authority.certPem
  tls = { cert: leaf.certPem, key: leaf.keyPem }
})

/** An API server with the account of Lodestone, and the kubeconfig of its administrator. */
async function startHub({
  kinds = [serviceAccounts, propagationPolicies],
  cluster = {},
  user = {},
} = {}): Promise<Hub> {
  const api = await startFakeApiServer(kinds as ResourceType[], tls)
  const metadata = { name: 'lodestone', namespace: 'lodestone-system' }
  api.put(serviceAccounts, { apiVersion: 'v1', kind: 'ServiceAccount', metadata })
  const folder = makeFolder({
    'ca.crt': ca,
    hub: {
      apiVersion: 'v1',
      kind: 'Config',
      'current-context': 'hub',
      clusters: [{ name: 'hub', cluster: { server: api.url, 'certificate-authority': 'ca.crt', ...cluster } }],
      users: [{ name: 'admin', user: { token: 'admin-secret', ...user } }],
      contexts: [{ name: 'hub', context: { cluster: 'hub', user: 'admin' } }],
    },
  })
  return { api, folder, kubeconfig: join(folder, 'hub') }
}

const runOn = ({ kubeconfig }: Hub, ...words: string[]) =>
  runWords(['kubeconfig', '--kubeconfig', kubeconfig, ...words])
const base64 = (text: string) => Buffer.from(text).toString('base64')
const isTokenRequest = ({ method, path }: ApiRequest) => method === 'POST' && path.endsWith('/token')

const expected = ({ api }: Hub) => ({
  apiVersion: 'v1',
  kind: 'Config',
  'current-context': 'lodestone',
  clusters: [{ name: 'lodestone', cluster: { server: api.url, 'certificate-authority-data': base64(ca) } }],
  users: [{ name: 'lodestone', user: { token: 'granted-token' } }],
  contexts: [{ name: 'lodestone', context: { cluster: 'lodestone', user: 'lodestone' } }],
})

test('prints a kubeconfig with only the token of Lodestone, and says when it ends', async () => {
  const hub = await startHub()
  const { status, stdout, stderr } = await runOn(hub)
  expect({ status, stderr }).toEqual({
    status: 0,
    stderr: 'lodestone kubeconfig: the token of lodestone-system/lodestone ends at 1970-01-31T00:00:00.000Z, in 720h\n',
  })
  expect(parse(stdout)).toEqual(expected(hub))
  expect(hub.api.requests.find(isTokenRequest)?.path).toBe(
    '/api/v1/namespaces/lodestone-system/serviceaccounts/lodestone/token',
  )
})

test('the printed kubeconfig is one of Lodestone: another command uses it', async () => {
  const hub = await startHub()
  const file = join(hub.folder, 'lodestone.config')
  await runOn(hub, '--output-file', file)
  hub.api.token = hub.api.grantedToken
  const { stderr } = await runWords(['kubeconfig', '--kubeconfig', file])
  expect(stderr).toContain('the token of lodestone-system/lodestone ends at')
})

test('prints the Namespace and the Secret that the chart mounts, in any namespace', async () => {
  const hub = await startHub()
  for (const [namespace, words] of [
    ['lodestone-system', []],
    ['data', ['-n', 'data']],
  ] as const) {
    const { stdout } = await runOn(hub, '-o', 'secret', '--server', 'https://10.0.0.7:5443', ...words)
    const [created, secret] = parseAllDocuments(stdout).map((document) => document.toJS())
    expect(created).toEqual({ apiVersion: 'v1', kind: 'Namespace', metadata: { name: namespace } })
    const { data, ...object } = secret
    expect(object).toEqual({
      apiVersion: 'v1',
      kind: 'Secret',
      metadata: { name: 'lodestone-hub', namespace, labels: { 'app.kubernetes.io/name': 'lodestone' } },
    })
    const content = parse(Buffer.from(data.kubeconfig, 'base64').toString())
    expect(content.clusters[0].cluster.server).toBe('https://10.0.0.7:5443')
    expect(content.users).toEqual(expected(hub).users)
  }
})

test('warns if pods do not reach the address of the administrator', async () => {
  const hub = await startHub()
  const { status, stderr } = await runOn(hub, '-o', 'secret')
  expect({ status, stderr }).toEqual({
    status: 0,
    stderr: expect.stringContaining(
      `\nlodestone kubeconfig: warning: ${hub.api.url}: 127.0.0.1 is a loopback address, which pods do not reach; give --server URL`,
    ),
  })
})

test('requests the duration, and says if the API server grants less', async () => {
  const hub = await startHub()
  hub.api.maxTokenSeconds = 86_400
  const { stderr } = await runOn(hub, '--duration', '36h')
  expect(stderr).toBe(
    'lodestone kubeconfig: the token of lodestone-system/lodestone ends at 1970-01-02T00:00:00.000Z, in 24h; the API server granted 24h of 36h\n',
  )
  expect((await runOn(hub, '--duration', '1h30m')).stderr).toMatch(/, in 1h30m\n$/)
})

describe('uses the credentials of the administrator, and copies none:', () => {
  test.each<{ name: string; user: object; cluster?: object }>([
    { name: 'a token file', user: { token: undefined, tokenFile: 'admin-token' } },
    {
      name: 'a credential plugin',
      user: {
        token: undefined,
        exec: {
          apiVersion: 'client.authentication.k8s.io/v1',
          command: 'sh',
          args: [
            '-c',
            'echo \'{"apiVersion":"client.authentication.k8s.io/v1","kind":"ExecCredential","status":{"token":"admin-secret"}}\'',
          ],
          interactiveMode: 'Never',
        },
      },
    },
    { name: 'impersonation', user: { as: 'root' } },
  ])('$name', async ({ user }) => {
    const hub = await startHub({ user })
    writeFileSync(join(hub.folder, 'admin-token'), 'admin-secret\n')
    hub.api.token = 'admin-secret'
    const { stdout } = await runOn(hub)
    expect(parse(stdout)).toEqual(expected(hub))
  })
})

test('the CA may be data, and the certificate may have another name', async () => {
  const cluster = { 'certificate-authority': undefined, 'certificate-authority-data': base64(ca) }
  const hub = await startHub({ cluster: { ...cluster, 'tls-server-name': 'karmada-apiserver' } })
  const printed = async (...words: string[]) => parse((await runOn(hub, ...words)).stdout).clusters[0].cluster
  expect(await printed()).toEqual({
    server: hub.api.url,
    'certificate-authority-data': base64(ca),
    'tls-server-name': 'karmada-apiserver',
  })
  const other = `other ${ca}`
  const given = join(makeFolder({ 'ca.crt': other }), 'ca.crt')
  expect(await printed('--server', 'https://10.0.0.7:5443', '--certificate-authority', given)).toEqual({
    server: 'https://10.0.0.7:5443',
    'certificate-authority-data': base64(other),
  })
})

test('a kubeconfig that does not verify the certificate says so', async () => {
  const hub = await startHub({ cluster: { 'certificate-authority': undefined, 'insecure-skip-tls-verify': true } })
  const { stdout, stderr } = await runOn(hub)
  expect(parse(stdout).clusters[0].cluster).toEqual({ server: hub.api.url, 'insecure-skip-tls-verify': true })
  expect(stderr).toContain('warning: insecure-skip-tls-verify: the certificate of the server is not verified')
})

describe('--output-file', () => {
  test('replaces a file, also behind a link, with one for its owner alone', async () => {
    const hub = await startHub()
    mkdirSync(join(hub.folder, 'etc'))
    const target = join(hub.folder, 'etc', 'kubeconfig')
    writeFileSync(target, 'older', { mode: 0o644 })
    const link = join(hub.folder, 'lodestone.config')
    symlinkSync(target, link)
    expect(await runOn(hub, '--output-file', link)).toMatchObject({ status: 0, stdout: '' })
    expect(parse(readFileSync(link, 'utf8'))).toEqual(expected(hub))
    expect(statSync(target).mode & 0o777).toBe(0o600)
  })

  test('writes into a pipe, and does not replace it', async () => {
    const hub = await startHub()
    const pipe = join(hub.folder, 'pipe')
    execFileSync('mkfifo', [pipe])
    const [text, answer] = await Promise.all([readFile(pipe, 'utf8'), runOn(hub, '--output-file', pipe)])
    expect(answer).toMatchObject({ status: 0, stdout: '' })
    expect(parse(text)).toEqual(expected(hub))
    expect(lstatSync(pipe).isFIFO()).toBe(true)
  })

  test('never replaces the kubeconfig of the administrator', async () => {
    const hub = await startHub()
    const link = join(hub.folder, 'link')
    symlinkSync(hub.kubeconfig, link)
    const before = readFolder(hub.folder)
    for (const file of [hub.kubeconfig, link]) {
      expect(await runOn(hub, '--output-file', file)).toEqual({
        status: 2,
        stdout: '',
        stderr: `lodestone kubeconfig: --output-file ${file}: has the credentials that the command uses; choose another file\n`,
      })
    }
    expect(readFolder(hub.folder)).toEqual(before)
    expect(hub.api.requests).toEqual([])
  })

  test('that cannot be written is one line, and leaves nothing', async () => {
    const hub = await startHub()
    const before = readFolder(hub.folder)
    const file = join(hub.folder, 'missing', 'config')
    expect(await runOn(hub, '--output-file', file)).toMatchObject({
      status: 2,
      stderr: `lodestone kubeconfig: --output-file ${file} cannot be written: no such file or directory\n`,
    })
    expect(readFolder(hub.folder)).toEqual(before)
  })
})

describe('one line with the remedy, and without a token, if', () => {
  test.each<{ name: string; answer: Answer; want: RegExp }>([
    {
      name: 'the user may not create tokens',
      answer: status(403, 'Forbidden'),
      want: /HTTP 403: .*; run the command as an administrator, or grant the user the verb create of serviceaccounts\/token in namespace lodestone-system\n$/,
    },
    {
      name: 'the credentials are rejected',
      answer: status(401, 'Unauthorized'),
      want: /HTTP 401: .*; renew the token/,
    },
    {
      name: 'the response has no token',
      answer: json(201, { kind: 'TokenRequest', spec: { token: 'granted-token' } }),
      want: /: the response of the API server has no token; check the address in the kubeconfig\n$/,
    },
    {
      name: 'the response is not JSON',
      answer: (response) => response.end('{"token": granted-token}'),
      want: /: the response of the API server is not JSON; check the address in the kubeconfig\n$/,
    },
  ])('$name', async ({ answer, want }) => {
    const hub = await startHub()
    hub.api.misbehave(isTokenRequest, answer)
    const { status, stdout, stderr } = await runOn(hub)
    expect({ status, stdout }).toEqual({ status: 1, stdout: '' })
    expect(stderr).toMatch(want)
    expect(stderr).not.toContain('granted')
  })

  const release = 'helm install lodestone charts/lodestone -n data --create-namespace --set mode=hub-objects'
  test.each([
    { account: 'data/lodestone', on: 'a hub', want: `create it with the kubeconfig of the hub: ${release}` },
    {
      account: 'data/pulls',
      on: 'a hub',
      want: `create it with the kubeconfig of the hub: ${release} --set serviceAccount.name=pulls`,
    },
    {
      account: 'lodestone-system/lodestone-page',
      on: 'a hub',
      want: 'create it with page.enabled=true in the release with mode=hub-objects',
    },
    { account: 'data/lodestone', on: 'a member', want: 'create it: kubectl -n data create serviceaccount lodestone' },
  ])('the ServiceAccount $account is missing on $on', async ({ account, on, want }) => {
    const hub = await startHub(on === 'a hub' ? {} : { kinds: [serviceAccounts] })
    expect(await runOn(hub, '--service-account', account)).toEqual({
      status: 1,
      stdout: '',
      stderr: `lodestone kubeconfig: API server ${hub.api.url} has no ServiceAccount ${account}; ${want}\n`,
    })
  })

  test('the API server is not a hub, whose pods need no Secret', async () => {
    const hub = await startHub({ kinds: [serviceAccounts] })
    expect(await runOn(hub, '-o', 'secret')).toEqual({
      status: 1,
      stdout: '',
      stderr: `lodestone kubeconfig: API server ${hub.api.url} is not a hub of Karmada; give the kubeconfig of the Karmada API server\n`,
    })
    expect((await runOn(hub)).status).toBe(0)
    expect(hub.api.requests.filter(isTokenRequest)).toHaveLength(1)
  })
})
