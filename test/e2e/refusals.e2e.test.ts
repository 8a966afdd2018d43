// The data of a workload is in a cluster that the scheduler refuses: a workload that runs stays, and one that does not run waits.
import { afterAll, beforeAll, describe, expect, onTestFinished, test } from 'vitest'
import { claim, clusterPolicy, deployment, only, policy, type SpecObject, source } from './manifests.ts'
import { memberClusters } from './member-clusters.ts'
import {
  decisionOn,
  inOneCluster,
  runWithData,
  type Stage,
  schedulerIsIdle,
  startStage,
  stopStage,
} from './moving-workloads.ts'
import type { PlacementRecord } from './placements.ts'

const maintenance = { key: 'maintenance', effect: 'NoSchedule' } as const

let stage: Stage

beforeAll(async () => {
  const gates = '--feature-gates=Failover=true,PropagationPolicyPreemption=true'
  stage = await startStage(
    { failover: 'Gracefully', flags: { 'karmada-controller-manager': [gates] } },
    { placement: { failbackWindowSeconds: 1 } },
  )
})

afterAll(() => stopStage(stage))

describe.each([
  {
    cause: 'has a taint',
    reason: 'member3 has the taint maintenance:NoSchedule',
    begin: () => stage.plane.taintCluster('member3', maintenance),
    end: () => stage.plane.untaintCluster('member3', maintenance.key),
  },
  {
    cause: 'is not ready',
    reason: 'member3 has the taint cluster.karmada.io/not-ready:NoSchedule',
    begin: () => setMember3({ ready: false }),
    end: () => setMember3({}),
  },
  {
    cause: 'does not serve its kind',
    reason: 'member3 does not serve apps/v1 Deployment',
    begin: () => setMember3({ lacks: ['apps/v1'] }),
    end: () => setMember3({}),
  },
])('while the cluster with the data $cause', ({ cause, reason, begin, end }) => {
  const called = (name: string) => `${name}-${cause.replaceAll(' ', '-')}`

  test('a running workload stays when its data moves there, and follows afterwards', async () => {
    const workload = await runWithData(stage, called('moving'), 'member1')
    const record = stage.placements.follow(workload)
    await begin()
    onTestFinished(end)

    await stage.hub.apply(source(workload.metadata.name, ['member3']))

    await saysWhy(workload, 'Kept', reason)
    await schedulerIsIdle(stage, called('after-moving'))
    expect(record).toMatchObject({ clusters: ['member1'], members: ['member1'], reasons: ['Success'] })

    await end()
    await stage.placements.isIn(workload, 'member3')
    expect(record).toMatchObject({ clusters: ['member1', 'member3'], reasons: ['Success'] })
  })

  test('a running workload stays when it gets its first claim, and moves afterwards', async () => {
    const workload = deployment(called('claimed'))
    const { name } = workload.metadata
    await stage.hub.apply(policy(name, { placement: inOneCluster }), workload)
    await stage.placements.isIn(workload, 'member1')
    const record = stage.placements.follow(workload)
    await begin()
    onTestFinished(end)

    await stage.hub.apply(source(name, ['member3']), claim(name, { data: name }))

    await saysWhy(workload, 'Kept', reason)
    await schedulerIsIdle(stage, called('after-claimed'))
    expect(record).toMatchObject({ clusters: ['member1'], members: ['member1'], reasons: ['Success'] })

    await end()
    await stage.placements.isIn(workload, 'member3')
    expect(record).toMatchObject({ clusters: ['member1', 'member3'], reasons: ['Success'] })
  })

  test('a workload that does not run yet waits for it', async () => {
    const workload = deployment(called('waiting'))
    const { name } = workload.metadata
    const record = stage.placements.follow(workload)
    await begin()
    onTestFinished(end)

    await stage.hub.apply(source(name, ['member3']), claim(name, { data: name }), policy(name), workload)

    await saysWhy(workload, 'Unsatisfiable', reason)
    await schedulerIsIdle(stage, called('after-waiting'))
    expect(record.clusters).toEqual([''])

    await end()
    await stage.placements.isIn(workload, 'member3')
    expect(record).toMatchObject({ clusters: ['', 'member3'], members: ['', 'member3'] })
  })
})

test('a workload without clusters, because of a new taint, runs again at once', async () => {
  const { workload, record } = await narrowBeforeStop('surprised')
  await stage.plane.taintCluster('member3', maintenance)
  onTestFinished(() => stage.plane.untaintCluster('member3', maintenance.key))
  await stage.plane.start('karmada-scheduler')
  await hasEmptied(record)

  await stage.lodestone.restart()

  await stage.placements.isIn(workload, 'member1')
  expect(record.clusters).toEqual(['member1', '', 'member1'])
  await saysWhy(workload, 'Relaxed', 'member3 has the taint maintenance:NoSchedule')
  await stage.plane.eventually('an Event says so', async () => {
    const { stdout } = await stage.hub.kubectl(['describe', 'rb', 'surprised-deployment'])
    expect(stdout).toMatch(/LocalityRelaxed .*member3 has the taint maintenance:NoSchedule/)
    return true
  })

  await stage.plane.untaintCluster('member3', maintenance.key)
  await stage.placements.isIn(workload, 'member3')
  expect(record.clusters).toEqual(['member1', '', 'member1', 'member3'])
})

test('a workload that the scheduler refused and does not retry returns to its data', async () => {
  const { workload, record } = await narrowBeforeStop('forgotten')
  await setMember3({ lacks: ['apps/v1'] })
  onTestFinished(() => setMember3({}))
  await stage.plane.start('karmada-scheduler')
  await hasEmptied(record)
  // Its own write is a reason for the scheduler to try again, and a change of a status is none.
  await schedulerIsIdle(stage, 'before-forgotten')
  await setMember3({})
  await schedulerIsIdle(stage, 'after-forgotten')
  expect(record.clusters).toEqual(['member1', ''])

  await stage.lodestone.restart()

  await stage.placements.isIn(workload, 'member3')
  await stage.plane.eventually('an Event says why it was relaxed', async () => {
    const { stdout } = await stage.hub.kubectl(['describe', 'rb', 'forgotten-deployment'])
    expect(stdout).toMatch(/LocalityRelaxed .*the scheduler refuses the clusters with the data/)
    return true
  })
})

test('a workload scaled to zero before the scheduler has moved it leaves its cluster', async () => {
  const { plane, hub, placements } = stage
  const workload = withRequests(deployment('idle'))
  const { spec } = workload
  await hub.apply(
    claim('idle', { data: 'idle' }),
    source('idle', ['member1']),
    policy('idle', { placement: inOneCluster }),
    workload,
  )
  await placements.isIn(workload, 'member1')
  await plane.stop('karmada-scheduler')
  await hub.apply(source('idle', ['member2']))
  await plane.eventually('it is narrowed to its data', async () =>
    (await decisionOn(stage, workload)).includes('is in member2'),
  )
  await hub.apply({ ...workload, spec: { ...spec, replicas: 0 } })
  await plane.eventually('its binding has no replicas', async () => !(await hub.bindingOf(workload))?.spec['replicas'])

  await plane.start('karmada-scheduler')

  await plane.eventually('it is in no cluster', async () => !(await hub.bindingOf(workload))?.spec.clusters?.length)
})

/** Without requests, the scheduler copies a Deployment without replicas to each cluster. */
function withRequests({ spec, ...rest }: SpecObject): SpecObject {
  const { template } = spec as { template: { spec: { containers: object[] } } }
  const containers = template.spec.containers.map((one) => ({ ...one, resources: { requests: { cpu: '1m' } } }))
  return { ...rest, spec: { ...spec, template: { ...template, spec: { ...template.spec, containers } } } } as SpecObject
}

test('a policy that preempts another one moves a workload to its data, nowhere else', async () => {
  const workload = deployment('preempted')
  const weak = clusterPolicy('preempted', workload, { placement: only('member1', 'member2') })
  const { spec, ...rest } = policy('preempting', { workload, placement: only('member1', 'member3') })
  const strong = { ...rest, spec: { ...spec, priority: 10, preemption: 'Always' } }
  const record = stage.placements.follow(workload)
  await stage.hub.apply(
    claim('preempted', { data: 'preempted' }),
    source('preempted', ['member2', 'member3']),
    weak,
    workload,
  )
  await stage.placements.isIn(workload, 'member2')

  await stage.hub.apply(strong)
  await stage.placements.isIn(workload, 'member3')

  await stage.hub.delete(strong)
  await stage.placements.isIn(workload, 'member2')
  expect(record.clusters).toEqual(['', 'member2', 'member3', 'member2'])
})

/** Returns when the annotations of a binding have this word for the decision, and this text in its reason. */
async function saysWhy(workload: SpecObject, decision: string, text: string): Promise<void> {
  await stage.plane.eventually('the binding says why', async () => {
    const annotations = await decisionOn(stage, workload)
    expect(annotations).toContain(`"${decision}"`)
    expect(annotations).toContain(text)
    return true
  })
}

// Moves the data of a workload to member3. When Lodestone has narrowed the workload, neither the scheduler nor Lodestone runs any more.
async function narrowBeforeStop(name: string): Promise<{ workload: SpecObject; record: PlacementRecord }> {
  const workload = await runWithData(stage, name, 'member1')
  const record = stage.placements.follow(workload)
  // The scheduler reads all Clusters at its start, before it looks at a binding.
  await stage.plane.stop('karmada-scheduler')
  onTestFinished(() => stage.plane.start('karmada-scheduler'))
  await stage.hub.apply(source(name, ['member3']))
  await stage.plane.eventually('the workload may run only in member3', async () => {
    const { placement } = (await stage.hub.bindingOf(workload))?.spec ?? {}
    expect(placement).toMatchObject({ clusterAffinity: { clusterNames: ['member3'] } })
    return true
  })
  // Lodestone could see a change of the cluster before the scheduler has started, and would relax the binding in time.
  await stage.lodestone.stop()
  onTestFinished(() => stage.lodestone.restart())
  return { workload, record }
}

async function hasEmptied(record: PlacementRecord): Promise<void> {
  await stage.plane.eventually('the scheduler has emptied the binding', async () =>
    record.reasons.includes('NoClusterFit'),
  )
}

async function setMember3(changes: { ready?: boolean; lacks?: string[] }): Promise<void> {
  await stage.plane.setClusterStatus('member3', { ...memberClusters['member3'], ...changes })
  await stage.plane.clusterSettled('member3', changes)
}
