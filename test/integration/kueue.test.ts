/** The loops of Kueue's AdmissionChecks on a store: which change leads to which state of a Workload. */
import { expect, test } from 'vitest'
import { type DataSource, dataSources } from '../../src/api/data-source.ts'
import { type DataSourceClaim, dataSourceClaims } from '../../src/api/data-source-claim.ts'
import { clusters, propagationPolicies, resourceBindings } from '../../src/api/karmada.ts'
import {
  type AdmissionCheck,
  type AdmissionCheckState,
  admissionChecks,
  type KueueWorkload,
  kueueWorkloads,
} from '../../src/api/kueue.ts'
import { apiVersionOf, type K8sObject, type ResourceType } from '../../src/api/meta.ts'
import { namespaces } from '../../src/api/namespace.ts'
import { pods } from '../../src/api/pod.ts'
import { volumeManagers } from '../../src/api/volume-manager.ts'
import { DEFAULT_CONFIG } from '../../src/app/config/config.ts'
import { SHIPPED_KINDS } from '../../src/core/workload-kinds/kinds.ts'
import { admissionCheckLoop } from '../../src/reconcile/kueue/admission-check.ts'
import { kueueWorkloadLoop } from '../../src/reconcile/kueue/workload.ts'
import { cachedKinds, kindsFor } from '../../src/store/kinds/cached-kinds.ts'
import { kueueKinds } from '../../src/store/kinds/kueue.ts'
import type { ObjectStore } from '../../src/store/store.ts'
import {
  makeAdmissionCheck,
  makeBinding,
  makeClaim,
  makeCluster,
  makeKueueWorkload,
  makeNamespace,
  makePolicy,
  makeSource,
  makeVolumeManager,
  NOW,
} from '../builders.ts'
import { storeOf } from '../stores.ts'
import { openAppOnApiServer } from './app-on-api-server.ts'
import { runLoops } from './controller.ts'

const JOB = { apiVersion: 'batch/v1', kind: 'Job', name: 'train' }
const HELD = 'default/sales: no DataSource for amoro table lake.shop.sales yet'
const LOCATED = 'default/sales is in member2'
const NO_DATA = 'no claim or volume names data for it'
const claim = (spec: Partial<DataSourceClaim['spec']> = {}) => makeClaim({ workload: JOB, ...spec })
const source = (clusterNames = ['member2']): DataSource => makeSource({ locality: { clusterNames } })

interface World {
  store: ObjectStore
  /** The state and message of the check `data` of a Workload. */
  shows(state: AdmissionCheckState['state'], message: string): Promise<void>
  put(...objects: [ResourceType, K8sObject][]): Promise<void>
  advance(ms: number): void
}

const [jobType, cronJobs, replicaSets, deployments] = [
  SHIPPED_KINDS.find('batch/v1', 'Job'),
  SHIPPED_KINDS.find('batch/v1', 'CronJob'),
  SHIPPED_KINDS.find('apps/v1', 'ReplicaSet'),
  SHIPPED_KINDS.find('apps/v1', 'Deployment'),
].map((kind) => kind?.type) as [ResourceType, ResourceType, ResourceType, ResourceType]
const JOB_NAME = { name: 'train', namespace: 'default' }

/** Starts the loops on a Workload and its check, with its Job if no other one is given; other objects come later, or before. */
async function start(workload: KueueWorkload, ...objects: [ResourceType, K8sObject][]): Promise<World> {
  return startWith({ hasJob: !objects.some(([type]) => type === jobType) }, workload, ...objects)
}

async function startWith(
  { hasJob }: { hasJob: boolean },
  workload: KueueWorkload,
  ...objects: [ResourceType, K8sObject][]
): Promise<World> {
  const store = await storeOf([], [...cachedKinds, ...kueueKinds])
  let now = NOW
  const world: World = {
    store,
    async shows(state, message) {
      await expect
        .poll(() => {
          const stored = store.get(kueueWorkloads, 'default', 'job-train')
          return stored?.status?.admissionChecks?.map((one) => `${one.name}: ${one.state}: ${one.message}`)
        })
        .toEqual([`data: ${state}: ${message}`])
    },
    async put(...given) {
      for (const [type, object] of given) await store.create(type, { ...object, apiVersion: apiVersionOf(type) })
    },
    advance(ms) {
      now += ms
    },
  }
  const jobs = hasJob
    ? [[jobType, { apiVersion: '', kind: 'Job', metadata: JOB_NAME }] as [ResourceType, K8sObject]]
    : []
  await world.put(...jobs, ...objects, [admissionChecks, makeAdmissionCheck()], [kueueWorkloads, workload])
  const { status } = workload
  await store.patch(kueueWorkloads, { namespace: 'default', name: 'job-train' }, { status }, { subresource: 'status' })
  runLoops({ store, loops: [admissionCheckLoop, kueueWorkloadLoop], now: () => now })
  return world
}

test('a claim holds the Workload until its data is located', async () => {
  const { shows, put } = await start(makeKueueWorkload(), [dataSourceClaims, claim()])
  await shows('Pending', HELD)
  await put([dataSources, source()])
  await shows('Ready', LOCATED)
})

test('a Workload without data is ready at once', async () => {
  const { shows } = await start(makeKueueWorkload())
  await shows('Ready', NO_DATA)
})

/** The Workload of the job, which waits for quota: its variants have it (ConcurrentAdmission of Kueue 0.18). */
const PARENT = makeKueueWorkload(
  { conditions: [], checks: [] },
  { name: 'job-all', labels: { 'kueue.x-k8s.io/concurrent-admission-parent': 'true' } },
)
const VARIANT = makeKueueWorkload(
  {},
  { ownerReferences: [{ apiVersion: 'kueue.x-k8s.io/v1beta2', kind: 'Workload', name: 'job-all', uid: 'u2' }] },
)

test('a claim holds the variants of a Workload until its data is located', async () => {
  const { shows, put } = await start(VARIANT, [kueueWorkloads, PARENT], [dataSourceClaims, claim()])
  await shows('Pending', HELD)
  await put([dataSources, source()])
  await shows('Ready', LOCATED)
})

test('a variant waits for the Workload that owns it, and for a late claim', async () => {
  const { shows, put } = await start(VARIANT)
  await shows('Pending', 'its job, Workload job-all, is not cached yet')
  await put([kueueWorkloads, PARENT])
  await shows('Ready', NO_DATA)
  await put([dataSourceClaims, claim()])
  await shows('Pending', HELD)
})

test('a Workload that is not admitted yet waits for a claim that is created late', async () => {
  const { shows, put } = await start(makeKueueWorkload())
  await shows('Ready', NO_DATA)
  await put([dataSourceClaims, claim()])
  await shows('Pending', HELD)
})

test('an admitted Workload stays ready', async () => {
  const check = { name: 'data', state: 'Ready' as const, message: LOCATED, lastTransitionTime: '2026-01-02T03:00:00Z' }
  const admitted = makeKueueWorkload({ conditions: ['QuotaReserved', 'Admitted'], checks: [check] })
  const { shows, put, store } = await start(admitted)
  await put([dataSourceClaims, claim()], [admissionChecks, makeAdmissionCheck({}, { name: 'later' })])
  await expect.poll(() => store.get(admissionChecks, undefined, 'later')?.status?.conditions?.length).toBe(1)
  await shows('Ready', LOCATED)
})

test('a deleted claim holds the Workload no more', async () => {
  const { shows, store } = await start(makeKueueWorkload(), [dataSourceClaims, claim()])
  await shows('Pending', HELD)
  const stored = store.get(dataSourceClaims, 'default', 'sales')
  if (stored) await store.delete(dataSourceClaims, stored)
  await shows('Ready', NO_DATA)
})

test('a claim that may be ignored does not hold the Workload', async () => {
  const policy = { onUnresolved: 'Ignore' as const }
  const { shows } = await start(makeKueueWorkload(), [dataSourceClaims, claim({ policy })])
  await shows('Ready', HELD)
})

test('the timeout of a claim begins when quota is reserved', async () => {
  const policy = { holdTimeoutSeconds: 400 }
  // Quota was reserved 245 s ago.
  const { shows, put, advance } = await start(makeKueueWorkload(), [dataSourceClaims, claim({ policy })])
  await shows('Pending', HELD)
  advance(155_000)
  // Any change leads to a run; the loop would run by itself after the timeout.
  await put([dataSourceClaims, { ...claim({ policy }), metadata: { name: 'second', namespace: 'default' } }])
  await shows('Ready', `${HELD}; ${HELD.replace('sales:', 'second:')}`)
})

test('a claim of another namespace counts if the namespace of the job allows it', async () => {
  const foreign = makeClaim({ workload: { ...JOB, namespace: 'default' } }, { namespace: 'shop' })
  const { shows, put } = await start(makeKueueWorkload(), [dataSourceClaims, foreign])
  await shows('Ready', NO_DATA)
  await put([namespaces, makeNamespace('default', 'shop')])
  await shows('Pending', HELD.replace('default/', 'shop/'))
})

test('volumes hold the Workload until their VolumeManager is ready', async () => {
  const { shows, put, store } = await start(makeKueueWorkload({ volumes: '{"name":"sales"}' }))
  const missing =
    'metadata.annotations[lodestone.dev/volumes].name: there is no VolumeManager sales in this namespace; create it first'
  await shows('Pending', missing)
  await put([volumeManagers, makeVolumeManager()])
  await shows('Pending', 'waits for VolumeManager sales/vol1')
  const volume = {
    id: 'vol1',
    message: 'success',
    volumeSource: { hostPath: { path: '/var/datasets/x' } },
    nodeAffinity: {},
  }
  const status = { state: 'Running', volumes: [volume] }
  await store.patch(volumeManagers, { namespace: 'default', name: 'sales' }, { status }, { subresource: 'status' })
  await shows('Ready', 'the data of all required volumes is ready')
})

test.each(['of a member', 'of a hub'])(
  'volumes do not hold a Workload that MultiKueue runs in a worker, in a manager %s',
  async (where) => {
    const parameters = { apiGroup: 'kueue.x-k8s.io', kind: 'MultiKueueConfig', name: 'workers' }
    const spec = { controllerName: 'kueue.x-k8s.io/multikueue', parameters }
    const checks = ['data', 'workers'].map(
      (name): AdmissionCheckState => ({
        name,
        state: 'Pending',
        message: '',
        lastTransitionTime: '2026-01-02T03:00:00Z',
      }),
    )
    const job = {
      apiVersion: 'batch/v1',
      kind: 'Job',
      metadata: { name: 'train', namespace: 'default' },
      spec: { template: asking },
    }
    const { store } = await start(
      makeKueueWorkload({ volumes: VOLUMES, checks }),
      [jobType, job as K8sObject],
      [admissionChecks, makeAdmissionCheck(spec, { name: 'workers' })],
      ...(where === 'of a hub' ? [[clusters, makeCluster('member1')] as [ResourceType, K8sObject]] : []),
    )
    await expect
      .poll(() => store.get(kueueWorkloads, 'default', 'job-train')?.status?.admissionChecks?.map(({ state }) => state))
      .toEqual(['Ready', 'Pending'])
  },
)

const VOLUMES = '{"name":"sales"}'
const MISSING =
  'metadata.annotations[lodestone.dev/volumes].name: there is no VolumeManager sales in this namespace; create it first'
const containers = [{ name: 'main', image: 'main:1' }]
const asking = {
  metadata: { labels: { 'lodestone.dev/inject': 'true' }, annotations: { 'lodestone.dev/volumes': VOLUMES } },
  spec: { containers },
}

/** A Workload as Kueue creates it for pods, StatefulSets and LeaderWorkerSets: it copies only the specs of their pods. */
function workloadOf(apiVersion: string, kind: string, name: string): KueueWorkload {
  const owner = { apiVersion, kind, name, uid: 'u1', controller: true }
  const podSets = [{ name: 'main', template: { spec: { containers } } }]
  const workload = makeKueueWorkload({}, { ownerReferences: [owner] })
  return { ...workload, spec: { ...workload.spec, podSets } }
}

function owned(kind: string, name: string, owner?: { apiVersion: string; kind: string; name: string }): K8sObject {
  const ownerReferences = owner && [{ ...owner, uid: 'u2', controller: true }]
  return {
    apiVersion: '',
    kind,
    metadata: { name, namespace: 'default', ownerReferences },
    spec: { containers },
  } as K8sObject
}

const STATEFUL_SET = { metadata: { name: 'train', namespace: 'default' }, spec: { template: asking } }
const LEADER_WORKER_SET = {
  metadata: { name: 'train', namespace: 'default' },
  spec: { leaderWorkerTemplate: { workerTemplate: asking } },
}
const POD = { metadata: { ...asking.metadata, name: 'train', namespace: 'default' }, spec: { containers } }

test.each([
  { apiVersion: 'apps/v1', kind: 'StatefulSet', job: STATEFUL_SET },
  { apiVersion: 'leaderworkerset.x-k8s.io/v1', kind: 'LeaderWorkerSet', job: LEADER_WORKER_SET },
  { apiVersion: 'v1', kind: 'Pod', job: POD },
])('volumes of a $kind hold its Workload, which has no metadata of pods', async ({ apiVersion, kind, job }) => {
  const type = SHIPPED_KINDS.find(apiVersion, kind)?.type as ResourceType
  const object = { apiVersion, kind, ...job } as K8sObject
  const { shows, put, store } = await start(workloadOf(apiVersion, kind, 'train'), [type, object])
  await shows('Pending', MISSING)
  await put([volumeManagers, makeVolumeManager()])
  await shows('Pending', 'waits for VolumeManager sales/vol1')
  const volume = { id: 'vol1', message: 'success', volumeSource: { hostPath: { path: '/var/x' } }, nodeAffinity: {} }
  const status = { state: 'Running', volumes: [volume] }
  await store.patch(volumeManagers, { namespace: 'default', name: 'sales' }, { status }, { subresource: 'status' })
  await shows('Ready', 'the data of all required volumes is ready')
})

test('a Workload waits until its job is cached if only that has the pod annotations', async () => {
  const { shows, put } = await start(workloadOf('v1', 'Pod', 'train'))
  await shows('Pending', 'its job, Pod train, is not cached yet')
  await put([pods, { apiVersion: 'v1', kind: 'Pod', ...POD } as K8sObject])
  await shows('Pending', MISSING)
})

test('a Workload waits until its Job is cached: a claim may name its CronJob', async () => {
  const workload = { apiVersion: 'batch/v1', kind: 'CronJob', name: 'nightly' }
  const { shows, put } = await startWith({ hasJob: false }, makeKueueWorkload(), [
    dataSourceClaims,
    claim({ workload }),
  ])
  await shows('Pending', 'its job, Job train, is not cached yet')
  await put([jobType, owned('Job', 'train', workload)])
  await shows('Pending', HELD)
})

test('on a hub, a job without a binding waits until the labels of the job are cached', async () => {
  const placement = { clusterAffinity: { clusterNames: ['member1'] } }
  const labelSelector = { matchLabels: { team: 'red' } }
  const selector = { apiVersion: 'batch/v1', kind: 'Job', labelSelector }
  const policy = makePolicy({ resourceSelectors: [selector], placement }, { namespace: 'default' })
  const { shows, put } = await startWith(
    { hasJob: false },
    makeKueueWorkload(),
    ...['member1', 'member2'].map((name): [ResourceType, K8sObject] => [clusters, makeCluster(name)]),
    [propagationPolicies, policy],
    [dataSources, source()],
    [dataSourceClaims, claim()],
  )
  await shows('Pending', 'its job, Job train, is not cached yet')
  await put([jobType, { apiVersion: '', kind: 'Job', metadata: { ...JOB_NAME, labels: { team: 'red' } } }])
  await shows('Pending', 'default/sales (member2): the data is in member2, which the policy does not allow')
})

test('a job of a kind that is not cached does not hold its Workload', async () => {
  const { shows } = await start(workloadOf('example.com/v1', 'Train', 'train'))
  await shows('Ready', NO_DATA)
})

const UNKNOWN = 'a controller of its job, ReplicaSet train-5d8f, is not cached yet'

test.each([
  { last: 'claim', first: ['Ready', NO_DATA] },
  { last: 'ReplicaSet', first: ['Pending', UNKNOWN] },
] as const)(
  'a claim of a Deployment holds its pods; seen last: the $last',
  async ({ last, first: [state, message] }) => {
    const workload = { apiVersion: 'apps/v1', kind: 'Deployment', name: 'train' }
    const ofClaim: [ResourceType, K8sObject] = [dataSourceClaims, claim({ workload })]
    const ofReplicaSet: [ResourceType, K8sObject] = [replicaSets, owned('ReplicaSet', 'train-5d8f', workload)]
    const [first, second] = last === 'claim' ? [ofReplicaSet, ofClaim] : [ofClaim, ofReplicaSet]
    const owner = { apiVersion: 'apps/v1', kind: 'ReplicaSet', name: 'train-5d8f' }
    const { shows, put } = await start(
      workloadOf('v1', 'Pod', 'train-5d8f-x2x'),
      first,
      [deployments, owned('Deployment', 'train')],
      [pods, owned('Pod', 'train-5d8f-x2x', owner)],
    )
    await shows(state, message)
    await put(second)
    await shows('Pending', HELD)
    await put([dataSources, source()])
    await shows('Ready', LOCATED)
  },
)

test('a claim of a CronJob holds the Workloads of its Jobs', async () => {
  const workload = { apiVersion: 'batch/v1', kind: 'CronJob', name: 'nightly' }
  const { shows, put } = await start(
    makeKueueWorkload(),
    [cronJobs, owned('CronJob', 'nightly')],
    [jobType, owned('Job', 'train', workload)],
    [dataSourceClaims, claim({ workload })],
  )
  await shows('Pending', HELD)
  await put([dataSources, source()])
  await shows('Ready', LOCATED)
})

test('on a hub, a Workload follows the decision on the binding of its job', async () => {
  const binding = makeBinding(
    { resource: { ...JOB, namespace: 'default' }, placement: { clusterAffinity: { clusterNames: ['member1'] } } },
    { name: 'train-job' },
  )
  const { shows, store } = await start(
    makeKueueWorkload(),
    ...['member1', 'member2'].map((name): [ResourceType, K8sObject] => [clusters, makeCluster(name)]),
    [resourceBindings, binding],
    [dataSources, source()],
    [dataSourceClaims, claim()],
  )
  await shows('Pending', 'default/sales (member2): the data is in member2, which the policy does not allow')
  const stored = store.get(resourceBindings, 'default', 'train-job')
  const spec = { placement: { clusterAffinity: { clusterNames: ['member1', 'member2'] } } }
  if (stored) await store.patch(resourceBindings, { namespace: 'default', name: 'train-job' }, { spec })
  await shows('Ready', LOCATED)
})

test('a Workload without a job waits for it', async () => {
  const { shows, store } = await start(makeKueueWorkload({}, { ownerReferences: [] }))
  await shows('Pending', 'no job owns this Workload yet; claims name the job')
  const { ownerReferences } = makeKueueWorkload().metadata
  await store.patch(kueueWorkloads, { namespace: 'default', name: 'job-train' }, { metadata: { ownerReferences } })
  await shows('Ready', NO_DATA)
})

test('a check with parameters leaves the Workload Pending, and its condition says why', async () => {
  const parameters = { apiGroup: 'example.com', kind: 'Config', name: 'mine' }
  const { shows, store } = await start(makeKueueWorkload())
  await shows('Ready', NO_DATA)
  await store.patch(admissionChecks, { name: 'data' }, { spec: { parameters } })
  await shows('Pending', 'spec.parameters: Forbidden: lodestone.dev/data-ready has no parameters; remove them')
  await expect
    .poll(() => store.get(admissionChecks, undefined, 'data')?.status?.conditions?.map(({ reason }) => reason))
    .toEqual(['BadParameters'])
})

test('without Kueue, the log says what to install, and a later check is answered', async () => {
  const kinds = kindsFor({ workloads: SHIPPED_KINDS, dependencies: false, movesData: false, kueue: true })
  const {
    server,
    lines,
    start: startApp,
  } = await openAppOnApiServer(kinds, {
    kueue: { ...DEFAULT_CONFIG.kueue, enabled: true },
  })
  for (const type of [admissionChecks, kueueWorkloads]) server.serve(type, false)
  await startApp()
  const expected =
    'kueue.enabled is set, but the API server does not serve workloads.kueue.x-k8s.io in v1beta2; install Kueue 0.15 or newer'
  await expect.poll(() => lines.map(({ msg }) => msg)).toContain(expected)

  for (const type of [admissionChecks, kueueWorkloads]) server.serve(type, true)
  server.put(admissionChecks, makeAdmissionCheck())
  const conditions = () =>
    (
      server.objects.get('/apis/kueue.x-k8s.io/v1beta2/admissionchecks', undefined, 'data') as
        | AdmissionCheck
        | undefined
    )?.status?.conditions
  await expect.poll(() => conditions()?.map(({ type, status }) => `${type}=${status}`)).toEqual(['Active=True'])
})
