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
import { defined, isCount, isObject } from '../../base/json.ts'
import { withoutScheduling } from '../placement/binding-state.ts'
import { closeness } from '../propagation-policy/select.ts'
import { keptFailover } from './rebalance.ts'

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
  const { preserveResourcesOnDeletion, failover } = policy.spec
  const replicas = templateReplicas(template)
  const spec: BindingSpec & Record<string, unknown> = defined({
    resource: referenceOf(template),
    replicas,
    propagateDeps: propagateDeps || undefined,
    placement: placement ?? {},
    schedulerName,
    conflictResolution,
    preserveResourcesOnDeletion: preserveResourcesOnDeletion || undefined,
    failover,
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
  const failover = keptFailover(spec.failover)
  return {
    placement,
    ...(preserveResourcesOnDeletion && { preserveResourcesOnDeletion }),
    ...defined({ suspension, failover }),
  }
}

/**
 * Writes these fields of a policy into the spec of a stored binding, as the detector does. A suspension of scheduling stays (v1.18.1,
 * pkg/util/binding.go, MergePolicySuspension). The failover is written whole, and the order of the fields stays: a comparison shows only what changes.
 */
export function withPolicyFields(spec: BindingSpec, policy: Pick<PropagationPolicy, 'spec'>): BindingSpec {
  const { suspension: ofPolicy, placement = {}, preserveResourcesOnDeletion } = policyFields(policy)
  const { suspension: before } = spec
  const scheduling = before?.scheduling === undefined ? {} : { scheduling: before.scheduling }
  const suspension = { ...ofPolicy, ...scheduling }
  return defined({
    ...spec,
    placement,
    preserveResourcesOnDeletion,
    failover: policy.spec.failover,
    suspension: Object.keys(suspension).length > 0 ? suspension : undefined,
  })
}

/** The annotations with which the detector records the policy of a binding. */
export function policyAnnotations({ metadata: { namespace, name = '' } }: PropagationPolicy): Record<string, string> {
  return namespace
    ? { [POLICY_NAMESPACE_ANNOTATION]: namespace, [POLICY_NAME_ANNOTATION]: name }
    : { [CLUSTER_POLICY_NAME_ANNOTATION]: name }
}

/** The fields of a template that say how many replicas it has. Users can write anything there. */
interface ReplicaFields {
  replicas?: unknown
  parallelism?: unknown
  job?: { parallelism?: unknown }
  jobManager?: { replicas?: unknown }
  taskManager?: { replicas?: unknown }
  flinkConfiguration?: Record<string, unknown>
  rayClusterConfig?: { workerGroupSpecs?: unknown }
}

const byReplicas = ({ replicas }: ReplicaFields) => count(replicas, 1)
const byParallelism = ({ parallelism }: ReplicaFields) => count(parallelism, 1)
const one = () => 1

/**
 * How Karmada counts the replicas of a kind, by its group and name (v1.18.1, pkg/resourceinterpreter/default: native/replica.go, and GetReplicas in
 * thirdparty/resourcecustomizations). Kinds of the same name in other groups, such as the Job of Volcano, have none.
 */
const REPLICAS: Readonly<Record<string, (spec: ReplicaFields) => number>> = {
  'apps/Deployment': byReplicas,
  'apps/ReplicaSet': byReplicas,
  'apps/StatefulSet': byReplicas,
  'batch/Job': byParallelism,
  '/Pod': one,
  'apps.kruise.io/BroadcastJob': byParallelism,
  'apps.kruise.io/CloneSet': byReplicas,
  'apps.kruise.io/StatefulSet': byReplicas,
  'apps.kruise.io/UnitedDeployment': byReplicas,
  'argoproj.io/Workflow': byParallelism,
  'flink.apache.org/FlinkDeployment': ({ job, jobManager, taskManager, flinkConfiguration }) => {
    const slots = count(flinkConfiguration?.['taskmanager.numberOfTaskSlots'], 0)
    const byJob = slots > 0 ? Math.ceil(count(job?.parallelism, slots) / slots) : 1
    return count(jobManager?.replicas, 1) + count(taskManager?.replicas, byJob)
  },
  'kubeflow.org/Notebook': one,
  'ray.io/RayService': ({ rayClusterConfig }) => {
    const groups = rayClusterConfig?.workerGroupSpecs
    const workers = Array.isArray(groups) ? groups.filter(isObject) : []
    return workers.reduce((sum, { replicas }) => sum + count(replicas, 0), 1)
  },
}

/**
 * Returns the replicas of a template, as Karmada counts them without interpreters of the user; undefined for a kind without replicas. With the feature
 * gate MultiplePodTemplatesScheduling, which is off by default, FlinkDeployments have components instead.
 */
function templateReplicas(template: K8sObject): number | undefined {
  const { spec } = template as K8sObject & { spec?: unknown }
  return REPLICAS[`${groupOf(template.apiVersion)}/${template.kind}`]?.(isObject(spec) ? spec : {})
}

/** Returns the replicas that a manifest gives a workload. One without a number leaves them as they are. */
export function givenReplicas(manifest: K8sObject): number | undefined {
  const { spec } = manifest as K8sObject & { spec?: ReplicaFields }
  return spec?.replicas === undefined && spec?.parallelism === undefined ? undefined : templateReplicas(manifest)
}

/** Settings of Flink are texts. A number that is no count, as `.inf` in YAML, is as absent: the API server would reject it. */
function count(value: unknown, absent: number): number {
  const number = typeof value === 'string' && /^\d+$/.test(value) ? Number(value) : value
  return isCount(number) ? number : absent
}

function templateName({ metadata }: K8sObject): string {
  return metadata.name ?? ''
}
