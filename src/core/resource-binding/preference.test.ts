import { expect, test } from 'vitest'
import type { BindingSpec, Placement } from '../../api/karmada.ts'
import { preferenceProblem } from './narrow-to-fit.ts'

const divided: Placement = { replicaScheduling: { replicaSchedulingType: 'Divided' } }
const duplicated: Placement = { replicaScheduling: { replicaSchedulingType: 'Duplicated' } }
const oneCluster = { spreadConstraints: [{ spreadByField: 'cluster', minGroups: 1, maxGroups: 1 }] }
const DUPLICATED = 'the policy runs a copy in each of its clusters (Duplicated), and a preference removes no copy'
const copied = (what: string) =>
  `Karmada does not divide ${what}, and runs a copy in each of its clusters, and a preference removes no copy`
const WITHOUT_REPLICAS = copied('an object without replicas')
const WITH_COMPONENTS = copied('a workload with components')
const DIVIDED = 'the replicas are divided over several clusters, and a preference moves none of them'

interface Case {
  name: string
  placement: Placement
  clusters?: string[]
  /** Default: two replicas. */
  workload?: Partial<BindingSpec>
  want: string | undefined
}

test.each<Case>([
  { name: 'divided replicas that do not run yet follow', placement: divided, want: undefined },
  { name: 'replicas in one cluster follow', placement: divided, clusters: ['m1'], want: undefined },
  { name: 'replicas in preferred clusters stay there', placement: divided, clusters: ['m2', 'm3'], want: undefined },
  { name: 'replicas in several clusters stay', placement: divided, clusters: ['m1', 'm2'], want: DIVIDED },
  {
    name: 'replicas in one cluster follow if other clusters have none, as with --enable-empty-workload-propagation',
    placement: divided,
    workload: { replicas: 2, clusters: [{ name: 'm1', replicas: 2 }, { name: 'm2' }, { name: 'm3' }] },
    want: undefined,
  },
  { name: 'a type that defaults to Divided follows', placement: { replicaScheduling: {} }, want: undefined },
  { name: 'copies stay', placement: duplicated, want: DUPLICATED },
  { name: 'copies stay without a replicaScheduling, which duplicates', placement: {}, want: DUPLICATED },
  { name: 'objects that are no workloads are copied', placement: divided, workload: {}, want: WITHOUT_REPLICAS },
  { name: 'a policy without a replicaScheduling duplicates them', placement: {}, workload: {}, want: DUPLICATED },
  {
    name: 'a workload without replicas that has requirements follows, as a suspended Job',
    placement: divided,
    workload: { replicaRequirements: {} },
    want: undefined,
  },
  // v1.18.2, pkg/scheduler/core/common.go, AssignReplicas.
  {
    name: 'workloads with components are copied, as a FlinkDeployment with MultiplePodTemplatesScheduling',
    placement: divided,
    workload: { components: [{ name: 'jobmanager' }, { name: 'taskmanager' }] },
    want: WITH_COMPONENTS,
  },
  {
    name: 'workloads with one component and no replicas are copied',
    placement: divided,
    workload: { components: [{ name: 'main' }] },
    want: WITH_COMPONENTS,
  },
  {
    name: 'workloads with several components are copied, also with replicas',
    placement: divided,
    workload: { replicas: 2, components: [{ name: 'a' }, { name: 'b' }] },
    want: WITH_COMPONENTS,
  },
  { name: 'one copy follows', placement: { ...duplicated, ...oneCluster }, clusters: ['m1'], want: undefined },
  {
    name: 'copies in up to two clusters stay',
    placement: { ...duplicated, spreadConstraints: [{ spreadByField: 'cluster', maxGroups: 2 }] },
    want: DUPLICATED,
  },
  {
    name: 'a constraint of regions does not limit copies',
    placement: { ...duplicated, spreadConstraints: [{ spreadByField: 'region', maxGroups: 1 }] },
    want: DUPLICATED,
  },
])('$name', ({ placement, clusters, workload = { replicas: 2 }, want }) => {
  const spec = {
    ...workload,
    placement,
    ...(clusters && { clusters: clusters.map((name) => ({ name, replicas: 1 })) }),
  }
  expect(preferenceProblem({ spec, preferred: [['m2'], ['m3']] })).toBe(want)
})
