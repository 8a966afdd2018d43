/** Names of kinds in arguments, in every form that kubectl accepts: `deploy`, `Deployment`, `deployments.apps`, `deployment.v1.apps`. */
import { ownShortNames } from '../api/crds.ts'
import { dataSourceClaims } from '../api/data-source-claim.ts'
import { clusterPropagationPolicies, propagationPolicies } from '../api/karmada.ts'
import { groupOf, type K8sObject, type ResourceType } from '../api/meta.ts'
import { defined } from '../base/json.ts'
import { suggest } from '../base/suggest.ts'
import type { WorkloadKinds } from '../core/workload-kinds/kinds.ts'
import { kindKey } from '../store/any-kind.ts'
import { allKinds } from '../store/kinds/cached-kinds.ts'
import type { ObjectStore } from '../store/store.ts'
import { UsageError } from './command.ts'
import { builtInScope } from './scope.ts'

/** The short names of kinds of other projects, as their discovery documents and CRDs declare them. */
const SHORT_NAMES: Readonly<Record<string, readonly string[]>> = {
  ConfigMap: ['cm'],
  Namespace: ['ns'],
  PersistentVolume: ['pv'],
  PersistentVolumeClaim: ['pvc'],
  Pod: ['po'],
  Service: ['svc'],
  ServiceAccount: ['sa'],
  'CronJob.batch': ['cj'],
  'DaemonSet.apps': ['ds'],
  'Deployment.apps': ['deploy'],
  'ReplicaSet.apps': ['rs'],
  'StatefulSet.apps': ['sts'],
  'HorizontalPodAutoscaler.autoscaling': ['hpa'],
  'Ingress.networking.k8s.io': ['ing'],
  'NetworkPolicy.networking.k8s.io': ['netpol'],
  'PodDisruptionBudget.policy': ['pdb'],
  'ServiceImport.multicluster.x-k8s.io': ['svcim'],
  'ClusterPropagationPolicy.policy.karmada.io': ['cpp'],
  'PropagationPolicy.policy.karmada.io': ['pp'],
  'ClusterResourceBinding.work.karmada.io': ['crb'],
  'ResourceBinding.work.karmada.io': ['rb'],
  'AdvancedCronJob.apps.kruise.io': ['acj'],
  'BroadcastJob.apps.kruise.io': ['bcj'],
  'CloneSet.apps.kruise.io': ['clone'],
  'DaemonSet.apps.kruise.io': ['daemon', 'ads'],
  'StatefulSet.apps.kruise.io': ['sts', 'asts'],
  'UnitedDeployment.apps.kruise.io': ['ud'],
  'CronWorkflow.argoproj.io': ['cwf', 'cronwf'],
  'Rollout.argoproj.io': ['ro'],
  'Workflow.argoproj.io': ['wf'],
  'FlinkDeployment.flink.apache.org': ['flinkdep'],
  'InferenceService.serving.kserve.io': ['isvc'],
  'Job.batch.volcano.sh': ['vcjob', 'vj'],
  'LeaderWorkerSet.leaderworkerset.x-k8s.io': ['lws'],
  'ScheduledSparkApplication.sparkoperator.k8s.io': ['scheduledsparkapp'],
  'ServiceMonitor.monitoring.coreos.com': ['smon'],
  'SparkApplication.sparkoperator.k8s.io': ['sparkapp'],
  'AnalysisTemplate.argoproj.io': ['at'],
  'CronJob.batch.volcano.sh': ['cronvcjob', 'cronvj'],
  'Experiment.argoproj.io': ['exp'],
  'FlinkBlueGreenDeployment.flink.apache.org': ['flinkbgdep'],
  'HyperJob.training.volcano.sh': ['hj'],
  'InferenceGraph.serving.kserve.io': ['ig'],
  'JobFlow.flow.volcano.sh': ['jf'],
  'JobTemplate.flow.volcano.sh': ['jt'],
  'LLMInferenceService.serving.kserve.io': ['llmisvc'],
  'SparkApplication.spark.apache.org': ['sparkapp'],
  'SparkConnect.sparkoperator.k8s.io': ['sparkconn'],
  'WorkflowTemplate.argoproj.io': ['wftmpl'],
}

/** Returns every kind that Lodestone reads, with the configured ones. The kinds of Kubernetes come first: kubectl prefers them too. */
export function knownKinds(workloads: WorkloadKinds): ResourceType[] {
  return allKinds(workloads)
    .map(({ type }) => type)
    .toSorted((a, b) => Number(isBuiltIn(b)) - Number(isBuiltIn(a)))
}

/** Returns the kinds that policies select and claims name. Their plurals are guessed. */
function selectedKinds(store: ObjectStore): ResourceType[] {
  const policies = [propagationPolicies, clusterPropagationPolicies].flatMap((type) => [...store.list(type)])
  const references = [
    ...policies.flatMap(({ spec }) => spec.resourceSelectors),
    ...[...store.list(dataSourceClaims)].map(({ spec }) => spec.workload),
  ]
  return [...new Map(references.map(typeOfReference).map((type) => [kindKey(type), type])).values()]
}

/** Returns the type of a kind of which only the `apiVersion` and the `kind` are known. */
export function typeOfReference({ apiVersion, kind }: { apiVersion: string; kind: string }): ResourceType {
  const group = groupOf(apiVersion)
  const version = apiVersion.slice(apiVersion.indexOf('/') + 1)
  return { group, version, kind, plural: guessPlural(kind), namespaced: builtInScope({ group, kind }) !== 'Cluster' }
}

/** Returns the type of this kind, in any version; undefined if it is not among the types. */
export function typeAmong(
  types: readonly ResourceType[],
  { apiVersion, kind }: { apiVersion: string; kind: string },
): ResourceType | undefined {
  const group = groupOf(apiVersion)
  return types.find((type) => type.kind === kind && type.group === group)
}

/** Returns the type of an object, which is derived from its kind if it is not among the types. */
export function typeOfObject(types: readonly ResourceType[], object: K8sObject): ResourceType {
  return typeAmong(types, object) ?? { ...typeOfReference(object), namespaced: object.metadata.namespace !== undefined }
}

/** Returns the name for completion of each kind: `deployment`, or `job.batch.volcano.sh` if an earlier kind has the same name. */
export function kindNames(types: readonly ResourceType[]): string[] {
  const names = types.map(({ kind }) => kind.toLowerCase())
  return names.map((name, i) => (names.indexOf(name) === i ? name : `${name}.${types[i]?.group}`))
}

/** Reads `KIND/NAME` or `KIND NAME`. Throws `UsageError`. */
export function readTarget(words: readonly string[]): { kind: string; name: string } {
  const [first = '', second, ...more] = words
  const slash = first.indexOf('/')
  const [kind, name] = slash < 0 ? [first, second ?? ''] : [first.slice(0, slash), first.slice(slash + 1)]
  const isOne = slash < 0 ? more.length === 0 : words.length === 1
  if (!isOne || !kind || !name || name.includes('/')) {
    throw new UsageError(
      `expected KIND/NAME or KIND NAME, e.g. deployment/trainer, not ${words.join(' ') || 'nothing'}`,
    )
  }
  return { kind, name }
}

/**
 * Returns the kinds that a word means: several if they share a name, such as the Jobs of Kubernetes and of Volcano. With a version in the
 * word, they have that version. Empty if no kind has the name.
 */
export function kindsNamed(word: string, types: readonly ResourceType[]): ResourceType[] {
  const [name = '', ...rest] = word.toLowerCase().split('.')
  const isNamed = types.filter((type) => lowerCaseNames(type).includes(name))
  if (rest.length === 0) return isNamed
  const group = rest.join('.')
  const ofGroup = isNamed.filter((type) => type.group === group)
  if (ofGroup.length > 0) return ofGroup
  const [version = '', ...groupParts] = rest
  return isNamed.filter((type) => type.group === groupParts.join('.')).flatMap((type) => inVersion(type, version) ?? [])
}

/** Returns the kinds that a word may mean: those of tables, then those of policies and claims, then any other. Throws `UsageError` if there is none. */
export function typesNamed(
  word: string,
  { store, kinds }: { store: ObjectStore; kinds: WorkloadKinds },
): ResourceType[] {
  const known = knownKinds(kinds)
  const named = kindsNamed(word, known)
  if (named.length > 0) return named
  const selected = selectedKinds(store)
  const others = kindsNamed(word, selected)
  if (others.length > 0) return others
  const given = kindOfManifest(word)
  if (!given) throw unknownKind(word, [...known, ...selected])
  return [given]
}

/** Returns the type for `Kind.version.group` of a kind that no table, policy or claim has; undefined for another form. */
export function kindOfManifest(word: string): ResourceType | undefined {
  const [, kind = '', version = '', group = ''] = /^([A-Z][A-Za-z0-9]*)\.(v[0-9][a-z0-9]*)\.([^/]*)$/.exec(word) ?? []
  return kind === '' ? undefined : typeOfReference({ apiVersion: group === '' ? version : `${group}/${version}`, kind })
}

/** Describes an unknown kind, with a suggestion and the forms that are accepted. */
function unknownKind(word: string, types: readonly ResourceType[]): UsageError {
  const [name = ''] = word.split('.')
  const sameName = types.filter((type) => lowerCaseNames(type).includes(name.toLowerCase()))
  const similar =
    sameName.length > 0
      ? known(sameName.map(fullNamesOf))
      : suggest(
          name,
          types.flatMap((type) => lowerCaseNames(type)),
        ) || known(kindsWithPart(word.toLowerCase(), types))
  return new UsageError(
    `unknown kind ${word}${similar}; write another kind with its version and group, e.g. RayJob.v1.ray.io`,
  )
}

function known(names: readonly string[]): string {
  return names.length === 0 ? '' : ` (known: ${[...new Set(names)].join(', ')})`
}

/** The kinds whose name begins or ends with a word: users say claim, source and volume, as the pages do. */
function kindsWithPart(word: string, types: readonly ResourceType[]): string[] {
  const names = types.map(({ kind }) => kind.toLowerCase())
  return names.filter((name) => word.length >= 4 && (name.startsWith(word) || name.endsWith(word)))
}

function fullNamesOf({ kind, group, version, otherVersions = [] }: ResourceType): string {
  const name = kind.toLowerCase()
  return [version, ...otherVersions].map((each) => [name, each, group].filter(Boolean).join('.')).join(', ')
}

/** The type with this version first; undefined if the kind does not have it. */
function inVersion(type: ResourceType, version: string): ResourceType | undefined {
  const versions = [type.version, ...(type.otherVersions ?? [])]
  const otherVersions = versions.filter((each) => each !== version)
  if (otherVersions.length === versions.length) return undefined
  return { ...type, version, ...defined({ otherVersions: otherVersions.length > 0 ? otherVersions : undefined }) }
}

/** Every name of a kind without its group, in lower case. */
function lowerCaseNames(type: ResourceType): readonly string[] {
  const key = kindKey(type)
  return [type.kind.toLowerCase(), type.plural.toLowerCase(), ...(SHORT_NAMES[key] ?? []), ...ownShortNames(type)]
}

/** Whether the group is one of Kubernetes without a domain, such as `apps`. Only these share names of kinds with others. */
function isBuiltIn({ group }: ResourceType): boolean {
  return !group.includes('.')
}

/** The plural that Kubernetes guesses for a kind (UnsafeGuessKindToResource, pkg/api/meta/restmapper.go of apimachinery). */
function guessPlural(kind: string): string {
  const singular = kind.toLowerCase()
  if (singular.endsWith('s')) return `${singular}es`
  return singular.endsWith('y') ? `${singular.slice(0, -1)}ies` : `${singular}s`
}
