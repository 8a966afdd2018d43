// A model of Karmada's detector (v1.18.1, pkg/detector): writes the binding of a workload from its policy, again at each reconcile.
import { type ApiServer, keyOf } from './api-server.ts'
import type { ApiObject, Binding, Placement, Policy, Workload } from './karmada.ts'

const WRITER = 'detector'
const POLICY_NAMESPACE = 'propagationpolicy.karmada.io/namespace'
const POLICY_NAME = 'propagationpolicy.karmada.io/name'
const POLICY_ID = 'propagationpolicy.karmada.io/permanent-id'

export interface WorkloadRef {
  kind: string
  namespace: string
  name: string
}

// Reconciles one workload, and returns the placement that it writes. Throws the errors of the API server; the caller reconciles again. A change by
// Karmada, such as that of a policy, does not apply a lazy policy (ApplyPolicy).
export function detect(
  api: ApiServer,
  { kind, namespace, name }: WorkloadRef,
  isByKarmada: boolean,
): Placement | undefined {
  const workload = api.get<Workload>(kind, namespace, name)
  const binding = api.get<Binding>('ResourceBinding', namespace, bindingNameOf(kind, name))
  if (!workload || workload.metadata.deletionTimestamp) return undefined
  const policy = policyOf(api, workload, binding)
  const isLeft = isByKarmada && policy?.spec.activationPreference === 'Lazy'
  const claimed = binding && policyNameOf(binding)
  if (!policy || isLeft) {
    if (binding && claimed !== undefined && claimed !== policy?.metadata.name)
      api.update(WRITER, withoutPolicy(binding))
    return undefined
  }
  // A binding of a deleted workload with the same name: the garbage collector deletes it first (karmada#2090).
  if (binding && binding.metadata.ownerReferences?.[0]?.uid !== workload.metadata.uid) return undefined
  if (binding?.metadata.deletionTimestamp) return undefined
  const wanted = bindingOf(workload, policy, binding)
  if (binding) api.update(WRITER, wanted)
  else api.create(WRITER, wanted)
  return policy.spec.placement
}

export function bindingNameOf(kind: string, name: string): string {
  return `${name}-${kind.toLowerCase()}`
}

// The name of the policy in the annotations of a binding.
export function policyNameOf({ metadata }: ApiObject): string | undefined {
  return metadata.annotations?.[POLICY_NAME]
}

// Whether a policy selects a workload.
export function selects({ metadata, spec }: Policy, { apiVersion, kind, metadata: own }: ApiObject): boolean {
  return (
    metadata.namespace === own.namespace &&
    spec.resourceSelectors.some(
      (selector) =>
        selector.apiVersion === apiVersion && selector.kind === kind && (!selector.name || selector.name === own.name),
    )
  )
}

// The policy that has the workload stays, while it selects it. Otherwise the highest priority wins, then the lowest name.
function policyOf(api: ApiServer, workload: Workload, binding: Binding | undefined): Policy | undefined {
  const selecting = api
    .list<Policy>('PropagationPolicy')
    .filter((policy) => !policy.metadata.deletionTimestamp && selects(policy, workload))
  const claimed = binding && policyNameOf(binding)
  const rank = ({ spec, metadata }: Policy) => `${9 - (spec.priority ?? 0)} ${metadata.name}`
  return (
    selecting.find(({ metadata }) => metadata.name === claimed) ??
    selecting.sort((a, b) => (rank(a) < rank(b) ? -1 : 1))[0]
  )
}

// ApplyPolicy: merges metadata, and replaces the fields that come from the template and the policy. It never changes spec.clusters.
function bindingOf(workload: Workload, { metadata: policy, spec }: Policy, binding: Binding | undefined): Binding {
  const { apiVersion, kind, metadata, spec: template } = workload
  const { namespace = '', name = '', uid = '', resourceVersion = '' } = metadata
  const suspension = suspensionOf(binding, spec.suspension)
  const { suspension: _merged, replicaRequirements: _replaced, ...present } = binding?.spec ?? {}
  const isWithReplicas = template.replicas !== undefined
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
        ...binding?.metadata.labels,
        [POLICY_ID]: policy.uid ?? '',
      },
      annotations: {
        ...binding?.metadata.annotations,
        [POLICY_NAMESPACE]: namespace,
        [POLICY_NAME]: policy.name ?? '',
      },
      finalizers: [...new Set([...(binding?.metadata.finalizers ?? []), 'karmada.io/binding-controller'])],
      ownerReferences: [{ apiVersion, kind, name, uid, controller: true }],
    },
    spec: {
      ...present,
      resource: { apiVersion, kind, namespace, name, uid, resourceVersion },
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
  return { ...binding, metadata: { ...binding.metadata, annotations, labels } }
}
