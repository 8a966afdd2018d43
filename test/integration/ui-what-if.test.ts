import { expect, test } from 'vitest'
import { resourceBindings } from '../../src/api/karmada.ts'
import type { K8sObject } from '../../src/api/meta.ts'
import { runWords } from '../../src/cli/cli.fake.ts'
import { explainContext } from '../../src/cli/explain/context.fake.ts'
import { openWhatIf } from '../../src/cli/ui/questions/what-if.ts'
import type { BodyProblem } from '../../src/cli/ui/replies.ts'
import { openPage, schemaErrors } from '../../src/cli/ui/ui.fake.ts'
import { pageKinds } from '../../src/cli/ui/ui.ts'
import { SHIPPED_KINDS } from '../../src/core/workload-kinds/kinds.ts'
import { makeBinding, makeClaim, makeCluster, makeDeployment, makePolicy, makeSource, NOW } from '../builders.ts'
import { storeOf } from '../stores.ts'

const placement = { clusterAffinity: { clusterNames: ['member1', 'member2', 'member3'] } }
const clusters = ['member1', 'member2', 'member3'].map((name) => makeCluster(name))
const policy = makePolicy({ placement })
const source = makeSource({ locality: { clusterNames: ['member2'], bytes: 5 } })
const SOURCE = source.metadata.name ?? ''
/** Invented prices. */
const PRICES = ['--config', 'examples/transfer-costs.yaml']
const taint = { key: 'maintenance', effect: 'NoExecute' } as const

/** A binding without a decision of Lodestone, whose policy names one cluster. */
const pinned = bindingOf('ledger', { placement: { clusterAffinity: { clusterNames: ['member2'] } } })
const fleet: K8sObject[] = [...clusters, source, policy, makeClaim(), makeDeployment(), pinned]

function bindingOf(name: string, spec: object): K8sObject {
  const resource = { apiVersion: 'apps/v1', kind: 'Deployment', namespace: 'default', name }
  return makeBinding({ resource, clusters: [{ name: 'member2' }], ...spec }, { name: `${name}-deployment` })
}

function filesOf(...objects: object[]) {
  return [{ file: 'given.yaml', text: objects.map((object) => JSON.stringify(object)).join('\n---\n') }]
}

async function ask(objects: readonly unknown[], body: unknown) {
  const page = await openPage([...objects], PRICES)
  const { status, text } = await page.send('/v1/what-if', { method: 'POST', body: JSON.stringify(body) })
  // biome-ignore lint/suspicious/noExplicitAny: the schema of the answers is checked below
  return { status, folder: page.folder, answer: JSON.parse(text) as any }
}

test.each<{ name: string; body: object; options: string[] }>([
  { name: 'a lost cluster', body: { clusterLost: ['member2'] }, options: ['--cluster-lost', 'member2'] },
  {
    name: 'a taint',
    body: { taints: [{ cluster: 'member2', ...taint, value: 'yes' }] },
    options: ['--taint', 'member2=maintenance=yes:NoExecute'],
  },
  {
    name: 'a taint that replaces another one',
    body: {
      taintsRemoved: [{ cluster: 'member3', key: 'broken' }],
      taints: [
        { cluster: 'member3', key: 'broken', effect: 'NoExecute' },
        { cluster: 'member2', ...taint },
      ],
    },
    options: ['member3=broken-', 'member3=broken:NoExecute', 'member2=maintenance:NoExecute'].flatMap((value) => [
      '--taint',
      value,
    ]),
  },
  {
    name: 'moved data and a stale source',
    body: { data: [{ source: SOURCE, clusters: ['member1', 'member3'] }], sourcesStale: [SOURCE] },
    options: ['--data', `${SOURCE}=member1,member3`, '--source-stale', SOURCE],
  },
  {
    name: 'a deleted workload and a lost cluster',
    body: { deleted: ['deployment/ledger'], clusterLost: ['member2'] },
    options: ['--delete', 'deployment/ledger', '--cluster-lost', 'member2', '-n', 'default'],
  },
  { name: 'the loss of each cluster', body: { each: 'cluster' }, options: ['--each-cluster-lost'] },
  { name: 'each stale source', body: { each: 'source' }, options: ['--each-source-stale'] },
])('the page answers $name as the command does', async ({ body, options }) => {
  const ledger = makeDeployment({ name: 'ledger' })
  const broken = makeCluster('member3', { taints: [{ key: 'broken', effect: 'NoSchedule' }] })
  const objects = [...fleet, ledger].map((object) => (object.metadata.name === 'member3' ? broken : object))
  const { status, folder, answer } = await ask(objects, body)
  const { stdout } = await runWords(['what-if', ...options, '--folder', folder, ...PRICES, '-o', 'json'])
  const { apiVersion: _, ...want } = JSON.parse(stdout) as { apiVersion: string }
  expect({ status, answer }).toEqual({
    status: 200,
    answer: { apiVersion: 'ui.lodestone.dev/v1alpha1', more: 0, ...want },
  })
  expect(schemaErrors(answer)).toEqual([])
})

test('manifests in a question are applied, and nothing is written', async () => {
  const changed = makePolicy({
    placement: { clusterAffinity: { clusterNames: ['member1'] } },
    resourceSelectors: [{ apiVersion: 'apps/v1', kind: 'Deployment' }],
  })
  const page = await openPage(fleet)
  const moved = makeSource({ locality: { clusterNames: ['member1'] } })
  const body = JSON.stringify({ files: filesOf(changed, moved) })
  const { json } = await page.send('/v1/what-if', { method: 'POST', body })
  expect(json()).toMatchObject({
    sentences: ['PropagationPolicy default/app is applied', `DataSource ${SOURCE} is applied`],
    changes: [
      { effect: 'moves', from: ['member2'], to: ['member1'], workload: { name: 'ledger' } },
      { effect: 'placed', to: ['member1'], workload: { name: 'app' } },
    ],
  })
  const { items } = (await page.send('/v1/sources')).json() as { items: { clusters: string[] }[] }
  expect(items[0]?.clusters).toEqual(['member2'])
})

const many = (count: number) => Array.from({ length: count }, (_, i) => `member${i}`)

test.each<{ name: string; body: unknown; says: string }>([
  { name: 'without a supposition', body: {}, says: 'nothing is supposed; give at least one of clusterLost, taints' },
  { name: 'that is a list', body: [], says: 'must be of type object' },
  { name: 'with an unknown field', body: { clusterLst: ['member1'] }, says: 'clusterLst: unknown field' },
  {
    name: 'with a wrong effect',
    body: { taints: [{ cluster: 'member2', key: 'x', effect: 'Never' }] },
    says: 'taints[0].effect: ',
  },
  { name: 'with data in no cluster', body: { data: [{ source: SOURCE, clusters: [] }] }, says: 'data[0].clusters: ' },
  {
    name: 'about a cluster that is not there',
    body: { taints: [{ cluster: 'member1', ...taint }], clusterLost: ['member1', 'membr2'] },
    says: 'clusterLost[1]: no Cluster membr2 (did you mean member2?)',
  },
  {
    name: 'about a cluster with a name of JavaScript',
    body: { clusterLost: ['__proto__'] },
    says: 'clusterLost[0]: no ',
  },
  { name: 'about a kind with such a name', body: { deleted: ['constructor/x'] }, says: 'unknown kind constructor' },
  {
    name: 'with the name of a taint that no command can have',
    body: { taints: [{ cluster: 'member2', key: 'a=b', effect: 'NoExecute' }] },
    says: 'taints[0].key: must have no "=", ":" or space',
  },
  {
    name: 'with a name of 900 KiB',
    body: { clusterLost: ['x'.repeat(900_000)] },
    says: 'clusterLost[0]: must have at',
  },
  { name: 'with a number for a list', body: { taints: 5 }, says: 'taints: must be of type array' },
  {
    name: 'with a list for a name',
    body: { clusterLost: [['member1']] },
    says: 'clusterLost[0]: must be of type string',
  },
  { name: 'with null for a taint', body: { taints: [null] }, says: 'taints[0]: must be of type object' },
  {
    name: 'about a taint that is not there',
    body: { taintsRemoved: [{ cluster: 'member2', key: 'x' }] },
    says: 'member2 has no taint x',
  },
  { name: 'about an unknown kind', body: { deleted: ['widget/x'] }, says: 'unknown kind widget' },
  { name: 'with a table and a supposition', body: { each: 'cluster', clusterLost: ['member1'] }, says: 'each: ' },
  { name: 'with 1,000 lost clusters', body: { clusterLost: many(1000) }, says: 'clusterLost: must have at most 100' },
  {
    name: 'with too many suppositions',
    body: { clusterLost: many(100), sourcesStale: [SOURCE] },
    says: 'at most 100 suppositions hold together; the body has 101; use lodestone what-if',
  },
  {
    name: 'with too many objects',
    body: { files: filesOf(...Array.from({ length: 101 }, (_, i) => makeDeployment({ name: `app-${i}` }))) },
    says: 'have more than 100 objects',
  },
  {
    name: 'with a manifest that admission rejects',
    body: { files: filesOf(makeClaim({ policy: { enforcement: 'Perhaps' } } as never)) },
    says: 'files[0]: given.yaml: admission would reject DataSourceClaim default/sales',
  },
  {
    name: 'with a text that is no manifest',
    body: { files: [...filesOf(policy), { file: 'a.yaml', text: 'a: [' }] },
    says: 'files[1]: a.yaml: ',
  },
  { name: 'with the path of a file', body: { files: ['/etc/hostname'] }, says: 'files[0]: ' },
])('a question $name is rejected', async ({ body, says }) => {
  const { status, answer } = await ask(fleet, body)
  const { message, problems } = answer.error
  expect({ status, message }).toEqual({ status: 422, message: expect.stringContaining(says) })
  expect(message.length).toBeLessThan(1000)
  const sentences = (problems as BodyProblem[]).map(({ path, message: rest }) => (path ? `${path}: ${rest}` : rest))
  expect(sentences.join('; ')).toBe(message)
})

test('a body that would change the prototype of objects is rejected', async () => {
  const page = await openPage(fleet)
  const body = '{"clusterLost": ["member2"], "__proto__": {"each": "cluster"}}'
  expect(await page.send('/v1/what-if', { method: 'POST', body })).toMatchObject({ status: 400 })
})

test('as many clusters as a question may have are lost together', async () => {
  const others = many(100).map((name) => makeCluster(name))
  const { status, answer } = await ask([...others, source, policy, makeClaim(), pinned], { clusterLost: many(100) })
  expect({ status, sentences: answer.sentences.length }).toEqual({ status: 200, sentences: 100 })
})

test('a question of more than 1 MiB is rejected', async () => {
  const { status } = await ask([], { namespace: 'x'.repeat(1024 * 1024) })
  expect(status).toBe(413)
})

test('an answer has the first 200 workloads, and the number of the others', async () => {
  const bindings = Array.from({ length: 203 }, (_, i) => bindingOf(`app-${i}`, { placement }))
  const { answer } = await ask([...clusters, ...bindings], { clusterLost: ['member2'] })
  expect(answer).toMatchObject({ workloads: 203, more: 3, totals: { moves: { workloads: 203 } } })
  expect(answer.changes).toHaveLength(200)
})

test('a table has the worst 1,000 rows, and the number of the others', async () => {
  const others = Array.from({ length: 1001 }, (_, i) => makeCluster(`other-${i}`))
  const { answer } = await ask([...clusters, ...others, pinned], { each: 'cluster' })
  expect(answer).toMatchObject({ more: 4, rows: { 0: { name: 'member2' } } })
  expect(answer.rows).toHaveLength(1000)
})

/** The page of a hub: its store has only what the page caches. */
async function openHub(objects: readonly K8sObject[]) {
  const store = await storeOf(objects, pageKinds(SHIPPED_KINDS))
  const state = { isHub: true }
  const context = () => ({ ...explainContext(store, NOW), ...state })
  const { signal } = new AbortController()
  const whatIf = openWhatIf({ context, folder: undefined, signal })
  return { store, state, whatIf: (body: unknown) => whatIf(body, { left: signal }) }
}

test('on a hub, workloads without a decision count too', async () => {
  const { whatIf } = await openHub([...clusters, pinned])
  expect(await whatIf({ taints: [{ cluster: 'member2', ...taint }] })).toMatchObject({
    answer: { changes: [{ effect: 'stranded', workload: { name: 'ledger' } }], notes: [] },
  })
})

test('on a hub, a workload that is not cached can be deleted and applied', async () => {
  const { store, whatIf } = await openHub([...clusters, policy, pinned])
  expect(await whatIf({ deleted: ['deployment/ledger'] })).toMatchObject({
    answer: { sentences: ['Deployment default/ledger is deleted'], changes: [{ effect: 'removed' }] },
  })
  expect(await whatIf({ deleted: ['deployment/other'] })).toEqual({
    problems: [{ path: 'deleted[0]', message: 'no binding of Deployment other in namespace default' }],
  })
  expect(await whatIf({ files: filesOf(makeDeployment()) })).toMatchObject({
    answer: { changes: [{ effect: 'placed', workload: { name: 'app' } }] },
  })
  expect([...store.list(resourceBindings)]).toHaveLength(1)
})

test('on a hub, an answer about a policy says that workloads without one are not known', async () => {
  const { whatIf } = await openHub([...clusters, pinned])
  const note = expect.stringContaining('those that another policy selects from now on do not count')
  expect(await whatIf({ files: filesOf(policy) })).toMatchObject({ answer: { changes: [], notes: [note] } })
})

test.each([
  { kind: 'StatefulSet', notes: [expect.stringContaining('stay with PersistentVolumeClaims of their templates')] },
  { kind: 'Deployment', notes: [] },
])('on a hub, an answer says if templates of volume claims may matter: $kind', async ({ kind, notes }) => {
  const { whatIf } = await openHub([...clusters, makeClaim({ workload: { apiVersion: 'apps/v1', kind, name: 'app' } })])
  expect(await whatIf({ clusterLost: ['member2'] })).toMatchObject({ answer: { notes } })
})

test('each question is about the fleet as it is then', async () => {
  const { store, whatIf } = await openHub(clusters)
  const body = { clusterLost: ['member2'] }
  expect(await whatIf(body)).toMatchObject({ answer: { workloads: 0 } })
  await store.create(resourceBindings, pinned)
  expect(await whatIf(body)).toMatchObject({ answer: { workloads: 1, changes: [{ effect: 'stranded' }] } })
})

test('a cluster that is no hub has no answer', async () => {
  const { state, whatIf } = await openHub([])
  state.isHub = false
  expect(await whatIf({ each: 'cluster' })).toEqual({
    problems: [{ message: 'the cluster is no hub, so it has no placements; ask the page of a hub' }],
  })
})
