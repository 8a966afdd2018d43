/** The table of kinds whose dependencies are interpreted: the paths of their pods and of their other references. */
import {
  configMaps,
  type DependentObjectReference,
  endpointSlices,
  secrets,
  serviceAccounts,
  services,
} from '../../api/dependencies.ts'
import { apiVersionOf, groupOf, type K8sObject, type ResourceType } from '../../api/meta.ts'
import { persistentVolumeClaims } from '../../api/persistent-volume.ts'
import { stringsAt, valuesAt } from './json-path.ts'
import { referenceTo } from './references.ts'

/** The places of references in an object of a kind; each is a list of paths (json-path.ts). */
interface Places {
  /** Pod templates: `metadata` and `spec`. */
  templates?: readonly string[]
  /** Objects with some of the fields of a pod spec. */
  podSpecs?: readonly string[]
  /** Objects with the `env` and `envFrom` of a container. */
  containers?: readonly string[]
  /** Objects with the labels and annotations of pods, in addition to the metadata of templates. */
  podMetadata?: readonly string[]
  /** Single names, with the kind of the named object. */
  names?: readonly (readonly [ResourceType, string])[]
  /** Names of PersistentVolumeClaims that the kind's own controller creates. */
  ownClaims?: readonly string[]
  /** The Services that it sends requests to. */
  backends?: readonly string[]
  /** The namespace of all named objects. */
  namespace?: string
  /** Finds references that no path can express. */
  more?: (object: K8sObject) => DependentObjectReference[]
}

export interface InterpretedKind extends Places {
  type: ResourceType
}

const POD_TEMPLATE: Places = { templates: ['spec.template'] }
/**
 * The controller creates a PersistentVolumeClaim per pod; the template's name is no claim. Karmada ignores it in StatefulSets, but not in
 * Kruise's kinds.
 */
const CLAIM_TEMPLATES: Places = { ...POD_TEMPLATE, ownClaims: ['spec.volumeClaimTemplates.*.metadata.name'] }
/**
 * For TLS without a Secret, Karmada returns an empty name, and its interpreter then fails (VerifyDependencies). Lodestone returns nothing.
 */
const INGRESS: Places = {
  names: [[secrets, 'spec.tls.*.secretName']],
  backends: ['spec.defaultBackend.service.name', 'spec.rules.*.http.paths.*.backend.service.name'],
}
/** Only a claim with a given name must exist before the job; Volcano's controller creates the others. */
const VOLCANO_JOB: Places = {
  templates: ['spec.tasks.*.template'],
  names: [[persistentVolumeClaims, 'spec.volumes.*.volumeClaimName']],
}
/** Karmada reads `spec.template`. The served schema has a whole workload there, and patches of its pods in the subsets. */
const UNITED_DEPLOYMENT: Places = {
  templates: ['spec.template', 'spec.template.*.spec.template', 'spec.topology.subsets.*.patch'],
  ownClaims: ['spec.template.*.spec.volumeClaimTemplates.*.metadata.name'],
}
/** Cluster-scoped: the injected objects are in the namespaces of the pods. Without `spec.namespace`, these namespaces are unknown. */
const SIDECAR_SET: Places = { podSpecs: ['spec'], namespace: 'spec.namespace' }
/** `spec.*` is the driver and the executor. */
const SPARK_APPLICATION: Places = {
  templates: ['spec.*.template'],
  podSpecs: ['spec', 'spec.*'],
  containers: ['spec.*', 'spec.*.sidecars.*'],
  podMetadata: ['spec.*'],
  names: [
    [configMaps, 'spec.sparkConfigMap'],
    [configMaps, 'spec.hadoopConfigMap'],
    [configMaps, 'spec.*.configMaps.*.name'],
    [secrets, 'spec.imagePullSecrets.*'],
    [secrets, 'spec.*.secrets.*.name'],
    [secrets, 'spec.*.envSecretKeyRefs.*.name'],
    [serviceAccounts, 'spec.*.serviceAccount'],
  ],
}
/**
 * Templates may be nested in steps and tasks, and secrets of artifacts occur at any depth, so all of `spec` is searched. Karmada also
 * returns each of `volumeClaimTemplates` as a claim, but Argo creates those claims with other names. Karmada also reads a Secret of a
 * volume at `secret.name`, a path that does not exist.
 */
const WORKFLOW: Places = {
  podSpecs: ['spec.**'],
  containers: ['spec.**'],
  podMetadata: ['spec.podMetadata', 'spec.templateDefaults.metadata', 'spec.templates.*.metadata'],
  names: [
    [configMaps, 'spec.**.configMapKeyRef.name'],
    [configMaps, 'spec.**.*ConfigMap.name'],
    [configMaps, 'spec.artifactRepositoryRef.configMap'],
    [secrets, 'spec.**.secretKeyRef.name'],
    [secrets, 'spec.**.*Secret.name'],
  ],
}

/** Every kind that is interpreted; Karmada's native kinds come first. Each kind has one entry, since its versions have the same paths. */
export const interpretedKinds: readonly InterpretedKind[] = [
  namespaced('apps/v1', 'Deployment', 'deployments', POD_TEMPLATE),
  namespaced('apps/v1', 'ReplicaSet', 'replicasets', POD_TEMPLATE),
  namespaced('apps/v1', 'DaemonSet', 'daemonsets', POD_TEMPLATE),
  namespaced('apps/v1', 'StatefulSet', 'statefulsets', CLAIM_TEMPLATES),
  namespaced('batch/v1', 'Job', 'jobs', POD_TEMPLATE),
  namespaced('batch/v1', 'CronJob', 'cronjobs', { templates: ['spec.jobTemplate.spec.template'] }),
  namespaced('v1', 'Pod', 'pods', { templates: [''] }),
  namespaced('networking.k8s.io/v1', 'Ingress', 'ingresses', INGRESS),
  namespaced('multicluster.x-k8s.io/v1alpha1', 'ServiceImport', 'serviceimports', { more: derivedService }),
  clusterScoped('v1', 'PersistentVolume', 'persistentvolumes', { more: volumeSecrets }),
  namespaced('batch.volcano.sh/v1alpha1', 'Job', 'jobs', VOLCANO_JOB),
  namespaced('kubeflow.org/v1', 'PyTorchJob', 'pytorchjobs', { templates: ['spec.pytorchReplicaSpecs.*.template'] }),
  namespaced('kubeflow.org/v1', 'TFJob', 'tfjobs', { templates: ['spec.tfReplicaSpecs.*.template'] }),
  namespaced('kubeflow.org/v2beta1', 'MPIJob', 'mpijobs', { templates: ['spec.mpiReplicaSpecs.*.template'] }),
  namespaced('ray.io/v1', 'RayCluster', 'rayclusters', rayCluster('spec')),
  namespaced('ray.io/v1', 'RayJob', 'rayjobs', rayCluster('spec.rayClusterSpec', 'spec.submitterPodTemplate')),
  namespaced('ray.io/v1', 'RayService', 'rayservices', rayCluster('spec.rayClusterConfig')),
  namespaced('sparkoperator.k8s.io/v1beta2', 'SparkApplication', 'sparkapplications', SPARK_APPLICATION),
  namespaced('argoproj.io/v1alpha1', 'Workflow', 'workflows', WORKFLOW),
  namespaced('apps.kruise.io/v1alpha1', 'CloneSet', 'clonesets', CLAIM_TEMPLATES),
  namespaced('apps.kruise.io/v1alpha1', 'BroadcastJob', 'broadcastjobs', POD_TEMPLATE),
  namespaced('apps.kruise.io/v1alpha1', 'DaemonSet', 'daemonsets', POD_TEMPLATE),
  namespaced('apps.kruise.io/v1beta1', 'StatefulSet', 'statefulsets', CLAIM_TEMPLATES),
  namespaced('apps.kruise.io/v1alpha1', 'AdvancedCronJob', 'advancedcronjobs', {
    templates: ['spec.template.*.spec.template'],
  }),
  namespaced('apps.kruise.io/v1alpha1', 'UnitedDeployment', 'uniteddeployments', UNITED_DEPLOYMENT),
  clusterScoped('apps.kruise.io/v1alpha1', 'SidecarSet', 'sidecarsets', SIDECAR_SET),
]

const kindsByKey = new Map(interpretedKinds.map((kind) => [kindKey(apiVersionOf(kind.type), kind.type.kind), kind]))

/** Returns the entry of a kind, for any of its versions; undefined if the kind is not interpreted. */
export function interpretedKind(apiVersion: string, kind: string): InterpretedKind | undefined {
  return kindsByKey.get(kindKey(apiVersion, kind))
}

function kindKey(apiVersion: string, kind: string): string {
  return `${groupOf(apiVersion)}/${kind}`
}

function namespaced(apiVersion: string, kind: string, plural: string, places: Places): InterpretedKind {
  const group = groupOf(apiVersion)
  const version = apiVersion.slice(group === '' ? 0 : group.length + 1)
  return { type: { group, version, kind, plural, namespaced: true }, ...places, namespace: 'metadata.namespace' }
}

function clusterScoped(apiVersion: string, kind: string, plural: string, places: Places): InterpretedKind {
  const { type } = namespaced(apiVersion, kind, plural, places)
  return { ...places, type: { ...type, namespaced: false } }
}

/** The places of a Ray cluster at a path: its pods, and the password of the Redis that stores the state of its head. */
function rayCluster(at: string, ...templates: string[]): Places {
  return {
    templates: [`${at}.headGroupSpec.template`, `${at}.workerGroupSpecs.*.template`, ...templates],
    containers: [`${at}.autoscalerOptions`],
    names: [
      [configMaps, `${at}.gcsFaultToleranceOptions.*.valueFrom.configMapKeyRef.name`],
      [secrets, `${at}.gcsFaultToleranceOptions.*.valueFrom.secretKeyRef.name`],
    ],
  }
}

/** Karmada derives a Service and its EndpointSlices from a ServiceImport. */
function derivedService(object: K8sObject): DependentObjectReference[] {
  const [namespace] = stringsAt(object, 'metadata.namespace')
  return stringsAt(object, 'metadata.name').flatMap((name) => [
    referenceTo({ type: services, name: `derived-${name}` }, namespace),
    {
      apiVersion: apiVersionOf(endpointSlices),
      kind: endpointSlices.kind,
      ...(namespace && { namespace }),
      labelSelector: { matchLabels: { 'kubernetes.io/service-name': `derived-${name}` } },
    },
  ])
}

/** Each Secret reference of a PersistentVolume has a namespace. If it is missing, the namespace of the bound claim applies. */
function volumeSecrets(volume: K8sObject): DependentObjectReference[] {
  const azure = valuesAt(volume, 'spec.azureFile').map((source) => ({
    name: stringsAt(source, 'secretName')[0],
    namespace: stringsAt(source, 'secretNamespace')[0],
  }))
  const named = ['spec.*.secretRef', 'spec.csi.*SecretRef'].flatMap((path) => valuesAt(volume, path))
  return [...azure, ...named].flatMap((secret) => {
    const [name] = stringsAt(secret, 'name')
    const [namespace] = [...stringsAt(secret, 'namespace'), ...stringsAt(volume, 'spec.claimRef.namespace')]
    return name && namespace ? [referenceTo({ type: secrets, name }, namespace)] : []
  })
}
