// A model of Karmada's detector (v1.18.1, pkg/detector): writes the binding of a workload from its policy, again at each reconcile.
import { type ApiServer, keyOf } from './api-server.ts'
import type { ApiObject, Binding, Placement, Policy, Workload } from './karmada.ts'

const WRITER = 'detector'
const POLICY_NAMESPACE = 'propagationpolicy.karmada.io/namespace'
const POLICY_NAME = 'propagationpolicy.karmada.io/name'
export const POLICY_ID = 'propagationpolicy.karmada.io/permanent-id'
const CLUSTER_POLICY_NAME = 'clusterpropagationpolicy.karmada.io/name'
export const CLUSTER_POLICY_ID = 'clusterpropagationpolicy.karmada.io/permanent-id'
export const POLICY_KINDS = ['PropagationPolicy', 'ClusterPropagationPolicy']

export interface WorkloadRef {
  kind: string
  namespace: string
  name: string
}

// Reconciles one workload, and returns the placement that it writes, or `again` if another policy applies in the next run. Throws the errors of the
// API server; the caller reconciles again. A change by Karmada, such as that of a policy, does not apply a lazy policy (ApplyPolicy).
export function detect(
  api: ApiServer,
  { kind, namespace, name }: WorkloadRef,
  isByKarmada: boolean,
): Placement | 'again' | undefined {
  const workload = api.get<Workload>(kind, namespace, name)
  const binding = api.get<Binding>('ResourceBinding', namespace, bindingNameOf(kind, name))
  if (!workload || workload.metadata.deletionTimestamp) return undefined
  const policy = policyOf(api, workload, binding)
  const isLeft = isByKarmada && policy?.spec.activationPreference === 'Lazy'
  const claimed = binding && policyNameOf(binding)
  if (!policy || isLeft) {
    if (binding && claimed !== undefined && claimed !== (policy && nameOfPolicy(policy)))
      api.update(WRITER, withoutPolicy(binding))
    return undefined
  }
  // A binding of a deleted workload with the same name: the garbage collector deletes it first (karmada#2090).
  if (binding && binding.metadata.ownerReferences?.[0]?.uid !== workload.metadata.uid) return undefined
  if (binding?.metadata.deletionTimestamp) return undefined
  // CleanupPPClaimMetadata: the binding loses the policy that is gone before it gets one of the other kind.
  const present = binding && claimedPolicyOf(binding, api)
  const isGone = !present || present.metadata.deletionTimestamp || !selects(present, workload)
  if (binding && claimed !== undefined && isGone && isClusterPolicy(policy) !== !claimed.includes('/')) {
    api.update(WRITER, withoutPolicy(binding))
    return 'again'
  }
  const wanted = bindingOf(workload, policy, binding)
  if (binding) api.update(WRITER, wanted)
  else api.create(WRITER, wanted)
  return policy.spec.placement
}

export function bindingNameOf(kind: string, name: string): string {
  return `${name}-${kind.toLowerCase()}`
}

// The policy in the annotations of a binding: `namespace/name`, or the name of a ClusterPropagationPolicy.
export function policyNameOf({ metadata }: ApiObject): string | undefined {
  const { [POLICY_NAME]: name, [CLUSTER_POLICY_NAME]: clusterName } = metadata.annotations ?? {}
  return name === undefined ? clusterName : keyOf(metadata.namespace, name)
}

export function nameOfPolicy({ metadata }: Policy): string {
  return keyOf(metadata.namespace, metadata.name)
}

// The policy in the annotations of a binding; undefined if it does not exist.
export function claimedPolicyOf(binding: ApiObject, api: Pick<ApiServer, 'get'>): Policy | undefined {
  const claimed = policyNameOf(binding)
  if (claimed === undefined) return undefined
  const [namespace, name] = claimed.split('/')
  return name === undefined
    ? api.get('ClusterPropagationPolicy', undefined, claimed)
    : api.get('PropagationPolicy', namespace, name)
}

function isClusterPolicy({ metadata }: Policy): boolean {
  return metadata.namespace === undefined
}

// Whether a policy selects a workload.
export function selects({ metadata, spec }: Policy, { apiVersion, kind, metadata: own }: ApiObject): boolean {
  return (
    (metadata.namespace ?? own.namespace) === own.namespace &&
    spec.resourceSelectors.some(
      (selector) =>
        selector.apiVersion === apiVersion &&
        selector.kind === kind &&
        (!selector.namespace || selector.namespace === own.namespace) &&
        (!selector.name || selector.name === own.name),
    )
  )
}

// The policy that has the workload stays, while it selects it, unless another one preempts it. Otherwise the highest priority wins, then a selector with
// the name of the workload, then the lowest name (compare.go). ClusterPropagationPolicies come after PropagationPolicies (propagateResource).
function policyOf(api: ApiServer, workload: Workload, binding: Binding | undefined): Policy | undefined {
  const selecting = POLICY_KINDS.flatMap((kind) => api.list<Policy>(kind)).filter(
    (policy) => !policy.metadata.deletionTimestamp && selects(policy, workload),
  )
  const claimed = binding && policyNameOf(binding)
  const isNamed = ({ spec }: Policy) =>
    spec.resourceSelectors.some(({ kind, name }) => kind === workload.kind && name === workload.metadata.name)
  const rank = (policy: Policy) =>
    [
      isClusterPolicy(policy) ? 1 : 0,
      9 - (policy.spec.priority ?? 0),
      isNamed(policy) ? 0 : 1,
      policy.metadata.name,
    ].join(' ')
  const sorted = selecting.sort((a, b) => (rank(a) < rank(b) ? -1 : 1))
  const present = sorted.find((policy) => nameOfPolicy(policy) === claimed)
  return present ? (sorted.find((policy) => preempts(policy, present, workload)) ?? present) : sorted[0]
}

// preemption.go, with the feature gate PropagationPolicyPreemption: a policy reads the workload by the name and namespace of its selector.
function preempts({ metadata, spec }: Policy, present: Policy, { metadata: own }: Workload): boolean {
  const isNamed = spec.resourceSelectors.some(
    ({ name, namespace = metadata.namespace }) => name === own.name && namespace === own.namespace,
  )
  if (spec.preemption !== 'Always' || !isNamed) return false
  const [isNamespaced, wasNamespaced] = [metadata.namespace !== undefined, !isClusterPolicy(present)]
  if (isNamespaced !== wasNamespaced) return isNamespaced
  return (spec.priority ?? 0) > (present.spec.priority ?? 0)
}

// ApplyPolicy: merges metadata, and replaces the fields that come from the template and the policy. It never changes spec.clusters.
function bindingOf(workload: Workload, policy: Policy, binding: Binding | undefined): Binding {
  const { spec } = policy
  const { apiVersion, kind, metadata, spec: template } = workload
  const { namespace = '', name = '', uid = '', resourceVersion = '' } = metadata
  const suspension = suspensionOf(binding, spec.suspension)
  const { suspension: _merged, replicaRequirements: _replaced, ...present } = binding?.spec ?? {}
  const isWithReplicas = template.replicas !== undefined
  const isOfCluster = isClusterPolicy(policy)
  return {
    apiVersion: 'work.karmada.io/v1alpha2',
    kind: 'ResourceBinding',
    ...(binding?.status && { status: binding.status }),
    metadata: {
      ...binding?.metadata,
      name: bindingNameOf(kind, name),
      namespace,
      labels: {
        'resourcebinding.karmada.io/permanent-id': `id-${keyOf(namespace, name)}`,
        ...(isOfCluster ? binding : binding && withoutClusterPolicy(binding))?.metadata.labels,
        [isOfCluster ? CLUSTER_POLICY_ID : POLICY_ID]: policy.metadata.uid ?? '',
      },
      annotations: {
        ...(isOfCluster ? binding : binding && withoutClusterPolicy(binding))?.metadata.annotations,
        ...(isOfCluster
          ? { [CLUSTER_POLICY_NAME]: policy.metadata.name ?? '' }
          : { [POLICY_NAMESPACE]: namespace, [POLICY_NAME]: policy.metadata.name ?? '' }),
      },
      finalizers: [...new Set([...(binding?.metadata.finalizers ?? []), 'karmada.io/binding-controller'])],
      ownerReferences: [{ apiVersion, kind, name, uid, controller: true }],
    },
    spec: {
      ...present,
      resource: { apiVersion, kind, namespace, name, uid, resourceVersion },
      ...(template.components && { components: template.components }),
      ...(isWithReplicas && { replicas: template.replicas as number }),
      ...(isWithReplicas && !isBestEffort(template) && { replicaRequirements: { resourceRequest: {} } }),
      propagateDeps: spec.propagateDeps ?? false,
      schedulerName: 'default-scheduler',
      conflictResolution: 'Abort',
      placement: spec.placement,
      ...(suspension && { suspension }),
    },
  }
}

// helper.GenerateReplicaRequirements: a template that requests no resources has no requirements.
function isBestEffort({ template }: Workload['spec']): boolean {
  return (template as { metadata?: { labels?: { qos?: string } } } | undefined)?.metadata?.labels?.qos === 'best-effort'
}

// util.MergePolicySuspension: keeps suspension.scheduling of the binding.
function suspensionOf(binding: Binding | undefined, ofPolicy: { dispatching?: boolean } | undefined) {
  const scheduling = binding?.spec.suspension?.scheduling
  if (scheduling === undefined && !ofPolicy) return undefined
  return { ...ofPolicy, ...(scheduling !== undefined && { scheduling }) }
}

// A deleted policy: the binding keeps its placement, and loses the references.
function withoutPolicy(binding: Binding): Binding {
  const { [POLICY_NAME]: _name, [POLICY_NAMESPACE]: _namespace, ...annotations } = binding.metadata.annotations ?? {}
  const { [POLICY_ID]: _id, ...labels } = binding.metadata.labels ?? {}
  return withoutClusterPolicy({ ...binding, metadata: { ...binding.metadata, annotations, labels } })
}

// excludeClusterPolicy
function withoutClusterPolicy(binding: Binding): Binding {
  const { [CLUSTER_POLICY_NAME]: _name, ...annotations } = binding.metadata.annotations ?? {}
  const { [CLUSTER_POLICY_ID]: _id, ...labels } = binding.metadata.labels ?? {}
  return { ...binding, metadata: { ...binding.metadata, annotations, labels } }
}
