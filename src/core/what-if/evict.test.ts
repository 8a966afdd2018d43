import { describe, expect, test } from 'vitest'
import { makeBinding, makeCluster } from '../../../test/builders.ts'
import type { Placement, ResourceBinding } from '../../api/karmada.ts'
import type { Taint, Toleration } from '../../api/node.ts'
import { newestRules } from '../karmada-rules.ts'
import { evict, findEviction } from './evict.ts'
import { compileFleet } from './fleet.ts'

const NAMES = ['m1', 'm2', 'm3']
const maintenance: Taint = { key: 'maintenance', effect: 'NoExecute' }
const fleetOf = (tainted: string[], taint = maintenance) =>
  compileFleet(
    NAMES.map((name) => makeCluster(name, tainted.includes(name) ? { taints: [taint] } : {})),
    newestRules,
  )
const runningIn = (...names: string[]) => names.map((name) => ({ name, replicas: 2 }))
const placementOf = (...clusterTolerations: Toleration[]): Placement => ({
  clusterAffinity: { clusterNames: NAMES },
  clusterTolerations,
})
const tolerates: Toleration = { key: 'maintenance', operator: 'Exists' }

describe('a taint with the effect NoExecute', () => {
  test.each<{ name: string; runs: string[]; tainted: string[]; want: string[] | undefined }>([
    { name: 'evicts the workloads of its cluster', runs: ['m1'], tainted: ['m1'], want: ['m1'] },
    { name: 'evicts no workload of another cluster', runs: ['m1'], tainted: ['m2'], want: undefined },
    { name: 'leaves the copies in other clusters', runs: ['m1', 'm2'], tainted: ['m2', 'm3'], want: ['m2'] },
    { name: 'of several clusters evicts from each, by name', runs: ['m3', 'm1'], tainted: NAMES, want: ['m1', 'm3'] },
    { name: 'of an unknown cluster evicts nothing', runs: ['m9'], tainted: NAMES, want: undefined },
  ])('$name', ({ runs, tainted, want }) => {
    const binding = makeBinding({ placement: placementOf(), clusters: runningIn(...runs) })
    expect(findEviction(binding, fleetOf(tainted))).toEqual(want && { from: want, afterSeconds: 0 })
  })

  test('evicts nothing if no Cluster is known', () => {
    const binding = makeBinding({ placement: placementOf(), clusters: runningIn('m1') })
    expect(findEviction(binding, compileFleet([], newestRules))).toBeUndefined()
  })

  test('evicts a workload without a placement', () => {
    const { placement: _, ...spec } = makeBinding({ clusters: runningIn('m1') }).spec
    expect(findEviction({ ...makeBinding(), spec }, fleetOf(['m1']))).toEqual({ from: ['m1'], afterSeconds: 0 })
  })

  test('evicts after the longest time for which a taint of its clusters is tolerated', () => {
    const soon: Taint = { key: 'soon', effect: 'NoExecute' }
    const placement = placementOf(
      { ...tolerates, tolerationSeconds: 60 },
      { key: 'soon', operator: 'Exists', tolerationSeconds: 5 },
    )
    const clusters = [makeCluster('m1', { taints: [maintenance] }), makeCluster('m2', { taints: [soon] })]
    const binding = makeBinding({ placement, clusters: runningIn('m1', 'm2') })
    expect(findEviction(binding, compileFleet(clusters, newestRules))).toEqual({ from: ['m1', 'm2'], afterSeconds: 60 })
  })
})

describe('a toleration', () => {
  const appliedPlacement = (value: unknown) => ({ 'policy.karmada.io/applied-placement': JSON.stringify(value) })
  const bindingWith = (placement: Placement, annotations: Record<string, string> = {}): ResourceBinding => {
    const binding = makeBinding({ placement, clusters: runningIn('m1') })
    return { ...binding, metadata: { ...binding.metadata, annotations } }
  }
  const tolerant = placementOf(tolerates)

  test.each<{ name: string; binding: ResourceBinding; evicted: boolean }>([
    { name: 'keeps its workload from eviction', binding: bindingWith(tolerant), evicted: false },
    {
      name: 'that the scheduler has not applied yet does not count',
      binding: bindingWith(tolerant, appliedPlacement(placementOf())),
      evicted: true,
    },
    {
      name: 'counts until the scheduler has applied that it is gone',
      binding: bindingWith(placementOf(), appliedPlacement(tolerant)),
      evicted: false,
    },
    {
      name: 'of the present placement counts if the applied one cannot be read',
      binding: bindingWith(tolerant, appliedPlacement({ clusterTolerations: [{ key: 1 }] })),
      evicted: false,
    },
  ])('$name', ({ binding, evicted }) => {
    expect(findEviction(binding, fleetOf(['m1']))).toEqual(evicted ? { from: ['m1'], afterSeconds: 0 } : undefined)
  })

  test('counts for a binding without annotations', () => {
    const binding = bindingWith(tolerant)
    const { annotations: _, ...metadata } = binding.metadata
    expect(findEviction({ ...binding, metadata }, fleetOf(['m1']))).toBeUndefined()
  })
})

describe('the taint manager', () => {
  test.each<{
    name: string
    spec: Partial<ResourceBinding['spec']>
    from: string[]
    want: Partial<ResourceBinding['spec']>
  }>([
    {
      name: 'leaves no list of clusters behind when the last one goes',
      spec: { clusters: runningIn('m1') },
      from: ['m1'],
      want: { gracefulEvictionTasks: [{ fromCluster: 'm1' }] },
    },
    {
      name: 'keeps the replicas of the other clusters',
      spec: { clusters: runningIn('m1', 'm2', 'm3') },
      from: ['m1', 'm3'],
      want: { clusters: runningIn('m2'), gracefulEvictionTasks: [{ fromCluster: 'm1' }, { fromCluster: 'm3' }] },
    },
    {
      name: 'adds its tasks to those that are not finished',
      spec: { clusters: runningIn('m1'), gracefulEvictionTasks: [{ fromCluster: 'm2' }] },
      from: ['m1'],
      want: { gracefulEvictionTasks: [{ fromCluster: 'm2' }, { fromCluster: 'm1' }] },
    },
  ])('$name', ({ spec, from, want }) => {
    expect(evict(makeBinding(spec), from)).toEqual(makeBinding(want))
  })
})
