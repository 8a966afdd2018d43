/** The loop of the MultiKueue dispatcher on a store: which change leads to which nomination of a Workload. */
import { expect, test } from 'vitest'
import { type DataSource, dataSources } from '../../src/api/data-source.ts'
import { type DataSourceClaim, dataSourceClaims } from '../../src/api/data-source-claim.ts'
import { clusters } from '../../src/api/karmada.ts'
import {
  type AdmissionCheckState,
  admissionChecks,
  kueueWorkloads,
  type MultiKueueConfig,
  multiKueueClusters,
  multiKueueConfigs,
} from '../../src/api/kueue.ts'
import { apiVersionOf, type K8sObject, type ObjectMeta, type ResourceType } from '../../src/api/meta.ts'
import { pods } from '../../src/api/pod.ts'
import { SHIPPED_KINDS } from '../../src/core/workload-kinds/kinds.ts'
import { openMultiKueueDispatcherLoop } from '../../src/reconcile/kueue/multikueue-dispatcher.ts'
import { cachedKinds } from '../../src/store/kinds/cached-kinds.ts'
import { kueueKinds, multiKueueKinds } from '../../src/store/kinds/kueue.ts'
import type { ObjectStore } from '../../src/store/store.ts'
import { makeAdmissionCheck, makeClaim, makeCluster, makeKueueWorkload, makeSource, NOW } from '../builders.ts'
import { storeOf } from '../stores.ts'
import { runLoops } from './controller.ts'

const JOB = { apiVersion: 'batch/v1', kind: 'Job', name: 'train' }
const jobs = SHIPPED_KINDS.find('batch/v1', 'Job')?.type as ResourceType
const REFERENCE = { namespace: 'default', name: 'job-train' }
const OTHER_REASON = 'OtherDispatcher'
const claim = (spec: Partial<DataSourceClaim['spec']> = {}) => makeClaim({ workload: JOB, ...spec })
const source = (...clusterNames: string[]): DataSource => makeSource({ locality: { clusterNames } })
const config = (...names: string[]): MultiKueueConfig =>
  ({ ...bare('MultiKueueConfig', { name: 'workers' }), spec: { clusters: names } }) as MultiKueueConfig
const bare = (kind: string, metadata: ObjectMeta): K8sObject => ({ apiVersion: '', kind, metadata })

const worker = (name: string, metadata: ObjectMeta = {}): [ResourceType, K8sObject] => [
  multiKueueClusters,
  bare('MultiKueueCluster', { name, ...metadata }),
]

const parameters = { apiGroup: 'kueue.x-k8s.io', kind: 'MultiKueueConfig', name: 'workers' }
const check = makeAdmissionCheck({ controllerName: 'kueue.x-k8s.io/multikueue', parameters })
const pending: AdmissionCheckState = {
  name: 'data',
  state: 'Pending',
  message: '',
  lastTransitionTime: '2026-01-02T03:00:00Z',
}

interface World {
  store: ObjectStore
  put(...objects: [ResourceType, K8sObject][]): Promise<void>
  setStatus(status: object): Promise<unknown>
  /** Waits until the nomination is this list. */
  nominates(...names: string[]): Promise<void>
  /** Waits until the condition has this status, reason and message. */
  shows(expected: string): Promise<void>
}

/** Starts the loop on a Workload that waits for MultiKueue, with two workers. */
async function start(...objects: [ResourceType, K8sObject][]): Promise<World> {
  const store = await storeOf([], [...cachedKinds, ...kueueKinds, ...multiKueueKinds])
  const workload = () => store.get(kueueWorkloads, 'default', 'job-train')
  const world: World = {
    store,
    async put(...given) {
      for (const [type, object] of given) await store.create(type, { ...object, apiVersion: apiVersionOf(type) })
    },
    setStatus: (status) => store.patch(kueueWorkloads, REFERENCE, { status }, { subresource: 'status' }),
    async nominates(...names) {
      await expect.poll(() => workload()?.status?.nominatedClusterNames).toEqual(names)
    },
    async shows(expected) {
      await expect
        .poll(() => {
          const found = workload()?.status?.conditions?.find(({ type }) => type === 'lodestone.dev/Nominated')
          return found && `${found.status} ${found.reason}: ${found.message}`
        })
        .toBe(expected)
    },
  }
  const initial = makeKueueWorkload({ checks: [pending] })
  if (!objects.some(([type]) => type === jobs))
    await world.put([jobs, bare('Job', { name: 'train', namespace: 'default' })])
  await world.put(...objects, [admissionChecks, check], [kueueWorkloads, initial])
  if (!objects.some(([type]) => type === multiKueueConfigs)) await world.put([multiKueueConfigs, config('w2', 'w1')])
  for (const name of ['w1', 'w2', 'w3']) {
    if (!store.get(multiKueueClusters, undefined, name)) await world.put(worker(name))
  }
  await world.setStatus(initial.status ?? {})
  runLoops({ store, loops: [openMultiKueueDispatcherLoop(300_000)], now: () => NOW })
  return world
}

const HELD = 'False OnHold: default/sales: no DataSource for amoro table lake.shop.sales yet'

test('without a claim all workers are nominated', async () => {
  const { nominates } = await start()
  await nominates('w2', 'w1')
})

test('a claim of a Deployment chooses the worker of the pods of its ReplicaSets', async () => {
  const workload = { apiVersion: 'apps/v1', kind: 'Deployment', name: 'app' }
  const replicaSet = { apiVersion: 'apps/v1', kind: 'ReplicaSet', name: 'app-5d8f' }
  const owned = (kind: string, name: string, owner: typeof workload) => ({
    ...bare(kind, { name, namespace: 'default', ownerReferences: [{ ...owner, uid: 'u2', controller: true }] }),
    spec: { containers: [] },
  })
  const { store, nominates } = await start(
    [
      SHIPPED_KINDS.find('apps/v1', 'Deployment')?.type as ResourceType,
      bare('Deployment', { name: 'app', namespace: 'default' }),
    ],
    [SHIPPED_KINDS.find('apps/v1', 'ReplicaSet')?.type as ResourceType, owned('ReplicaSet', 'app-5d8f', workload)],
    [pods, owned('Pod', 'app-5d8f-x2x', replicaSet)],
    [dataSourceClaims, claim({ workload })],
    [dataSources, source('w1')],
  )
  await nominates('w2', 'w1')
  const ownerReferences = [{ apiVersion: 'v1', kind: 'Pod', name: 'app-5d8f-x2x', uid: 'u1', controller: true }]
  await store.patch(kueueWorkloads, REFERENCE, { metadata: { ownerReferences } })
  await nominates('w1')
})

test('a job is nominated only when its controller is cached, which a claim may name', async () => {
  const workload = { apiVersion: 'batch/v1', kind: 'CronJob', name: 'nightly' }
  const ownerReferences = [{ ...workload, uid: 'u2', controller: true }]
  const { shows, put, nominates } = await start(
    [jobs, bare('Job', { name: 'train', namespace: 'default', ownerReferences })],
    [dataSources, source('w1')],
    [dataSourceClaims, claim({ workload })],
  )
  await shows('False OnHold: a controller of its job, CronJob nightly, is not cached yet')
  const cronJobs = SHIPPED_KINDS.find('batch/v1', 'CronJob')?.type as ResourceType
  await put([cronJobs, bare('CronJob', { name: 'nightly', namespace: 'default' })])
  await nominates('w1')
})

test('nothing is nominated until the data is located, and then the worker that has it', async () => {
  const { store, shows, put, nominates } = await start([dataSourceClaims, claim()])
  await shows(HELD)
  expect(store.get(kueueWorkloads, 'default', 'job-train')?.status?.nominatedClusterNames).toBeUndefined()
  await put([dataSources, source('w1')])
  await nominates('w1')
  await shows('True Nominated: default/sales is in w1')
})

test('less preferred workers are nominated a round after the other checks are Ready', async () => {
  const { setStatus, nominates } = await start(
    [dataSourceClaims, claim({ policy: { enforcement: 'Preferred' } })],
    [dataSources, source('w1')],
  )
  await nominates('w1')
  const [reserved] = makeKueueWorkload().status?.conditions ?? []
  const conditions = [{ ...reserved, lastTransitionTime: '2026-01-02T01:00:00Z' }]
  const other = (state: string, lastTransitionTime: string) => ({
    ...pending,
    name: 'other',
    state,
    lastTransitionTime,
  })
  const hasOther = (state: string, time: string) =>
    setStatus({ conditions, admissionChecks: [pending, other(state, time)] })
  await hasOther('Pending', '2026-01-02T01:00:00Z')
  await setStatus({ nominatedClusterNames: null })
  await nominates('w1')
  await hasOther('Ready', new Date(NOW).toISOString())
  await setStatus({ nominatedClusterNames: null })
  await nominates('w1')
  await hasOther('Ready', '2026-01-02T02:00:00Z')
  await nominates('w1', 'w2')
})

test('a nomination is taken back when the data is lost, and is given again', async () => {
  const { store, shows, put, nominates } = await start([dataSourceClaims, claim()], [dataSources, source('w1')])
  await nominates('w1')
  const [stored] = store.list(dataSources)
  if (stored) await store.delete(dataSources, stored)
  await nominates()
  await shows(HELD)
  await put([dataSources, source('w2')])
  await nominates('w2')
})

test('a new cluster in the MultiKueueConfig is nominated', async () => {
  const { store, nominates } = await start()
  await nominates('w2', 'w1')
  await store.patch(multiKueueConfigs, { name: 'workers' }, { spec: { clusters: ['w2', 'w1', 'w3'] } })
  await nominates('w2', 'w1', 'w3')
})

test('a name for DataSources that comes later counts', async () => {
  const { store, shows, nominates } = await start([dataSourceClaims, claim()], [dataSources, source('paris')])
  await shows(
    'False OnHold: default/sales (paris): the data is in paris, which the policy does not allow; the policy is MultiKueueConfig workers',
  )
  const annotations = { 'lodestone.dev/cluster-name': 'paris' }
  await store.patch(multiKueueClusters, { name: 'w1' }, { metadata: { annotations } })
  await nominates('w1')
})

test('a nominated worker stays while its MultiKueueCluster is replaced', async () => {
  const paris = worker('w1', { annotations: { 'lodestone.dev/cluster-name': 'paris' } })
  const { store, put, nominates, setStatus } = await start(
    paris,
    [dataSourceClaims, claim()],
    [dataSources, source('paris')],
  )
  const moveData = async (...clusterNames: string[]) => {
    const [
      {
        metadata: { name = '' },
      } = source(),
    ] = store.list(dataSources)
    await store.patch(dataSources, { name }, { spec: { locality: { clusterNames } } })
  }
  await nominates('w1')
  const stored = store.get(multiKueueClusters, undefined, 'w1')
  if (stored) await store.delete(multiKueueClusters, stored)
  await moveData('paris', 'w2')
  await nominates('w1', 'w2')
  await moveData('w1')
  await nominates('w1')
  await put(paris)
  await nominates()
  await setStatus({ nominatedClusterNames: ['w3'] })
  await moveData('paris')
  await nominates('w1')
})

test('Clusters of Karmada do not count', async () => {
  const { nominates } = await start(
    [clusters, makeCluster('member1')],
    [dataSourceClaims, claim()],
    [dataSources, source('w1')],
  )
  await nominates('w1')
})

test('a check whose parameters are of another kind has no workers', async () => {
  const { store, shows } = await start([dataSourceClaims, claim()])
  await shows(HELD)
  await store.patch(admissionChecks, { name: 'data' }, { spec: { parameters: { kind: 'ConfigMap' } } })
  await shows('False OnHold: its AdmissionCheck names no MultiKueueConfig')
})

test('a Workload that a worker has is left as it is', async () => {
  const { store, setStatus, put, nominates } = await start([dataSourceClaims, claim()], [dataSources, source('w1')])
  await nominates('w1')
  // As Kueue does.
  await setStatus({ clusterName: 'w1', nominatedClusterNames: null })
  const owner = { apiVersion: 'batch/v1', kind: 'Job', name: 'other', uid: 'u2' }
  const witness = makeKueueWorkload({ checks: [pending] }, { name: 'witness', ownerReferences: [owner] })
  await put([jobs, bare('Job', { name: 'other', namespace: 'default' })], [kueueWorkloads, witness])
  const { status } = witness
  await store.patch(kueueWorkloads, { namespace: 'default', name: 'witness' }, { status }, { subresource: 'status' })
  await expect
    .poll(() => store.get(kueueWorkloads, 'default', 'witness')?.status?.nominatedClusterNames)
    .toEqual(['w2', 'w1'])
  const left = store.get(kueueWorkloads, 'default', 'job-train')?.status
  expect([left?.clusterName, left?.nominatedClusterNames]).toEqual(['w1', undefined])
})

test('the third change leaves the nomination to another dispatcher, with a condition', async () => {
  const { store, nominates, setStatus } = await start([dataSourceClaims, claim()], [dataSources, source('w1')])
  for (const names of [['w2', 'w1'], ['w2'], ['w2', 'w1']]) {
    await nominates('w1')
    await setStatus({ nominatedClusterNames: names })
  }
  await expect
    .poll(() => store.get(kueueWorkloads, 'default', 'job-train')?.status?.conditions?.map(({ reason }) => reason))
    .toContain(OTHER_REASON)
  await nominates('w2', 'w1')
})

test('nomination changes of a Workload that replaces a deleted one count from zero', async () => {
  const { store, nominates, setStatus } = await start([dataSourceClaims, claim()], [dataSources, source('w1')])
  for (const names of [['w2', 'w1'], ['w2']]) {
    await nominates('w1')
    await setStatus({ nominatedClusterNames: names })
  }
  await nominates('w1')
  const stored = store.get(kueueWorkloads, 'default', 'job-train')
  if (stored) await store.delete(kueueWorkloads, stored)
  const successor = makeKueueWorkload({ checks: [pending] })
  await store.create(kueueWorkloads, successor)
  await setStatus(successor.status ?? {})
  await nominates('w1')
  await setStatus({ nominatedClusterNames: ['w2', 'w1'] })
  await nominates('w1')
})
