// Compares our rule of which clusters the scheduler accepts with the real scheduler, on generated bindings and clusters.
import { afterAll, beforeAll, expect, test } from 'vitest'
import type { BindingSpec, Cluster } from '../../src/api/karmada.ts'
import type { Toleration } from '../../src/api/node.ts'
import { schedulingRefusal } from '../../src/core/placement/acceptance.ts'
import { type Random, randomFrom } from '../random.ts'
import type { KubeObject } from './api-client.ts'
import { type ControlPlane, startControlPlane } from './control-plane.ts'
import { bindings } from './hub.ts'
import { logToStderr } from './log.ts'
import type { MemberCluster, Taint } from './member-clusters.ts'

const clusterCount = 30
const bindingCount = 40
const seed = Number(process.env['LODESTONE_E2E_SEED'] ?? 28)
const random = randomFrom(seed)

const kinds = ['apps/v1 Deployment', 'batch/v1 Job', 'flink.apache.org/v1beta1 FlinkDeployment']
const [keys, values] = [
  ['gpu', 'maintenance', 'cluster.karmada.io/not-ready'],
  ['', 'a', 'b'],
]
const effects = ['NoSchedule', 'NoExecute'] as const
const names = Array.from({ length: clusterCount }, (_, i) => `member${i + 1}`)

let plane: ControlPlane

beforeAll(async () => {
  plane = await startControlPlane({
    clusters: Object.fromEntries(names.map((name) => [name, someCluster(random)])),
  })
  // The scheduler shall see all objects at its start. The controllers would end evictions, and deletions of clusters.
  await Promise.all([plane.stop('karmada-scheduler'), plane.stop('karmada-controller-manager')])
})

afterAll(() => plane?.stopAll())

test('Lodestone and the scheduler of this version accept the same clusters', async () => {
  const collection = await plane.api.collection('clusters.cluster.karmada.io')
  for (const name of random.shuffled(names).slice(0, 3)) await plane.api.expect('DELETE', `${collection}/${name}`)
  const clusters = (await plane.listJson('clusters.cluster.karmada.io')) as unknown as Cluster[]
  const byName = new Map(clusters.map((cluster) => [cluster.metadata.name, cluster]))
  const written = Array.from({ length: bindingCount }, (_, i) => someBinding(random, i))
  const path = await plane.api.collection(bindings, 'default')
  await Promise.all(written.map((binding) => plane.api.expect('POST', path, binding)))

  await plane.start('karmada-scheduler')
  const scheduled = await Promise.all(written.map(({ metadata }) => schedulingResult(metadata.name)))

  const pairs = written.flatMap(({ metadata, spec }, i) => {
    const refusal = schedulingRefusal(spec, (name) => byName.get(name))
    return names.map((name) => ({
      binding: metadata.name,
      cluster: name,
      scheduler: scheduled[i]?.includes(name),
      refusal: refusal(name),
    }))
  })
  const counts = ['accepted', ...refusals].map((kind) => ({
    kind,
    count: pairs.filter(({ refusal = 'accepted' }) => refusal.startsWith(kind)).length,
  }))
  const listed = counts.map(({ kind, count }) => `${count} ${kind}`).join(', ')
  logToStderr(`seed ${seed}: ${pairs.length} pairs of a binding and a cluster; ${listed}`)
  const wrong = pairs.filter(({ scheduler, refusal }) => scheduler !== (refusal === undefined))
  const specs = new Map(written.map(({ metadata, spec }) => [metadata.name, spec]))
  expect(wrong.map((pair) => ({ ...pair, spec: specs.get(pair.binding) }))).toEqual([])
  expect(
    counts.filter(({ count }) => count === 0),
    'each refusal is compared',
  ).toEqual([])
})

// The first words of each.
const refusals = [
  'is being evicted',
  'is being deleted',
  'has the taint',
  'does not serve',
  'has not reported yet',
  'has no region',
  'has no zone',
  'has no provider',
]

interface BindingObject extends KubeObject {
  spec: BindingSpec
  status?: { conditions?: { type: string; reason: string; message: string }[] }
}

/** Returns the clusters that the scheduler chose. Throws if it ended with something else than a choice or the lack of one. */
async function schedulingResult(name: string): Promise<string[]> {
  const { spec, condition } = await plane.eventually(`${name} is scheduled`, async () => {
    const { spec, status } = (await plane.getJson(bindings, name, 'default')) as BindingObject
    const condition = status?.conditions?.find(({ type }) => type === 'Scheduled')
    return condition && { spec, condition }
  })
  if (!['Success', 'NoClusterFit'].includes(condition.reason)) throw new Error(`${name}: ${condition.message}`)
  return (spec.clusters ?? []).map((cluster) => cluster.name)
}

function someCluster(random: Random): MemberCluster {
  // Else few clusters would get as far as the last filter.
  const isOpen = random.chance(0.3)
  const isServed = () => isOpen || random.chance(0.7)
  return {
    ...(random.chance(0.7) && { region: random.pick(['east', 'west']) }),
    ...(random.chance(0.7) && { zones: ['east-1'] }),
    ...(random.chance(0.7) && { provider: 'cloud' }),
    taints: isOpen ? [] : someTaints(random),
    ready: isOpen || random.chance(0.8),
    lacks: ['apps/v1', 'batch/v1'].filter(() => !isServed()),
    apis: isServed() ? { 'flink.apache.org/v1beta1': { flinkdeployments: 'FlinkDeployment' } } : {},
    apisComplete: random.chance(0.6),
  }
}

/** The API server wants each key at most once per effect. It rejects `PreferNoSchedule`, which Kubernetes knows on nodes. */
function someTaints(random: Random): Taint[] {
  const possible = ['gpu', 'maintenance'].flatMap((key) => effects.map((effect) => ({ key, effect })))
  return possible.filter(() => random.chance(0.15)).map((taint) => ({ ...taint, value: random.pick(values) }))
}

/**
 * A binding without replicas and without an affinity: the scheduler gives it every cluster that its filters accept. It ignores spread
 * constraints for static weights, but not in its filters.
 */
function someBinding(random: Random, i: number): BindingObject {
  const name = `workload-${i}`
  const [apiVersion = '', kind = ''] = random.pick(kinds).split(' ')
  const some = (probability: number) => names.filter(() => random.chance(probability))
  const spreadByField = ['region', 'zone', 'provider'][i % 6]
  return {
    apiVersion: 'work.karmada.io/v1alpha2',
    kind: 'ResourceBinding',
    // By this label the scheduler knows bindings that come from a policy, and leaves others alone.
    metadata: { name, namespace: 'default', labels: { 'propagationpolicy.karmada.io/permanent-id': 'none' } },
    spec: {
      resource: { apiVersion, kind, name, namespace: 'default' },
      placement: {
        clusterTolerations: Array.from({ length: random.below(4) }, () => someToleration(random)),
        replicaScheduling: { replicaSchedulingType: 'Divided', replicaDivisionPreference: 'Weighted' },
        ...(spreadByField && { spreadConstraints: [{ spreadByField }] }),
      },
      clusters: some(0.1).map((cluster) => ({ name: cluster })),
      gracefulEvictionTasks: some(0.05).map((fromCluster) => ({
        fromCluster,
        reason: 'TaintUntolerated',
        producer: 'TaintManager',
      })),
    },
  }
}

/** Karmada does not validate the tolerations of a binding: keys, operators, values and effects may be absent or make no sense. */
function someToleration(random: Random): Toleration {
  const operator = random.pick(['', 'Equal', 'Exists', 'Exists', 'Gt'])
  return {
    ...(random.chance(0.8) && { key: random.pick(keys) }),
    ...(operator && { operator }),
    ...(random.chance(0.5) && { value: random.pick(values) }),
    ...(random.chance(0.5) && { effect: random.pick(effects) }),
    ...(random.chance(0.2) && { tolerationSeconds: random.pick([0, 60]) }),
  } as Toleration
}
