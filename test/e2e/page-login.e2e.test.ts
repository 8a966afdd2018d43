// The page as in a cluster: each reader logs in with a token, and sees what the real API server allows it to list.
import axe from 'axe-core'
import type { Browser } from 'playwright-core'
import { Agent, type Dispatcher, request } from 'undici'
import { afterAll, beforeAll, describe, expect, onTestFinished, test } from 'vitest'
import { openPage, servePage } from './browser.ts'
import { buildPage, startBrowser } from './chromium.ts'
import { lodestoneOutput } from './command.ts'
import { type ControlPlane, startControlPlane } from './control-plane.ts'
import { type Hub, hubOn } from './hub.ts'
import { installLodestone, startLodestone } from './lodestone.ts'
import { claim, deployment, policy, source } from './manifests.ts'

const RBAC = { apiGroup: 'rbac.authorization.k8s.io' }

let browser: Browser
let plane: ControlPlane
let hub: Hub
let pageKubeconfig: string
const tokens: Record<string, string> = {}
const insecure = new Agent({ connect: { rejectUnauthorized: false } })

beforeAll(async () => {
  browser = await startBrowser()
  await buildPage()
  plane = await startControlPlane({ garbageCollector: true })
  await startLodestone(plane, { kubeconfig: await installLodestone(plane) })
  hub = hubOn(plane)
  await plane.kubectl(['apply', '-f', '-'], { input: await lodestoneOutput(['manifests', 'page']) })
  pageKubeconfig = await plane.kubeconfigFor('system:serviceaccount:lodestone-system:lodestone-page')
  await plane.apply(['sales', 'demo'].map((name) => ({ apiVersion: 'v1', kind: 'Namespace', metadata: { name } })))
  for (const namespace of ['sales', 'demo']) {
    const workload = deployment('app', { namespace })
    await hub.apply(
      policy('app', { namespace }),
      claim('app', { namespace, data: `${namespace}-data`, workload }),
      workload,
    )
  }
  await hub.apply(source('demo-data', ['member1']))
  await createReaders()
})

afterAll(async () => {
  await insecure.close()
  await browser?.close()
  await plane?.stopAll()
})

// `tenant` and the user `jane` may read claims and bindings of demo, `operator` may read everything of Lodestone.
async function createReaders(): Promise<void> {
  const read = (apiGroups: string[], resources: string[]) => ({ apiGroups, resources, verbs: ['get', 'list', 'watch'] })
  const rules = [
    read(['datadependency.volcano.sh'], ['datasourceclaims']),
    read(['work.karmada.io'], ['resourcebindings']),
    read(['apps'], ['deployments']),
  ]
  const subjects = (name: string) => [{ kind: 'ServiceAccount', name, namespace: 'demo' }]
  const apiVersion = 'rbac.authorization.k8s.io/v1'
  await plane.apply([
    ...['tenant', 'operator'].map((name) => ({
      apiVersion: 'v1',
      kind: 'ServiceAccount',
      metadata: { name, namespace: 'demo' },
    })),
    { apiVersion, kind: 'Role', metadata: { name: 'reader', namespace: 'demo' }, rules },
    {
      apiVersion,
      kind: 'RoleBinding',
      metadata: { name: 'reader', namespace: 'demo' },
      roleRef: { ...RBAC, kind: 'Role', name: 'reader' },
      subjects: [...subjects('tenant'), { apiGroup: RBAC.apiGroup, kind: 'User', name: 'jane' }],
    },
    {
      apiVersion,
      kind: 'ClusterRoleBinding',
      metadata: { name: 'operator' },
      roleRef: { ...RBAC, kind: 'ClusterRole', name: 'lodestone-page' },
      subjects: subjects('operator'),
    },
  ])
  for (const name of ['tenant', 'operator']) {
    tokens[name] = (await plane.kubectl(['create', 'token', name, '-n', 'demo'])).stdout.trim()
  }
}

interface Answer {
  status: number
  // biome-ignore lint/suspicious/noExplicitAny: the schema of the answers is checked in ui.test.ts
  body: any
}

// Starts the page, and reads its API with the token of a reader.
async function servePageForReaders() {
  const { link } = await servePage(['--kubeconfig', pageKubeconfig, '--login', 'token', '--host', 'fleet.example.org'])
  const send = async (
    path: string,
    reader?: string,
    options: Pick<Dispatcher.RequestOptions, 'method' | 'body'> & { headers?: Record<string, string> } = {
      method: 'GET',
    },
  ): Promise<Answer> => {
    const authorization = reader && { authorization: `Bearer ${tokens[reader] ?? reader}` }
    const { statusCode, body } = await request(new URL(path, link), {
      ...options,
      headers: { ...authorization, ...options.headers },
      dispatcher: insecure,
    })
    return { status: statusCode, body: JSON.parse(await body.text()) }
  }
  const read = (path: string, reader?: string, headers: Record<string, string> = {}) =>
    send(path, reader, { method: 'GET', headers })
  const post = (path: string, reader: string, question: object) =>
    send(path, reader, {
      method: 'POST',
      headers: { 'content-type': 'application/json' },
      body: JSON.stringify(question),
    })
  return { link, read, post }
}

const namesOf = ({ body }: Answer) => body.items.map(({ id }: { id: string }) => id).sort()

describe('a reader', () => {
  test('without a token the API server accepts sees nothing', async () => {
    const { read } = await servePageForReaders()
    for (const path of ['/v1', '/v1/claims', '/v1/events', '/v1/explain/Deployment/app?namespace=demo']) {
      expect(await read(path)).toMatchObject({ status: 401 })
      expect(await read(path, 'forged')).toMatchObject({ status: 401 })
    }
    // The router decodes paths.
    expect(await read('/%76%31/claims')).toMatchObject({ status: 401 })
  })

  test('asks about the fleet only with the rights to all of it', async () => {
    const { post } = await servePageForReaders()
    for (const [path, question] of [
      ['/v1/what-if', { each: 'cluster' }],
      ['/v1/check', { files: [{ file: 'a.yaml', text: '{}' }] }],
    ] as const) {
      const message = expect.stringMatching(/^you may not list .*; ask an administrator for this right$/)
      expect(await post(path, 'tenant', question)).toMatchObject({ status: 403, body: { error: { message } } })
      expect(await post(path, 'forged', question)).toMatchObject({ status: 401 })
    }
    const answer = await post('/v1/what-if', 'operator', { each: 'cluster' })
    expect(answer).toMatchObject({ status: 200, body: { rows: [{ name: 'member1' }, {}, {}] } })
  })

  test('sees what it may list, and a sentence instead of the rest', async () => {
    const { read } = await servePageForReaders()
    await expect.poll(async () => namesOf(await read('/v1/claims', 'operator'))).toEqual(['demo/app', 'sales/app'])
    const own = await read('/v1/claims', 'tenant')
    expect(namesOf(own)).toEqual(['demo/app'])
    expect(own.body.notice).toMatch(/^only rows of namespaces whose datasourceclaims/)
    expect(await read('/v1', 'tenant')).toMatchObject({
      body: { user: 'system:serviceaccount:demo:tenant', totals: { claims: 1, sources: 0 } },
    })
    for (const path of ['/v1/claims?namespace=sales', '/v1/sources', '/v1/clusters', '/v1/systems']) {
      expect(await read(path, 'tenant')).toMatchObject({
        status: 403,
        body: {
          error: { message: expect.stringMatching(/^you may not list .*; ask an administrator for this right$/) },
        },
      })
    }
    expect(namesOf(await read('/v1/waiting', 'operator'))).toEqual(['Deployment.apps sales/app'])
    expect(namesOf(await read('/v1/waiting', 'tenant'))).toEqual([])
  })

  test('reads explanations of its objects, without those of others', async () => {
    const { read } = await servePageForReaders()
    const path = '/v1/explain/Deployment/app'
    const own = JSON.stringify((await read(`${path}?namespace=demo`, 'tenant')).body)
    expect(own).toContain('DataSourceClaim demo/app')
    expect(own).toContain('DataSource: not shown, since you may not get datasources.datadependency.volcano.sh')
    expect(own).not.toContain('sales')
    expect(JSON.stringify((await read(`${path}?namespace=demo`, 'operator')).body)).toContain('member1')
    expect(await read(`${path}?namespace=sales`, 'tenant')).toMatchObject({
      status: 403,
      body: { error: { message: 'you may not get deployments.apps app in namespace sales' } },
    })
    const missing = await read('/v1/explain/Deployment/ap?namespace=demo', 'tenant')
    expect(missing.body.error.message).toBe('Deployment demo/ap not found')
  })

  test('is rejected at another host, and from a page of another site', async () => {
    const { read } = await servePageForReaders()
    expect(await read('/v1', 'operator', { host: 'evil.example' })).toMatchObject({ status: 421 })
    expect(await read('/v1', 'operator', { origin: 'https://evil.example' })).toMatchObject({ status: 403 })
    expect(await read('/v1', 'operator', { host: 'fleet.example.org' })).toMatchObject({ status: 200 })
  })
})

test('a reader logs in with a token in the browser, sees its own rows, and logs out', async () => {
  const { link } = await servePageForReaders()
  const page = await openPage(browser, new URL('/claims', link).href, { ignoreHTTPSErrors: true })
  await page.getByLabel('Token').fill('forged')
  await page.getByRole('button', { name: 'Log in' }).click()
  await page.getByText('the API server does not accept this token').waitFor()
  await page.evaluate(axe.source)
  expect(((await page.evaluate('axe.run()')) as axe.AxeResults).violations).toEqual([])
  await page.getByLabel('Token').fill(tokens['tenant'] ?? '')
  await page.getByRole('button', { name: 'Log in' }).click()
  await page.getByRole('link', { name: 'demo/app' }).first().waitFor()
  await page.getByText('only rows of namespaces whose datasourceclaims').waitFor()
  expect(await page.getByText('sales/app').count()).toBe(0)
  await page.getByRole('button', { name: 'Log out' }).click()
  await page.getByLabel('Token').waitFor()
})

describe('a user with rights in one namespace', () => {
  test('sees this namespace with -n, and a sentence about what is not shown', async () => {
    const { link } = await servePage(['--kubeconfig', await plane.kubeconfigFor('jane'), '-n', 'demo'])
    const page = await openPage(browser, link)
    await page.getByText('Only namespace demo is shown; not shown, since you may not list them:').waitFor()
    await page.goto(new URL('/claims', link).href)
    await page.getByRole('link', { name: 'demo/app', exact: true }).waitFor()
    expect(await page.getByText('sales/app').count()).toBe(0)
    onTestFinished(async () => void (await plane.kubectl(['delete', 'datasourceclaim', 'later', '-n', 'demo'])))
    await hub.apply(claim('later', { namespace: 'demo', data: 'demo-data', workload: deployment('app') }))
    await page.getByRole('link', { name: 'demo/later' }).waitFor()
    await page.getByRole('link', { name: 'Deployment demo/app' }).first().click()
    await page.getByText('you may not list datasources.datadependency.volcano.sh').first().waitFor()
    expect((await page.request.get(new URL('/v1/sources', link).href)).status()).toBe(403)
  })

  test('gets the way out without -n, and an error for another namespace', async () => {
    const jane = ['--kubeconfig', await plane.kubeconfigFor('jane')]
    await expect(servePage(jane)).rejects.toThrow(
      /verbs list and watch of \w+, or use -n NAMESPACE to see one namespace/,
    )
    await expect(servePage([...jane, '-n', 'sales'])).rejects.toThrow(/you may not list \S+ in namespace sales, and no/)
  })
})

test('an account without the rights of the page gets a line that names them', async () => {
  const role = (await plane.getJson('clusterroles', 'lodestone-page')) as { rules?: { verbs: string[] }[] }
  const rules = role.rules?.filter(({ verbs }) => !verbs.includes('create'))
  const kind = { apiVersion: 'rbac.authorization.k8s.io/v1', kind: 'ClusterRole' }
  await plane.apply([{ ...kind, metadata: { name: 'few' }, rules }])
  await plane.kubectl(['create', 'clusterrolebinding', 'few', '--clusterrole=few', '--user=few'])
  const few = await plane.kubeconfigFor('few')
  await expect(servePage(['--kubeconfig', few, '--login', 'token'])).rejects.toThrow(
    /may not create tokenreviews.authentication.k8s.io; apply its roles: lodestone manifests page/,
  )
})
