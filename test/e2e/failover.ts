// Karmada's failover on: workloads leave a data cluster that fails, run elsewhere, and come home once.
import { setTimeout as sleep } from 'node:timers/promises'
import { afterAll, beforeAll, expect, onTestFinished, test } from 'vitest'
import type { KubeObject } from './api-client.ts'
import type { PurgeMode } from './components.ts'
import type { SpecObject } from './manifests.ts'
import { memberClusters } from './member-clusters.ts'
import { decisionOn, runWithData, type Stage, startStage, stopStage } from './moving-workloads.ts'
import type { PlacementRecord } from './placements.ts'
import { settled } from './poll.ts'

const broken = { key: 'broken', effect: 'NoExecute' } as const
// Longer than an eviction takes.
const windowSeconds = 4

// The time that a workload is without a cluster is Karmada's own: it removes the failed cluster before it looks for another.
export function testFailover(failover: PurgeMode): void {
  let stage: Stage

  beforeAll(async () => {
    const config = { placement: { failbackWindowSeconds: windowSeconds } }
    stage = await startStage({ failover }, config)
  })

  afterAll(() => stopStage(stage))

  test('an evicted workload keeps its replacement, and returns when the taint is removed', async () => {
    const workload = await runWithData(stage, 'evicted', 'member1')
    const emigrant = await runWithData(stage, 'emigrant', 'member1', { failback: 'Never' })
    const [record, away] = [workload, emigrant].map((one) => stage.placements.follow(one)) as [
      PlacementRecord,
      PlacementRecord,
    ]

    await stage.plane.taintCluster('member1', broken)
    onTestFinished(() => stage.plane.untaintCluster('member1', broken.key))
    await keepsReplacement(workload, record)
    await keepsReplacement(emigrant, away)

    await stage.plane.untaintCluster('member1', broken.key)
    await stage.placements.isIn(workload, 'member1')
    expect(record).toMatchObject({ clusters: ['member1', '', 'member2', 'member1'], reasons: ['Success'] })
    await isSettled(emigrant)
    expect(away).toMatchObject({ clusters: ['member1', '', 'member2'], reasons: ['Success'] })
  })

  test('a workload with a Preferred claim runs elsewhere during a failure, then returns', async () => {
    const workload = await runWithData(stage, 'preferring', 'member3', { enforcement: 'Preferred' })
    const record = stage.placements.follow(workload)

    await stage.plane.taintCluster('member3', broken)
    onTestFinished(() => stage.plane.untaintCluster('member3', broken.key))
    await evictionEnds(workload, record)
    expect(record).toMatchObject({ clusters: ['member3', '', 'member1'], reasons: ['Success'] })

    await stage.plane.untaintCluster('member3', broken.key)
    await stage.placements.isIn(workload, 'member3')
    expect(record).toMatchObject({ clusters: ['member3', '', 'member1', 'member3'], reasons: ['Success'] })
  })

  test('a workload in a cluster that a ClusterTaintPolicy taints does the same', async () => {
    const workload = await runWithData(stage, 'not-ready', 'member3')
    const record = stage.placements.follow(workload)
    const tainting = taintPolicy('member3')
    await stage.hub.apply(tainting)
    onTestFinished(() => stage.hub.delete(tainting))

    await setReady(false)
    onTestFinished(() => setReady(true))
    await keepsReplacement(workload, record)

    await setReady(true)
    await stage.placements.isIn(workload, 'member3')
    expect(record).toMatchObject({ clusters: ['member3', '', 'member1', 'member3'], reasons: ['Success'] })
  })

  test('a workload whose data cluster fails 20 times returns once a window at most', async () => {
    const workload = await runWithData(stage, 'flapping', 'member1')
    const record = stage.placements.follow(workload)
    onTestFinished(() => stage.plane.untaintCluster('member1', broken.key))

    for (let failure = 0; failure < 20; failure++) {
      await stage.plane.taintCluster('member1', broken)
      await sleep(200)
      await stage.plane.untaintCluster('member1', broken.key)
      await sleep(400)
    }

    await stage.placements.isIn(workload, 'member1')
    const returns = record.states.filter(({ clusters }, i) => clusters === 'member1' && isOther(record, i))
    const tooEarly = returns.filter(({ at }, i) => at - (returns[i - 1]?.at ?? 0) < windowSeconds * 1000)
    expect(tooEarly).toEqual([])
    expect(record.reasons, 'the scheduler never emptied the binding').toEqual(['Success'])
    expect([...new Set(record.clusters)].sort(), 'one cluster at a time').toEqual(['', 'member1', 'member2'])
  })

  /** Returns when the replacement of an evicted workload runs, and nothing changes any more. */
  async function keepsReplacement(workload: SpecObject, record: PlacementRecord): Promise<void> {
    await evictionEnds(workload, record)
    const [home = '', , replacement = ''] = record.clusters
    expect(record).toMatchObject({ clusters: [home, '', replacement], reasons: ['Success'] })
    const decided = `the annotation names the taint of ${home}`
    await stage.plane.eventually(decided, async () => {
      expect(await decisionOn(stage, workload)).toMatch(new RegExp(`"Relaxed".*${home} has the taint`))
      return true
    })
    await stage.placements.isIn(workload, replacement)
  }

  async function evictionEnds(workload: SpecObject, record: PlacementRecord): Promise<void> {
    await stage.plane.eventually('the eviction has ended, and a replacement runs', async () => {
      const { clusters = [], gracefulEvictionTasks } = (await stage.hub.bindingOf(workload))?.spec ?? {}
      expect(record.clusters.slice(1)).not.toEqual([])
      return clusters.length === 1 && gracefulEvictionTasks === undefined
    })
    await isSettled(workload)
  }

  async function isSettled(workload: SpecObject): Promise<void> {
    await settled(`the binding of ${workload.metadata.name}`, () => stage.hub.bindingOf(workload))
  }

  async function setReady(ready: boolean): Promise<void> {
    await stage.plane.setClusterStatus('member3', { ...memberClusters['member3'], ready })
    await stage.plane.clusterSettled('member3', { ready })
  }
}

/** Whether the clusters of a state differ from those before. */
function isOther({ states }: PlacementRecord, i: number): boolean {
  return i > 0 && states[i]?.clusters !== states[i - 1]?.clusters
}

/** NoExecute on a cluster that is not ready, as an administrator configures failover. */
export function taintPolicy(cluster: string): KubeObject {
  const condition = (status: string) => [{ conditionType: 'Ready', operator: 'In', statusValues: [status] }]
  return {
    apiVersion: 'policy.karmada.io/v1alpha1',
    kind: 'ClusterTaintPolicy',
    metadata: { name: 'not-ready' },
    spec: {
      targetClusters: { clusterNames: [cluster] },
      addOnConditions: condition('False'),
      removeOnConditions: condition('True'),
      taints: [{ key: 'not-ready', effect: 'NoExecute' }],
    },
  } as KubeObject
}
