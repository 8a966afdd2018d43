// Kueue admits a Workload when its data is ready: the real controller manager of Kueue, claims, VolumeManagers, and mistakes.
import { afterAll, beforeAll, expect, onTestFinished, test } from 'vitest'
import type { Condition } from '../../src/api/meta.ts'
import type { KubeObject } from './api-client.ts'
import {
  admissionCheck,
  type Progress,
  progressOf,
  queuedJob,
  queuedPod,
  queues,
  startKueue,
  workloadOf,
} from './kueue.ts'
import { claim, source } from './manifests.ts'
import { type Member, s3Volume, startMember, volumeManagerOf } from './member.ts'
import { stopAndCheckRights } from './rights.ts'

const NAMESPACES = ['default', 'shop', 'bank', 'leaving']
const LONG = 60_000

let cluster: Member

beforeAll(async () => {
  cluster = await startMember({ config: { kueue: { enabled: true } } })
  const { plane } = cluster
  await startKueue(plane)
  await plane.apply(NAMESPACES.slice(1).map((name) => ({ apiVersion: 'v1', kind: 'Namespace', metadata: { name } })))
  await plane.apply([admissionCheck('data'), ...queues('team', { checks: ['data'], namespaces: NAMESPACES })])
  await isActive('data', 'True')
})

afterAll(() => stopAndCheckRights({ plane: cluster?.plane, lodestones: [cluster?.lodestone] }))

test('a job waits until its claim is located, and is then unsuspended', async () => {
  const { plane } = cluster
  const job = queuedJob('report', { queue: 'team' })
  await plane.apply([claim('report', { data: 'report-data', workload: job }), job])
  const reason = 'default/report: no DataSource for static bucket report-data yet'
  await shows(job, { checks: { data: `Pending: ${reason}` }, quotaReserved: true, admitted: false, suspended: true })
  await hasEvent(job, `data: ${reason}`)

  await plane.apply(source('report-data', ['member2']))
  await shows(job, { checks: { data: 'Ready: default/report is in member2' }, admitted: true, suspended: false })
})

test('a job waits until its VolumeManager is Running, and is then unsuspended', async () => {
  const { plane } = cluster
  const job = queuedJob('training', { queue: 'team', volumes: '{"name":"weights","mount-path":"/data"}' })
  await plane.apply(job)
  await shows(job, {
    checks: {
      data: 'Pending: metadata.annotations[lodestone.dev/volumes].name: there is no VolumeManager weights in this namespace; create it first',
    },
    suspended: true,
  })
  onTestFinished(() => cluster.proxy.release())
  cluster.proxy.holdAfter(1)
  await cluster.putBucket('weights', { 'a.txt': 'first' }, 'train/')
  await cluster.create(volumeManagerOf('weights', s3Volume(cluster.proxy, 's3://weights/train/', { replicas: 1 })))
  await shows(job, { checks: { data: 'Pending: waits for VolumeManager weights/vol1' }, suspended: true })

  cluster.proxy.release()
  await cluster.reached('weights', 'Running')
  await shows(job, { checks: { data: 'Ready: the data of all required volumes is ready' }, suspended: false })
})

test('a pod waits for its VolumeManager, although its Workload does not name it', async () => {
  const { plane } = cluster
  const annotations = { 'lodestone.dev/volumes': '{"name":"pod-weights","mount-path":"/data"}' }
  const pod = queuedPod('plain-pod', 'team', { annotations })
  await cluster.putBucket('pod-weights', { 'a.txt': 'first' }, 'train/')
  onTestFinished(() => cluster.proxy.release())
  cluster.proxy.holdAfter(1)
  await cluster.create(
    volumeManagerOf('pod-weights', s3Volume(cluster.proxy, 's3://pod-weights/train/', { replicas: 1 })),
  )
  await plane.apply(pod)
  await decides(pod, 'Pending: waits for VolumeManager pod-weights/vol1')
  cluster.proxy.release()
  await cluster.reached('pod-weights', 'Running')
  await decides(pod, 'Ready: the data of all required volumes is ready')
})

test('a claim of a Deployment holds its pods', async () => {
  const { plane } = cluster
  const { metadata, spec } = queuedPod('served', 'team')
  const { labels = {}, finalizers } = metadata
  const deployment = {
    apiVersion: 'apps/v1',
    kind: 'Deployment',
    metadata: { name: 'served', namespace: 'default' },
    spec: { selector: { matchLabels: labels }, template: { metadata: { labels, finalizers }, spec } },
  } as KubeObject
  await plane.apply([claim('served', { data: 'served-data', workload: deployment }), deployment])
  const pod = await plane.eventually('the Deployment has a pod', async () => {
    const pods = (await plane.listJson('pods', 'default')) as KubeObject[]
    return pods.find(({ metadata: { name } }) => name.startsWith('served-'))
  })
  await decides(pod, waitingFor('served'))
  await plane.apply(source('served-data', ['member1']))
  await decides(pod, 'Ready: default/served is in member1')
})

test('a job without claims and volumes is admitted at once, and the message says why', async () => {
  const job = queuedJob('plain', { queue: 'team' })
  await cluster.plane.apply(job)
  await shows(job, {
    checks: { data: 'Ready: no claim or volume names data for it' },
    admitted: true,
    suspended: false,
  })
})

test('a restart of Lodestone loses nothing: a job waits on, and is admitted', async () => {
  const { plane, lodestone } = cluster
  const job = queuedJob('patient', { queue: 'team' })
  await plane.apply([claim('patient', { data: 'patient-data', workload: job }), job])
  await shows(job, { suspended: true, checks: { data: waitingFor('patient') } })
  await lodestone.kill()
  await plane.apply(source('patient-data', ['member1']))
  await lodestone.restart()
  await shows(job, { checks: { data: 'Ready: default/patient is in member1' }, suspended: false })
})

test('a deleted claim no longer holds its job', async () => {
  const { plane } = cluster
  const job = queuedJob('released', { queue: 'team' })
  await plane.apply([claim('released', { data: 'released-data', workload: job }), job])
  await shows(job, { suspended: true, checks: { data: waitingFor('released') } })
  await plane.kubectl(['delete', 'datasourceclaim', 'released'])
  await shows(job, { checks: { data: 'Ready: no claim or volume names data for it' }, suspended: false })
})

test('an evicted Workload is checked again when quota is reserved for it again', async () => {
  const { plane } = cluster
  const job = queuedJob('evicted', { queue: 'team', runs: false })
  await plane.apply([
    source('evicted-data', ['member1']),
    claim('evicted', { data: 'evicted-data', workload: job }),
    job,
  ])
  await shows(job, { admitted: true, suspended: false })
  const name = (await workloadOf(plane, job))?.metadata.name ?? ''
  const setActive = (active: boolean) =>
    plane.kubectl([
      'patch',
      'workloads.kueue.x-k8s.io',
      name,
      '--type=merge',
      '-p',
      JSON.stringify({ spec: { active } }),
    ])
  await setActive(false)
  await shows(job, { admitted: false, quotaReserved: false, suspended: true })
  // While it waits for quota, the check says nothing new.
  expect((await progressOf(plane, job))?.checks['data']).toMatch(/^Pending: Reset to Pending after eviction/)
  await plane.kubectl(['delete', 'datasource', ...(await sourcesOf('evicted-data'))])
  await setActive(true)
  await shows(job, { quotaReserved: true, admitted: false, suspended: true, checks: { data: waitingFor('evicted') } })
  await plane.apply(source('evicted-data', ['member3']))
  await shows(job, { checks: { data: 'Ready: default/evicted is in member3' }, admitted: true, suspended: false })
})

test('the loss of the location does not evict a job that was admitted', async () => {
  const { plane } = cluster
  const job = queuedJob('running', { queue: 'team', runs: false })
  await plane.apply([
    source('running-data', ['member1']),
    claim('running', { data: 'running-data', workload: job }),
    job,
  ])
  await shows(job, { admitted: true, suspended: false })
  await plane.kubectl(['delete', 'datasource', ...(await sourcesOf('running-data'))])
  await plane.eventually('the claim has no location', async () => {
    const found = (await plane.getJson('datasourceclaims', 'running', 'default')) as { status?: { phase?: string } }
    return found.status?.phase === 'Pending'
  })
  // A Workload that is created later is decided later.
  await isDecided()
  await shows(job, { checks: { data: 'Ready: default/running is in member1' }, admitted: true, suspended: false })
})

test('claims of one tenant do not hold the jobs of another', async () => {
  const { plane } = cluster
  const [ofShop, ofBank] = ['shop', 'bank'].map((namespace) => queuedJob('same', { queue: 'team', namespace }))
  if (!ofShop || !ofBank) throw new Error('no jobs')
  // Rejected: a claim of one tenant for a job of the other.
  const foreign = claim('foreign', { data: 'same-data', workload: ofBank, namespace: 'shop' })
  const workload = { ...(foreign.spec['workload'] as object), namespace: 'bank' }
  await expect(plane.apply({ ...foreign, spec: { ...foreign.spec, workload } } as KubeObject)).rejects.toThrow(
    'namespace bank does not allow claims of namespace shop',
  )
  await plane.apply([claim('same', { data: 'same-data', workload: ofShop, namespace: 'shop' }), ofShop, ofBank])
  await shows(ofBank, { checks: { data: 'Ready: no claim or volume names data for it' }, suspended: false })
  await shows(ofShop, { checks: { data: waitingFor('same', 'shop') }, suspended: true })
})

test('a check of another controller is not touched', async () => {
  const { plane } = cluster
  await plane.apply([
    admissionCheck('other', { controllerName: 'example.com/other' }),
    ...queues('both', { checks: ['data', 'other'], namespaces: ['default'] }),
  ])
  await setCondition('other')
  const job = queuedJob('mixed', { queue: 'both' })
  await plane.apply(job)
  await shows(job, {
    checks: { data: 'Ready: no claim or volume names data for it', other: 'Pending: ' },
    admitted: false,
    suspended: true,
  })
  expect((await conditionsOf('other')).map(({ reason }) => reason)).toEqual(['ByTest'])
})

test('a check with parameters is not active, and the reason says so', async () => {
  await cluster.plane.apply(
    admissionCheck('mistaken', { parameters: { apiGroup: 'example.com', kind: 'Config', name: 'mine' } }),
  )
  const condition = await isActive('mistaken', 'False')
  expect([condition.reason, condition.message]).toEqual([
    'BadParameters',
    'spec.parameters: Forbidden: lodestone.dev/data-ready has no parameters; remove them',
  ])
})

test('a namespace with a waiting job can be deleted', async () => {
  const { plane } = cluster
  const job = queuedJob('gone', { queue: 'team', namespace: 'leaving' })
  await plane.apply([claim('gone', { data: 'gone-data', workload: job, namespace: 'leaving' }), job])
  await shows(job, { checks: { data: waitingFor('gone', 'leaving') }, suspended: true })
  await plane.kubectl(['delete', 'namespace', 'leaving', '--timeout=60s'], { timeoutMs: 70_000 })
  expect(await plane.getJson('namespaces', 'leaving')).toBeUndefined()
})

test('a stopped queue takes the quota of a job, which waits again when it is resumed', async () => {
  const { plane } = cluster
  await plane.apply(queues('stopped', { checks: ['data'], namespaces: ['default'] }))
  const job = queuedJob('stopped', { queue: 'stopped' })
  await plane.apply([claim('stopped', { data: 'stopped-data', workload: job }), job])
  await shows(job, { quotaReserved: true, checks: { data: waitingFor('stopped') } })
  await patchQueue('stopped', { stopPolicy: 'HoldAndDrain' })
  await shows(job, { quotaReserved: false, suspended: true })
  await plane.apply(source('stopped-data', ['member2']))
  await patchQueue('stopped', { stopPolicy: 'None' })
  await shows(job, { checks: { data: 'Ready: default/stopped is in member2' }, admitted: true, suspended: false })
})

test('two checks of Lodestone in one queue are both answered', async () => {
  const { plane } = cluster
  await plane.apply([admissionCheck('second')])
  await isActive('second', 'True')
  await plane.apply(queues('two', { checks: ['data', 'second'], namespaces: ['default'] }))
  const job = queuedJob('two', { queue: 'two' })
  await plane.apply([claim('two', { data: 'two-data', workload: job }), job])
  await shows(job, { checks: { data: waitingFor('two'), second: waitingFor('two') }, admitted: false })
  await plane.apply(source('two-data', ['member1']))
  const ready = 'Ready: default/two is in member1'
  await shows(job, { checks: { data: ready, second: ready }, admitted: true, suspended: false })
})

test('a job that loses its quota to a higher priority is checked again', async () => {
  const { plane } = cluster
  await plane.apply([
    {
      apiVersion: 'kueue.x-k8s.io/v1beta2',
      kind: 'WorkloadPriorityClass',
      metadata: { name: 'urgent' },
      value: 1000,
    } as never,
    ...queues('small', { checks: ['data'], namespaces: ['default'], quota: 1 }),
  ])
  await patchQueue('small', { preemption: { withinClusterQueue: 'LowerPriority' } })
  const waiting = queuedJob('waiting', { queue: 'small', runs: false })
  await plane.apply([claim('waiting', { data: 'waiting-data', workload: waiting }), waiting])
  await shows(waiting, { quotaReserved: true, checks: { data: waitingFor('waiting') } })
  const urgent = queuedJob('urgent', { queue: 'small', runs: false })
  urgent.metadata.labels = { ...urgent.metadata.labels, 'kueue.x-k8s.io/priority-class': 'urgent' }
  await plane.apply(urgent)
  await shows(urgent, {
    admitted: true,
    suspended: false,
    checks: { data: 'Ready: no claim or volume names data for it' },
  })
  await shows(waiting, { quotaReserved: false, admitted: false, suspended: true })
  await plane.apply(source('waiting-data', ['member1']))
  await plane.kubectl(['delete', 'job', 'urgent'])
  await shows(waiting, { admitted: true, suspended: false, checks: { data: 'Ready: default/waiting is in member1' } })
  // The same for a job that runs.
  const next = { ...urgent, metadata: { ...urgent.metadata, name: 'next' } }
  await plane.apply(next)
  await shows(next, { admitted: true })
  await shows(waiting, { quotaReserved: false, admitted: false, suspended: true })
  await plane.kubectl(['delete', 'datasource', ...(await sourcesOf('waiting-data'))])
  await plane.kubectl(['delete', 'job', 'next'])
  await shows(waiting, { quotaReserved: true, admitted: false, checks: { data: waitingFor('waiting') } })
})

test('a check that is removed, deleted, created and added again holds jobs again', async () => {
  const { plane } = cluster
  await plane.apply([admissionCheck('third')])
  await isActive('third', 'True')
  await plane.apply(queues('exchanged', { checks: ['third'], namespaces: ['default'] }))
  const job = queuedJob('exchanged', { queue: 'exchanged', runs: false })
  await plane.apply([claim('exchanged', { data: 'exchanged-data', workload: job }), job])
  await shows(job, { checks: { third: waitingFor('exchanged') }, admitted: false })
  await patchQueue('exchanged', { admissionChecksStrategy: null })
  await shows(job, { admitted: true, suspended: false })
  await plane.kubectl(['delete', 'admissioncheck', 'third', '--timeout=30s'])
  await plane.apply([admissionCheck('third')])
  await isActive('third', 'True')
  await patchQueue('exchanged', { admissionChecksStrategy: { admissionChecks: [{ name: 'third' }] } })
  const held = queuedJob('held', { queue: 'exchanged', runs: false })
  await plane.apply([claim('held', { data: 'held-data', workload: held }), held])
  await shows(held, { checks: { third: waitingFor('held') }, admitted: false })
  await plane.apply(source('held-data', ['member3']))
  await shows(held, { checks: { third: 'Ready: default/held is in member3' }, admitted: true })
})

test('while claims cannot be read, the check is not active, and no job is admitted', async () => {
  const { plane } = cluster
  const name = 'datasourceclaims.datadependency.volcano.sh'
  const crd = await plane.getJson('crd', name)
  if (!crd) throw new Error('not installed')
  const job = queuedJob('unseen', { queue: 'team' })
  await plane.apply([claim('unseen', { data: 'unseen-data', workload: job }), job])
  await shows(job, { checks: { data: waitingFor('unseen') }, suspended: true })
  onTestFinished(async () => {
    await plane.apply({ apiVersion: crd.apiVersion, kind: crd.kind, metadata: { name }, spec: crd['spec'] })
    await isActive('data', 'True')
  })
  await plane.kubectl(['delete', 'crd', name])
  expect((await isActive('data', 'False')).reason).toBe('DataUnknown')
  const late = queuedJob('late', { queue: 'team' })
  await plane.apply([source('unseen-data', ['member1']), late])
  await plane.eventually('the queue takes no jobs', async () => {
    const queue = await plane.getJson('clusterqueues.kueue.x-k8s.io', 'team')
    return JSON.stringify(queue?.['status']).includes('"reason":"AdmissionCheckInactive"')
  })
  await plane.eventually('the new job has a Workload', () => workloadOf(plane, late))
  expect(await progressOf(plane, late)).toMatchObject({ quotaReserved: false, suspended: true })
})

/** Waits until the check of the Workload of a pod has this state and message. */
async function decides(pod: KubeObject, check: string): Promise<void> {
  await cluster.plane.eventually(
    `the check of Pod ${pod.metadata.name} shows ${check}`,
    async () => {
      const [found] = (await workloadOf(cluster.plane, pod))?.status?.admissionChecks ?? []
      expect(found && `${found.state}: ${found.message}`).toBe(check)
      return true
    },
    LONG,
  )
}

async function shows(job: KubeObject, wanted: Partial<Progress>): Promise<void> {
  await cluster.plane.eventually(
    `Job ${job.metadata.namespace}/${job.metadata.name} shows ${JSON.stringify(wanted)}`,
    async () => {
      const found = await progressOf(cluster.plane, job)
      expect(found).toMatchObject(wanted)
      return true
    },
    LONG,
  )
}

/** A job that is created now is admitted, so the queues of the loop are past all changes before. */
async function isDecided(): Promise<void> {
  const job = queuedJob('witness', { queue: 'team' })
  await cluster.plane.apply(job)
  await shows(job, { admitted: true })
}

async function patchQueue(name: string, spec: object): Promise<void> {
  await cluster.plane.kubectl(['patch', 'clusterqueue', name, '--type=merge', '-p', JSON.stringify({ spec })])
}

function waitingFor(name: string, namespace = 'default'): string {
  return `Pending: ${namespace}/${name}: no DataSource for static bucket ${name}-data yet`
}

async function conditionsOf(check: string): Promise<Condition[]> {
  const found = await cluster.plane.getJson('admissionchecks.kueue.x-k8s.io', check)
  return (found?.['status'] as { conditions?: Condition[] } | undefined)?.conditions ?? []
}

async function isActive(check: string, status: 'True' | 'False'): Promise<Condition> {
  return cluster.plane.eventually(`AdmissionCheck ${check} has Active=${status}`, async () => {
    const found = (await conditionsOf(check)).find(({ type }) => type === 'Active')
    return found?.status === status && found
  })
}

async function setCondition(check: string): Promise<void> {
  const lastTransitionTime = new Date().toISOString()
  const condition = { type: 'Active', status: 'True', reason: 'ByTest', message: '', lastTransitionTime }
  await cluster.plane.kubectl([
    'patch',
    'admissionchecks.kueue.x-k8s.io',
    check,
    '--subresource=status',
    '--type=merge',
    '-p',
    JSON.stringify({ status: { conditions: [condition] } }),
  ])
}

/** The DataSources of data: that of the test, and one that Lodestone created before it. */
async function sourcesOf(data: string): Promise<string[]> {
  const all = (await cluster.plane.listJson('datasources.datadependency.volcano.sh')) as (KubeObject & {
    spec: { name: string }
  })[]
  return all.filter(({ spec }) => spec.name === data).map(({ metadata }) => metadata.name)
}

async function hasEvent(job: KubeObject, message: string): Promise<void> {
  await cluster.plane.eventually(`an Event of Job ${job.metadata.name} says: ${message}`, async () => {
    const events = (await cluster.plane.listJson('events', job.metadata.namespace)) as (KubeObject & {
      involvedObject?: { name?: string }
      message?: string
    })[]
    return events.some((one) => one.involvedObject?.name === job.metadata.name && one.message === message)
  })
}
