/** Names of objects that no path can express: in texts with a syntax of their own, or defaults of a controller. */
import { configMaps, secrets, serviceAccounts } from '../../api/dependencies.ts'
import type { K8sObject } from '../../api/meta.ts'
import { persistentVolumeClaims } from '../../api/persistent-volume.ts'
import { isObject, parseJson } from '../../base/json.ts'
import { isName, stringsAt, valuesAt } from '../../base/json-path.ts'
import { podSpecObjects } from '../dependencies/pod-spec.ts'
import { type NamedObject, named } from './references.ts'

export type NameFinder = (object: K8sObject) => NamedObject[]

/** By `group/kind`. */
export const configurationReferences: Readonly<Record<string, NameFinder>> = {
  'sparkoperator.k8s.io/SparkApplication': sparkSecrets('spec.sparkConf'),
  'sparkoperator.k8s.io/ScheduledSparkApplication': sparkSecrets('spec.template.sparkConf'),
  'sparkoperator.k8s.io/SparkConnect': sparkSecrets('spec.sparkConf'),
  'spark.apache.org/SparkApplication': sparkSecrets('spec.sparkConf'),
  'spark.apache.org/SparkCluster': sparkSecrets('spec.sparkConf'),
  'flink.apache.org/FlinkDeployment': flinkObjects('spec.flinkConfiguration'),
  'flink.apache.org/FlinkBlueGreenDeployment': flinkObjects('spec.template.spec.flinkConfiguration'),
  'argoproj.io/Workflow': argoObjects('spec'),
  'argoproj.io/WorkflowTemplate': argoObjects('spec'),
  'argoproj.io/CronWorkflow': argoObjects('spec.workflowSpec'),
  'serving.kserve.io/InferenceService': kserveObjects,
  'serving.kserve.io/LLMInferenceService': kserveObjects,
  'serving.kserve.io/LLMInferenceServiceConfig': kserveObjects,
}

/**
 * Properties of Spark (docs/running-on-kubernetes.md). A mounted Secret is a part of the key, and one in the environment is `name:key`.
 * Secrets for pulling are a list with commas.
 */
function sparkSecrets(path: string): NameFinder {
  return (object) =>
    entriesAt(object, path).flatMap(([key, value]) => {
      const [, role, name = ''] =
        /^spark\.kubernetes\.(?:driver|executor)\.(secrets|secretKeyRef)\.(.+)$/.exec(key) ?? []
      if (role === 'secrets') return named(secrets, [name])
      if (role === 'secretKeyRef') return named(secrets, value.split(':').slice(0, 1))
      return key === 'spark.kubernetes.container.image.pullSecrets' ? named(secrets, items(value)) : []
    })
}

/**
 * Options of Flink (KubernetesConfigOptions), in the dotted form or nested: a list has semicolons, and a map has commas. Each item of the
 * environment is a map with a `secret`.
 */
function flinkObjects(path: string): NameFinder {
  return (object) =>
    valuesAt(object, path)
      .flatMap(flattened)
      .flatMap(([key, value]) => {
        const mounted = key.startsWith(FLINK_SECRETS) ? [key.slice(FLINK_SECRETS.length)] : []
        if (mounted.length > 0) return named(secrets, mounted)
        return FLINK_OPTIONS.filter(([end]) => key.endsWith(end)).flatMap(([, find]) => find(value))
      })
}

const FLINK_SECRETS = 'kubernetes.secrets.'

/** By the end of the key. */
const FLINK_OPTIONS: readonly [string, (value: string) => NamedObject[]][] = [
  ['kubernetes.hadoop.conf.config-map.name', (value) => named(configMaps, [value])],
  ['service-account', (value) => named(serviceAccounts, [value])],
  ['kubernetes.container.image.pull-secrets', (value) => named(secrets, items(value))],
  [
    'kubernetes.secrets',
    (value) =>
      named(
        secrets,
        items(value).flatMap((item) => item.split(':').slice(0, 1)),
      ),
  ],
  [
    'kubernetes.env.secretKeyRef',
    (value) =>
      named(
        secrets,
        items(value).flatMap((item) => /^secret:(.*)$/.exec(item)?.[1] ?? []),
      ),
  ],
]

/** The items of a list or a map in a text, without brackets, quotes and space. */
function items(text: string): string[] {
  return text.split(/[,;]/).map((item) => item.replaceAll(/[\s'"[\]{}]/g, ''))
}

/** The texts in nested objects, with dotted keys; lists are joined by semicolons (ConfigObjectNode of Flink's operator). */
function flattened(root: unknown): [string, string][] {
  const found: [string, string][] = []
  const open: [string, unknown][] = [['', root]]
  for (const [key, value] of open) {
    if (typeof value === 'string') found.push([key, value])
    else if (Array.isArray(value)) found.push([key, value.filter(isName).join(';')])
    else if (isObject(value) && key.length < MAX_KEY_LENGTH)
      for (const [name, member] of Object.entries(value)) open.push([key === '' ? name : `${key}.${name}`, member])
  }
  return found
}

/** Longer keys are no options: it bounds the work for objects that are nested deeply. */
const MAX_KEY_LENGTH = 512

/**
 * A reference to an artifact repository without a name means a ConfigMap of Argo (docs/artifact-repository-ref.md). A patch of the pods is a
 * text. One in YAML, or with parameters of the Workflow, is not read.
 */
function argoObjects(path: string): NameFinder {
  return (object) => {
    const unnamed = valuesAt(object, `${path}.artifactRepositoryRef`).filter(
      (value) => isObject(value) && !isName(value['configMap']),
    )
    const patches = stringsAt(object, `${path}..podSpecPatch`).map((text) => parseJson(text))
    return [
      ...named(configMaps, unnamed.length > 0 ? ['artifact-repositories'] : []),
      ...patches.filter(isObject).flatMap(podSpecObjects),
    ]
  }
}

/** Its models are at URIs, such as `pvc://claim/path`. A storage specification uses a Secret that an annotation or KServe names. */
function kserveObjects(object: K8sObject): NamedObject[] {
  const given = KSERVE_SECRETS.flatMap((key) => stringsAt(object, `metadata.annotations['${key}']`))
  const usesStorage = valuesAt(object, 'spec..storage').some(isStorageSpecification)
  const uris = [
    ...KSERVE_URIS.flatMap((path) => stringsAt(object, path)),
    ...valuesAt(object, 'spec..env[*]').flatMap((variable) =>
      stringsAt(variable, 'name')[0] === 'STORAGE_URI' ? stringsAt(variable, 'value') : [],
    ),
  ]
  return [
    ...named(
      persistentVolumeClaims,
      uris.flatMap((uri) => /^pvc:\/\/([^/]+)/.exec(uri)?.[1] ?? []),
    ),
    ...named(secrets, usesStorage && given.length === 0 ? [KSERVE_STORAGE_SECRET] : given),
  ]
}

const KSERVE_URIS = [
  'spec..storageUri',
  'spec..storageUris[*].uri',
  'spec.model.uri',
  'spec.model.lora.adapters[*].uri',
]

/** The Secret of storage specifications, and the annotations that name another one (pkg/constants, charts and config of KServe). */
const KSERVE_STORAGE_SECRET = 'storage-config'
const KSERVE_SECRETS = ['serving.kserve.io/storageSecretName', 'serving.kserve.io/secretName']

/** Whether a value names a model. The `storage` of a logger may have only a ServiceAccount, and that of resources is a quantity. */
function isStorageSpecification(value: unknown): boolean {
  return isObject(value) && ['key', 'parameters', 'path'].some((name) => value[name] !== undefined)
}

/** The members of objects that are texts. */
function entriesAt(object: K8sObject, path: string): [string, string][] {
  return valuesAt(object, path)
    .filter(isObject)
    .flatMap((value) => Object.entries(value))
    .filter((entry): entry is [string, string] => typeof entry[1] === 'string')
}
