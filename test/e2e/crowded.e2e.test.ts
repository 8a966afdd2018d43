// The scheduler accepts the cluster with the data of a workload, and the workload cannot stay or begin there: it runs elsewhere, and comes home.
import { afterAll, beforeAll, expect, onTestFinished, test } from 'vitest'
import { claim, deployment, policy, type SpecObject, source } from './manifests.ts'
import { decisionOn, inOneCluster, type Stage, schedulerIsIdle, startStage, stopStage } from './moving-workloads.ts'

const broken = { key: 'broken', effect: 'NoExecute' } as const
const gate = 'WorkloadAffinity=true'
// The scheduler does not look at such a binding again when a cluster changes.
const replicaScheduling = { replicaSchedulingType: 'Divided', replicaDivisionPreference: 'Aggregated' }

let stage: Stage

beforeAll(async () => {
  const flags = {
    'karmada-controller-manager': [`--feature-gates=Failover=true,${gate}`],
    'karmada-scheduler': [`--feature-gates=${gate}`],
    'karmada-webhook': [`--feature-gates=${gate}`],
  }
  stage = await startStage(
    { failover: 'Gracefully', garbageCollector: true, flags },
    { placement: { failbackWindowSeconds: 4 } },
  )
})

afterAll(() => stopStage(stage))

test.each(['Required', 'Preferred'])(
  'a workload (%s) that Karmada evicts does not return before the taint is gone',
  async (enforcement) => {
    const name = `tolerant-${enforcement.toLowerCase()}`
    const clusterTolerations = [{ key: broken.key, operator: 'Exists', effect: broken.effect, tolerationSeconds: 1 }]
    const workload = await run(
      name,
      'member1',
      { ...inOneCluster, clusterTolerations, replicaScheduling },
      { enforcement },
    )
    const record = stage.placements.follow(workload)
    await stage.plane.taintCluster('member1', broken)
    onTestFinished(() => stage.plane.untaintCluster('member1', broken.key))

    await stage.placements.isIn(workload, 'member2')
    await windowIsOver(Date.now())
    await schedulerIsIdle(stage, `after-${name}`)
    expect(record.clusters).toEqual(['member1', '', 'member2'])

    await stage.plane.untaintCluster('member1', broken.key)
    await stage.placements.isIn(workload, 'member1')
    expect(record.clusters).toEqual(['member1', '', 'member2', 'member1'])
  },
)

test.each([
  { policy: 'divides its replicas', name: 'divided', spreads: false },
  { policy: 'divides them in one cluster', name: 'divided-in-one', spreads: true },
])('a workload whose policy $policy leaves a failed cluster if its data has no room', async (given) => {
  const { clusterAffinity, spreadConstraints } = inOneCluster
  const placement = { clusterAffinity, replicaScheduling, ...(given.spreads && { spreadConstraints }) }
  const workload = await run(given.name, 'member1', placement)
  const record = stage.placements.follow(workload)
  await setRoom('0')
  onTestFinished(() => setRoom('10000'))
  await stage.hub.apply(source(given.name, ['member3']))
  await stage.plane.eventually('the scheduler has found no room', async () => record.reasons.length > 1)
  expect(record.clusters).toEqual(['member1'])

  await stage.plane.taintCluster('member1', broken)
  onTestFinished(() => stage.plane.untaintCluster('member1', broken.key))
  await stage.plane.eventually('it runs in member2', async () => record.clusters.at(-1) === 'member2')
  await windowIsOver(Date.now())
  await schedulerIsIdle(stage, `after-${given.name}`)
  expect(record.clusters).toEqual(['member1', '', 'member2'])

  await setRoom('10000')
  await stage.placements.isIn(workload, 'member3')
  expect(record.clusters).toEqual(['member1', '', 'member2', 'member3'])
})

test('a workload that cannot move to its data yet stays if that cluster refuses it', async () => {
  const workload = await run('refused-later', 'member1', { ...inOneCluster, replicaScheduling })
  const record = stage.placements.follow(workload)
  await setRoom('0')
  onTestFinished(() => setRoom('10000'))
  await stage.hub.apply(source('refused-later', ['member3']))
  await stage.plane.eventually('the scheduler has found no room', async () => record.reasons.length > 1)

  await stage.plane.taintCluster('member3', { ...broken, effect: 'NoSchedule' })
  onTestFinished(() => stage.plane.untaintCluster('member3', broken.key))
  await stage.plane.eventually('it is relaxed', async () =>
    (await decisionOn(stage, workload))?.includes('"state":"Relaxed"'),
  )
  await schedulerIsIdle(stage, 'after-refused-later')
  expect(record.clusters).toEqual(['member1'])

  await setRoom('10000')
  await stage.plane.untaintCluster('member3', broken.key)
  await stage.placements.isIn(workload, 'member3')
  expect(record.clusters).toEqual(['member1', 'member3'])
})

test('a workload that waits for room with its data is scaled where it runs', async () => {
  const { clusterAffinity } = inOneCluster
  const workload = await run('scaled', 'member1', { clusterAffinity, replicaScheduling })
  const record = stage.placements.follow(workload)
  await setRoom('0')
  onTestFinished(() => setRoom('10000'))
  await stage.hub.apply(source('scaled', ['member3']))
  await stage.plane.eventually('the scheduler has found no room', async () => record.reasons.length > 1)

  await stage.plane.kubectl(['scale', 'deployment', 'scaled', '--replicas=5'])
  await replicasAre(workload, 5)
  await windowIsOver(Date.now())
  await stage.plane.kubectl(['scale', 'deployment', 'scaled', '--replicas=1'])
  await replicasAre(workload, 1)
  expect(record.clusters).toEqual(['member1'])

  await setRoom('10000')
  await stage.placements.isIn(workload, 'member3')
  expect(record.clusters).toEqual(['member1', 'member3'])
})

test('a workload moves to its data when a filter of the scheduler accepts that cluster', async () => {
  const spread = { workloadAffinity: { antiAffinity: { groupByLabelKey: 'group' } } }
  const inMember3 = { clusterAffinity: { clusterNames: ['member3'] }, ...spread }
  const [rival, workload] = ['rival', 'refused'].map(inGroup) as [SpecObject, SpecObject]
  await stage.hub.apply(policy('rival', { placement: inMember3 }), rival)
  await stage.placements.isIn(rival, 'member3')
  await run('refused', 'member1', { ...inOneCluster, ...spread }, {}, workload)
  const record = stage.placements.follow(workload)

  await stage.hub.apply(source('refused', ['member3']))
  await stage.plane.eventually('it was tried', async () => record.reasons.includes('NoClusterFit'))
  await windowIsOver(Date.now())
  expect(record.clusters).toEqual(['member1'])

  await stage.hub.delete(rival)
  await stage.placements.isIn(workload, 'member3')
  expect(record.clusters).toEqual(['member1', 'member3'])
})

/** Creates a workload whose data is in a cluster, and returns it when it runs there. */
async function run(
  name: string,
  cluster: string,
  placement: object,
  claimPolicy: object = {},
  workload: SpecObject = deployment(name),
): Promise<SpecObject> {
  const data = claim(name, { data: name, policy: claimPolicy })
  await stage.hub.apply(data, source(name, [cluster]), policy(name, { placement }), workload)
  await stage.placements.isIn(workload, cluster)
  return workload
}

/** Returns when a workload has all of these replicas in member1. */
async function replicasAre(workload: SpecObject, replicas: number): Promise<void> {
  await stage.plane.eventually(`it has ${replicas} replicas in member1`, async () => {
    expect((await stage.hub.bindingOf(workload))?.spec.clusters).toEqual([{ name: 'member1', replicas }])
    return true
  })
}

function inGroup(name: string): SpecObject {
  const { metadata, ...rest } = deployment(name)
  return { ...rest, metadata: { ...metadata, labels: { app: name, group: 'rivals' } } }
}

/** Sets how many pods member3 has room for. */
async function setRoom(pods: string): Promise<void> {
  const path = `${await stage.plane.api.collection('clusters.cluster.karmada.io')}/member3/status`
  const status = { resourceSummary: { allocatable: { cpu: '1000', memory: '4000Gi', pods } } }
  await stage.plane.api.expect('PATCH', path, { status }, 'application/merge-patch+json')
}

/** Returns when the failback window that began at a time is over, and the loop has had time to act. */
async function windowIsOver(began: number): Promise<void> {
  await stage.plane.eventually('the failback window is over', async () => Date.now() > began + 6000)
}
