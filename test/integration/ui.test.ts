import { chmodSync, readFileSync, writeFileSync } from 'node:fs'
import { get } from 'node:http'
import { join } from 'node:path'
import { describe, expect, test } from 'vitest'
import { resourceWord } from '../../src/api/meta.ts'
import { pageRoles } from '../../src/app/roles/page-roles.ts'
import { makeFolder, runWords } from '../../src/cli/cli.fake.ts'
import { makeNarrowedBinding, openMemory, openPage, type Page, schemaErrors, sendTo } from '../../src/cli/ui/ui.fake.ts'
import { openBrowser, pageKinds, pageSystems } from '../../src/cli/ui/ui.ts'
import { SHIPPED_KINDS } from '../../src/core/workload-kinds/kinds.ts'
import {
  makeBinding,
  makeClaim,
  makeCluster,
  makeDeployment,
  makePolicy,
  makeSource,
  makeVolumeManager,
} from '../builders.ts'

const hold = JSON.stringify({
  message: 'default/sales: catalog down',
  reason: 'Unresolved',
  since: '2026-11-20T09:00:00Z',
})
const held = makeBinding({ suspension: { scheduling: true } }, { annotations: { 'lodestone.dev/hold': hold } })
const clusters = ['member1', 'member2', 'member3'].map((name) => makeCluster(name, { region: 'eu' }))
const fleet = [makeClaim(), makeSource(), makeDeployment(), makePolicy(), ...clusters]

const narrowed = makeNarrowedBinding(['member1', 'member2'])

const manager = makeVolumeManager([{}], {
  status: {
    volumes: [
      {
        id: 'vol1',
        nodeAffinity: {},
        replicas: [
          { index: 0, revision: 'r', state: 'Downloading', attempt: 1, node: 'node-1', bytes: 1, totalBytes: 2 },
        ],
      },
    ],
  },
})

// biome-ignore lint/suspicious/noExplicitAny: the schema of the answers is checked below
async function read(page: Page, path: string): Promise<any> {
  const { status, text, json } = await page.send(path)
  expect({ status, text }).toMatchObject({ status: 200 })
  return json()
}

describe('the API', () => {
  test('says what waits, why, and what ends it, in the words of status and explain', async () => {
    const page = await openPage([makeClaim(), held, makeDeployment(), makePolicy(), ...clusters])
    const { items, total, states } = await read(page, '/v1/waiting')
    expect({ total, states }).toEqual({ total: 1, states: { Unresolved: 1 } })
    expect(items[0]).toMatchObject({
      object: { kind: 'Deployment', namespace: 'default', name: 'app' },
      message: 'default/sales: catalog down',
      blocker: { kind: 'DataSourceClaim', namespace: 'default', name: 'sales' },
      remedy: { command: 'kubectl get datasources' },
    })
    const { stdout } = await runWords(['status', '--folder', page.folder, '--held'])
    expect(stdout).toContain('default/sales: catalog down')
  })

  test('gives every list of `status -o json`, row by row', async () => {
    const page = await openPage([...fleet, held])
    const { stdout } = await runWords(['status', '--folder', page.folder, '-o', 'json'])
    const report = JSON.parse(stdout) as Record<string, object[]>
    for (const name of ['claims', 'holds', 'volumes', 'sources', 'systems']) {
      const { items } = await read(page, `/v1/${name}`)
      expect((items as { id: string }[]).map(({ id: _, ...row }) => row)).toEqual(report[name])
    }
  })

  test('shows what the policy of a workload allows, what is allowed, and where it is', async () => {
    const want = { state: 'Narrowed', message: 'default/sales is in member2', allowed: 'member2' }
    const { items } = await read(await openPage([...fleet, narrowed]), '/v1/workloads')
    expect(items).toEqual([
      expect.objectContaining({
        ...want,
        before: 'member1, member2',
        scheduled: ['member2'],
        decisionId: expect.any(String),
      }),
    ])
    const predicted = await read(await openPage(fleet), '/v1/workloads')
    expect(predicted.items).toEqual([expect.objectContaining({ ...want, before: 'member1, member2, member3' })])
    expect(predicted.items[0]).not.toHaveProperty('scheduled')
  })

  test('explains an object as `explain -o json` does', async () => {
    const page = await openPage(fleet)
    const { object } = await read(page, '/v1/explain/deployment/app?namespace=default')
    const { stdout } = await runWords(['explain', 'deployment/app', '--folder', page.folder, '-o', 'json'])
    expect(object).toEqual(JSON.parse(stdout).object)
  })

  test('has an overview with the number of rows in each list', async () => {
    const page = await openPage(fleet)
    expect(await read(page, '/v1')).toMatchObject({
      apiVersion: 'ui.lodestone.dev/v1alpha1',
      mode: 'folder',
      origin: page.folder,
      totals: { waiting: 0, claims: 1, sources: 1, clusters: 3 },
      unavailable: [],
    })
  })

  test('sends the rows that changed while a reader follows', async () => {
    const page = await openPage(fleet)
    const { events, close } = followEvents(page)
    await expect.poll(() => events.map(({ event }) => event)).toEqual(['state'])
    writeFileSync(join(page.folder, 'hold.yaml'), JSON.stringify(held))
    await expect
      .poll(() => events.find(({ event }) => event === 'change')?.data)
      .toMatchObject({
        lists: { waiting: { total: 1, upserted: [{ id: 'Deployment.apps default/app' }], removed: [] } },
      })
    close()
  })
})

interface ServerEvent {
  event: string
  data: object
}

function followEvents({ origin, cookie }: Page): { events: ServerEvent[]; close: () => void } {
  const events: ServerEvent[] = []
  const request = get(`${origin}/v1/events?lists=waiting`, { headers: { cookie } }, (response) => {
    let text = ''
    response.on('data', (chunk: Buffer) => {
      text += chunk.toString()
      const complete = text.split('\n\n')
      text = complete.pop() ?? ''
      for (const each of complete) {
        const [, event = '', data = '{}'] = /^event: (.*)\ndata: (.*)$/.exec(each) ?? []
        events.push({ event, data: JSON.parse(data) as object })
      }
    })
    response.on('error', () => undefined)
  })
  request.on('error', () => undefined)
  return { events, close: () => request.destroy() }
}

const workload = { apiVersion: 'apps/v1', kind: 'Deployment', namespace: 'default', name: 'app' }

function ask(page: Page, question: unknown) {
  return page.send('/v1/locate', { method: 'POST', body: JSON.stringify(question) })
}

/** A candidate cluster, in a location or in an explanation. */
interface CostRow {
  name: string
  transfer?: object
  excludedBy: string[]
}

function candidatesIn(tree: { text?: string; children?: object[]; object?: object }): CostRow[] {
  if (tree.text === 'candidate clusters') return tree.children as CostRow[]
  return [...(tree.children ?? []), ...(tree.object ? [tree.object] : [])].flatMap(candidatesIn)
}

describe('where a workload can run', () => {
  test('is answered for each cluster, with its bytes and what excludes it', async () => {
    const tainted = makeCluster('member4', { taints: [{ key: 'drain', effect: 'NoSchedule' }] })
    const source = makeSource({ locality: { clusterNames: ['member2', 'member4'], bytes: 5 } })
    const page = await openPage([makeClaim(), source, makeDeployment(), makePolicy(), ...clusters, tainted])
    const answer = (await ask(page, { workload })).json() as { clusters: object[]; decision: object }
    expect(answer.decision).toMatchObject({ state: 'Narrowed' })
    expect(answer.clusters).toEqual([
      {
        name: 'member2',
        allowed: true,
        bytes: 5,
        has: ['default/sales'],
        excludedBy: [],
        steps: { refusedBy: [], data: true, decision: true, scheduled: false },
      },
      {
        name: 'member4',
        allowed: false,
        bytes: 5,
        has: ['default/sales'],
        excludedBy: [
          'is not allowed by the policy',
          expect.stringContaining('has the taint drain:NoSchedule, which the policy does not tolerate'),
        ],
        steps: {
          refusedBy: expect.arrayContaining(['is not allowed by the policy']),
          data: true,
          decision: false,
          scheduled: false,
        },
      },
      ...['member1', 'member3'].map((name) => ({
        name,
        allowed: false,
        bytes: 0,
        has: [],
        excludedBy: ['does not have the data of default/sales'],
        steps: { refusedBy: [], data: false, decision: false, scheduled: false },
      })),
    ])
  })

  test('is answered for claims that do not exist yet', async () => {
    const page = await openPage(fleet)
    const { spec } = makeClaim()
    const { claims, clusters: rows } = (await ask(page, { claims: [{ spec }] })).json() as Record<string, object[]>
    expect(claims).toEqual([
      expect.objectContaining({ claim: 'default/claim-0', state: 'Located', clusters: ['member2'] }),
    ])
    expect(rows?.[0]).toMatchObject({ name: 'member2', allowed: true })
  })

  test('has with prices what the data costs there, as the explanation of the workload', async () => {
    const prices = ['--config', 'examples/transfer-costs.yaml']
    const objects = [
      ...[makeClaim(), makeSource({ locality: { clusterNames: ['member2'], bytes: 2 ** 30 } }), makeDeployment()],
      ...[makePolicy(), makeCluster('member2', { provider: 'aws', region: 'eu-central-1' })],
      ...[makeCluster('member1', { provider: 'aws', region: 'us-east-1' }), makeCluster('member3')],
    ]
    const page = await openPage(objects, prices)
    const answer = (await ask(page, { workload })).json() as { clusters: CostRow[] }
    expect(schemaErrors(answer)).toEqual([])
    const cost = { localBytes: 0, transferBytes: 2 ** 30, money: 0.02, currency: 'USD' }
    expect(answer.clusters.find(({ name }) => name === 'member1')?.transfer).toMatchObject(cost)
    const words = ['explain', 'deployment/app', '-n', 'default', '--folder', page.folder, ...prices, '-o', 'json']
    const { stdout } = await runWords(words)
    const candidates = candidatesIn(JSON.parse(stdout))
    const byName = (rows: readonly CostRow[]) =>
      rows
        .map(({ name, transfer, excludedBy }) => ({ name, transfer, excludedBy }))
        .toSorted((a, b) => (a.name < b.name ? -1 : 1))
    expect(candidates).toHaveLength(3)
    expect(byName(answer.clusters)).toEqual(byName(candidates))
    const { spec } = makeClaim()
    const claimed = (await ask(page, { claims: [{ spec }] })).json() as { clusters: CostRow[] }
    expect(claimed.clusters.map(({ transfer }) => transfer)).toEqual(answer.clusters.map(({ transfer }) => transfer))
  })

  test('has no costs without prices, and without located data', async () => {
    const transfers = async (page: Page) => {
      const { clusters: rows } = (await ask(page, { workload })).json() as { clusters: CostRow[] }
      return rows.filter((row) => 'transfer' in row)
    }
    expect(await transfers(await openPage(fleet))).toEqual([])
    const unlocated = [makeClaim(), makeDeployment(), makePolicy(), ...clusters]
    expect(await transfers(await openPage(unlocated, ['--config', 'examples/transfer-costs.yaml']))).toEqual([])
  })

  test('shows through which steps each cluster comes, to the one that is scheduled', async () => {
    const locality = { state: 'Kept', message: 'm', claims: ['default/sales'], required: ['member2'] }
    const kept = makeBinding(
      { clusters: [{ name: 'member1' }], placement: { clusterAffinity: { clusterNames: ['member1', 'member2'] } } },
      { annotations: { 'lodestone.dev/locality': JSON.stringify(locality) } },
    )
    const page = await openPage([...fleet, kept])
    const { clusters: rows } = (await ask(page, { workload })).json() as { clusters: { name: string; steps: object }[] }
    expect(rows.find(({ name }) => name === 'member1')?.steps).toMatchObject({ data: false, scheduled: true })
  })

  test('waits for data that is not located', async () => {
    const page = await openPage([makeClaim(), makeDeployment(), makePolicy(), ...clusters])
    const { clusters: rows } = (await ask(page, { workload })).json() as { clusters: { excludedBy: string[] }[] }
    expect(rows.map(({ excludedBy }) => excludedBy)).toEqual(
      clusters.map(() => ['waits: the data of default/sales is not located yet']),
    )
  })

  test.each([
    {
      name: 'with neither a workload nor claims',
      body: {},
      says: 'the body must be an object with either workload or claims',
    },
    { name: 'that is a list', body: [], says: 'the body must be an object with either workload or claims' },
    {
      name: 'with both',
      body: { workload, claims: [] },
      says: 'the body must be an object with either workload or claims',
    },
    {
      name: 'with an unknown field',
      body: { workload: { ...workload, nme: 'x' } },
      says: 'workload.nme: unknown field',
    },
    { name: 'without a name', body: { workload: { apiVersion: 'v1', kind: 'Pod' } }, says: 'workload.name: ' },
    { name: 'with no claim', body: { claims: [] }, says: 'claims: ' },
    { name: 'with an invalid claim', body: { claims: [{ spec: { system: 5 } }] }, says: 'claims[0].spec.system: ' },
    {
      name: 'for a workload that is not there',
      body: { workload: { ...workload, name: 'no' } },
      says: 'not found in folder',
    },
  ])('rejects a question $name', async ({ body, says }) => {
    const { status, text } = await ask(await openPage(fleet), body)
    expect({ status, text }).toEqual({ status: 422, text: expect.stringContaining(says) })
  })
})

describe('a mistake or an attack', () => {
  test.each([
    { name: 'an unknown list', path: '/v1/claim', status: 404 },
    { name: 'a wrong query', path: '/v1/claims?limit=0', status: 400 },
    { name: 'a wrong list of events', path: '/v1/events?lists=claim', status: 400 },
    { name: 'an unknown kind', path: '/v1/explain/deplyment/app', status: 400 },
    { name: 'an object that is not there', path: '/v1/explain/deployment/no?namespace=default', status: 404 },
    { name: 'a file outside of the page', path: '/assets/..%2f..%2fpackage.json', status: 404 },
    { name: 'another host', path: '/v1', headers: { host: 'evil.example' }, status: 421 },
    { name: 'another site', path: '/v1', headers: { origin: 'https://evil.example' }, status: 403 },
    { name: 'no session', path: '/v1', headers: { cookie: '' }, status: 401 },
    { name: 'no session for the files', path: '/assets/main.js', headers: { cookie: '' }, status: 401 },
    { name: 'a link that was used', path: '/open?token=x', status: 403 },
  ])('$name gets an error as JSON', async ({ path, headers, status }) => {
    const page = await openPage(fleet)
    const answer = await page.send(path, { headers: headers ?? {} })
    expect(answer.status).toBe(status)
    expect(answer.json()).toEqual({ error: { status, message: expect.any(String) } })
  })

  test('a used link makes the terminal print a new one', async () => {
    const page = await openPage(fleet)
    expect((await sendTo(page.link)).status).toBe(403)
    const link = /http:\S+/.exec(page.errors())?.[0] ?? ''
    expect((await sendTo(link)).status).toBe(303)
  })

  test('a body that is too large, or no JSON, is rejected', async () => {
    const page = await openPage(fleet)
    const post = (body: string) => page.send('/v1/locate', { method: 'POST', body })
    expect((await post('x'.repeat(300_000))).status).toBe(413)
    expect((await post('{')).status).toBe(400)
  })

  test('every answer forbids scripts, styles and frames of others', async () => {
    const { headers } = await (await openPage(fleet)).send('/')
    expect(headers['content-security-policy']).toContain("default-src 'none'; script-src 'self'")
    expect(headers['content-security-policy']).toContain("frame-ancestors 'none'")
    expect(headers).toMatchObject({ 'x-content-type-options': 'nosniff', 'referrer-policy': 'no-referrer' })
  })

  test('every path of a view gets the page, so that a link can be shared', async () => {
    const { status, text } = await (await openPage(fleet)).send('/explain/Deployment/app?namespace=default')
    expect({ status, text }).toEqual({ status: 200, text: expect.stringContaining('<div id="page">') })
  })
})

test.each([
  { login: 'link', isRead: true },
  { login: 'token', isRead: false },
] as const)('with a $login, a ConfigMap of data systems is read: $isRead', async ({ login, isRead }) => {
  const source = pageSystems(
    { configMap: { namespace: 'lodestone-system', name: 'systems' } },
    login,
    await openMemory(),
  )
  expect(source !== undefined).toBe(isRead)
})

test.each([
  { path: '/claims', want: 200 },
  { path: '/v1/claims', want: 200 },
  // GET has no end.
  { path: '/v1/events', want: 404 },
])('HEAD $path is answered with $want', async ({ path, want }) => {
  const { status, text } = await (await openPage([])).send(path, { method: 'HEAD' })
  expect({ status, text }).toEqual({ status: want, text: '' })
})

test('a port that another process uses is one line with the way out', async () => {
  const { origin, folder } = await openPage([])
  const { port } = new URL(origin)
  await expect(runWords(['ui', '--folder', folder, '--port', port])).rejects.toThrow(
    `cannot listen on 127.0.0.1:${port}: another process uses the port; choose another one with --port, 0 for a free one`,
  )
})

test('Ctrl-C ends the command while a reader follows', async () => {
  const page = await openPage(fleet)
  const { events } = followEvents(page)
  await expect.poll(() => events.length).toBe(1)
  expect(await page.stop()).toBe(0)
})

test('every answer matches the published schema', async () => {
  const other = { ...narrowed, metadata: { ...narrowed.metadata, name: 'other-deployment' } }
  const page = await openPage([...fleet, held, other, manager])
  const lists = ['waiting', 'workloads', 'claims', 'holds', 'volumes', 'replicas', 'moves', 'sources', 'systems']
  const paths = ['', ...lists.map((name) => `/${name}`), '/clusters', '/server', '/history', '/explain/dsc/sales']
  const answers = await Promise.all(paths.map((path) => read(page, `/v1${path}`)))
  const located = await ask(page, { workload })
  const checked = await page.send('/v1/check', { method: 'POST', body: checkOf(makeDeployment()) })
  for (const answer of [...answers, located.json() as object, checked.json() as object]) {
    expect({ answer, errors: schemaErrors(answer) }).toMatchObject({ errors: [] })
  }
})

function checkOf(...objects: object[]): string {
  const text = objects.map((object) => JSON.stringify(object)).join('\n---\n')
  return JSON.stringify({ files: [{ file: 'given.yaml', text }] })
}

describe('a check of manifests', () => {
  const check = async (page: Page, body: string) => {
    const { status, text } = await page.send('/v1/check', { method: 'POST', body })
    // biome-ignore lint/suspicious/noExplicitAny: the schema of the answers is checked above
    return { status, answer: JSON.parse(text) as any }
  }

  test('has the findings of `lodestone check`, and the change that admission would make', async () => {
    const page = await openPage(fleet)
    const claim = makeClaim({ enforcment: 'Required' } as never, { name: 'typo' })
    const { status, answer } = await check(page, checkOf(claim, makeDeployment()))
    expect(status).toBe(200)
    expect(answer.findings).toContainEqual(
      expect.objectContaining({ id: 'denied-object', file: 'given.yaml', line: 1, severity: 'error' }),
    )
    expect(answer.findings.map(({ message }: { message: string }) => message).join()).toContain('enforcment')
  })

  test('shows where a workload would be placed beside the objects of the folder', async () => {
    const { answer } = await check(await openPage(fleet), checkOf(makeDeployment()))
    expect(answer.objects).toEqual([
      expect.objectContaining({
        derivedFrom: 'Deployment default/app',
        decision: 'Narrowed',
        diff: expect.stringContaining('-         - member1'),
      }),
    ])
  })

  test('changes no object of the page', async () => {
    const page = await openPage(fleet)
    await check(
      page,
      checkOf(makeClaim({}, { name: 'other' }), makeSource({ locality: { clusterNames: ['member1'] } })),
    )
    const { items } = await read(page, '/v1/claims')
    expect(items).toHaveLength(1)
    const { items: sources } = await read(page, '/v1/sources')
    expect(sources[0].clusters).toEqual(['member2'])
  })

  test.each([
    { name: 'without files', body: '{}', status: 422, says: 'files: ' },
    {
      name: 'with an unknown field',
      body: '{"files":[{"file":"a","text":"","x":1}]}',
      status: 422,
      says: 'unknown field',
    },
    { name: 'that is no JSON', body: '{', status: 400, says: 'JSON' },
    { name: 'of more than 1 MiB', body: 'x'.repeat(1024 * 1024 + 1), status: 413, says: 'more than 1048576 bytes' },
    {
      name: 'of too many objects',
      body: checkOf(...Array.from({ length: 101 }, (_, i) => makeDeployment({ name: `app-${i}` }))),
      status: 422,
      says: 'have more than 100 objects',
    },
  ])('$name is rejected', async ({ body, status, says }) => {
    const found = await check(await openPage([]), body)
    expect({ status: found.status, message: found.answer.error.message }).toEqual({
      status,
      message: expect.stringContaining(says),
    })
  })
})

const [role] = pageRoles(SHIPPED_KINDS) as unknown as [
  { rules: { apiGroups: string[]; resources: string[]; verbs: string[] }[] },
]
const granted = (verb: string) =>
  role.rules
    .filter(({ verbs }) => verbs.includes(verb))
    .flatMap(({ apiGroups: [group = ''], resources }) => resources.map((plural) => resourceWord({ group, plural })))
    .sort()

test('the account of the page may list and watch what the page caches, and list Events', () => {
  const cached = pageKinds(SHIPPED_KINDS)
    .map(({ type }) => resourceWord(type))
    .sort()
  expect(granted('list')).toEqual([...cached, 'events'].sort())
  expect(granted('watch')).toEqual(cached)
})

test('the account of the page writes only reviews of its readers, and reads no Secrets', () => {
  expect(granted('create')).toEqual(['subjectaccessreviews.authorization.k8s.io', 'tokenreviews.authentication.k8s.io'])
  const verbs = new Set(role.rules.flatMap((rule) => rule.verbs))
  expect([...verbs].sort()).toEqual(['create', 'get', 'list', 'watch'])
  for (const kind of ['secrets', 'configmaps']) expect(granted('get')).not.toContain(kind)
})

const LINK = 'http://127.0.0.1:40123/open?token=a-b_c'

/** A PATH with a program that writes its arguments into a file, and ends with a status. */
function makeProgram(name: string, status = 0): { env: Record<string, string>; calls: () => string } {
  const folder = makeFolder({ [name]: `#!/bin/sh\nprintf '%s\\n' "$@" > "${'$'}{0%/*}/calls"\nexit ${status}\n` })
  chmodSync(join(folder, name), 0o755)
  return { env: { PATH: folder }, calls: () => readFileSync(join(folder, 'calls'), 'utf8') }
}

test.each([
  { platform: 'linux', program: 'xdg-open', words: [LINK] },
  { platform: 'darwin', program: 'open', words: [LINK] },
  { platform: 'win32', program: 'rundll32', words: ['url.dll,FileProtocolHandler', LINK] },
])('$program of $platform gets the link as one argument', async ({ platform, program, words }) => {
  const { env, calls } = makeProgram(program)
  expect(await openBrowser(LINK, env, platform)).toBeUndefined()
  expect(calls()).toBe(`${words.join('\n')}\n`)
})

test('a missing program is a sentence', async () => {
  expect(await openBrowser(LINK, { PATH: makeFolder() }, 'linux')).toBe('there is no xdg-open on the PATH')
})

test('a program that fails is a sentence', async () => {
  expect(await openBrowser(LINK, makeProgram('xdg-open', 3).env, 'linux')).toBe('xdg-open ended with 3')
})

test('the command goes on if no browser can be opened', async () => {
  const page = await openPage([], ['--open'], { PATH: makeFolder() })
  await expect.poll(page.errors).toMatch(/open the page yourself/)
  expect((await page.send('/v1')).status).toBe(200)
})
