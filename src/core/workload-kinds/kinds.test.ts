import { describe, expect, test } from 'vitest'
import { apiVersionOf, type K8sObject } from '../../api/meta.ts'
import { defined } from '../../base/json.ts'
import { compileSchema } from '../../base/schema/schema-errors.ts'
import { interpretWorkload } from '../dependencies/workload.ts'
import { type WorkloadKindEntry, workloadKindsSchema } from './entry.ts'
import { buildWorkloadKinds, hasPods, SHIPPED_ENTRIES, SHIPPED_KINDS } from './kinds.ts'
import { validateWorkloadKinds } from './validate.ts'

/** A pod spec that names a ConfigMap, a Secret, a ServiceAccount and a claim, each with the given suffix. */
function podSpec(ending: string): object {
  return {
    serviceAccountName: `sa-${ending}`,
    initContainers: [{ name: 'i', envFrom: [{ secretRef: { name: `secret-${ending}` } }] }],
    containers: [
      { name: 'c', env: [{ name: 'A', valueFrom: { configMapKeyRef: { name: `config-${ending}`, key: 'a' } } }] },
    ],
    volumes: [{ name: 'data', persistentVolumeClaim: { claimName: `claim-${ending}` } }],
  }
}
const template = (ending: string) => ({ metadata: { labels: { pod: ending } }, spec: podSpec(ending) })

/** The objects that `podSpec` names, for all suffixes. */
function allOf(...endings: string[]): string[] {
  return endings.flatMap((ending) => [
    `ConfigMap ns/config-${ending}`,
    `PersistentVolumeClaim ns/claim-${ending}`,
    `Secret ns/secret-${ending}`,
    `ServiceAccount ns/sa-${ending}`,
  ])
}

interface Row {
  apiVersion: string
  kind: string
  spec: object
  want: string[]
  labels?: string[]
}

function interpret({ apiVersion, kind, spec }: Row) {
  const namespaced = SHIPPED_KINDS.find(apiVersion, kind)?.type.namespaced
  const object: K8sObject = {
    apiVersion,
    kind,
    metadata: defined({ name: 'w', namespace: namespaced ? 'ns' : undefined }),
  }
  return interpretWorkload({ ...object, spec } as K8sObject, SHIPPED_KINDS).dependencies
}

function expectInterpreted(row: Row): void {
  const { references, podLabels } = interpret(row)
  expect(references.map(({ kind, namespace, name }) => `${kind} ${namespace}/${name}`).sort()).toEqual(row.want.sort())
  expect(podLabels.flatMap((labels) => labels['pod'] ?? [])).toEqual(row.labels ?? [])
}

describe('as Karmada interprets it natively:', () => {
  test.each<Row>([
    ...['Deployment', 'ReplicaSet', 'DaemonSet'].map((kind) => ({
      apiVersion: 'apps/v1',
      kind,
      spec: { template: template('x') },
      want: allOf('x'),
      labels: ['x'],
    })),
    {
      apiVersion: 'apps/v1',
      kind: 'StatefulSet',
      spec: {
        serviceName: 'headless',
        template: template('x'),
        volumeClaimTemplates: [{ metadata: { name: 'claim-x' } }, { metadata: { name: 'secret-x' } }],
      },
      want: ['ConfigMap ns/config-x', 'Secret ns/secret-x', 'ServiceAccount ns/sa-x'],
      labels: ['x'],
    },
    { apiVersion: 'batch/v1', kind: 'Job', spec: { template: template('x') }, want: allOf('x'), labels: ['x'] },
    {
      apiVersion: 'batch/v1',
      kind: 'CronJob',
      spec: { jobTemplate: { spec: { template: template('x') } } },
      want: allOf('x'),
      labels: ['x'],
    },
    { apiVersion: 'v1', kind: 'Pod', spec: podSpec('x'), want: allOf('x') },
    {
      apiVersion: 'networking.k8s.io/v1',
      kind: 'Ingress',
      spec: { tls: [{ secretName: 'cert' }, { hosts: ['a'] }, { secretName: '' }, { secretName: 'cert' }] },
      want: ['Secret ns/cert'],
    },
  ])('$kind', expectInterpreted)

  test('a ServiceImport depends on its derived Service and the EndpointSlices', () => {
    const row = { apiVersion: 'multicluster.x-k8s.io/v1alpha1', kind: 'ServiceImport', spec: {}, want: [] }
    expect(interpret(row).references).toEqual([
      {
        apiVersion: 'discovery.k8s.io/v1',
        kind: 'EndpointSlice',
        namespace: 'ns',
        labelSelector: { matchLabels: { 'kubernetes.io/service-name': 'derived-w' } },
      },
      { apiVersion: 'v1', kind: 'Service', namespace: 'ns', name: 'derived-w' },
    ])
  })
})

const rayClusterSpec = {
  headGroupSpec: { template: template('head'), ingressOptions: { tls: [{ secretName: 'dashboard-tls' }] } },
  workerGroupSpecs: [{ template: template('w1') }, { template: template('w2') }],
  autoscalerOptions: { envFrom: [{ secretRef: { name: 'autoscaler' } }] },
  gcsFaultToleranceOptions: {
    redisPassword: { valueFrom: { secretKeyRef: { name: 'redis', key: 'p' } } },
    storage: { claimName: 'gcs' },
  },
  authOptions: { mode: 'token', secretName: 'ray-token' },
  mTLSOptions: { certificateSecretName: 'ray-tls' },
  historyServerOptions: { collectorOptions: { envFrom: [{ secretRef: { name: 'history' } }] } },
}
const RAY = [
  ...allOf('head', 'w1', 'w2'),
  'PersistentVolumeClaim ns/gcs',
  ...['autoscaler', 'dashboard-tls', 'history', 'ray-tls', 'ray-token', 'redis'].map((name) => `Secret ns/${name}`),
]

describe('third-party kinds:', () => {
  test.each<Row>([
    {
      apiVersion: 'batch.volcano.sh/v1alpha1',
      kind: 'Job',
      spec: {
        tasks: [{ template: template('a') }, { template: template('b') }],
        volumes: [
          { mountPath: '/d', volumeClaimName: 'shared' },
          { mountPath: '/t', volumeClaim: {} },
        ],
      },
      want: [...allOf('a', 'b'), 'PersistentVolumeClaim ns/shared'],
      labels: ['a', 'b'],
    },
    {
      apiVersion: 'kubeflow.org/v1',
      kind: 'PyTorchJob',
      spec: { pytorchReplicaSpecs: { Master: { template: template('m') }, Worker: { template: template('w') } } },
      want: allOf('m', 'w'),
      labels: ['m', 'w'],
    },
    {
      apiVersion: 'kubeflow.org/v1',
      kind: 'TFJob',
      spec: { tfReplicaSpecs: { PS: { template: template('ps') }, Evaluator: { template: template('e') } } },
      want: allOf('ps', 'e'),
      labels: ['e', 'ps'],
    },
    {
      apiVersion: 'kubeflow.org/v2beta1',
      kind: 'MPIJob',
      spec: { mpiReplicaSpecs: { Launcher: { template: template('l') }, Worker: { template: template('w') } } },
      want: allOf('l', 'w'),
      labels: ['l', 'w'],
    },
    { apiVersion: 'ray.io/v1', kind: 'RayCluster', spec: rayClusterSpec, want: RAY, labels: ['head', 'w1', 'w2'] },
    {
      apiVersion: 'ray.io/v1',
      kind: 'RayJob',
      spec: { rayClusterSpec, submitterPodTemplate: template('submit') },
      want: [...RAY, ...allOf('submit')],
      labels: ['head', 'submit', 'w1', 'w2'],
    },
    {
      apiVersion: 'ray.io/v1',
      kind: 'RayService',
      spec: { rayClusterConfig: rayClusterSpec },
      want: RAY,
      labels: ['head', 'w1', 'w2'],
    },
    {
      apiVersion: 'sparkoperator.k8s.io/v1beta2',
      kind: 'SparkApplication',
      spec: {
        imagePullSecrets: ['pull'],
        sparkConfigMap: 'spark',
        hadoopConfigMap: 'hadoop',
        sparkConf: {
          'spark.kubernetes.kerberos.krb5.configMapName': 'krb5',
          'spark.kubernetes.kerberos.tokenSecret.name': 'delegation',
          'spark.kubernetes.executor.volumes.persistentVolumeClaim.data.options.claimName': 'data',
        },
        sparkUIOptions: { ingressTLS: [{ secretName: 'ui-tls' }] },
        driverIngressOptions: [{ ingressTLS: [{ secretName: 'driver-tls' }] }],
        volumes: [{ name: 'v', configMap: { name: 'mounted' } }],
        driver: {
          labels: { pod: 'driver' },
          serviceAccount: 'spark-driver',
          configMaps: [{ name: 'driver-config', path: '/c' }],
          secrets: [{ name: 'driver-secret', path: '/s', secretType: 'Generic' }],
          env: [{ name: 'A', valueFrom: { secretKeyRef: { name: 'env-secret', key: 'k' } } }],
          envSecretKeyRefs: { TOKEN: { name: 'token', key: 'k' } },
          initContainers: [{ envFrom: [{ configMapRef: { name: 'init-config' } }] }],
        },
        executor: {
          serviceAccount: 'default',
          envFrom: [{ secretRef: { name: 'executor-env' } }],
          sidecars: [{ envFrom: [{ configMapRef: { name: 'sidecar-config' } }] }],
          template: template('executor'),
        },
      },
      want: [
        'PersistentVolumeClaim ns/data',
        ...['spark', 'hadoop', 'krb5', 'mounted', 'driver-config', 'init-config', 'sidecar-config'].map(
          (name) => `ConfigMap ns/${name}`,
        ),
        ...['delegation', 'ui-tls', 'driver-tls'].map((name) => `Secret ns/${name}`),
        ...['pull', 'driver-secret', 'env-secret', 'token', 'executor-env'].map((name) => `Secret ns/${name}`),
        'ServiceAccount ns/spark-driver',
        ...allOf('executor'),
      ],
      labels: ['driver', 'executor'],
    },
    {
      apiVersion: 'argoproj.io/v1alpha1',
      kind: 'Workflow',
      spec: {
        serviceAccountName: 'workflow',
        executor: { serviceAccountName: 'default' },
        imagePullSecrets: [{ name: 'pull' }],
        volumeClaimTemplates: [{ metadata: { name: 'scratch', labels: { pod: 'no' } } }],
        volumes: [
          { name: 's', secret: { secretName: 'mounted' } },
          { name: 'w', secret: { name: 'not-a-field' } },
        ],
        podMetadata: { labels: { pod: 'all' } },
        artifactRepositoryRef: { configMap: 'artifacts' },
        synchronization: { semaphore: { configMapKeyRef: { name: 'limits', key: 'n' } } },
        templates: [
          {
            metadata: { labels: { pod: 'one' } },
            inputs: { artifacts: [{ name: 'in', s3: { accessKeySecret: { name: 's3', key: 'a' } } }] },
            container: { env: [{ name: 'A', valueFrom: { secretKeyRef: { name: 'env', key: 'k' } } }] },
            initContainers: [{ envFrom: [{ configMapRef: { name: 'init' } }] }],
            sidecars: [{ envFrom: [{ configMapRef: { name: 'sidecar' } }] }],
            volumes: [{ name: 'd', persistentVolumeClaim: { claimName: 'data' } }],
            executor: { serviceAccountName: 'executor' },
          },
          { script: { source: 'x', envFrom: [{ secretRef: { name: 'script' } }] }, serviceAccountName: 'scripts' },
          { steps: [[{ name: 's', inline: { container: { envFrom: [{ configMapRef: { name: 'inline' } }] } } }]] },
        ],
      },
      want: [
        ...['artifacts', 'limits', 'init', 'sidecar', 'inline'].map((name) => `ConfigMap ns/${name}`),
        ...['pull', 'mounted', 's3', 'env', 'script'].map((name) => `Secret ns/${name}`),
        ...['workflow', 'executor', 'scripts'].map((name) => `ServiceAccount ns/${name}`),
        'PersistentVolumeClaim ns/data',
      ],
      labels: ['all', 'one'],
    },
    ...['BroadcastJob', 'DaemonSet'].map((kind) => ({
      apiVersion: 'apps.kruise.io/v1alpha1',
      kind,
      spec: { template: template('x') },
      want: allOf('x'),
      labels: ['x'],
    })),
    {
      apiVersion: 'apps.kruise.io/v1alpha1',
      kind: 'CloneSet',
      spec: { template: template('x'), volumeClaimTemplates: [{ metadata: { name: 'other' } }] },
      want: allOf('x'),
      labels: ['x'],
    },
    {
      apiVersion: 'apps.kruise.io/v1beta1',
      kind: 'StatefulSet',
      spec: { template: template('x'), volumeClaimTemplates: [{ metadata: { name: 'claim-x' } }] },
      want: ['ConfigMap ns/config-x', 'Secret ns/secret-x', 'ServiceAccount ns/sa-x'],
      labels: ['x'],
    },
    {
      apiVersion: 'apps.kruise.io/v1alpha1',
      kind: 'AdvancedCronJob',
      spec: {
        template: {
          broadcastJobTemplate: { spec: { template: template('x') } },
          imageListPullJobTemplate: { spec: { pullSecrets: ['pull'] } },
        },
      },
      want: [...allOf('x'), 'Secret ns/pull'],
      labels: ['x'],
    },
    {
      apiVersion: 'apps.kruise.io/v1alpha1',
      kind: 'UnitedDeployment',
      spec: {
        template: {
          advancedStatefulSetTemplate: {
            spec: { template: template('x'), volumeClaimTemplates: [{ metadata: { name: 'claim-y' } }] },
          },
        },
        topology: { subsets: [{ name: 'y', patch: { spec: podSpec('y') } }] },
      },
      want: [...allOf('x', 'y').filter((reference) => !reference.endsWith('claim-y'))],
      labels: ['x'],
    },
    {
      apiVersion: 'apps.kruise.io/v1alpha1',
      kind: 'SidecarSet',
      spec: { namespace: 'ns', ...podSpec('x'), imagePullSecrets: [{ name: 'pull' }] },
      want: [...allOf('x'), 'Secret ns/pull'],
    },
    ...(
      [
        ['XGBoostJob', 'xgbReplicaSpecs'],
        ['PaddleJob', 'paddleReplicaSpecs'],
        ['JAXJob', 'jaxReplicaSpecs'],
        ['MPIJob', 'mpiReplicaSpecs'],
      ] as const
    ).map(([kind, field]) => ({
      apiVersion: 'kubeflow.org/v1',
      kind,
      spec: { [field]: { Worker: { template: template('w') } } },
      want: allOf('w'),
      labels: ['w'],
    })),
    {
      apiVersion: 'kubeflow.org/v1beta1',
      kind: 'Notebook',
      spec: { template: { spec: podSpec('x') } },
      want: allOf('x'),
    },
    {
      apiVersion: 'trainer.kubeflow.org/v1alpha1',
      kind: 'TrainJob',
      spec: {
        trainer: { env: [{ name: 'A', valueFrom: { secretKeyRef: { name: 'trainer', key: 'k' } } }] },
        initializer: { dataset: { secretRef: { name: 'dataset' } }, model: { secretRef: { name: 'model' } } },
        podSpecOverrides: [{ targetJobs: [{ name: 'node' }], serviceAccountName: 'oldest' }],
        podTemplateOverrides: [{ targetJobs: [{ name: 'node' }], ...template('older') }],
        runtimePatches: [
          {
            manager: 'example.com/team',
            trainingRuntimeSpec: {
              template: {
                spec: { replicatedJobs: [{ name: 'node', template: { spec: { template: template('p') } } }] },
              },
            },
          },
        ],
      },
      want: [
        ...['trainer', 'dataset', 'model'].map((name) => `Secret ns/${name}`),
        'ServiceAccount ns/oldest',
        ...allOf('older', 'p'),
      ],
      labels: ['older', 'p'],
    },
    {
      apiVersion: 'jobset.x-k8s.io/v1alpha2',
      kind: 'JobSet',
      spec: { replicatedJobs: [{ name: 'a', template: { spec: { template: template('a') } } }] },
      want: allOf('a'),
      labels: ['a'],
    },
    {
      apiVersion: 'leaderworkerset.x-k8s.io/v1',
      kind: 'LeaderWorkerSet',
      spec: { leaderWorkerTemplate: { leaderTemplate: template('l'), workerTemplate: template('w'), size: 2 } },
      want: allOf('l', 'w'),
      labels: ['l', 'w'],
    },
    {
      apiVersion: 'ray.io/v1alpha1',
      kind: 'RayJob',
      spec: { rayClusterSpec },
      want: RAY,
      labels: ['head', 'w1', 'w2'],
    },
    {
      apiVersion: 'sparkoperator.k8s.io/v1beta2',
      kind: 'ScheduledSparkApplication',
      spec: {
        schedule: '@every 5m',
        template: {
          driver: { serviceAccount: 'spark', labels: { pod: 'driver' } },
          executor: { template: template('e') },
        },
      },
      want: ['ServiceAccount ns/spark', ...allOf('e')],
      labels: ['driver', 'e'],
    },
    {
      apiVersion: 'argoproj.io/v1alpha1',
      kind: 'CronWorkflow',
      spec: {
        schedule: '0 * * * *',
        workflowSpec: {
          serviceAccountName: 'workflow',
          podMetadata: { labels: { pod: 'all' } },
          templates: [{ container: { envFrom: [{ configMapRef: { name: 'settings' } }] } }],
        },
      },
      want: ['ConfigMap ns/settings', 'ServiceAccount ns/workflow'],
      labels: ['all'],
    },
    {
      apiVersion: 'argoproj.io/v1alpha1',
      kind: 'Rollout',
      spec: {
        template: template('x'),
        strategy: {
          blueGreen: { activeService: 'active', previewService: 'preview' },
          canary: { stableService: 'stable' },
        },
      },
      want: [...allOf('x'), 'Service ns/active', 'Service ns/preview', 'Service ns/stable'],
      labels: ['x'],
    },
    {
      apiVersion: 'flink.apache.org/v1beta1',
      kind: 'FlinkDeployment',
      spec: {
        serviceAccount: 'flink',
        ingress: { tls: [{ secretName: 'cert' }] },
        flinkConfiguration: {
          'kubernetes.hadoop.conf.config-map.name': 'hadoop',
          'kubernetes.taskmanager.service-account': 'flink-task',
        },
        podTemplate: template('both'),
        jobManager: { podTemplate: template('job') },
        taskManager: { podTemplate: template('task') },
      },
      want: [
        'ConfigMap ns/hadoop',
        'Secret ns/cert',
        'ServiceAccount ns/flink',
        'ServiceAccount ns/flink-task',
        ...allOf('both', 'job', 'task'),
      ],
      labels: ['both', 'job', 'task'],
    },
    {
      apiVersion: 'serving.kserve.io/v1beta1',
      kind: 'InferenceService',
      spec: {
        predictor: {
          labels: { pod: 'predictor' },
          serviceAccountName: 'reader',
          model: { env: [{ name: 'A', valueFrom: { secretKeyRef: { name: 'model', key: 'k' } } }] },
          workerSpec: { imagePullSecrets: [{ name: 'pull' }] },
          logger: { storage: { serviceAccountName: 'logger' } },
        },
        canary: [
          {
            predictor: {
              labels: { pod: 'canary' },
              model: { envFrom: [{ secretRef: { name: 'canary' } }] },
              workerSpec: { imagePullSecrets: [{ name: 'canary-pull' }] },
            },
          },
        ],
        transformer: { containers: [{ name: 'c', envFrom: [{ configMapRef: { name: 'transformer' } }] }] },
      },
      want: [
        'ConfigMap ns/transformer',
        ...['canary', 'canary-pull', 'model', 'pull'].map((name) => `Secret ns/${name}`),
        ...['logger', 'reader'].map((name) => `ServiceAccount ns/${name}`),
      ],
      labels: ['canary', 'predictor'],
    },
    {
      apiVersion: 'ray.io/v1',
      kind: 'RayCronJob',
      spec: { jobTemplate: { rayClusterSpec, submitterPodTemplate: template('submit') } },
      want: [...RAY, ...allOf('submit')],
      labels: ['head', 'submit', 'w1', 'w2'],
    },
    {
      apiVersion: 'sparkoperator.k8s.io/v1alpha1',
      kind: 'SparkConnect',
      spec: { server: { template: template('server') }, executor: { template: template('executor') } },
      want: allOf('executor', 'server'),
      labels: ['executor', 'server'],
    },
    {
      apiVersion: 'spark.apache.org/v1',
      kind: 'SparkApplication',
      spec: {
        sparkConf: {
          'spark.kubernetes.authenticate.driver.serviceAccountName': 'spark',
          'spark.kubernetes.authenticate.executor.serviceAccountName': 'default',
        },
        configMapSpecs: [{ name: 'created-by-the-operator' }],
        driverSpec: { podTemplateSpec: template('driver') },
        executorSpec: { podTemplateSpec: template('executor') },
        driverServiceIngressList: [{ ingressSpec: { tls: [{ secretName: 'cert' }] } }],
      },
      want: ['Secret ns/cert', 'ServiceAccount ns/spark', ...allOf('driver', 'executor')],
      labels: ['driver', 'executor'],
    },
    {
      apiVersion: 'spark.apache.org/v1',
      kind: 'SparkCluster',
      spec: {
        masterSpec: { statefulSetSpec: { template: template('master') } },
        workerSpec: { statefulSetSpec: { template: template('worker') } },
      },
      want: allOf('master', 'worker'),
      labels: ['master', 'worker'],
    },
    {
      apiVersion: 'argoproj.io/v1alpha1',
      kind: 'WorkflowTemplate',
      spec: {
        serviceAccountName: 'workflow',
        templates: [
          {
            container: { envFrom: [{ configMapRef: { name: 'settings' } }] },
            outputs: { artifacts: [{ name: 'out', s3: { secretKeySecret: { name: 's3', key: 'k' } } }] },
          },
        ],
      },
      want: ['ConfigMap ns/settings', 'Secret ns/s3', 'ServiceAccount ns/workflow'],
    },
    {
      apiVersion: 'argoproj.io/v1alpha1',
      kind: 'Experiment',
      spec: {
        templates: [{ name: 'canary', template: template('x') }],
        analyses: [{ args: [{ name: 'token', valueFrom: { secretKeyRef: { name: 'metrics', key: 'k' } } }] }],
      },
      want: ['Secret ns/metrics', ...allOf('x')],
      labels: ['x'],
    },
    {
      apiVersion: 'argoproj.io/v1alpha1',
      kind: 'AnalysisTemplate',
      spec: {
        args: [{ name: 'token', valueFrom: { secretKeyRef: { name: 'token', key: 'k' } } }],
        metrics: [
          { provider: { datadog: { secretRef: { name: 'datadog', namespaced: true } } } },
          { provider: { job: { spec: { template: template('job') } } } },
        ],
      },
      want: ['Secret ns/token', 'Secret ns/datadog', ...allOf('job')],
    },
    {
      apiVersion: 'flink.apache.org/v1beta1',
      kind: 'FlinkBlueGreenDeployment',
      spec: {
        ingress: { tls: [{ secretName: 'active' }] },
        template: {
          spec: {
            serviceAccount: 'flink',
            ingress: { tls: [{ secretName: 'cert' }] },
            podTemplate: template('both'),
            jobManager: { podTemplate: template('job') },
            taskManager: { podTemplate: template('task') },
          },
        },
      },
      want: ['Secret ns/active', 'Secret ns/cert', 'ServiceAccount ns/flink', ...allOf('both', 'job', 'task')],
      labels: ['both', 'job', 'task'],
    },
    ...['LLMInferenceService', 'LLMInferenceServiceConfig'].map((kind) => ({
      apiVersion: 'serving.kserve.io/v1alpha1',
      kind,
      spec: {
        labels: { pod: 'decode' },
        template: podSpec('decode'),
        worker: podSpec('worker'),
        prefill: { labels: { pod: 'prefill' }, template: podSpec('prefill'), worker: podSpec('prefill-worker') },
        router: { scheduler: { template: podSpec('scheduler'), tokenizer: { template: podSpec('tokenizer') } } },
      },
      want: allOf('decode', 'worker', 'prefill', 'prefill-worker', 'scheduler', 'tokenizer'),
      labels: kind === 'LLMInferenceService' ? ['decode', 'prefill'] : [],
    })),
    {
      apiVersion: 'serving.kserve.io/v1alpha1',
      kind: 'ServingRuntime',
      spec: {
        ...podSpec('runtime'),
        workerSpec: { imagePullSecrets: [{ name: 'pull' }] },
        builtInAdapter: { env: [{ name: 'A', valueFrom: { secretKeyRef: { name: 'adapter', key: 'k' } } }] },
      },
      want: ['Secret ns/pull', 'Secret ns/adapter', ...allOf('runtime')],
    },
    {
      apiVersion: 'serving.kserve.io/v1alpha1',
      kind: 'InferenceGraph',
      spec: { serviceAccountName: 'router', nodes: {} },
      want: ['ServiceAccount ns/router'],
    },
    {
      apiVersion: 'batch.volcano.sh/v1alpha1',
      kind: 'CronJob',
      spec: {
        jobTemplate: { spec: { tasks: [{ template: template('a') }], volumes: [{ volumeClaimName: 'shared' }] } },
      },
      want: [...allOf('a'), 'PersistentVolumeClaim ns/shared'],
      labels: ['a'],
    },
    {
      apiVersion: 'flow.volcano.sh/v1alpha1',
      kind: 'JobTemplate',
      spec: { tasks: [{ template: template('a') }], volumes: [{ volumeClaimName: 'shared' }] },
      want: [...allOf('a'), 'PersistentVolumeClaim ns/shared'],
    },
    {
      apiVersion: 'flow.volcano.sh/v1alpha1',
      kind: 'JobFlow',
      spec: {
        flows: [
          {
            name: 'a',
            patch: { jobSpec: { tasks: [{ template: template('a') }], volumes: [{ volumeClaimName: 'shared' }] } },
          },
        ],
      },
      want: [...allOf('a'), 'PersistentVolumeClaim ns/shared'],
    },
    {
      apiVersion: 'training.volcano.sh/v1alpha1',
      kind: 'HyperJob',
      spec: {
        replicatedJobs: [
          {
            name: 'a',
            templateSpec: { tasks: [{ template: template('a') }], volumes: [{ volumeClaimName: 'shared' }] },
          },
        ],
      },
      want: [...allOf('a'), 'PersistentVolumeClaim ns/shared'],
      labels: ['a'],
    },
    {
      apiVersion: 'trainer.kubeflow.org/v1alpha1',
      kind: 'TrainingRuntime',
      spec: {
        template: { spec: { replicatedJobs: [{ name: 'node', template: { spec: { template: template('node') } } }] } },
      },
      want: allOf('node'),
    },
    {
      apiVersion: 'trainer.kubeflow.org/v1alpha1',
      kind: 'OptimizationJob',
      spec: {
        trainJobTemplate: {
          spec: {
            trainer: { env: [{ name: 'A', valueFrom: { secretKeyRef: { name: 'trainer', key: 'k' } } }] },
            initializer: { dataset: { secretRef: { name: 'dataset' } } },
          },
        },
      },
      want: ['Secret ns/trainer', 'Secret ns/dataset'],
    },
    {
      apiVersion: 'disaggregatedset.x-k8s.io/v1',
      kind: 'DisaggregatedSet',
      spec: {
        roles: [
          {
            name: 'prefill',
            spec: { leaderWorkerTemplate: { leaderTemplate: template('l'), workerTemplate: template('w') } },
          },
        ],
      },
      want: allOf('l', 'w'),
      labels: ['l', 'w'],
    },
  ])('$apiVersion $kind', expectInterpreted)

  test('a SidecarSet for pods of any namespace has no references', () => {
    expectInterpreted({ apiVersion: 'apps.kruise.io/v1alpha1', kind: 'SidecarSet', spec: podSpec('x'), want: [] })
  })
})

describe('a PersistentVolume names its Secrets with their namespaces:', () => {
  const secretRef = { name: 's', namespace: 'storage' }
  const csi = [
    'nodePublishSecretRef',
    'nodeStageSecretRef',
    'controllerPublishSecretRef',
    'controllerExpandSecretRef',
    'nodeExpandSecretRef',
  ]

  test.each([
    ...csi.map((field) => ({ name: `csi ${field}`, spec: { csi: { driver: 'd', [field]: secretRef } } })),
    ...['cephfs', 'cinder', 'flexVolume', 'iscsi', 'rbd', 'scaleIO', 'storageos'].map((source) => ({
      name: source,
      spec: { [source]: { secretRef } },
    })),
    { name: 'azureFile', spec: { azureFile: { secretName: 's', secretNamespace: 'storage' } } },
    {
      name: 'without a namespace, that of the bound claim',
      spec: { azureFile: { secretName: 's' }, claimRef: { name: 'c', namespace: 'storage' } },
    },
  ])('$name', ({ spec }) => {
    expectInterpreted({ apiVersion: 'v1', kind: 'PersistentVolume', spec, want: ['Secret storage/s'] })
  })

  test('a Secret without a namespace is left out', () => {
    const spec = { rbd: { secretRef: { name: 's' } } }
    expectInterpreted({ apiVersion: 'v1', kind: 'PersistentVolume', spec, want: [] })
  })
})

describe('the table', () => {
  test('has each kind once, for all of its versions', () => {
    const keys = SHIPPED_KINDS.all.map(({ type }) => `${type.group}/${type.kind}`)
    expect(keys.filter((key, i) => keys.indexOf(key) !== i)).toEqual([])
  })

  test('finds a kind in another version', () => {
    expect(SHIPPED_KINDS.find('kubeflow.org/v1', 'MPIJob')?.type.version).toBe('v2beta1')
    expect(SHIPPED_KINDS.find('v1', 'Deployment')).toBeUndefined()
  })

  test.each(SHIPPED_KINDS.all)('$type.kind has a valid name of a kind', ({ type }) => {
    expect(apiVersionOf(type)).toMatch(/^([a-z0-9.-]+\/)?v\d+((alpha|beta)\d+)?$/)
    expect(type.plural).toMatch(/^[a-z]+s$/)
    expect(type.plural.startsWith(type.kind.toLowerCase().slice(0, -1))).toBe(true)
  })

  test('is valid as configuration is', () => {
    expect(compileSchema(workloadKindsSchema, 'forbidden')(SHIPPED_ENTRIES)).toEqual([])
    expect(validateWorkloadKinds(SHIPPED_ENTRIES)).toEqual([])
  })
})

describe('a configured kind', () => {
  const gadget: WorkloadKindEntry = {
    group: 'example.com',
    versions: ['v2', 'v1'],
    kind: 'Gadget',
    plural: 'gadgets',
    templates: ['spec.parts[*].template'],
    references: [{ kind: 'Secret', path: 'spec.license' }],
  }
  const gadgetOf = (spec: object) => ({
    apiVersion: 'example.com/v1',
    kind: 'Gadget',
    metadata: { name: 'w', namespace: 'ns' },
    spec,
  })

  test('is interpreted as those of the table', () => {
    const object = gadgetOf({ license: 'key', parts: [{ template: template('a') }] })
    const { references } = interpretWorkload(object, buildWorkloadKinds([gadget])).dependencies
    expect(references.map(({ kind, name }) => `${kind} ns/${name}`).sort()).toEqual(
      [...allOf('a'), 'Secret ns/key'].sort(),
    )
    expect(interpretWorkload(object, SHIPPED_KINDS).dependencies.references).toEqual([])
  })

  test('has pods if it has templates or metadata of pods', () => {
    const { templates: _, ...without } = gadget
    const kinds = [
      gadget,
      without,
      { ...without, allPods: 'spec.podMetadata' },
      { ...gadget, scope: 'Cluster' as const },
    ]
    expect(
      kinds.map((entry) => hasPods(buildWorkloadKinds([entry]).find('example.com/v1', 'Gadget') as never)),
    ).toEqual([true, false, true, false])
  })

  test('replaces a shipped kind', () => {
    const entry = { ...gadget, group: 'batch', kind: 'Job', plural: 'jobs', versions: ['v1'] }
    const kinds = buildWorkloadKinds([entry])
    expect(kinds.find('batch/v1', 'Job')?.templates).toEqual(gadget.templates)
    expect(kinds.all).toHaveLength(SHIPPED_KINDS.all.length)
  })
})
