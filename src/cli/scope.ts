/** The scope of kinds: in a namespace, or in the whole cluster. */
import { groupOf, type K8sObject, type ResourceType } from '../api/meta.ts'
import { isObject } from '../base/json.ts'

export type Scope = 'Namespaced' | 'Cluster'

/** The cluster-scoped kinds of Kubernetes, Karmada and Kueue, by group. The list of an API server: `kubectl api-resources --namespaced=false`. */
const CLUSTER_SCOPED: Readonly<Record<string, readonly string[]>> = {
  '': ['ComponentStatus', 'Namespace', 'Node', 'PersistentVolume'],
  'admissionregistration.k8s.io': [
    'MutatingAdmissionPolicy',
    'MutatingAdmissionPolicyBinding',
    'MutatingWebhookConfiguration',
    'ValidatingAdmissionPolicy',
    'ValidatingAdmissionPolicyBinding',
    'ValidatingWebhookConfiguration',
  ],
  'apiextensions.k8s.io': ['CustomResourceDefinition'],
  'apiregistration.k8s.io': ['APIService'],
  'authentication.k8s.io': ['SelfSubjectReview', 'TokenReview'],
  'authorization.k8s.io': ['SelfSubjectAccessReview', 'SelfSubjectRulesReview', 'SubjectAccessReview'],
  'certificates.k8s.io': ['CertificateSigningRequest', 'ClusterTrustBundle'],
  'flowcontrol.apiserver.k8s.io': ['FlowSchema', 'PriorityLevelConfiguration'],
  'internal.apiserver.k8s.io': ['StorageVersion'],
  'networking.k8s.io': ['IngressClass', 'IPAddress', 'ServiceCIDR'],
  'node.k8s.io': ['RuntimeClass'],
  policy: ['PodSecurityPolicy'],
  'rbac.authorization.k8s.io': ['ClusterRole', 'ClusterRoleBinding'],
  'resource.k8s.io': ['DeviceClass', 'DeviceTaintRule', 'ResourcePoolStatusRequest', 'ResourceSlice'],
  'scheduling.k8s.io': ['PriorityClass'],
  'storage.k8s.io': ['CSIDriver', 'CSINode', 'StorageClass', 'VolumeAttachment', 'VolumeAttributesClass'],
  'storagemigration.k8s.io': ['StorageVersionMigration'],
  'apps.karmada.io': ['WorkloadRebalancer'],
  'cluster.karmada.io': ['Cluster'],
  'config.karmada.io': ['ResourceInterpreterCustomization', 'ResourceInterpreterWebhookConfiguration'],
  'policy.karmada.io': ['ClusterOverridePolicy', 'ClusterPropagationPolicy', 'ClusterTaintPolicy'],
  'remedy.karmada.io': ['Remedy'],
  'search.karmada.io': ['ResourceRegistry'],
  'work.karmada.io': ['ClusterResourceBinding'],
  'kueue.x-k8s.io': [
    ...['AdmissionCheck', 'ClusterQueue', 'Cohort', 'MultiKueueCluster', 'MultiKueueConfig'],
    ...['ProvisioningRequestConfig', 'ResourceFlavor', 'Topology', 'WorkloadPriorityClass'],
  ],
}

/** Groups of Kubernetes and Karmada whose kinds are all in a namespace. */
const NAMESPACED_GROUPS: ReadonlySet<string> = new Set([
  'apps',
  'autoscaling',
  'autoscaling.karmada.io',
  'batch',
  'coordination.k8s.io',
  'discovery.k8s.io',
  'events.k8s.io',
  'extensions',
  'networking.karmada.io',
])

/** Returns the scope of a kind of Kubernetes, Karmada or Kueue; undefined for another kind. */
export function builtInScope({ group, kind }: Pick<ResourceType, 'group' | 'kind'>): Scope | undefined {
  const clusterScoped = Object.hasOwn(CLUSTER_SCOPED, group) ? CLUSTER_SCOPED[group] : undefined
  if (clusterScoped) return clusterScoped.includes(kind) ? 'Cluster' : 'Namespaced'
  return NAMESPACED_GROUPS.has(group) ? 'Namespaced' : undefined
}

/**
 * Returns a function that finds the scope of an object; undefined for an unknown kind.
 *
 * @param types kinds whose scope is known
 * @param objects objects among which CustomResourceDefinitions tell the scope of their kind
 */
export function scopesOf(
  types: Iterable<ResourceType>,
  objects: Iterable<K8sObject>,
): (object: K8sObject) => Scope | undefined {
  const known = new Map<string, Scope>()
  for (const object of objects) {
    const defined = definedScope(object)
    if (defined) known.set(defined.key, defined.scope)
  }
  for (const { group, kind, namespaced } of types) known.set(`${group}/${kind}`, namespaced ? 'Namespaced' : 'Cluster')
  return ({ apiVersion, kind }) => {
    const group = groupOf(apiVersion)
    return known.get(`${group}/${kind}`) ?? builtInScope({ group, kind })
  }
}

function definedScope(object: K8sObject): { key: string; scope: Scope } | undefined {
  if (object.kind !== 'CustomResourceDefinition') return undefined
  const { spec } = object as K8sObject & { spec?: unknown }
  if (!isObject(spec) || !isObject(spec['names'])) return undefined
  const { group, scope, names } = spec
  if (scope !== 'Namespaced' && scope !== 'Cluster') return undefined
  return { key: `${String(group)}/${String(names['kind'])}`, scope }
}
