/** Finds the workloads that a policy selects, as Karmada's detector does, and the keys by which policies and workloads find each other. */
import type { DataSourceClaim, WorkloadReference } from '../../api/data-source-claim.ts'
import type { PropagationPolicy, ResourceSelector } from '../../api/karmada.ts'
import { groupOf } from '../../api/meta.ts'
import { workloadsOfClaim } from '../data-source-claim/keys.ts'
import { labelMatcher } from '../selectors.ts'

type Labels = Record<string, string>

/** Stands for any name: no name is a star. */
const ANY = '*'

/**
 * How closely a policy selects an object: 3 by name, 2 by labels, 1 as one of all of its kind, 0 not at all. The order is that of Karmada
 * (ResourceSelectorPriority, pkg/util/selector.go). A selector with a name ignores its labels, and a PropagationPolicy selects only in its
 * namespace.
 */
export function closeness(object: WorkloadReference, labels: Labels, policy: PropagationPolicy): number {
  return candidatesFor(object, policy)
    .filter(({ apiVersion }) => apiVersion === object.apiVersion)
    .reduce((closest, selector) => Math.max(closest, selector.closeness(labels)), 0)
}

/**
 * Whether a policy selects an object by its reference; undefined where that depends on its labels and the labels are not known. The version
 * does not matter: a claim may name another version of the workload than the policy.
 */
export function selects(
  policy: PropagationPolicy,
  workload: WorkloadReference,
  labels: Labels | undefined,
): boolean | undefined {
  const candidates = candidatesFor(workload, policy)
  if (candidates.some(({ isByLabels }) => !isByLabels)) return true
  if (candidates.length === 0) return false
  return labels && candidates.some((selector) => selector.closeness(labels) > 0)
}

/** How many selectors a workload is compared with to tell whether a policy selects it. */
export function candidateCount(policy: PropagationPolicy, workload: WorkloadReference): number {
  return candidatesFor(workload, policy).length
}

/** Where a policy looks for workloads, by group and kind, namespace (or any) and name (or any). */
export function selectorKeys(policy: PropagationPolicy): string[] {
  return [...compiled(policy).keys()]
}

/** Where a workload is looked for: every key of a policy that may select it. */
export function selectableKeys(workload: WorkloadReference): string[] {
  const namespaces = workload.namespace ? [workload.namespace, ANY] : [ANY]
  return namespaces.flatMap((namespace) => [keyOf(workload, namespace, workload.name), keyOf(workload, namespace, ANY)])
}

/** Where the workloads are looked for that a claim may mean. */
export function selectableKeysOfClaim(claim: DataSourceClaim): string[] {
  return workloadsOfClaim(claim).flatMap(selectableKeys)
}

/** A selector for many look-ups. */
interface Candidate {
  apiVersion: string
  /** Whether the labels of a workload decide. */
  isByLabels: boolean
  closeness(labels: Labels): number
}

/** Cached policies never change, and each is compared with many workloads. */
const compiledPolicies = new WeakMap<PropagationPolicy, Map<string, Candidate[]>>()

/** The selectors of a policy, by where they look for workloads. */
function compiled(policy: PropagationPolicy): Map<string, Candidate[]> {
  const known = compiledPolicies.get(policy)
  if (known) return known
  const byKey = new Map<string, Candidate[]>()
  for (const selector of policy.spec.resourceSelectors) {
    const namespace = policy.metadata.namespace || selector.namespace || ANY
    if (selector.namespace && selector.namespace !== namespace) continue
    const key = keyOf(selector, namespace, selector.name || ANY)
    const found = byKey.get(key)
    if (found) found.push(candidateOf(selector))
    else byKey.set(key, [candidateOf(selector)])
  }
  compiledPolicies.set(policy, byKey)
  return byKey
}

function candidateOf({ apiVersion, name, labelSelector }: ResourceSelector): Candidate {
  if (name) return { apiVersion, isByLabels: false, closeness: () => 3 }
  if (!labelSelector) return { apiVersion, isByLabels: false, closeness: () => 1 }
  const matches = labelMatcher(labelSelector)
  return { apiVersion, isByLabels: true, closeness: (labels) => (matches(labels) ? 2 : 0) }
}

/** The selectors that mean the workload, but for its labels: by group, kind, namespace and name. */
function candidatesFor(workload: WorkloadReference, policy: PropagationPolicy): readonly Candidate[] {
  const byKey = compiled(policy)
  return selectableKeys(workload).flatMap((key) => byKey.get(key) ?? [])
}

function keyOf({ apiVersion, kind }: { apiVersion: string; kind: string }, namespace: string, name: string): string {
  return `${groupOf(apiVersion)}/${kind}/${namespace}/${name}`
}
