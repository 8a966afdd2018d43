/**
 * Workloads that refer to other objects in every way there is, one for each kind whose dependencies Karmada interprets, with what it
 * finds in them. Names say where the reference stands.
 */
import type { DependentObjectReference } from '../../src/api/dependencies.ts'
import type { KubeObject } from './api-client.ts'

export interface InterpretedWorkload {
  title: string
  workload: KubeObject
  /** The plural name, for a kind that has to be installed first. */
  plural?: string
  /** What Karmada finds. */
  karmada: DependentObjectReference[] | 'fails'
  /** Where Lodestone finds more or less, and why that is right. */
  difference?: { why: string; more?: DependentObjectReference[]; less?: DependentObjectReference[] }
}

const image = 'main:1'

/** A pod that refers in every way of `pkg/util/helper/pod.go`. Fields that an API server would reject are left out. */
const pod = {
  serviceAccountName: 'runner',
  // An entry without a name is legal, and names nothing.
  imagePullSecrets: [{ name: 'registry' }, {}],
  initContainers: [container('prepare', 'init')],
  containers: [container('main', 'env'), container('sidecar', 'env')],
  volumes: Object.entries({
    configMap: { name: 'volume-config' },
    secret: { secretName: 'volume-secret', optional: true },
    projected: {
      sources: [
        { configMap: { name: 'projected-config' } },
        { secret: { name: 'projected-secret' } },
        { serviceAccountToken: { path: 'token' } },
        { downwardAPI: { items: [{ path: 'name', fieldRef: { fieldPath: 'metadata.name' } }] } },
      ],
    },
    azureFile: { secretName: 'azure-secret', shareName: 'share' },
    cephfs: { monitors: ['127.0.0.1'], secretRef: { name: 'cephfs-secret' } },
    cinder: { volumeID: 'id', secretRef: { name: 'cinder-secret' } },
    flexVolume: { driver: 'vendor/driver', secretRef: { name: 'flex-secret' } },
    rbd: { monitors: ['127.0.0.1'], image: 'image', secretRef: { name: 'rbd-secret' } },
    scaleIO: { gateway: 'gateway', system: 'system', volumeName: 'volume', secretRef: { name: 'scaleio-secret' } },
    iscsi: {
      targetPortal: '127.0.0.1',
      iqn: 'iqn.2001-04.com.example:disk',
      lun: 0,
      secretRef: { name: 'iscsi-secret' },
    },
    storageos: { volumeName: 'volume', secretRef: { name: 'storageos-secret' } },
    csi: { driver: 'vendor', nodePublishSecretRef: { name: 'csi-secret' } },
    persistentVolumeClaim: { claimName: 'disk' },
    emptyDir: {},
    // Not a dependency for Karmada.
    ephemeral: {
      volumeClaimTemplate: { spec: { accessModes: ['ReadWriteOnce'], resources: { requests: { storage: '1Gi' } } } },
    },
  }).map(([source, value]) => ({ name: source.toLowerCase(), [source]: value })),
}

const namedByVolumes = named({
  ConfigMap: ['volume-config', 'projected-config'],
  Secret: [
    ...['volume-secret', 'projected-secret', 'azure-secret', 'cephfs-secret', 'cinder-secret', 'flex-secret'],
    ...['rbd-secret', 'scaleio-secret', 'iscsi-secret', 'storageos-secret', 'csi-secret'],
  ],
  PersistentVolumeClaim: ['disk'],
})
const namedByPod = [
  ...namedByVolumes,
  ...named({
    ConfigMap: ['env-config', 'env-from-config', 'init-config', 'init-from-config'],
    Secret: ['registry', 'env-secret', 'env-from-secret', 'init-secret', 'init-from-secret'],
    ServiceAccount: ['runner'],
  }),
]

const labels = { app: 'rich' }
const template = { metadata: { labels }, spec: pod }
const selector = { matchLabels: labels }
const once = { ...template, spec: { ...pod, restartPolicy: 'Never' } }
const plain = { ...template, spec: { containers: [{ name: 'main', image }] } }
/** Its volume stands for the claim that each of its pods gets. */
const stateful = {
  serviceName: 'rich',
  template: { ...template, spec: { ...pod, volumes: [...pod.volumes, ...claimVolume('made')] } },
  volumeClaimTemplates: [claimTemplate('made')],
}
const backend = { defaultBackend: { service: { name: 'web', port: { number: 80 } } } }
/** Where one kind has several templates, each is told apart by what it names. */
const naming = (name: string) => ({ spec: { containers: [{ name, image, envFrom: [{ configMapRef: { name } }] }] } })

/** The kinds that the API server has by itself, and ServiceImport, which Karmada installs. */
export const builtIn: InterpretedWorkload[] = [
  ofPod('Deployment', workload('apps/v1', 'Deployment', { replicas: 1, selector, template })),
  ofPod('ReplicaSet', workload('apps/v1', 'ReplicaSet', { replicas: 1, selector, template })),
  ofPod('DaemonSet', workload('apps/v1', 'DaemonSet', { selector, template })),
  ofPod(
    'StatefulSet, but for the claims that it makes',
    workload('apps/v1', 'StatefulSet', { ...stateful, replicas: 1, selector }),
  ),
  ofPod('Job', workload('batch/v1', 'Job', { template: once })),
  ofPod(
    'CronJob',
    workload('batch/v1', 'CronJob', { schedule: '0 0 * * *', jobTemplate: { spec: { template: once } } }),
  ),
  ofPod('Pod', { ...workload('v1', 'Pod', pod) }),
  {
    title: 'Deployment that names nothing but the default ServiceAccount',
    workload: workload(
      'apps/v1',
      'Deployment',
      { selector, template: { ...plain, spec: { ...plain.spec, serviceAccountName: 'default' } } },
      'bare',
    ),
    karmada: [],
  },
  {
    title: 'Ingress',
    workload: workload('networking.k8s.io/v1', 'Ingress', {
      ...backend,
      tls: [{ hosts: ['a.example'], secretName: 'tls-a' }, { secretName: 'tls-b' }],
    }),
    karmada: named({ Secret: ['tls-a', 'tls-b'] }),
  },
  {
    title: 'Ingress with the certificate of its controller',
    workload: workload('networking.k8s.io/v1', 'Ingress', { ...backend, tls: [{ hosts: ['a.example'] }] }, 'no-secret'),
    karmada: 'fails',
    difference: { why: 'Karmada makes a dependency without a name of it, which it then refuses' },
  },
  {
    title: 'ServiceImport',
    workload: workload('multicluster.x-k8s.io/v1alpha1', 'ServiceImport', {
      type: 'ClusterSetIP',
      ports: [{ port: 80, protocol: 'TCP' }],
    }),
    karmada: [
      { apiVersion: 'v1', kind: 'Service', namespace: 'default', name: 'derived-rich' },
      {
        apiVersion: 'discovery.k8s.io/v1',
        kind: 'EndpointSlice',
        namespace: 'default',
        labelSelector: { matchLabels: { 'kubernetes.io/service-name': 'derived-rich' } },
      },
    ],
  },
]

/** The kinds that Karmada interprets by its own script (pkg/resourceinterpreter/default/thirdparty) and that Lodestone supports too. */
export const thirdParty: InterpretedWorkload[] = [
  {
    ...ofPod('Kruise CloneSet', workload('apps.kruise.io/v1alpha1', 'CloneSet', { replicas: 1, selector, template })),
    plural: 'clonesets',
  },
  {
    ...ofPod('Kruise BroadcastJob', workload('apps.kruise.io/v1alpha1', 'BroadcastJob', { template: once })),
    plural: 'broadcastjobs',
  },
  {
    ...ofPod('Kruise DaemonSet', workload('apps.kruise.io/v1alpha1', 'DaemonSet', { selector, template }, 'kruise')),
    plural: 'daemonsets',
  },
  {
    title: 'Kruise StatefulSet',
    workload: workload('apps.kruise.io/v1beta1', 'StatefulSet', { ...stateful, replicas: 1, selector }, 'kruise'),
    plural: 'statefulsets',
    karmada: [...namedByPod, ...named({ PersistentVolumeClaim: ['made'] })],
    difference: {
      why: 'Karmada leaves out the claims that the workload makes only for the StatefulSet of Kubernetes',
      less: named({ PersistentVolumeClaim: ['made'] }),
    },
  },
  {
    ...ofPod(
      'Kruise AdvancedCronJob of Jobs',
      workload('apps.kruise.io/v1alpha1', 'AdvancedCronJob', {
        schedule: '0 0 * * *',
        template: { jobTemplate: { spec: { template: once } } },
      }),
    ),
    plural: 'advancedcronjobs',
  },
  {
    ...ofPod(
      'Kruise AdvancedCronJob of BroadcastJobs',
      workload(
        'apps.kruise.io/v1alpha1',
        'AdvancedCronJob',
        { schedule: '0 0 * * *', template: { broadcastJobTemplate: { spec: { template: once } } } },
        'broadcast',
      ),
    ),
    plural: 'advancedcronjobs',
  },
  {
    title: 'Kruise UnitedDeployment',
    workload: workload('apps.kruise.io/v1alpha1', 'UnitedDeployment', {
      replicas: 1,
      selector,
      template: { deploymentTemplate: { metadata: { labels }, spec: { selector, template } } },
      topology: { subsets: [{ name: 'all', replicas: 1 }] },
    }),
    plural: 'uniteddeployments',
    karmada: 'fails',
    difference: {
      why: 'Karmada takes `template` for that of a pod, where a whole workload stands',
      more: namedByPod,
    },
  },
  {
    title: 'Kruise CloneSet that names nothing',
    workload: workload('apps.kruise.io/v1alpha1', 'CloneSet', { replicas: 1, selector, template: plain }, 'bare'),
    plural: 'clonesets',
    karmada: 'fails',
    difference: {
      why: 'Karmada gets nil from its library, and wants a table; only its script of DaemonSet says `or {}`',
    },
  },
  {
    title: 'Kubeflow PyTorchJob',
    workload: workload('kubeflow.org/v1', 'PyTorchJob', {
      pytorchReplicaSpecs: {
        Master: { replicas: 1, template: once },
        Worker: { replicas: 2, template: naming('worker') },
      },
    }),
    plural: 'pytorchjobs',
    karmada: [...namedByPod, ...named({ ConfigMap: ['worker'] })],
  },
  {
    title: 'Kubeflow TFJob',
    workload: workload('kubeflow.org/v1', 'TFJob', {
      tfReplicaSpecs: Object.fromEntries(
        ['PS', 'Worker', 'Chief', 'Master', 'Evaluator'].map((type, i) => [
          type,
          { replicas: 1, template: i === 0 ? once : naming(type.toLowerCase()) },
        ]),
      ),
    }),
    plural: 'tfjobs',
    karmada: [...namedByPod, ...named({ ConfigMap: ['worker', 'chief', 'master', 'evaluator'] })],
  },
  {
    title: 'RayJob',
    workload: workload('ray.io/v1', 'RayJob', {
      rayClusterSpec: rayCluster(),
      submitterPodTemplate: naming('submitter'),
    }),
    plural: 'rayjobs',
    karmada: [...namedByPod, ...named({ ConfigMap: ['worker-0', 'worker-1', 'submitter'] })],
  },
  {
    title: 'RayService',
    workload: workload('ray.io/v1', 'RayService', { rayClusterConfig: rayCluster() }),
    plural: 'rayservices',
    karmada: [...namedByPod, ...named({ ConfigMap: ['worker-0', 'worker-1'] })],
  },
  {
    title: 'Argo Workflow',
    workload: workload('argoproj.io/v1alpha1', 'Workflow', {
      entrypoint: 'main',
      serviceAccountName: 'runner',
      executor: { serviceAccountName: 'executor' },
      imagePullSecrets: pod.imagePullSecrets,
      volumes: pod.volumes,
      volumeClaimTemplates: [claimTemplate('made')],
      templates: [
        { name: 'main', container: container('', 'env') },
        { name: 'script', script: { ...container('', 'script'), source: 'true' } },
        { name: 'helped', container: { image }, sidecars: [container('helper', 'sidecar')] },
        { name: 'prepared', container: { image }, initContainers: [container('prepare', 'init')] },
        { name: 'own', container: { image }, volumes: claimVolume('own-disk'), serviceAccountName: 'own-runner' },
      ],
    }),
    plural: 'workflows',
    karmada: [
      ...namedByVolumes.filter(({ name }) => name !== 'volume-secret'),
      ...named({ Secret: ['registry'], ServiceAccount: ['runner', 'executor'], PersistentVolumeClaim: ['made'] }),
    ],
    difference: {
      why: 'Karmada looks for the Secret of a volume at `name`, does not look into templates, and names claims that Argo makes',
      more: named({
        ConfigMap: ['env', 'script', 'sidecar', 'init'].flatMap((of) => [`${of}-config`, `${of}-from-config`]),
        Secret: [
          'volume-secret',
          ...['env', 'script', 'sidecar', 'init'].flatMap((of) => [`${of}-secret`, `${of}-from-secret`]),
        ],
        ServiceAccount: ['own-runner'],
        PersistentVolumeClaim: ['own-disk'],
      }),
      less: named({ PersistentVolumeClaim: ['made'] }),
    },
  },
]

/** A definition that takes anything: what the kinds mean is none of the API server's business here. */
export function customResourceDefinition({
  workload: { apiVersion, kind },
  plural,
}: {
  workload: Pick<KubeObject, 'apiVersion' | 'kind'>
  plural?: string
}): KubeObject {
  const [group, version] = apiVersion.split('/')
  const schema = { openAPIV3Schema: { type: 'object', 'x-kubernetes-preserve-unknown-fields': true } }
  return {
    apiVersion: 'apiextensions.k8s.io/v1',
    kind: 'CustomResourceDefinition',
    // The API server demands the annotation for groups of the Kubernetes community.
    metadata: { name: `${plural}.${group}`, annotations: { 'api-approved.kubernetes.io': 'unapproved, for a test' } },
    spec: {
      group,
      scope: 'Namespaced',
      names: { kind, plural, singular: kind.toLowerCase() },
      versions: [{ name: version, served: true, storage: true, schema }],
    },
  }
}

function ofPod(title: string, object: KubeObject): InterpretedWorkload {
  return { title, workload: object, karmada: namedByPod }
}

function workload(apiVersion: string, kind: string, spec: object, name = 'rich'): KubeObject {
  return { apiVersion, kind, metadata: { name, namespace: 'default', labels }, spec }
}

export function container(name: string, prefix: string): object {
  return {
    ...(name && { name }),
    image,
    env: [
      { name: 'PLAIN', value: 'value' },
      { name: 'CONFIG', valueFrom: { configMapKeyRef: { name: `${prefix}-config`, key: 'key', optional: true } } },
      { name: 'SECRET', valueFrom: { secretKeyRef: { name: `${prefix}-secret`, key: 'key' } } },
      { name: 'NODE', valueFrom: { fieldRef: { fieldPath: 'spec.nodeName' } } },
    ],
    envFrom: [
      { configMapRef: { name: `${prefix}-from-config` } },
      { secretRef: { name: `${prefix}-from-secret`, optional: true } },
    ],
  }
}

function rayCluster(): object {
  const workerGroupSpecs = [0, 1].map((i) => ({
    groupName: `group-${i}`,
    replicas: 1,
    template: naming(`worker-${i}`),
  }))
  return { headGroupSpec: { rayStartParams: {}, template }, workerGroupSpecs }
}

function claimVolume(name: string): object[] {
  return [{ name: `volume-${name}`, persistentVolumeClaim: { claimName: name } }]
}

function claimTemplate(name: string): object {
  return { metadata: { name }, spec: { accessModes: ['ReadWriteOnce'], resources: { requests: { storage: '1Gi' } } } }
}

function named(names: Record<string, string[]>): DependentObjectReference[] {
  return Object.entries(names).flatMap(([kind, ofKind]) =>
    ofKind.map((name) => ({ apiVersion: 'v1', kind, namespace: 'default', name })),
  )
}
