/** Reviews the binding that Karmada derives from a template and its policy. */
import {
  bindingTypeIn,
  CLUSTER_POLICY_NAME_ANNOTATION,
  clusterPropagationPolicies,
  POLICY_NAME_ANNOTATION,
  POLICY_NAMESPACE_ANNOTATION,
  type PropagationPolicy,
  propagationPolicies,
  type ResourceBinding,
} from '../../../api/karmada.ts'
import { type K8sObject, type ObjectMeta, type ResourceType, referenceOf } from '../../../api/meta.ts'
import { jsonEqual } from '../../../base/json.ts'
import { comparePreemptors, takesOver } from '../../../core/propagation-policy/preemption.ts'
import {
  bindingName,
  deriveBinding,
  givenReplicas,
  isBindingOf,
  selectPolicy,
  withPolicyFields,
} from '../../../core/resource-binding/derive.ts'
import { policyReferenceOf } from '../../../core/resource-binding/policy.ts'
import type { FolderStore } from '../../../store/folder/folder.ts'
import type { ObjectStore } from '../../../store/store.ts'
import { objectTitle, withoutVersion } from '../input/place-manifests.ts'
import { hasType } from '../input/validate-manifest.ts'
import { type ObjectReview, type ReviewSession, reviewObject } from './review-object.ts'

export interface Policies {
  namespaced: PropagationPolicy[]
  clusterScoped: PropagationPolicy[]
}

/** Whole policies, not the cached fields: a binding inherits fields that no decision reads. */
export function wholePolicies(store: FolderStore): Policies {
  const all = store.objects().map(({ object }) => object)
  const of = (type: ResourceType<PropagationPolicy>) =>
    all.filter((object) => hasType(type, object)) as PropagationPolicy[]
  return { namespaced: of(propagationPolicies), clusterScoped: of(clusterPropagationPolicies) }
}

/**
 * Reviews the binding of a template, as the detector would create or update it. Undefined for a template without a policy, and for one whose
 * binding would have the name of another object's: the detector rejects it.
 *
 * @param isChanged whether the template is written. A lazy policy reaches the binding only then.
 */
export async function reviewDerived(
  template: K8sObject,
  { namespaced, clusterScoped }: Policies,
  session: ReviewSession,
  isChanged = true,
): Promise<ObjectReview | undefined> {
  const { namespace, name = '' } = template.metadata
  const stored = await storedBinding(session.store, namespace, bindingName(template.kind, name))
  if (stored && !isBindingOf(stored, referenceOf(template))) return undefined
  const policy = policyFor(template, stored, [namespaced, clusterScoped])
  if (!policy) return undefined
  const isLazy = !isChanged && policy.spec.activationPreference === 'Lazy'
  const kept = stored && isChanged ? withReplicas(stored, template) : stored
  const updated = kept && (isLazy ? kept : withPolicy(kept, template, policy))
  const written = updated ?? deriveBinding(template, policy)
  return { ...(await reviewObject(written, session)), derivedFrom: objectTitle(template) }
}

/** Returns the stored binding without the version of the store in memory, with which an API server would reject the object. */
export async function storedBinding(
  store: ObjectStore,
  namespace: string | undefined,
  name: string,
): Promise<ResourceBinding | undefined> {
  const stored = await store.read(bindingTypeIn(namespace), namespace, name)
  return stored && withoutVersion(stored)
}

/** The policy that Karmada applies: that of the binding while it selects the template, unless another one preempts it. */
function policyFor(
  template: K8sObject,
  stored: ResourceBinding | undefined,
  [namespaced, clusterScoped]: [PropagationPolicy[], PropagationPolicy[]],
): PropagationPolicy | undefined {
  const best = selectPolicy(template, namespaced, clusterScoped)
  const current = stored && policyReferenceOf(stored.metadata)
  if (!best || !current) return best
  const named = (current.namespace ? namespaced : clusterScoped).filter(
    ({ metadata }) => metadata.name === current.name && metadata.namespace === current.namespace,
  )
  const own = selectPolicy(template, current.namespace ? named : [], current.namespace ? [] : named)
  if (!own) return best
  const all = [...namespaced, ...clusterScoped]
  return all.filter((policy) => takesOver(policy, own, referenceOf(template))).sort(comparePreemptors)[0] ?? own
}

const POLICY_ANNOTATIONS: ReadonlySet<string> = new Set([
  POLICY_NAMESPACE_ANNOTATION,
  POLICY_NAME_ANNOTATION,
  CLUSTER_POLICY_NAME_ANNOTATION,
])

/** The binding as the detector writes it for a policy. */
function withPolicy(stored: ResourceBinding, template: K8sObject, policy: PropagationPolicy): ResourceBinding {
  const { metadata } = deriveBinding(template, policy)
  return {
    ...stored,
    metadata: { ...stored.metadata, annotations: annotationsFor(stored.metadata, metadata) },
    spec: withPolicyFields(stored.spec, policy),
  }
}

/** The binding with the replicas of a manifest, as the detector writes it. */
function withReplicas(stored: ResourceBinding, manifest: K8sObject): ResourceBinding {
  const replicas = givenReplicas(manifest)
  return replicas === undefined ? stored : { ...stored, spec: { ...stored.spec, replicas } }
}

/** The stored annotations, with the policy of the derived ones. */
function annotationsFor(stored: ObjectMeta, derived: ObjectMeta): Record<string, string> {
  const { annotations = {} } = stored
  if (jsonEqual(policyReferenceOf(stored), policyReferenceOf(derived))) return annotations
  const others = Object.entries(annotations).filter(([key]) => !POLICY_ANNOTATIONS.has(key))
  return { ...Object.fromEntries(others), ...derived.annotations }
}
