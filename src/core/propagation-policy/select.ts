/** Finds the workloads that a policy selects, as Karmada's detector does. Provides the index keys of policies and workloads. */
import type { DataSourceClaim, WorkloadReference } from '../../api/data-source-claim.ts'
import type { PropagationPolicy, ResourceSelector } from '../../api/karmada.ts'
import { groupOf } from '../../api/meta.ts'
import { labelMatcher } from '../../base/selectors.ts'
import { workloadsOfClaim } from '../data-source-claim/keys.ts'

type Labels = Record<string, string>

/** Any namespace or name: no object is called `*`. */
const ANY = '*'

/**
 * How closely a policy selects an object: 3 by name, 2 by labels, 1 by kind alone, 0 not at all. The order is Karmada's
 * (ResourceSelectorPriority, pkg/util/selector.go). A selector with a name ignores its labels, and a PropagationPolicy selects only in its
 * namespace.
 */
export function closeness(object: WorkloadReference, labels: Labels, policy: PropagationPolicy): number {
  return candidatesFor(object, policy)
    .filter(({ apiVersion }) => apiVersion === object.apiVersion)
    .reduce((closest, selector) => Math.max(closest, isMatch(selector, labels) ? selector.closeness : 0), 0)
}

/**
 * Whether a policy selects an object by its reference; undefined if that depends on its labels and the labels are unknown. The version does
 * not matter: a claim and the policy may name different versions of a workload.
 */
export function selects(
  policy: PropagationPolicy,
  workload: WorkloadReference,
  labels: Labels | undefined,
): boolean | undefined {
  const candidates = candidatesFor(workload, policy)
  if (candidates.some(({ matches }) => matches === undefined)) return true
  if (candidates.length === 0) return false
  return labels && candidates.some((selector) => isMatch(selector, labels))
}

/** Returns how many selectors of a policy are compared with a workload. */
export function candidateCount(policy: PropagationPolicy, workload: WorkloadReference): number {
  return candidatesFor(workload, policy).length
}

/** The index keys of a policy: where it selects workloads, by group and kind, namespace (or any) and name (or any). */
export function selectorKeys(policy: PropagationPolicy): string[] {
  return [...compiled(policy).keys()]
}

/** The group and kind of an index key, as in `apps/Deployment`. */
export function kindOfKey(key: string): string {
  return key.slice(0, key.indexOf('/', key.indexOf('/') + 1))
}

/** The index keys of a workload: every key of a policy that may select it. */
export function selectableKeys(workload: WorkloadReference): string[] {
  const namespaces = workload.namespace ? [workload.namespace, ANY] : [ANY]
  return namespaces.flatMap((namespace) => [
    selectorKey(workload, namespace, workload.name),
    selectorKey(workload, namespace, ANY),
  ])
}

/** The index keys of all workloads that a claim may name. */
export function selectableKeysOfClaim(claim: DataSourceClaim): string[] {
  return workloadsOfClaim(claim).flatMap(selectableKeys)
}

/** A selector, compiled for many look-ups. A policy may have 12,000 of them. */
interface Candidate {
  apiVersion: string
  /** See `closeness`. */
  closeness: 1 | 2 | 3
  /** Whether it matches the labels of a workload; undefined if it does not depend on them. */
  matches: ((labels: Labels) => boolean) | undefined
}

/** Cached policies never change, and each is compared with many workloads. */
const compiledPolicies = new WeakMap<PropagationPolicy, Map<string, Candidate[]>>()

/** The selectors of a policy, by index key. */
function compiled(policy: PropagationPolicy): Map<string, Candidate[]> {
  const known = compiledPolicies.get(policy)
  if (known) return known
  const byKey = new Map<string, Candidate[]>()
  for (const selector of policy.spec.resourceSelectors) {
    const namespace = policy.metadata.namespace || selector.namespace || ANY
    if (selector.namespace && selector.namespace !== namespace) continue
    const key = selectorKey(selector, namespace, selector.name || ANY)
    const found = byKey.get(key)
    if (found) found.push(selectorCandidate(selector))
    else byKey.set(key, [selectorCandidate(selector)])
  }
  compiledPolicies.set(policy, byKey)
  return byKey
}

function selectorCandidate({ apiVersion, name, labelSelector }: ResourceSelector): Candidate {
  if (name) return { apiVersion, closeness: 3, matches: undefined }
  if (!labelSelector) return { apiVersion, closeness: 1, matches: undefined }
  return { apiVersion, closeness: 2, matches: labelMatcher(labelSelector) }
}

function isMatch({ matches }: Candidate, labels: Labels): boolean {
  return matches?.(labels) ?? true
}

/** The selectors that match a workload by group, kind, namespace and name; labels are not compared. */
function candidatesFor(workload: WorkloadReference, policy: PropagationPolicy): readonly Candidate[] {
  const byKey = compiled(policy)
  return selectableKeys(workload).flatMap((key) => byKey.get(key) ?? [])
}

function selectorKey(
  { apiVersion, kind }: { apiVersion: string; kind: string },
  namespace: string,
  name: string,
): string {
  return [groupOf(apiVersion), kind, namespace, name].join('/')
}
