/** Finds selectors of policies that select nothing, although a given workload has no policy. */
import {
  clusterPropagationPolicies,
  type PropagationPolicy,
  propagationPolicies,
  type ResourceSelector,
} from '../../../api/karmada.ts'
import { groupOf, type K8sObject, objectKey, referenceOf } from '../../../api/meta.ts'
import { defined } from '../../../base/json.ts'
import { selects } from '../../../core/propagation-policy/select.ts'
import { objectBinding } from '../../../queries/workload.ts'
import type { Manifest } from '../../../store/folder/manifests.ts'
import { objectTitle, placeOf } from '../input/place-manifests.ts'
import { unservedKind } from '../input/served-kinds.ts'
import { hasType } from '../input/validate-manifest.ts'
import type { ReviewContext } from '../review/review-object.ts'
import { type Finding, finding } from './findings.ts'
import { hintFor } from './similar.ts'

/**
 * Returns the findings about selectors of policies. Objects of a policy are often elsewhere, so a selector without an object is a finding
 * only beside workloads that lack a policy.
 *
 * @param orphans the given workloads that no policy selects
 */
export function policyFindings(
  manifests: readonly Manifest[],
  orphans: readonly K8sObject[],
  context: ReviewContext,
): Finding[] {
  const given = new Map(manifests.map((manifest) => [policyKey(manifest.object), manifest]))
  const stored = context.store.objects()
  const candidates = openCandidates(stored.map(({ object }) => object))
  return stored.flatMap(({ object, ...at }) => {
    if (!hasType(propagationPolicies, object) && !hasType(clusterPropagationPolicies, object)) return []
    const policy = object as PropagationPolicy
    const own = given.get(policyKey(object))
    return policy.spec.resourceSelectors.flatMap((selector, i) => {
      const path = `spec.resourceSelectors[${i}]`
      const message = selectorProblem({ policy, selector, isOwn: own !== undefined }, { candidates, orphans, context })
      return message === undefined
        ? []
        : [finding('dangling-policy', `${path}: ${message}`, placeOf(own, path, at), objectTitle(policy))]
    })
  })
}

interface PlacedSelector {
  policy: PropagationPolicy
  selector: ResourceSelector
  /** Whether the policy is given, and not one of the folder. */
  isOwn: boolean
}

interface Known {
  /** Returns the objects that a selector may select. */
  candidates(selector: ResourceSelector): readonly K8sObject[]
  orphans: readonly K8sObject[]
  context: ReviewContext
}

function selectorProblem({ policy, selector, isOwn }: PlacedSelector, known: Known): string | undefined {
  const { candidates, orphans, context } = known
  const unserved = isOwn ? unservedKind(selector) : undefined
  if (unserved) return unserved.message
  const foreign = isOwn && policy.metadata.namespace ? foreignNamespace(selector, policy.metadata.namespace) : undefined
  if (foreign) return foreign
  const alone = { ...policy, spec: { ...policy.spec, resourceSelectors: [selector] } }
  const isSelected = (object: K8sObject) => selects(alone, referenceOf(object), object.metadata.labels ?? {}) === true
  if (orphans.length === 0 || candidates(selector).some(isSelected)) return undefined
  const { apiVersion, kind, name } = selector
  const namespace = policy.metadata.namespace || selector.namespace || undefined
  if (!name) {
    const isNear = orphans.some((orphan) => isOfKind(orphan, selector, namespace))
    return isNear ? `selects no ${kind} of the input; correct its labels` : undefined
  }
  if (objectBinding({ apiVersion, kind, ...defined({ namespace }), name }, context.store)) return undefined
  const hint = hintFor({ apiVersion, kind, namespace, name }, orphans, context.workloads)
  if (!isOwn && hint === '') return undefined
  return `${kind} ${objectKey(namespace, name)} is not in the input${hint}; correct the selector`
}

/** Karmada's webhook fills in an absent namespace only (pkg/webhook/propagationpolicy/mutating.go). */
function foreignNamespace({ namespace }: ResourceSelector, own: string): string | undefined {
  return namespace && namespace !== own
    ? `selects nothing, since a PropagationPolicy selects objects of its own namespace ${own}; remove namespace: ${namespace}`
    : undefined
}

/** Indexes objects by kind and by name: a policy may have as many selectors as there are objects. */
function openCandidates(objects: readonly K8sObject[]): Known['candidates'] {
  const byKind = Map.groupBy(objects, ({ kind }) => kind)
  const byName = Map.groupBy(objects, ({ kind, metadata }) => `${kind} ${metadata.name}`)
  return ({ kind, name }) => (name ? byName.get(`${kind} ${name}`) : byKind.get(kind)) ?? []
}

function isOfKind(object: K8sObject, { apiVersion, kind }: ResourceSelector, namespace: string | undefined): boolean {
  return (
    object.kind === kind &&
    groupOf(object.apiVersion) === groupOf(apiVersion) &&
    (namespace === undefined || object.metadata.namespace === namespace)
  )
}

function policyKey({ kind, metadata }: K8sObject): string {
  return `${kind} ${objectKey(metadata.namespace, metadata.name ?? '')}`
}
