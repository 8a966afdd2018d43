// Shows what brings a binding back to its first affinity group, and that the rules of the connected Karmada are detected.
import { afterAll, beforeAll, expect, onTestFinished, test } from 'vitest'
import { type ResourceBinding, resourceBindings } from '../../src/api/karmada.ts'
import { newestRules, rulesOfSchemas, rulesOfVersion } from '../../src/core/karmada-rules.ts'
import { openClusterStore } from '../../src/store/cluster/cluster.ts'
import { openConnection } from '../../src/store/cluster/connection.ts'
import { readBindingSchemas } from '../../src/store/cluster/server-info.ts'
import { type ControlPlane, startControlPlane } from './control-plane.ts'
import { deployment, policy } from './manifests.ts'
import { selectedPair } from './matrix/versions.ts'

let plane: ControlPlane

beforeAll(async () => {
  plane = await startControlPlane()
})

afterAll(async () => {
  await plane?.stopAll()
})

const groups = (...names: [string, string]) => [
  { affinityName: names[0], clusterNames: ['member1'] },
  { affinityName: names[1], clusterNames: ['member2'] },
]

const binding = (name: string) =>
  plane.getJson('resourcebindings', `${name}-deployment`, 'default') as Promise<ResourceBinding | undefined>

const clustersOf = (found: ResourceBinding | undefined) => found?.spec.clusters?.map((cluster) => cluster.name) ?? []

async function patch(name: string, spec: object): Promise<void> {
  const args = ['patch', 'resourcebinding', `${name}-deployment`, '--type=merge', '-p', JSON.stringify({ spec })]
  await plane.kubectl(args)
}

async function isScheduledTo(name: string, cluster: string): Promise<ResourceBinding> {
  return plane.eventually(`${name} is scheduled to ${cluster}`, async () => {
    const found = await binding(name)
    return found?.status?.lastScheduledTime && clustersOf(found).join() === cluster ? found : undefined
  })
}

test('a renamed group returns a binding to the first one, and always with clusters', async () => {
  await plane.taintCluster('member1', { key: 'maintenance', effect: 'NoSchedule' })
  await plane.apply([
    deployment('home'),
    policy('home', { placement: { clusterAffinities: groups('first', 'second') } }),
  ])
  const away = await isScheduledTo('home', 'member2')
  await plane.untaintCluster('member1', 'maintenance')

  const triggeredAt = new Date(Date.parse(away.status?.lastScheduledTime as string) + 1000).toISOString()
  await patch('home', { rescheduleTriggeredAt: triggeredAt.replace(/\.\d+Z/, 'Z') })
  await plane.eventually('it is scheduled again', async () => {
    const { metadata, status } = ((await binding('home')) ?? {}) as { metadata?: object; status?: object }
    const { generation } = (metadata ?? {}) as { generation?: number }
    return generation === (status as { schedulerObservedGeneration?: number })?.schedulerObservedGeneration
  })
  // karmada#5425 changes this in 1.19.
  expect(clustersOf(await binding('home'))).toEqual(['member2'])

  const seen = await watchClusters('home')
  await patch('home', { placement: { clusterAffinities: groups('first-1', 'second-1') } })
  const back = await isScheduledTo('home', 'member1')
  await plane.eventually('the watch has seen it too', async () => seen().includes('member1'))
  expect(seen()).toEqual(['member2', 'member1'])
  await plane.eventually('the scheduler observes the new name', async () => {
    return (await binding('home'))?.status?.schedulerObservingAffinityName === 'first-1'
  })
  expect(back.spec.clusters).toHaveLength(1)
})

test('the detected rules for zones are those of the scheduler', async () => {
  const connection = await openConnection({ kubeconfig: plane.kubeconfig })
  onTestFinished(() => connection.close())
  const rules = rulesOfSchemas(await readBindingSchemas(connection))
  const pair = selectedPair()
  expect(rules).toEqual(pair ? rulesOfVersion(pair.karmada) : newestRules)

  // member2 has this zone and one more; member1 has only its own.
  const matchExpressions = [{ key: 'zone', operator: 'In', values: ['us-east-a', 'eu-central-a'] }]
  const placement = { clusterAffinity: { fieldSelector: { matchExpressions } } }
  await plane.apply([deployment('zoned'), policy('zoned', { placement })])
  const zoned = await plane.eventually('it is scheduled', async () => {
    const found = await binding('zoned')
    return clustersOf(found).length > 0 ? found : undefined
  })
  expect(clustersOf(zoned).sort()).toEqual(rules.zoneInMatchesAny ? ['member1', 'member2'] : ['member1'])
})

/** Watches a binding, and returns a function to the clusters that it had, one after the other; an empty text for none. */
async function watchClusters(name: string): Promise<() => string[]> {
  const connection = await openConnection({ kubeconfig: plane.kubeconfig })
  const store = openClusterStore({
    connection,
    kinds: [{ type: resourceBindings, keep: (raw) => raw, indexes: {} }],
  })
  onTestFinished(async () => {
    await store.stop()
    await connection.close()
  })
  await store.start(AbortSignal.timeout(10_000))
  const seen = [clustersOf(store.get(resourceBindings, 'default', `${name}-deployment`)).join()]
  store.subscribe(({ after }) => {
    if (after?.metadata.name !== `${name}-deployment`) return
    const clusters = clustersOf(after as ResourceBinding).join()
    if (clusters !== seen.at(-1)) seen.push(clusters)
  })
  return () => seen
}
