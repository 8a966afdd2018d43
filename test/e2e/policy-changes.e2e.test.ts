// The policy of a running workload changes, or is deleted, on a real Karmada: the workload moves at most once, and never runs nowhere.
import { afterAll, beforeAll, expect, onTestFinished, test } from 'vitest'
import { policy, source } from './manifests.ts'
import { decisionOn, inOneCluster, runWithData, type Stage, schedulerIsIdle, startStage } from './moving-workloads.ts'
import { stopAndCheckRights } from './rights.ts'

const full = { key: 'full', effect: 'NoSchedule' } as const

let stage: Stage

beforeAll(async () => {
  stage = await startStage({}, { placement: { failbackWindowSeconds: 2 } })
})

afterAll(async () => {
  await stage?.placements.stop()
  await stopAndCheckRights({ plane: stage?.plane, lodestones: [stage?.lodestone] })
})

test('a workload whose policy was deleted stays when its data moves, despite a taint', async () => {
  const { hub, plane, placements } = stage
  const workload = await runWithData(stage, 'orphan', 'member2')
  const record = placements.follow(workload)
  // Karmada's detector may still write the policy into the binding, for the labels of the Deployment. After the deletion, nothing would remove it.
  await schedulerIsIdle(stage, 'earlier')
  await hub.delete(policy('orphan'))
  await plane.eventually('the binding has no policy', async () => {
    const { annotations = {} } = (await hub.bindingOf(workload))?.metadata ?? {}
    return annotations['propagationpolicy.karmada.io/name'] === undefined
  })

  await hub.apply(source('orphan', ['member3']))
  await plane.eventually('the decision says so', async () => {
    expect(await decisionOn(stage, workload)).toMatch(/"Kept".*no policy selects the workload any more/)
    return true
  })
  await plane.taintCluster('member3', full)
  onTestFinished(() => plane.untaintCluster('member3', full.key))
  await schedulerIsIdle(stage, 'later')

  expect(record.clusters, 'the scheduler looks at bindings without a policy when a cluster changes').toEqual([
    'member2',
  ])
})

test.each<{ name: string; title: string; claimPolicy: object }>([
  { name: 'relaxed', title: 'that is relaxed goes to its data at once', claimPolicy: {} },
  { name: 'stayed', title: 'that never follows its data does the same', claimPolicy: { rebalance: 'Never' } },
])('a workload $title if a policy excludes its cluster', async ({ name, claimPolicy }) => {
  const { hub, placements } = stage
  const workload = await runWithData(stage, name, 'member1', claimPolicy)
  await hub.apply(policy(name, { placement: placedIn('member3') }))
  await placements.isIn(workload, 'member3')
  await hub.apply(source(name, ['member2']))
  await schedulerIsIdle(stage, `${name}-later`)
  const record = placements.follow(workload)

  await hub.apply(policy(name, { placement: placedIn('member1', 'member2') }))

  await placements.isIn(workload, 'member2')
  expect(record.clusters).toEqual(['member3', 'member2'])
  expect(await decisionOn(stage, workload)).toMatch(/"Narrowed".*is in member2/)
})

/** One of these clusters. */
function placedIn(...clusterNames: string[]): object {
  return { ...inOneCluster, clusterAffinity: { clusterNames } }
}
