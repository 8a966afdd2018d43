/** Which workloads a policy selects, as Karmada's detector has it, and the keys by which policies and workloads find each other. */
import type { DataSourceClaim, WorkloadReference } from '../../api/data-source-claim.ts'
import type { PropagationPolicy, ResourceSelector } from '../../api/karmada.ts'
import { groupOf } from '../../api/meta.ts'
import { workloadsOfClaim } from '../data-source-claim/keys.ts'
import { matchesLabels } from '../selectors.ts'

type Labels = Record<string, string>

/** No name is a star, so it can stand for any. */
const ANY = '*'

/**
 * How closely a policy selects an object: 3 by name, 2 by labels, 1 as one of all of its kind, 0 not at all (ResourceSelectorPriority,
 * pkg/util/selector.go). A selector with a name ignores its labels, and a PropagationPolicy reaches no further than its namespace.
 */
export function closeness(object: WorkloadReference, labels: Labels, { metadata, spec }: PropagationPolicy): number {
  return Math.max(
    0,
    ...spec.resourceSelectors.map((selector) =>
      selector.apiVersion === object.apiVersion && mayMeet(object, selector, metadata.namespace)
        ? closenessOf(labels, selector)
        : 0,
    ),
  )
}

/**
 * Whether a policy selects a workload that somebody named; undefined where that depends on its labels, and those are not known. The
 * version does not matter: a claim says what the workload is, the policy in which version Karmada reads it.
 */
export function selects(
  { metadata, spec }: PropagationPolicy,
  workload: WorkloadReference,
  labels: Labels | undefined,
): boolean | undefined {
  const candidates = spec.resourceSelectors.filter((selector) => mayMeet(workload, selector, metadata.namespace))
  if (candidates.some((selector) => !isByLabels(selector))) return true
  if (candidates.length === 0) return false
  return labels && candidates.some((selector) => closenessOf(labels, selector) > 0)
}

/** Where a policy looks for workloads, by group and kind, namespace (or any) and name (or any). */
export function selectorKeys({ metadata, spec }: PropagationPolicy): string[] {
  return spec.resourceSelectors.flatMap((selector) => {
    const namespace = metadata.namespace || selector.namespace || ANY
    if (selector.namespace && selector.namespace !== namespace) return []
    return [keyOf(selector, namespace, selector.name || ANY)]
  })
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

/** Everything but the labels: group, kind, namespace and name. */
function mayMeet(object: WorkloadReference, selector: ResourceSelector, policyNamespace: string | undefined): boolean {
  return (
    selector.kind === object.kind &&
    groupOf(selector.apiVersion) === groupOf(object.apiVersion) &&
    [policyNamespace, selector.namespace].every((namespace) => !namespace || namespace === object.namespace) &&
    (!selector.name || selector.name === object.name)
  )
}

function closenessOf(labels: Labels, selector: ResourceSelector): number {
  if (selector.name) return 3
  if (!selector.labelSelector) return 1
  return matchesLabels(selector.labelSelector, labels) ? 2 : 0
}

function isByLabels({ name, labelSelector }: ResourceSelector): boolean {
  return !name && !!labelSelector
}

function keyOf({ apiVersion, kind }: { apiVersion: string; kind: string }, namespace: string, name: string): string {
  return `${groupOf(apiVersion)}/${kind}/${namespace}/${name}`
}
