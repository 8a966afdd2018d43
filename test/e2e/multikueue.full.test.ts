// Lodestone as the dispatcher of MultiKueue: a manager cluster and two workers, each with the real controller manager of Kueue.
import { afterAll, beforeAll, expect, test } from 'vitest'
import { isTrue } from '../../src/base/conditions.ts'
import type { KubeObject } from './api-client.ts'
import { type ControlPlane, startControlPlane } from './control-plane.ts'
import { admissionCheck, progressOf, queuedJob, queues, startKueue, type WorkloadObject, workloadOf } from './kueue.ts'
import { installLodestone, type Lodestone, startLodestone } from './lodestone.ts'
import { claim, source } from './manifests.ts'
import { stopAndCheckRights } from './rights.ts'
import { multiKueueCheck, namespaceNamed, startWorker, workerCluster } from './worker-clusters.ts'

const NAMESPACES = ['default', 'shop', 'bank']
const LONG = 120_000
/** Longer than a worker needs to admit a job, so that the first tier of clusters has its chance. */
const ROUND_SECONDS = 20
/** By queue: which worker has quota. */
const QUOTAS = { team: [100, 100], closed: [0, 0], scarce: [100, 0], aliased: [100, 0], checked: [100, 100] } as const

type Worker = 'worker1' | 'worker2'

let manager: ControlPlane
let workers: Record<Worker, ControlPlane>
let lodestone: Lodestone

beforeAll(async () => {
  manager = await startControlPlane({ karmada: false })
  const config = { kueue: { enabled: true, multiKueue: { enabled: true, roundSeconds: ROUND_SECONDS } } }
  const kubeconfig = await installLodestone(manager, config)
  await startKueue(manager, { dispatcherName: 'lodestone.dev/dispatcher' })
  const quotasOf = (index: 0 | 1) =>
    Object.fromEntries(Object.entries(QUOTAS).map(([queue, quotas]) => [queue, quotas[index]]))
  workers = {
    worker1: await startWorker(manager, 'worker1', { namespaces: NAMESPACES, quotas: quotasOf(0) }),
    worker2: await startWorker(manager, 'worker2', { namespaces: NAMESPACES, quotas: quotasOf(1) }),
  }
  const annotations = { 'lodestone.dev/cluster-name': 'paris' }
  await manager.apply([
    ...NAMESPACES.map(namespaceNamed),
    workerCluster('alias', { secret: 'worker1', annotations }),
    // Neither by name nor by the order of creation.
    ...multiKueueCheck('workers', ['worker2', 'worker1']),
    ...multiKueueCheck('aliases', ['alias']),
    ...['team', 'closed', 'scarce'].flatMap((name) => queues(name, { checks: ['workers'], namespaces: NAMESPACES })),
    ...queues('aliased', { checks: ['aliases'], namespaces: NAMESPACES }),
    admissionCheck('data'),
    ...queues('checked', { checks: ['workers', 'data'], namespaces: NAMESPACES }),
  ])
  lodestone = await startLodestone(manager, { kubeconfig, config })
}, 300_000)

afterAll(() => stopAndCheckRights({ plane: manager, lodestones: [lodestone] }))

test('a job runs in the worker that has its data, and is created in no other', async () => {
  const job = remoteJob('report', 'team')
  await manager.apply([source('report-data', ['worker1']), claimOf(job), job])
  await runsIn(job, 'worker1')
  expect(await nominationsOf(job)).toEqual(['nominated worker1: default/report is in worker1'])
  expect(await jobIn('worker2', job)).toBeUndefined()
})

test('a job whose data is nowhere shows the reason, and runs where the data arrives', async () => {
  const job = remoteJob('waiting', 'team')
  await manager.apply([claimOf(job), job])
  const reason = 'default/waiting: no DataSource for static bucket waiting-data yet'
  await showsHold(job, reason)
  expect((await workloadOf(manager, job))?.status?.nominatedClusterNames ?? []).toEqual([])
  expect(await eventsOf(job, 'NominationOnHold')).toEqual([reason])

  await manager.apply(source('waiting-data', ['worker2']))
  await runsIn(job, 'worker2')
  expect(await jobIn('worker1', job)).toBeUndefined()
  await manager.eventually('the condition says where the data is', async () => {
    expect(await nominatedCondition(job)).toMatchObject({ status: 'True', message: 'default/waiting is in worker2' })
    return true
  })
})

test('a job whose data is in a cluster that is no worker is not nominated', async () => {
  const job = remoteJob('foreign', 'closed')
  await manager.apply([source('foreign-data', ['elsewhere']), claimOf(job), job])
  await showsHold(
    job,
    'default/foreign (elsewhere): the data is in elsewhere, which the policy does not allow; the policy is MultiKueueConfig workers',
  )
})

test('a job without a claim is nominated for all workers in the configured order', async () => {
  const job = remoteJob('plain', 'closed')
  await manager.apply(job)
  await isNominated(job, ['worker2', 'worker1'])
  await isCopiedTo(job, ['worker1', 'worker2'])
})

test('Kueue alone owns the nomination, and loses no field of its own', async () => {
  const job = remoteJob('owned', 'closed')
  await manager.apply([source('owned-data', ['worker1', 'worker2']), claimOf(job), job])
  const { metadata, status } = await isNominated(job, ['worker2', 'worker1'])
  const owners = (metadata.managedFields ?? []).filter(({ fieldsV1 }) =>
    JSON.stringify(fieldsV1).includes('f:nominatedClusterNames'),
  )
  expect(owners.map(({ manager: name, operation }) => `${operation} by ${name}`)).toEqual(['Apply by kueue-admission'])
  expect(isTrue(status?.conditions, 'QuotaReserved')).toBe(true)
  expect(status).toHaveProperty('admission.podSetAssignments[0].flavors.cpu', 'default-flavor')
})

test('a preferred worker is tried alone, and the others follow after a round', async () => {
  const job = remoteJob('fallback', 'scarce')
  const preferred = claimOf(job, { enforcement: 'Preferred' })
  await manager.apply([source('fallback-data', ['worker2']), preferred, job])
  await isNominated(job, ['worker2'])
  await isCopiedTo(job, ['worker2'])
  // Of worker2, which has no quota, Kueue takes the nomination back when worker1 has the job.
  await runsIn(job, 'worker1')
  await manager.eventually('both nominations have an Event', async () => {
    const messages = (await nominationsOf(job)).map((message) => message.split(':')[0])
    expect(messages).toEqual(['nominated worker2', 'nominated worker2, worker1'])
    return true
  })
})

test('the nomination follows data that moves before a worker has the job', async () => {
  const job = remoteJob('moving', 'closed')
  await manager.apply([source('moving-data', ['worker1']), claimOf(job), job])
  await isNominated(job, ['worker1'])
  await isCopiedTo(job, ['worker1'])
  await manager.kubectl(['patch', 'datasource', 'moving-data', '--type=merge', '-p', locatedIn('worker2')])
  await isNominated(job, ['worker2'])
  await isCopiedTo(job, ['worker2'])
})

test('an evicted job is nominated again, where its data is then', async () => {
  const job = remoteJob('evicted', 'team')
  await manager.apply([source('evicted-data', ['worker1']), claimOf(job), job])
  await runsIn(job, 'worker1')
  await setActive(job, false)
  await manager.eventually('Kueue has evicted it', async () => {
    const { status } = (await workloadOf(manager, job)) ?? {}
    return status?.clusterName === undefined && !isTrue(status?.conditions, 'QuotaReserved')
  })
  await manager.kubectl(['patch', 'datasource', 'evicted-data', '--type=merge', '-p', locatedIn('worker2')])
  await setActive(job, true)
  await runsIn(job, 'worker2')
  await manager.eventually('it is in worker1 no more', async () => (await jobIn('worker1', job)) === undefined)
})

test('a restart of Lodestone writes nothing again', async () => {
  const job = remoteJob('patient', 'closed')
  await manager.apply([source('patient-data', ['worker1']), claimOf(job), job])
  await isNominated(job, ['worker1'])
  await isCopiedTo(job, ['worker1'])
  // Events are written a moment after the nomination, and a kill loses those that wait.
  await manager.eventually('it has an Event', async () => (await nominationsOf(job)).length > 0)
  const before = await workloadOf(manager, job)
  await lodestone.kill()
  await lodestone.restart()
  // A job that is created now is decided after those of the first pass.
  const witness = remoteJob('witness', 'closed')
  await manager.apply(witness)
  await isNominated(witness, ['worker2', 'worker1'])
  expect(await workloadOf(manager, job)).toEqual(before)
  expect(await nominationsOf(job)).toHaveLength(1)
})

test('a claim of one tenant does not choose the worker of another', async () => {
  const [ofShop, ofBank] = ['shop', 'bank'].map((namespace) => remoteJob('same', 'closed', namespace)) as [
    KubeObject,
    KubeObject,
  ]
  await manager.apply([source('same-data', ['worker1']), claimOf(ofShop), ofShop, ofBank])
  await isNominated(ofShop, ['worker1'])
  await isNominated(ofBank, ['worker2', 'worker1'])
})

test('a worker may have another name in DataSources', async () => {
  const job = remoteJob('travel', 'aliased')
  await manager.apply([source('travel-data', ['paris']), claimOf(job), job])
  await runsIn(job, 'worker1', 'alias')
})

test('a queue may have the check of Lodestone too', async () => {
  const job = remoteJob('checked', 'checked')
  await manager.apply([claimOf(job), job])
  const reason = 'default/checked: no DataSource for static bucket checked-data yet'
  await showsHold(job, reason)
  await manager.apply(source('checked-data', ['worker2']))
  await runsIn(job, 'worker2')
  await manager.eventually('Kueue has admitted it', async () => {
    expect(await progressOf(manager, job)).toMatchObject({
      checks: { data: 'Ready: default/checked is in worker2' },
      admitted: true,
    })
    return true
  })
})

function remoteJob(name: string, queue: keyof typeof QUOTAS, namespace = 'default'): KubeObject {
  return queuedJob(name, { queue, namespace, isRemote: true })
}

/** A claim of the job for the data `<job>-data`. */
function claimOf(job: KubeObject, policy?: object): KubeObject {
  const { name, namespace = 'default' } = job.metadata
  return claim(name, { data: `${name}-data`, workload: job, namespace, ...(policy && { policy }) })
}

function locatedIn(cluster: string): string {
  return JSON.stringify({ spec: { locality: { clusterNames: [cluster] } } })
}

/** Returns the Workload once its nomination is this list. */
async function isNominated(job: KubeObject, clusters: string[]): Promise<WorkloadObject> {
  return manager.eventually(
    `Job ${job.metadata.namespace}/${job.metadata.name} is nominated for ${clusters.join(', ')}`,
    async () => {
      const workload = await workloadOf(manager, job)
      expect(workload?.status?.nominatedClusterNames).toEqual(clusters)
      return workload as WorkloadObject
    },
    LONG,
  )
}

/** Waits until these workers have the Workload, and no other. */
async function isCopiedTo(job: KubeObject, names: Worker[]): Promise<void> {
  const { namespace = 'default' } = job.metadata
  await manager.eventually(
    `the Workload of ${job.metadata.name} is in ${names.join(', ')}`,
    async () => {
      const workload = (await workloadOf(manager, job))?.metadata.name ?? ''
      const found = await Promise.all(
        Object.values(workers).map((worker) => worker.getJson('workloads.kueue.x-k8s.io', workload, namespace)),
      )
      expect(Object.keys(workers).filter((_, i) => found[i] !== undefined)).toEqual(names)
      return true
    },
    LONG,
  )
}

async function runsIn(job: KubeObject, worker: Worker, clusterName: string = worker): Promise<void> {
  await manager.eventually(
    `Job ${job.metadata.name} runs in ${worker}`,
    async () => {
      const { status } = (await workloadOf(manager, job)) ?? {}
      expect(status).toMatchObject({ clusterName })
      expect(status?.nominatedClusterNames ?? []).toEqual([])
      expect(await jobIn(worker, job)).toMatchObject({ spec: { suspend: false } })
      return true
    },
    LONG,
  )
}

function jobIn(worker: Worker, { metadata }: KubeObject): Promise<KubeObject | undefined> {
  return workers[worker].getJson('jobs.batch', metadata.name, metadata.namespace)
}

async function showsHold(job: KubeObject, message: string): Promise<void> {
  await manager.eventually(
    `the Workload of ${job.metadata.name} shows: ${message}`,
    async () => {
      expect(await nominatedCondition(job)).toMatchObject({ status: 'False', reason: 'OnHold', message })
      return true
    },
    LONG,
  )
}

async function nominatedCondition(job: KubeObject) {
  const { status } = (await workloadOf(manager, job)) ?? {}
  return status?.conditions?.find(({ type }) => type === 'lodestone.dev/Nominated')
}

/** The messages of Events about the Workload, the oldest first. */
async function eventsOf(job: KubeObject, reason: string): Promise<string[]> {
  const workload = (await workloadOf(manager, job))?.metadata.name
  const events = (await manager.listJson('events', job.metadata.namespace)) as (KubeObject & {
    involvedObject: { name: string }
    reason: string
    message: string
  })[]
  return events
    .filter((one) => one.involvedObject.name === workload && one.reason === reason)
    .sort((a, b) => Number(a.metadata['resourceVersion']) - Number(b.metadata['resourceVersion']))
    .map(({ message }) => message)
}

function nominationsOf(job: KubeObject): Promise<string[]> {
  return eventsOf(job, 'ClustersNominated')
}

async function setActive(job: KubeObject, active: boolean): Promise<void> {
  const { name, namespace = 'default' } = (await workloadOf(manager, job))?.metadata ?? {}
  const patch = JSON.stringify({ spec: { active } })
  await manager.kubectl(['patch', 'workloads.kueue.x-k8s.io', name ?? '', '-n', namespace, '--type=merge', '-p', patch])
}
