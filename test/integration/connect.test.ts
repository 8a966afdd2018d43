/** Tests how commands find their API server, and what they print if it does not respond. */
import { createServer, type Server } from 'node:net'
import { join } from 'node:path'
import { describe, expect, onTestFinished, test } from 'vitest'
import { dataSourceClaims } from '../../src/api/data-source-claim.ts'
import { clusterPropagationPolicies, propagationPolicies } from '../../src/api/karmada.ts'
import { defined } from '../../src/base/json.ts'
import { makeFolder, runWords } from '../../src/cli/cli.fake.ts'
import type { Arguments } from '../../src/cli/command.ts'
import { selectConnection } from '../../src/cli/options/connect.ts'
import { status as answerStatus, json } from '../../src/store/cluster/api-responses.fake.ts'
import { type FakeApiServer, startFakeApiServer } from '../../src/store/cluster/api-server.fake.ts'
import { cachedKinds } from '../../src/store/kinds/cached-kinds.ts'
import { makeLeaf } from '../../src/tls/leaf.ts'
import { makeAuthority } from '../../src/tls/renewal.ts'
import { makeClaim, makeDeployment } from '../builders.ts'

const argumentsOf = (given: Record<string, string>): Arguments => ({
  positionals: [],
  text: (option) => given[option],
  texts: () => [],
  flag: () => false,
})

describe('the API server of a command is', () => {
  const home = () => makeFolder({ '.kube/config': '{}', token: 'secret' })
  const POD = { KUBERNETES_SERVICE_HOST: '10.0.0.1', KUBERNETES_SERVICE_PORT: '443' }
  type Case = { name: string; given?: Record<string, string>; env?: Record<string, string>; want: unknown }
  test.each<Case>([
    {
      name: 'that of --kubeconfig first',
      given: { kubeconfig: 'a', context: 'c' },
      env: { ...POD, KUBECONFIG: 'b' },
      want: { kubeconfig: 'a', context: 'c' },
    },
    {
      name: 'that of $KUBECONFIG before that of the pod',
      given: { context: 'c' },
      env: { ...POD, KUBECONFIG: 'b::c:' },
      want: { kubeconfig: ['b', 'c'], context: 'c' },
    },
    { name: 'that of the pod before ~/.kube/config', env: { ...POD, KUBECONFIG: ':' }, want: { inCluster: true } },
    { name: 'that of ~/.kube/config last', want: { kubeconfig: 'HOME/.kube/config' } },
    {
      name: 'that of ~/.kube/config, if the context cannot be in the pod',
      given: { context: 'c' },
      env: POD,
      want: { kubeconfig: 'HOME/.kube/config', context: 'c' },
    },
  ])('$name', ({ given = {}, env = {}, want }) => {
    const folder = home()
    const rules = { usesHome: true, tokenFile: join(folder, 'token') }
    const found = selectConnection(argumentsOf(given), { env: { HOME: folder, ...env } }, rules)
    expect(JSON.parse(JSON.stringify(found).replace(folder, 'HOME'))).toEqual(want)
  })

  test('never that of ~/.kube/config for a server', async () => {
    expect(await runWords(['serve'], { env: { HOME: home() } })).toEqual({
      status: 2,
      stdout: '',
      stderr:
        'lodestone serve: no API server is given: $KUBECONFIG is not set, the command does not run in a pod; give --kubeconfig FILE\n',
    })
  })

  test.each([
    {
      name: 'without any source',
      env: { HOME: '/nowhere' },
      want: 'no API server is given: $KUBECONFIG is not set, the command does not run in a pod, /nowhere/.kube/config does not exist; give --kubeconfig FILE',
    },
    {
      name: 'in a pod without a token',
      env: POD,
      want: 'the pod has no ServiceAccount token (/var/run/secrets/kubernetes.io/serviceaccount/token), $HOME is not set',
    },
    {
      name: 'with missing files',
      env: { KUBECONFIG: '/none/a:/none/b' },
      want: 'kubeconfig /none/a:/none/b: no such file',
    },
  ])('an error $name', async ({ env, want }) => {
    const { status, stderr } = await runWords(['status'], { env })
    expect(status).toBe(2)
    expect(stderr).toContain(want)
  })
})

/** A kubeconfig with one context for each server. */
function configOf(servers: Record<string, { server: string; ca?: string; token?: string }>): object {
  return {
    apiVersion: 'v1',
    kind: 'Config',
    'current-context': Object.keys(servers)[0],
    contexts: Object.keys(servers).map((name) => ({ name, context: { cluster: name, user: name } })),
    clusters: Object.entries(servers).map(([name, { server, ca }]) => ({
      name,
      cluster: defined({ server, 'certificate-authority-data': ca ? Buffer.from(ca).toString('base64') : undefined }),
    })),
    users: Object.entries(servers).map(([name, { token }]) => ({ name, user: defined({ token: token || undefined }) })),
  }
}

function startHub(options?: object): Promise<FakeApiServer> {
  const types = cachedKinds.map(({ type }) => type)
  return startFakeApiServer(types, options)
}

async function listenTcp(server: Server): Promise<string> {
  await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve))
  onTestFinished(() => void server.close())
  const address = server.address()
  return `https://127.0.0.1:${typeof address === 'object' ? address?.port : ''}`
}

/** The URL of a port on which no process listens. */
async function closedPort(): Promise<string> {
  const server = createServer()
  const url = await listenTcp(server)
  await new Promise((resolve) => server.close(resolve))
  return url
}

/** The words of every command that reads an API server, without its options. */
const READERS = [
  ['check-install'],
  ['status'],
  ['explain', 'deployment/app'],
  ['migrate'],
  ['kubeconfig', '--server', 'https://10.0.0.7:5443'],
  ['certs', '--config', 'CONFIG'],
  ['check', '-f', 'examples/hub/workload.yaml'],
]

function runReader(words: readonly string[], servers: Parameters<typeof configOf>[0], ...more: string[]) {
  const folder = makeFolder({
    hub: configOf(servers),
    'lodestone.yaml': { certificates: { source: 'secret' } },
  })
  const given = words.map((word) => (word === 'CONFIG' ? join(folder, 'lodestone.yaml') : word))
  return runWords([...given, '--kubeconfig', join(folder, 'hub'), ...more])
}

describe.each(READERS.map((words) => ({ command: words[0] ?? '', words })))('$command', ({ command, words }) => {
  test('without a running API server prints one line with the remedy', async () => {
    const server = await closedPort()
    expect(await runReader(words, { hub: { server } })).toEqual({
      status: 1,
      stdout: '',
      stderr: `lodestone ${command}: API server ${server}: connection refused; check that kube-apiserver runs, and check the address of the server in the kubeconfig\n`,
    })
  })

  test('uses the context that is given', async () => {
    const hub = await startHub()
    const servers = { closed: { server: 'https://127.0.0.1:1' }, open: { server: hub.url } }
    await runReader(words, servers, '--context', 'open').catch(() => undefined)
    expect(hub.requests[0]?.path).toBe('/version')
  })
})

describe('an API server that cannot be used:', () => {
  test('one that never responds ends the command after four seconds', async () => {
    const sockets = new Set<{ destroy(): void }>()
    const server = await listenTcp(createServer((socket) => sockets.add(socket)))
    onTestFinished(() => sockets.forEach((socket) => void socket.destroy()))
    const { status, stderr } = await runReader(['status'], { hub: { server } })
    expect({ status, stderr }).toEqual({
      status: 1,
      stderr: `lodestone status: API server ${server}: no response within 4 s; check the address of the server in the kubeconfig, firewalls and proxies\n`,
    })
  })

  test('the certificate of another CA', async () => {
    const now = Date.now()
    const ca = await makeAuthority(now)
    const other = await makeAuthority(now)
    const { certPem, keyPem } = await makeLeaf({ ca, hosts: ['127.0.0.1', 'other.example'], now })
    const hub = await startHub({ cert: certPem, key: keyPem })
    const { status, stderr } = await runReader(['status'], { hub: { server: hub.url, ca: other.certPem } })
    expect({ status, stderr }).toEqual({
      status: 1,
      stderr: `lodestone status: API server ${hub.url}: its certificate is from an unknown CA; set the CA of the cluster in the kubeconfig (certificate-authority-data)\n`,
    })
  })

  test('the certificate of another host', async () => {
    const now = Date.now()
    const ca = await makeAuthority(now)
    const { certPem, keyPem } = await makeLeaf({ ca, hosts: ['other.example'], now })
    const hub = await startHub({ cert: certPem, key: keyPem })
    const { status, stderr } = await runReader(['status'], { hub: { server: hub.url, ca: ca.certPem } })
    expect(status).toBe(1)
    expect(stderr).toContain('its certificate has other host names; use one of them, or set tls-server-name')
  })

  test.each([
    {
      name: 'a host name that does not exist',
      server: 'https://hub.invalid',
      want: /^lodestone status: API server https:\/\/hub.invalid: host name not found.*DNS\n$/,
    },
    { name: 'HTTP instead of TLS', scheme: 'https', want: /^[^\n]*the TLS handshake failed; [^\n]* its scheme\n$/ },
    { name: 'another server', path: '/other', want: /^[^\n]*HTTP 404: 404 page not found; check the address[^\n]*\n$/ },
  ])('$name', async ({ server, scheme = 'http', path = '', want }) => {
    const hub = await startHub()
    const url = server ?? `${hub.url.replace('http', scheme)}${path}`
    const { status, stdout, stderr } = await runReader(['status'], { hub: { server: url } })
    expect({ status, stdout }).toEqual({ status: 1, stdout: '' })
    expect(stderr).toMatch(want)
  })

  test.each([
    {
      name: 'rejected credentials',
      fail: (hub: FakeApiServer) => Object.assign(hub, { token: 'other' }),
      want: 'HTTP 401: the credentials are rejected; renew the token or certificate of the user\n',
    },
    {
      name: 'a missing permission',
      fail: (hub: FakeApiServer) =>
        hub.misbehave(({ path }) => path.includes('datasourceclaims'), answerStatus(403, 'Forbidden')),
      want: 'HTTP 403: the server says Forbidden; grant the user the verbs list and watch of DataSourceClaim, or use -n NAMESPACE to see one namespace\n',
    },
    {
      name: 'a server that starts',
      fail: (hub: FakeApiServer) => hub.misbehave(({ path }) => path === '/version', answerStatus(503, 'Starting')),
      want: 'GET /version: HTTP 503: the server says Starting; check the API server, and try again\n',
    },
    {
      name: 'a page of a proxy',
      fail: (hub: FakeApiServer) => hub.misbehave(({ path }) => path === '/version', json(200, 'login')),
      want: 'the response is not a Kubernetes version; check the address of the server in the kubeconfig\n',
    },
    {
      name: 'HTML',
      fail: (hub: FakeApiServer) =>
        hub.misbehave(
          ({ path }) => path === '/version',
          (response) => void response.end('<html>'),
        ),
      want: 'the response is not JSON; check the address of the server in the kubeconfig\n',
    },
  ])('$name', async ({ fail, want }) => {
    const hub = await startHub()
    fail(hub)
    const { status, stdout, stderr } = await runReader(['status'], { hub: { server: hub.url } })
    expect({ status, stdout }).toEqual({ status: 1, stdout: '' })
    expect(stderr.split('\n')).toHaveLength(2)
    expect(stderr.startsWith(`lodestone status: API server ${hub.url}: `)).toBe(true)
    expect(stderr.endsWith(want)).toBe(true)
  })
})

test('check rejects a cluster that is not a hub, and explain names it', async () => {
  const hub = await startHub()
  for (const type of [propagationPolicies, clusterPropagationPolicies]) hub.serve(type, false)
  const file = join(makeFolder({ 'app.yaml': makeDeployment() }), 'app.yaml')

  expect(await runReader(['check', '-f', file], { hub: { server: hub.url } })).toEqual({
    status: 1,
    stdout: '',
    stderr: `lodestone check: API server ${hub.url} is not a hub of Karmada; give the kubeconfig of the Karmada API server\n`,
  })
  expect(await runReader(['explain', 'deployment/app'], { hub: { server: hub.url } })).toEqual({
    status: 1,
    stdout: '',
    stderr: 'lodestone explain: Deployment default/app not found on this API server, which is not a hub\n',
  })
})

describe('credentials that cannot be read:', () => {
  const plugin = (command: string, ...args: string[]) => ({
    user: { exec: { apiVersion: 'client.authentication.k8s.io/v1', command, args, interactiveMode: 'Never' } },
  })
  const provider = (config: object) => ({ user: { 'auth-provider': config } })
  const statusWith = (given: { cluster?: object; user?: object }, io?: Parameters<typeof runWords>[1]) => {
    const config = {
      apiVersion: 'v1',
      kind: 'Config',
      'current-context': 'hub',
      contexts: [{ name: 'hub', context: { cluster: 'hub', user: 'hub' } }],
      clusters: [{ name: 'hub', cluster: { server: 'https://127.0.0.1:1', ...given.cluster } }],
      users: [{ name: 'hub', user: given.user ?? {} }],
    }
    return runWords(['status', '--kubeconfig', join(makeFolder({ hub: config }), 'hub')], io)
  }

  test.each([
    { given: plugin('no-such-plugin'), want: 'credential plugin no-such-plugin: it is not on the PATH' },
    {
      given: {
        user: { exec: { ...plugin('no-such-plugin').user.exec, installHint: 'Install it\nfrom the portal\n' } },
      },
      want: 'credential plugin no-such-plugin: it is not on the PATH: Install it from the portal',
    },
    { given: plugin('sh', '-c', 'echo one >&2; echo two >&2; exit 3'), want: 'credential plugin sh: one two' },
    { given: plugin('false'), want: 'credential plugin false: it failed' },
    { given: plugin('echo', 'none'), want: 'credential plugin echo: it did not print JSON' },
    { given: { cluster: { 'certificate-authority': '/none/ca.crt' } }, want: '/none/ca.crt does not exist' },
    { given: provider({ name: 'removed' }), want: 'auth-provider removed of user hub: it gives no valid token' },
    {
      given: provider({ name: 'oidc', config: { 'id-token': 'e30.eyJleHAiOjF9.c2ln' } }),
      want: 'auth-provider oidc of user hub: it gives no valid token',
    },
    {
      given: provider({ name: 'oidc', config: { 'id-token': 'c2VjcmV0.e30.c2ln' } }),
      want: 'auth-provider oidc of user hub: its token cannot be read',
    },
    { given: provider({ name: 'azure', config: {} }), want: 'auth-provider azure of user hub: Token is expired!' },
    {
      given: { cluster: { 'proxy-url': 'http://me:secret@127.0.0.1:1' } },
      want: 'proxy-url 127.0.0.1:1 is not reachable: connect ECONNREFUSED 127.0.0.1:1',
    },
    {
      given: { cluster: { 'proxy-url': 'http://proxy.invalid:3128' } },
      want: 'proxy-url proxy.invalid:3128 is not reachable: getaddrinfo ENOTFOUND proxy.invalid',
    },
    {
      given: { cluster: { 'proxy-url': 'socks5h://127.0.0.1:1' } },
      want: 'proxy-url of the kubeconfig has another scheme; use http, https or socks5',
    },
  ])('$want', async ({ given, want }) => {
    expect(await statusWith(given)).toEqual({
      status: 1,
      stdout: '',
      stderr: `lodestone status: API server https://127.0.0.1:1: ${want}; check the kubeconfig\n`,
    })
  })

  test('a credential plugin that waits is reported, and Ctrl-C ends the command', async () => {
    const ending = new AbortController()
    let stderr = ''
    const write = (text: string) => {
      stderr += text
      ending.abort()
    }
    const { status } = await statusWith(plugin('sleep', '60'), { signal: ending.signal, stderr: { write } })
    expect(status).toBe(130)
    expect(stderr).toBe(
      'lodestone: waiting for the credential plugin of the kubeconfig; finish its login, or press Ctrl-C\n',
    )
  })

  test('a proxy-url that is not a URL', async () => {
    const { status, stderr } = await statusWith({ cluster: { 'proxy-url': 'http://' } })
    expect(status).toBe(2)
    expect(stderr).toMatch(/^lodestone status: kubeconfig [^\n]*: proxy-url of cluster hub is not a URL\n$/)
  })
})

test('a missing CRD ends the command, with the command that installs it', async () => {
  const hub = await startHub()
  hub.serve(dataSourceClaims, false)
  expect(await runReader(['explain', 'deployment/app'], { hub: { server: hub.url } })).toEqual({
    status: 1,
    stdout: '',
    stderr: `lodestone explain: API server ${hub.url}: DataSourceClaim is not installed; apply the CRDs: lodestone manifests crds | kubectl apply --server-side -f -\n`,
  })
})

test('a hub whose version the user may not read is used', async () => {
  const hub = await startHub()
  hub.put(dataSourceClaims, makeClaim({}, { name: 'orders' }))
  hub.misbehave(({ path }) => path === '/version', answerStatus(403, 'Forbidden'))
  const { status, stdout } = await runReader(['status'], { hub: { server: hub.url } })
  expect(status).toBe(0)
  expect(stdout).toContain('default/orders')
})

test('$KUBECONFIG merges its files, and a missing one is skipped', async () => {
  const hub = await startHub()
  hub.put(dataSourceClaims, makeClaim({}, { name: 'orders' }))
  const folder = makeFolder({
    first: { 'current-context': 'hub', clusters: [{ name: 'hub', cluster: { server: hub.url } }] },
    second: configOf({ hub: { server: 'https://127.0.0.1:1' } }),
  })
  const KUBECONFIG = ['first', 'none', 'second'].map((file) => join(folder, file)).join(':')
  const { status, stdout, stderr } = await runWords(['status'], { env: { KUBECONFIG } })
  expect({ status, stderr }).toEqual({ status: 0, stderr: '' })
  expect(stdout).toContain('default/orders')
})

test.each([
  { name: 'an empty file', text: '' },
  { name: 'a file with comments only', text: '# new\n' },
  { name: 'a file with null', text: 'null\n' },
])('KUBECONFIG may name $name, which defines nothing', async ({ text }) => {
  const hub = await startHub()
  hub.put(dataSourceClaims, makeClaim({}, { name: 'orders' }))
  const folder = makeFolder({ new: text, second: configOf({ hub: { server: hub.url } }) })
  const [empty = '', second = ''] = ['new', 'second'].map((file) => join(folder, file))
  expect(await runWords(['status'], { env: { KUBECONFIG: `${empty}:${second}` } })).toMatchObject({
    status: 0,
    stderr: '',
  })
  expect(await runWords(['status'], { env: { KUBECONFIG: empty } })).toEqual({
    status: 2,
    stdout: '',
    stderr: `lodestone status: kubeconfig ${empty} has no current-context, and no context was given\n`,
  })
})
