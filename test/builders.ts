/** Objects for tests: valid by default, with the fields that a test sets. */
import type { DataSource } from '../src/api/data-source.ts'
import type { DataSourceClaim } from '../src/api/data-source-claim.ts'
import {
  type BindingSpec,
  type Cluster,
  POLICY_NAME_ANNOTATION,
  POLICY_NAMESPACE_ANNOTATION,
  type PropagationPolicy,
  type PropagationSpec,
  type ResourceBinding,
} from '../src/api/karmada.ts'
import type { AdmissionCheck, AdmissionCheckState, KueueWorkload } from '../src/api/kueue.ts'
import { ALLOW_CLAIMS_FROM_ANNOTATION, INJECT_LABEL, VOLUMES_ANNOTATION } from '../src/api/lodestone.ts'
import type { K8sObject, ObjectMeta } from '../src/api/meta.ts'
import type { NodeAffinity } from '../src/api/node.ts'
import type { Pod, PodSpec } from '../src/api/pod.ts'
import type { WebhookEntry } from '../src/api/registration.ts'
import type { VolumeConfig, VolumeManager } from '../src/api/volume-manager.ts'
import type { ClaimAnswer, ClaimTerms } from '../src/core/data-source/locate.ts'
import { neverPropagated } from '../src/core/dependencies/never-propagated.ts'
import type { RelatedObjects } from '../src/core/dependencies/related.ts'
import { newestRules } from '../src/core/karmada-rules.ts'
import type { ClusterLookup } from '../src/core/placement/affinity.ts'
import type { DecisionSettings } from '../src/core/resource-binding/decision-settings.ts'
import type { BindingInput, PolicyInput } from '../src/core/resource-binding/input.ts'
import { DEFAULT_TIMING } from '../src/core/resource-binding/timing.ts'
import type {
  MountableVolumes,
  UsableVolume,
  VolumeManagerLookup,
} from '../src/core/workload/injection/mountable-volumes.ts'
import { SHIPPED_KINDS } from '../src/core/workload-kinds/kinds.ts'

/** The binding of Deployment default/app, as the detector makes it: three clusters, not scheduled yet. */
export function makeBinding(spec: Partial<BindingSpec> = {}, metadata: ObjectMeta = {}): ResourceBinding {
  return {
    apiVersion: 'work.karmada.io/v1alpha2',
    kind: 'ResourceBinding',
    metadata: {
      name: 'app-deployment',
      namespace: 'default',
      ...metadata,
      annotations: {
        [POLICY_NAME_ANNOTATION]: 'app',
        [POLICY_NAMESPACE_ANNOTATION]: 'default',
        ...metadata.annotations,
      },
    },
    spec: {
      resource: { apiVersion: 'apps/v1', kind: 'Deployment', namespace: 'default', name: 'app' },
      replicas: 2,
      placement: { clusterAffinity: { clusterNames: ['member1', 'member2', 'member3'] } },
      ...spec,
    },
  }
}

/** The owner with which Karmada's detector creates a binding: without it, the loop does not move a workload. */
export const OWNED = {
  ownerReferences: [{ apiVersion: 'apps/v1', kind: 'Deployment', name: 'app', uid: 'app-1', controller: true }],
}

/** Any object of the namespace `default`. */
export function makeObject(apiVersion: string, kind: string, name: string, rest: object = {}): K8sObject {
  return { apiVersion, kind, metadata: { name, namespace: 'default' }, ...rest }
}

/** Deployment default/app. The VolumeManagers are those that its pods name. */
export function makeDeployment(metadata: ObjectMeta = {}, volumeManagers: string[] = []): K8sObject {
  const volumes = JSON.stringify(volumeManagers.map((name) => ({ name })))
  const template = {
    metadata: {
      labels: { app: 'app' },
      ...(volumeManagers.length > 0 && { annotations: { [VOLUMES_ANNOTATION]: volumes } }),
    },
    spec: { containers: [{ name: 'main', image: 'registry.example/app' }] },
  }
  const deployment = makeObject('apps/v1', 'Deployment', 'app', { spec: { template } })
  return { ...deployment, metadata: { ...deployment.metadata, ...metadata } }
}

/** The claim of Deployment default/app for the table `sales`. */
export function makeClaim(spec: Partial<DataSourceClaim['spec']> = {}, metadata: ObjectMeta = {}): DataSourceClaim {
  return {
    apiVersion: 'datadependency.volcano.sh/v1alpha1',
    kind: 'DataSourceClaim',
    metadata: { name: 'sales', namespace: 'default', ...metadata },
    spec: {
      system: 'amoro',
      dataSourceType: 'table',
      dataSourceName: 'lake.shop.sales',
      workload: { apiVersion: 'apps/v1', kind: 'Deployment', name: 'app' },
      ...spec,
    },
  }
}

/** A namespace, and the claims that it allows in the words of the annotation. */
export function makeNamespace(name: string, allowsClaimsFrom?: string): K8sObject {
  const annotations = allowsClaimsFrom === undefined ? {} : { [ALLOW_CLAIMS_FROM_ANNOTATION]: allowsClaimsFrom }
  return { apiVersion: 'v1', kind: 'Namespace', metadata: { name, annotations } }
}

/** The claim of namespace `other` for Deployment default/app. */
export function makeForeignClaim(metadata: ObjectMeta = {}): DataSourceClaim {
  const workload = { apiVersion: 'apps/v1', kind: 'Deployment', namespace: 'default', name: 'app' }
  return makeClaim({ workload }, { namespace: 'other', ...metadata })
}

/** The source that answers `makeClaim()`: the data is in member2. */
export function makeSource(
  spec: Partial<DataSource['spec']> = {},
  { status, ...metadata }: ObjectMeta & { status?: DataSource['status'] } = {},
): DataSource {
  return {
    apiVersion: 'datadependency.volcano.sh/v1alpha1',
    kind: 'DataSource',
    metadata: { name: 'amoro-table-lake.shop.sales', ...metadata },
    spec: {
      system: 'amoro',
      type: 'table',
      name: 'lake.shop.sales',
      locality: { clusterNames: ['member2'] },
      ...spec,
    },
    ...(status && { status }),
  }
}

/** The policy that `makeBinding()` comes from. */
export function makePolicy(spec: Partial<PropagationSpec> = {}, metadata: ObjectMeta = {}): PropagationPolicy {
  return {
    apiVersion: 'policy.karmada.io/v1alpha1',
    kind: 'PropagationPolicy',
    metadata: { name: 'app', namespace: 'default', ...metadata },
    spec: {
      resourceSelectors: [{ apiVersion: 'apps/v1', kind: 'Deployment', name: 'app' }],
      placement: { clusterAffinity: { clusterNames: ['member1', 'member2', 'member3'] } },
      ...spec,
    },
  }
}

export function makeCluster(name: string, spec: Cluster['spec'] = {}, labels?: Record<string, string>): Cluster {
  return {
    apiVersion: 'cluster.karmada.io/v1alpha1',
    kind: 'Cluster',
    metadata: { name, ...(labels && { labels }) },
    spec,
  }
}

/** A lookup over these clusters, or over plain ones of these names. */
export function lookup(...clusters: (Cluster | string)[]): ClusterLookup {
  const byName = new Map(
    clusters.map((cluster) =>
      typeof cluster === 'string' ? [cluster, makeCluster(cluster)] : [cluster.metadata.name, cluster],
    ),
  )
  return (name) => byName.get(name)
}

type AnswerOverrides = Partial<ClaimTerms> & { bytes?: number }

/** A claim whose data is in these clusters. */
export function located(clusters: string[], { bytes, ...terms }: AnswerOverrides = {}): ClaimAnswer {
  return { ...defaultTerms, ...terms, answer: { kind: 'located', clusters: [...clusters].sort(), bytes } }
}

/** A claim whose location was never found out. */
export function unknown(terms: Partial<ClaimTerms> = {}): ClaimAnswer {
  return { ...defaultTerms, ...terms, answer: { kind: 'unknown', reason: 'no DataSource yet' } }
}

/** A claim of data that does not exist. */
export function nowhere(terms: Partial<ClaimTerms> = {}): ClaimAnswer {
  return { ...defaultTerms, ...terms, answer: { kind: 'nowhere', reason: 'DataSource sales is Unavailable' } }
}

const defaultTerms: ClaimTerms = {
  claim: 'default/sales',
  enforcement: 'Required',
  onUnresolved: 'Hold',
  onUnsatisfiable: 'Hold',
  rebalance: 'Auto',
  holdTimeoutSeconds: undefined,
}

/** The moment at which tests decide. */
export const NOW = Date.parse('2026-01-02T03:04:05Z')

/** The settings of decisions, by the default configuration. */
export const DEFAULT_DECISIONS: DecisionSettings = {
  clusterScopedClaims: 'forbidden',
  timing: DEFAULT_TIMING,
  kinds: SHIPPED_KINDS,
  matrix: undefined,
}

/** Makes the input of `decideBinding` for a binding that is being created and whose data is in member2. */
export function makeInput(overrides: Partial<BindingInput> = {}): BindingInput {
  return {
    binding: makeBinding(),
    stored: undefined,
    claims: [located(['member2'])],
    policy: undefined,
    clusters: undefined,
    rules: newestRules,
    kinds: SHIPPED_KINDS,
    timing: DEFAULT_TIMING,
    now: NOW,
    ...overrides,
  }
}

export function makePolicyInput(overrides: Partial<PolicyInput> = {}): PolicyInput {
  return { placement: makePolicy().spec.placement ?? {}, lazy: false, requiresClaim: false, ...overrides }
}

/** An S3 volume on one node, as VCK's sample has it. */
export function makeVolume(overrides: Partial<VolumeConfig> = {}): VolumeConfig {
  return {
    id: 'vol1',
    replicas: 1,
    sourceType: 'S3',
    accessMode: 'ReadWriteOnce',
    capacity: '5Gi',
    labels: { key1: 'val1' },
    options: { awsCredentialsSecretName: 'aws-creds', sourceURL: 's3://lake/sales/' },
    ...overrides,
  }
}

/** The VolumeManager default/sales, with these volumes or `makeVolume()`. */
export function makeVolumeManager(
  volumes: Partial<VolumeConfig>[] = [{}],
  {
    state,
    status,
    ...metadata
  }: ObjectMeta & Pick<VolumeManager['spec'], 'state'> & Pick<VolumeManager, 'status'> = {},
): VolumeManager {
  return {
    apiVersion: 'vck.intelai.org/v1alpha1',
    kind: 'VolumeManager',
    metadata: { name: 'sales', namespace: 'default', ...metadata },
    spec: { volumeConfigs: volumes.map(makeVolume), ...(state !== undefined && { state }) },
    ...(status && { status }),
  }
}

/** The pod default/trainer with one container; it asks for volumes in the words of the annotation, and carries the label. */
export function makePod(asks: unknown, spec: Partial<PodSpec> = {}, metadata: ObjectMeta = {}): Pod {
  const annotation = typeof asks === 'string' ? asks : JSON.stringify(asks)
  return {
    apiVersion: 'v1',
    kind: 'Pod',
    metadata: {
      name: 'trainer',
      namespace: 'default',
      labels: { [INJECT_LABEL]: 'true' },
      annotations: { [VOLUMES_ANNOTATION]: annotation },
      ...metadata,
    },
    spec: { containers: [{ name: 'main' }], ...spec },
  }
}

/** Node affinity to the nodes with any of these labels. */
export function nodesWith(...labels: string[]): NodeAffinity {
  const nodeSelectorTerms = labels.map((key) => ({ matchExpressions: [{ key, operator: 'Exists' }] }))
  return { requiredDuringSchedulingIgnoredDuringExecution: { nodeSelectorTerms } }
}

/** The input of admission for a pod that may run on every node. */
export const ANY_NODE = { mayRun: () => true, request: 'r1' }

/** A volume that is ready on the nodes with the label `data/<id>`, at `/var/datasets/<id>`. */
export function makeUsable(id: string, overrides: Partial<UsableVolume> = {}): UsableVolume {
  return {
    id,
    state: 'Ready',
    message: 'success',
    source: { hostPath: { path: `/var/datasets/${id}` } },
    nodeAffinity: nodesWith(`data/${id}`),
    readOnly: false,
    nodes: [],
    shards: () => [],
    ...overrides,
  }
}

/** Finds these VolumeManagers by name. */
export function managers(...views: MountableVolumes[]): VolumeManagerLookup {
  return (name) => views.find((view) => view.name === name)
}

/** The Workload of Job default/train, for which Kueue has reserved quota; it waits for the check `data`. */
export function makeKueueWorkload(
  { conditions = ['QuotaReserved'], checks, volumes, ...rest }: KueueWorkloadFields = {},
  metadata: ObjectMeta = {},
): KueueWorkload {
  const since = '2026-01-02T03:00:00Z'
  const owner = { apiVersion: 'batch/v1', kind: 'Job', name: 'train', uid: 'u1', controller: true }
  const asks = volumes === undefined ? {} : { annotations: { [VOLUMES_ANNOTATION]: volumes } }
  const template = {
    metadata: { labels: { [INJECT_LABEL]: 'true' }, ...asks },
    spec: { containers: [{ name: 'main' }] },
  }
  return {
    apiVersion: 'kueue.x-k8s.io/v1beta2',
    kind: 'Workload',
    metadata: { name: 'job-train', namespace: 'default', ownerReferences: [owner], ...metadata },
    spec: { podSets: [{ name: 'main', template }], ...rest },
    status: {
      conditions: conditions.map((type) => ({
        type,
        status: 'True' as const,
        reason: type,
        message: '',
        lastTransitionTime: since,
      })),
      admissionChecks: checks ?? [{ name: 'data', state: 'Pending', message: '', lastTransitionTime: since }],
    },
  }
}

/** A DaemonSet whose pods request volumes. */
export function makeDaemonSet(volumes: string): K8sObject {
  const template = {
    metadata: { labels: { [INJECT_LABEL]: 'true' }, annotations: { [VOLUMES_ANNOTATION]: volumes } },
    spec: { containers: [{ name: 'main' }] },
  }
  const metadata = { name: 'agent', namespace: 'default' }
  return { apiVersion: 'apps/v1', kind: 'DaemonSet', metadata, spec: { template } } as K8sObject
}

interface KueueWorkloadFields {
  /** The types of the conditions that are True. */
  conditions?: string[]
  checks?: AdmissionCheckState[]
  /** The annotation of its pod template. */
  volumes?: string
  active?: boolean
}

/** The AdmissionCheck `data` of Lodestone. */
export function makeAdmissionCheck(
  spec: Partial<AdmissionCheck['spec']> = {},
  metadata: ObjectMeta = {},
): AdmissionCheck {
  return {
    apiVersion: 'kueue.x-k8s.io/v1beta2',
    kind: 'AdmissionCheck',
    metadata: { name: 'data', generation: 1, ...metadata },
    spec: { controllerName: 'lodestone.dev/data-ready', ...spec },
  }
}

/** A webhook of a registration with every required field. */
export function makeWebhook(clientConfig: WebhookEntry['clientConfig']): WebhookEntry {
  return {
    name: 'resource-binding.lodestone.dev',
    clientConfig,
    rules: [],
    failurePolicy: 'Ignore',
    matchPolicy: 'Equivalent',
    sideEffects: 'None',
    timeoutSeconds: 3,
    admissionReviewVersions: ['v1'],
  }
}

/** The look-ups for an object that is interpreted without a cache. */
export const NOTHING_RELATED: RelatedObjects = {
  servicesFor: () => [],
  relatedTo: () => [],
  ingressesOf: () => [],
  serviceAccount: () => undefined,
  volumeManager: () => undefined,
  claimsOf: () => [],
  memberServes: () => false,
  isNeverPropagated: neverPropagated(),
}
