/** The table of kinds whose dependencies are known: where in each there are pods, and what else it names. */
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

/** Where the references are in an object of a kind; all are lists of paths (json-path.ts). */
interface Places {
  /** Pod templates: `metadata` and `spec`. */
  templates?: readonly string[]
  /** Objects with some of the fields of a pod spec. */
  podSpecs?: readonly string[]
  /** Objects with the `env` and `envFrom` of a container. */
  containers?: readonly string[]
  /** Objects with the labels and annotations of pods, besides the metadata of templates. */
  podMetadata?: readonly string[]
  /** Single names, by the kind of what they name. */
  names?: readonly (readonly [ResourceType, string])[]
  /** Names of claims that the kind's own controller makes. */
  ownClaims?: readonly string[]
  /** The Services that it sends to. */
  backends?: readonly string[]
  /** The namespace of everything that is named. */
  namespace?: string
  /** References that no path can express. */
  more?: (object: K8sObject) => DependentObjectReference[]
}

export interface InterpretedKind extends Places {
  type: ResourceType
}

const POD_TEMPLATE: Places = { templates: ['spec.template'] }
/** Each pod gets a claim of its own, for which the template's name only stands. Karmada leaves that out of StatefulSets, not of Kruise's. */
const CLAIM_TEMPLATES: Places = { ...POD_TEMPLATE, ownClaims: ['spec.volumeClaimTemplates.*.metadata.name'] }
/** Karmada names an empty Secret for TLS without one, by which its interpreter then fails (VerifyDependencies); here it names nothing. */
const INGRESS: Places = {
  names: [[secrets, 'spec.tls.*.secretName']],
  backends: ['spec.defaultBackend.service.name', 'spec.rules.*.http.paths.*.backend.service.name'],
}
/** Only a claim that is given by name must exist before the job; Volcano's controller makes the others. */
const VOLCANO_JOB: Places = {
  templates: ['spec.tasks.*.template'],
  names: [[persistentVolumeClaims, 'spec.volumes.*.volumeClaimName']],
}
/** `spec.template` is what Karmada reads; the served schema has a whole workload there, and patches of its pods. */
const UNITED_DEPLOYMENT: Places = {
  templates: ['spec.template', 'spec.template.*.spec.template', 'spec.topology.subsets.*.patch'],
  ownClaims: ['spec.template.*.spec.volumeClaimTemplates.*.metadata.name'],
}
/** Cluster-scoped: the objects that it injects are in the pods' namespaces. Without `spec.namespace` these are unknown. */
const SIDECAR_SET: Places = { podSpecs: ['spec'], namespace: 'spec.namespace' }
/** `spec.*` stands for the driver and the executor. */
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
 * Templates may be nested in steps and tasks, and secrets of artifacts stand at any depth, so everything below `spec` is looked at. Karmada
 * also names each of `volumeClaimTemplates` as a claim, but Argo makes those claims, under another name. Karmada also looks for a Secret of
 * a volume at `secret.name`, where none ever is.
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

/** Every kind that is interpreted; Karmada's native ones first. A kind stands here once: its versions are alike. */
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

/** How the kind is interpreted, whatever its version; undefined for a kind that is not. */
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

/** The pods of a Ray cluster described at a path, and the password of the Redis that outlives its head. */
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

/** A ServiceImport stands for a Service that Karmada derives from it, and for that Service's EndpointSlices. */
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

/** A volume names each Secret with its namespace; where it does not, that of the claim it is bound to holds. */
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
