import { describe, expect, test } from 'vitest'
import type { K8sObject } from '../../api/meta.ts'
import { interpretWorkload } from '../dependencies/workload.ts'
import { SHIPPED_KINDS } from './kinds.ts'

function namesIn(apiVersion: string, kind: string, spec: object, annotations?: Record<string, string>): string[] {
  const object = {
    apiVersion,
    kind,
    metadata: { name: 'w', namespace: 'ns', ...(annotations && { annotations }) },
    spec,
  }
  return interpretWorkload(object as K8sObject, SHIPPED_KINDS).dependencies.references.map(
    (one) => `${one.kind} ${one.name}`,
  )
}

describe('the configuration of Spark names objects', () => {
  const conf = {
    'spark.kubernetes.driver.secrets.mounted': '/etc/secrets',
    'spark.kubernetes.executor.secrets.mounted.too': '/etc/secrets',
    'spark.kubernetes.driver.secretKeyRef.TOKEN': 'token:key',
    'spark.kubernetes.executor.secretKeyRef.TOKEN': 'other-token:key',
    'spark.kubernetes.container.image.pullSecrets': 'registry-a, registry-b',
    'spark.kubernetes.driver.volumes.persistentVolumeClaim.logs.options.claimName': 'logs',
    'spark.kubernetes.driver.secrets.': '/no/name',
    'spark.kubernetes.driver.label.secrets.x': 'label',
    'spark.executor.instances': 2,
  }
  const want = [
    'PersistentVolumeClaim logs',
    'Secret mounted',
    'Secret mounted.too',
    'Secret other-token',
    'Secret registry-a',
    'Secret registry-b',
    'Secret token',
  ]

  test.each([
    ['sparkoperator.k8s.io/v1beta2', 'SparkApplication', { sparkConf: conf }],
    ['sparkoperator.k8s.io/v1beta2', 'ScheduledSparkApplication', { template: { sparkConf: conf } }],
    ['sparkoperator.k8s.io/v1alpha1', 'SparkConnect', { sparkConf: conf }],
    ['spark.apache.org/v1', 'SparkApplication', { sparkConf: conf }],
    ['spark.apache.org/v1', 'SparkCluster', { sparkConf: conf }],
  ])('of %s %s', (apiVersion, kind, spec) => {
    expect(namesIn(apiVersion, kind, spec)).toEqual(want)
  })

  test.each(['OnDemand', 'data-SPARK_EXECUTOR_ID'])(
    'but no claim %s, which Spark replaces in each pod',
    (claimName) => {
      const key = 'spark.kubernetes.executor.volumes.persistentVolumeClaim.data.options.claimName'
      expect(namesIn('spark.apache.org/v1', 'SparkApplication', { sparkConf: { [key]: claimName } })).toEqual([])
    },
  )
})

describe('the configuration of Flink names objects', () => {
  const want = [
    'ConfigMap hadoop',
    'Secret env-a',
    'Secret env-b',
    'Secret mounted-a',
    'Secret mounted-b',
    'Secret registry-a',
    'Secret registry-b',
    'ServiceAccount flink',
    'ServiceAccount flink-task',
  ]
  const dotted = {
    'kubernetes.hadoop.conf.config-map.name': 'hadoop',
    'kubernetes.secrets': 'mounted-a:/opt/a,mounted-b:/opt/b',
    'kubernetes.env.secretKeyRef': 'env:A,secret:env-a,key:k;env:B,secret:env-b,key:secret',
    'kubernetes.container.image.pull-secrets': 'registry-a;registry-b',
    'kubernetes.service-account': 'flink',
    'kubernetes.taskmanager.service-account': 'flink-task',
    'kubernetes.jobmanager.service-account': 'default',
    'taskmanager.numberOfTaskSlots': 2,
  }
  const nested = {
    kubernetes: {
      'hadoop.conf': { 'config-map': { name: 'hadoop' } },
      secrets: { 'mounted-a': '/opt/a', 'mounted-b': '/opt/b' },
      env: { secretKeyRef: '[{env: A, secret: env-a, key: k}, {env: B, secret: "env-b", key: secret}]' },
      container: { image: { 'pull-secrets': ['registry-a', 'registry-b'] } },
      'service-account': 'flink',
      taskmanager: { 'service-account': 'flink-task' },
    },
  }

  test.each([
    ['in dotted keys', 'FlinkDeployment', { flinkConfiguration: dotted }],
    ['in nested objects', 'FlinkDeployment', { flinkConfiguration: nested }],
    ['of both deployments', 'FlinkBlueGreenDeployment', { template: { spec: { flinkConfiguration: dotted } } }],
  ])('%s', (_title, kind, spec) => {
    expect(namesIn('flink.apache.org/v1beta1', kind, spec)).toEqual(want)
  })

  test.each([null, 'text', [], { kubernetes: null }, { 'kubernetes.secrets': '' }])(
    'but none in %j',
    (configuration) => {
      expect(namesIn('flink.apache.org/v1beta1', 'FlinkDeployment', { flinkConfiguration: configuration })).toEqual([])
    },
  )
})

describe('the models of KServe are in claims, or need a Secret', () => {
  const serving = (spec: object, annotations?: Record<string, string>) =>
    namesIn('serving.kserve.io/v1beta1', 'InferenceService', spec, annotations)

  test.each([
    { name: 'a model', spec: { predictor: { model: { storageUri: 'pvc://models/bert/1' } } } },
    { name: 'a model at the root', spec: { predictor: { model: { storageUri: 'pvc://models' } } } },
    { name: 'a format of its own', spec: { predictor: { sklearn: { storageUri: 'pvc://models/iris' } } } },
    { name: 'several models', spec: { predictor: { model: { storageUris: [{ uri: 'pvc://models/a' }] } } } },
    { name: 'a transformer', spec: { transformer: { model: { storageUri: 'pvc://models/t' } } } },
    {
      name: 'a container',
      spec: { predictor: { containers: [{ env: [{ name: 'STORAGE_URI', value: 'pvc://models/c' }] }] } },
    },
  ])('$name', ({ spec }) => {
    expect(serving(spec)).toEqual(['PersistentVolumeClaim models'])
  })

  test('other URIs name no claim', () => {
    const uris = ['s3://models/pvc://x', 'pvc:///path', 'PVC://models', '']
    expect(uris.flatMap((storageUri) => serving({ predictor: { model: { storageUri } } }))).toEqual([])
  })

  test.each([
    { name: 'the one of KServe', annotations: {}, want: ['Secret storage-config'] },
    {
      name: 'that of an annotation',
      annotations: { 'serving.kserve.io/storageSecretName': 'lake' },
      want: ['Secret lake'],
    },
    {
      name: 'that of the older annotation',
      annotations: { 'serving.kserve.io/secretName': 'lake' },
      want: ['Secret lake'],
    },
  ])('the Secret of a storage specification is $name', ({ annotations, want }) => {
    expect(serving({ predictor: { model: { storage: { key: 'minio', path: 'bert' } } } }, annotations)).toEqual(want)
  })

  test.each(['LLMInferenceService', 'LLMInferenceServiceConfig'])('a model of %s and its adapters', (kind) => {
    const model = { uri: 'pvc://models/llama', lora: { adapters: [{ uri: 'pvc://adapters/a' }] } }
    expect(namesIn('serving.kserve.io/v1alpha1', kind, { model })).toEqual([
      'PersistentVolumeClaim adapters',
      'PersistentVolumeClaim models',
    ])
  })
})

describe('the default ConfigMap of an Argo artifact repository is artifact-repositories:', () => {
  test.each([
    { kind: 'Workflow', spec: { artifactRepositoryRef: { key: 'lake' } }, want: ['ConfigMap artifact-repositories'] },
    { kind: 'WorkflowTemplate', spec: { artifactRepositoryRef: {} }, want: ['ConfigMap artifact-repositories'] },
    {
      kind: 'CronWorkflow',
      spec: { workflowSpec: { artifactRepositoryRef: { configMap: '', key: 'lake' } } },
      want: ['ConfigMap artifact-repositories'],
    },
    { kind: 'Workflow', spec: { artifactRepositoryRef: { configMap: 'own' } }, want: ['ConfigMap own'] },
    { kind: 'Workflow', spec: { artifactRepositoryRef: null }, want: [] },
    { kind: 'Workflow', spec: {}, want: [] },
  ])('$kind $spec', ({ kind, spec, want }) => {
    expect(namesIn('argoproj.io/v1alpha1', kind, spec)).toEqual(want)
  })
})

describe('a JSON patch of the pods of a Workflow names objects:', () => {
  const patch = JSON.stringify({
    containers: [{ name: 'main', envFrom: [{ secretRef: { name: 'token' } }] }],
    volumes: [{ name: 'in', persistentVolumeClaim: { claimName: 'data' } }],
  })
  const want = ['PersistentVolumeClaim data', 'Secret token']
  test.each([
    { kind: 'Workflow', spec: { podSpecPatch: patch }, want },
    { kind: 'Workflow', spec: { templates: [{ name: 'a', podSpecPatch: ` ${patch}\n` }] }, want },
    { kind: 'CronWorkflow', spec: { workflowSpec: { podSpecPatch: patch } }, want },
    { kind: 'WorkflowTemplate', spec: { templateDefaults: { podSpecPatch: patch } }, want },
    // Parameters of the Workflow are known later.
    { kind: 'Workflow', spec: { podSpecPatch: '{"volumes": {{inputs.parameters.volumes}}}' }, want: [] },
    { kind: 'Workflow', spec: { podSpecPatch: 'containers:\n- name: main\n' }, want: [] },
    { kind: 'Workflow', spec: { podSpecPatch: '[1]' }, want: [] },
    { kind: 'Workflow', spec: { podSpecPatch: 5 }, want: [] },
  ])('$kind $spec', ({ kind, spec, want }) => {
    expect(namesIn('argoproj.io/v1alpha1', kind, spec)).toEqual(want)
  })
})
