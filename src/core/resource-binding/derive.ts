/** Derives the binding that Karmada's detector would create for a template. The command line uses it if no binding exists. */

import type { BindingSpec, PropagationPolicy, ResourceBinding } from '../../api/karmada.ts'
import {
  CLUSTER_POLICY_NAME_ANNOTATION,
  clusterResourceBindings,
  POLICY_NAME_ANNOTATION,
  POLICY_NAMESPACE_ANNOTATION,
  resourceBindings,
} from '../../api/karmada.ts'
import { apiVersionOf, groupOf, type K8sObject, type ObjectReference, referenceOf } from '../../api/meta.ts'
import { defined } from '../../base/json.ts'
import { withoutScheduling } from '../placement/binding-state.ts'
import { closeness } from '../propagation-policy/select.ts'

/** The name of a template's binding (Karmada, pkg/util/names, GenerateBindingName). */
export function bindingName(kind: string, name: string): string {
  return `${name.replaceAll(':', '.')}-${kind}`.toLowerCase()
}

/**
 * Whether a binding is that of an object. The name does not say so, since it lacks the API group: a Job of Kubernetes and one of Volcano can
 * have the same. Then Karmada gives the binding to one of them and rejects the other (pkg/detector/detector.go: ApplyPolicy).
 */
export function isBindingOf(
  { spec: { resource } }: ResourceBinding,
  object: Omit<ObjectReference, 'namespace'>,
): boolean {
  return (
    resource.kind === object.kind &&
    resource.name === object.name &&
    groupOf(resource.apiVersion) === groupOf(object.apiVersion)
  )
}

/** Says, in a clause, why an object gets no binding: another one has the binding of that name. */
export function otherBindingClause({ spec: { resource } }: ResourceBinding): string {
  return `${resource.kind} ${resource.name} in ${resource.apiVersion} has the binding of that name`
}

/**
 * Returns the policy that the detector applies to a template (pkg/detector/compare.go). A PropagationPolicy of its namespace precedes a
 * ClusterPropagationPolicy. Among several, the order is: higher priority, closer selector (name, then labels, then all), name.
 */
export function selectPolicy(
  template: K8sObject,
  policies: Iterable<PropagationPolicy>,
  clusterPolicies: Iterable<PropagationPolicy>,
): PropagationPolicy | undefined {
  const { namespace } = template.metadata
  const own = namespace ? [...policies].filter(({ metadata }) => metadata.namespace === namespace) : []
  return best(template, own) ?? best(template, [...clusterPolicies])
}

function best(template: K8sObject, policies: PropagationPolicy[]): PropagationPolicy | undefined {
  const { labels = {} } = template.metadata
  const object = referenceOf(template)
  return policies
    .map((policy) => ({ policy, closeness: closeness(object, labels, policy) }))
    .filter(({ closeness }) => closeness > 0)
    .sort(
      (a, b) =>
        (b.policy.spec.priority ?? 0) - (a.policy.spec.priority ?? 0) ||
        b.closeness - a.closeness ||
        (templateName(a.policy) < templateName(b.policy) ? -1 : 1),
    )[0]?.policy
}

/** Returns the binding that the detector writes, without UIDs and permanent ids: only a running control plane has them. */
export function deriveBinding(template: K8sObject, policy: PropagationPolicy): ResourceBinding {
  const { namespace, name = '' } = template.metadata
  const { placement, propagateDeps, schedulerName = 'default-scheduler', conflictResolution = 'Abort' } = policy.spec
  const { preserveResourcesOnDeletion } = policy.spec
  const replicas = templateReplicas(template)
  const spec: BindingSpec & Record<string, unknown> = defined({
    resource: referenceOf(template),
    replicas,
    propagateDeps: propagateDeps || undefined,
    placement: placement ?? {},
    schedulerName,
    conflictResolution,
    preserveResourcesOnDeletion: preserveResourcesOnDeletion || undefined,
  })
  return {
    apiVersion: apiVersionOf(resourceBindings),
    kind: namespace ? resourceBindings.kind : clusterResourceBindings.kind,
    metadata: defined({
      name: bindingName(template.kind, name),
      namespace: namespace || undefined,
      annotations: policyAnnotations(policy),
    }),
    spec,
  }
}

/**
 * The fields of a policy that the detector writes into a stored binding, and that decisions on the binding read. `propagateDeps` is left out: policies
 * get it from Lodestone too.
 */
export function policyFields({ spec }: Pick<PropagationPolicy, 'spec'> | ResourceBinding): Partial<BindingSpec> {
  const { placement = {}, preserveResourcesOnDeletion } = spec
  const suspension = withoutScheduling(spec.suspension)
  return { placement, ...(preserveResourcesOnDeletion && { preserveResourcesOnDeletion }), ...defined({ suspension }) }
}

/**
 * Writes these fields of a policy into the spec of a stored binding, as the detector does. A suspension of scheduling stays (v1.18.1,
 * pkg/util/binding.go, MergePolicySuspension).
 */
export function withPolicyFields(spec: BindingSpec, policy: Pick<PropagationPolicy, 'spec'>): BindingSpec {
  const { preserveResourcesOnDeletion: _, suspension: before, ...others } = spec
  const { suspension: ofPolicy, ...written } = policyFields(policy)
  const scheduling = before?.scheduling === undefined ? {} : { scheduling: before.scheduling }
  const suspension = { ...ofPolicy, ...scheduling }
  return { ...others, ...written, ...(Object.keys(suspension).length > 0 && { suspension }) }
}

/** The annotations with which the detector records the policy of a binding. */
export function policyAnnotations({ metadata: { namespace, name = '' } }: PropagationPolicy): Record<string, string> {
  return namespace
    ? { [POLICY_NAMESPACE_ANNOTATION]: namespace, [POLICY_NAME_ANNOTATION]: name }
    : { [CLUSTER_POLICY_NAME_ANNOTATION]: name }
}

/** Returns the replicas of a template, as Karmada's native interpreter counts them; undefined for a kind without replicas. */
export function templateReplicas(template: K8sObject): number | undefined {
  const spec = (template as K8sObject & { spec?: { replicas?: number; parallelism?: number } }).spec
  switch (template.kind) {
    case 'Deployment':
    case 'ReplicaSet':
    case 'StatefulSet':
      return spec?.replicas ?? 1
    case 'Job':
      return spec?.parallelism ?? 1
    case 'Pod':
      return 1
    default:
      return undefined
  }
}

function templateName({ metadata }: K8sObject): string {
  return metadata.name ?? ''
}
