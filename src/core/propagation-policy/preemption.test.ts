import { expect, test } from 'vitest'
import { makePolicy } from '../../../test/builders.ts'
import type { PropagationPolicy, PropagationSpec } from '../../api/karmada.ts'
import { comparePreemptors, preemptable, takesOver } from './preemption.ts'

const app = { apiVersion: 'apps/v1', kind: 'Deployment', namespace: 'default', name: 'app' }
const selector = { apiVersion: 'apps/v1', kind: 'Deployment', name: 'app' }
const always = (spec: Partial<PropagationSpec> = {}) =>
  makePolicy({ preemption: 'Always', ...spec }, { name: 'strong' })
function clusterScoped(policy: PropagationPolicy): PropagationPolicy {
  const { namespace: _none, ...metadata } = policy.metadata
  return { ...policy, kind: 'ClusterPropagationPolicy', metadata }
}
const inDefault = { resourceSelectors: [{ ...selector, namespace: 'default' }] }

test.each<{ name: string; policy: PropagationPolicy; present?: PropagationPolicy; want: boolean }>([
  { name: 'a higher priority', policy: always({ priority: 1 }), want: true },
  { name: 'the same priority', policy: always(), want: false },
  { name: 'a lower priority', policy: always({ priority: -1 }), want: false },
  { name: 'preemption Never', policy: always({ priority: 1, preemption: 'Never' }), want: false },
  {
    name: 'another version of the kind',
    policy: always({ priority: 1, resourceSelectors: [{ ...selector, apiVersion: 'apps/v2' }] }),
    want: false,
  },
  {
    name: 'no name',
    policy: always({ priority: 1, resourceSelectors: [{ apiVersion: 'apps/v1', kind: 'Deployment' }] }),
    want: false,
  },
  {
    name: 'a lower priority, over a cluster-scoped policy',
    policy: always({ priority: -1 }),
    present: clusterScoped(makePolicy()),
    want: true,
  },
  {
    name: 'a higher priority, cluster-scoped over cluster-scoped',
    policy: clusterScoped(always({ priority: 1, ...inDefault })),
    present: clusterScoped(makePolicy()),
    want: true,
  },
  {
    name: 'a higher priority, cluster-scoped over namespaced',
    policy: clusterScoped(always({ priority: 1, ...inDefault })),
    want: false,
  },
  {
    name: 'a cluster-scoped selector without the namespace, as the detector finds no object',
    policy: clusterScoped(always({ priority: 1 })),
    present: clusterScoped(makePolicy()),
    want: false,
  },
])('takes a workload over: $name: $want', ({ policy, present = makePolicy(), want }) => {
  expect(takesOver(policy, present, app)).toBe(want)
})

test('policies preempt in the order of namespaced, highest priority and lowest name', () => {
  const named = (name: string, priority: number) => makePolicy({ priority }, { name })
  const order = [named('b', 5), named('c', 5), named('a', 1), clusterScoped(named('a', 9))]
  expect(order.toReversed().sort(comparePreemptors)).toEqual(order)
})

test('a policy may take over the workloads that it names, in its own namespace', () => {
  expect(preemptable(always({ resourceSelectors: [selector, { apiVersion: 'v1', kind: 'Secret' }] }))).toEqual([app])
  expect(preemptable(clusterScoped(always()))).toEqual([selector])
  expect(preemptable(makePolicy())).toEqual([])
})
