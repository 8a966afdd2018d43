/**
 * A hub with a seed, for tests and measurements. It has clusters with regions and taints, sources, claims, policies and bindings. The
 * production decision itself gave the bindings their states. Object i is made from the seed and i alone, so that a million of them need no memory.
 */
import { type DataSource, dataSources } from '../../src/api/data-source.ts'
import { type ClaimPolicy, type DataSourceClaim, dataSourceClaims } from '../../src/api/data-source-claim.ts'
import {
  BINDING_ID_LABEL,
  type Cluster,
  clusters,
  type Placement,
  type PropagationPolicy,
  propagationPolicies,
  type ResourceBinding,
  resourceBindings,
} from '../../src/api/karmada.ts'
import { REQUIRES_CLAIM_ANNOTATION } from '../../src/api/lodestone.ts'
import { apiVersionOf, type K8sObject, type ObjectMeta, type ResourceType } from '../../src/api/meta.ts'
import { namespaces } from '../../src/api/namespace.ts'
import { volumeManagers } from '../../src/api/volume-manager.ts'
import { locateClaim } from '../../src/core/data-source/locate.ts'
import { queryOfClaim } from '../../src/core/data-source-claim/keys.ts'
import { dependedByLabel } from '../../src/core/dependencies/names.ts'
import { newestRules } from '../../src/core/karmada-rules.ts'
import { schedulingRefusal } from '../../src/core/placement/acceptance.ts'
import { effectiveAffinity } from '../../src/core/placement/affinity.ts'
import { isSuspended } from '../../src/core/placement/binding-state.ts'
import { placementFilter } from '../../src/core/placement/placement-filter.ts'
import { decideBinding } from '../../src/core/resource-binding/decide.ts'
import { bindingName } from '../../src/core/resource-binding/derive.ts'
import { policyInputOf } from '../../src/core/resource-binding/input.ts'
import { nameOfSource } from '../../src/store/kinds/query-key.ts'
import {
  makeBinding,
  makeClaim,
  makeCluster,
  makeDeployment,
  makeInput,
  makeNamespace,
  makePolicy,
  makeVolumeManager,
  NOW,
} from '../builders.ts'
import { type Random, randomFrom } from '../random.ts'

export interface FleetSize {
  clusters: number
  sources: number
  /** Each has a workload and usually one claim. */
  bindings: number
  /** Whether clusters serve VolumeManagers, and some workloads use them. Then the workloads matter. Default: true. */
  volumes?: boolean
}

/** An object as the API server has it. */
export interface FleetObject {
  type: ResourceType
  object: K8sObject
}

const REGIONS = ['eu-central', 'eu-west', 'us-east', 'us-west', 'ap-south', 'ap-east']
/** The workloads of a namespace. */
const PER_NAMESPACE = 200
const POLICIES_PER_NAMESPACE = 4
const DEPLOYMENTS: ResourceType = {
  group: 'apps',
  version: 'v1',
  kind: 'Deployment',
  plural: 'deployments',
  namespaced: true,
}
const BOUND = [
  {
    type: 'Bound',
    status: 'True',
    reason: 'Bound',
    message: 'the claim is bound',
    lastTransitionTime: new Date(NOW).toISOString(),
    observedGeneration: 1,
  },
] as const

export class Fleet {
  readonly size: FleetSize
  readonly clusters: ReadonlyMap<string, Cluster>
  readonly #seed: number
  readonly #clusterNames: readonly string[]
  /** They are few, and each binding needs one. */
  readonly #policies = new Map<number, PropagationPolicy>()

  constructor(seed: number, size: FleetSize) {
    this.#seed = seed
    this.size = size
    this.#clusterNames = Array.from({ length: size.clusters }, (_, i) => `m${i}`)
    this.clusters = new Map(this.#clusterNames.map((name, i) => [name, this.#cluster(name, i)]))
  }

  /** All objects, kind by kind. */
  *objects(): Generator<FleetObject> {
    for (const type of [namespaces, clusters, propagationPolicies, dataSources, dataSourceClaims])
      yield* this.ofType(type)
    for (const type of [resourceBindings, DEPLOYMENTS, volumeManagers]) yield* this.ofType(type)
  }

  *ofType(type: ResourceType): Generator<FleetObject> {
    for (const object of this.#list(type.kind)) yield { type, object }
  }

  *#list(kind: string): Generator<K8sObject> {
    const { sources, bindings } = this.size
    const spaces = Math.ceil(bindings / PER_NAMESPACE)
    if (kind === clusters.kind) yield* this.clusters.values()
    if (kind === namespaces.kind) for (let i = 0; i < spaces; i++) yield this.#namespace(i)
    if (kind === propagationPolicies.kind)
      for (let i = 0; i < spaces * POLICIES_PER_NAMESPACE; i++) yield this.policy(i)
    if (kind === dataSources.kind) for (let i = 0; i < sources; i++) yield this.source(i)
    for (let i = 0; i < bindings; i++) {
      if (kind === dataSourceClaims.kind) yield* this.claims(i)
      if (kind === DEPLOYMENTS.kind) yield this.#workload(i)
      if (kind === volumeManagers.kind && this.#usesVolume(i)) yield this.#volume(i)
      if (kind === resourceBindings.kind) yield* this.#bindings(i)
    }
  }

  /** The random choices of an object. */
  #random(kind: number, i: number): Random {
    return randomFrom(
      Math.imul(this.#seed + 1, 0x9e3779b1) ^ Math.imul(kind, 0x85ebca6b) ^ Math.imul(i + 1, 0xc2b2ae35),
    )
  }

  #cluster(name: string, i: number): Cluster {
    const random = this.#random(1, i)
    const region = REGIONS[i % REGIONS.length] as string
    const cluster = makeCluster(
      name,
      {
        provider: random.pick(['alpha', 'beta']),
        region,
        zones: [`${region}-${random.below(3)}`],
        ...(random.chance(0.05) && {
          taints: [{ key: 'maintenance', effect: random.pick(['NoSchedule', 'NoExecute']) }],
        }),
      },
      { tier: random.pick(['gold', 'silver']), gpu: `${random.chance(0.3)}`, 'cost-center': `unused-${i}` },
    )
    const volumeApi = { groupVersion: apiVersionOf(volumeManagers), resources: [{ kind: volumeManagers.kind }] }
    const apis = [
      { groupVersion: 'apps/v1', resources: [{ kind: 'Deployment' }] },
      { groupVersion: 'v1', resources: [{ kind: 'ConfigMap' }] },
      ...(this.size.volumes === false ? [] : [volumeApi]),
    ]
    const complete = { type: 'CompleteAPIEnablements', status: 'True', reason: 'Complete', message: '' } as const
    const conditions = [{ ...complete, lastTransitionTime: new Date(NOW).toISOString() }]
    return { ...cluster, status: { apiEnablements: random.chance(0.97) ? apis : apis.slice(1), conditions } }
  }

  /** Some namespaces allow the claims of the one before them. */
  #namespace(i: number): K8sObject {
    return makeNamespace(space(i), i % 3 === 1 ? space(i - 1) : i % 17 === 3 ? 'not/valid' : undefined)
  }

  policy(i: number): PropagationPolicy {
    const policy = this.#policies.get(i) ?? this.#policy(i)
    this.#policies.set(i, policy)
    return policy
  }

  #policy(i: number): PropagationPolicy {
    const random = this.#random(2, i)
    const namespace = space(Math.floor(i / POLICIES_PER_NAMESPACE))
    const labels = { team: `team-of-${namespace}`, part: `part-${i % POLICIES_PER_NAMESPACE}` }
    return makePolicy(
      {
        resourceSelectors: [{ apiVersion: 'apps/v1', kind: 'Deployment', labelSelector: { matchLabels: labels } }],
        placement: this.#placement(random),
        ...(i % 10 === 3 && { propagateDeps: true }),
        ...(random.chance(0.1) && { activationPreference: 'Lazy' }),
      },
      {
        name: `policy-${i}`,
        namespace,
        annotations: random.chance(0.1) ? { [REQUIRES_CLAIM_ANNOTATION]: 'true' } : {},
      },
    )
  }

  /** Policies have one of some hundred placements. */
  #placement({ below }: Random): Placement {
    const random = this.#random(7, below(200))
    const names = (count: number) => this.#clustersIn(random, count)
    const region = random.pick(REGIONS)
    const tolerations = random.chance(0.3) && {
      clusterTolerations: [{ key: 'maintenance', operator: 'Exists' as const }],
    }
    const field = [{ key: 'region', operator: 'In', values: [region] }]
    const affinity: Placement = random.pick<() => Placement>([
      () => ({}),
      () => ({ clusterAffinity: { clusterNames: names(10 + random.below(30)) } }),
      () => ({ clusterAffinity: { labelSelector: { matchLabels: { tier: 'gold' } } } }),
      () => ({ clusterAffinity: { fieldSelector: { matchExpressions: field }, exclude: names(1) } }),
      () => ({
        clusterAffinities: [
          { affinityName: 'first', clusterNames: names(12) },
          {
            affinityName: 'second',
            labelSelector: { matchExpressions: [{ key: 'gpu', operator: 'In', values: ['true'] }] },
          },
        ],
      }),
    ])()
    return { ...affinity, ...tolerations }
  }

  /** So many clusters, half of them in one region. */
  #clustersIn(random: Random, count: number): string[] {
    const region = random.below(REGIONS.length)
    const names = Array.from({ length: count }, (_, i) => {
      const any = random.below(this.#clusterNames.length)
      const cluster = i % 2 === 0 ? any - (any % REGIONS.length) + region : any
      return this.#clusterNames[cluster % this.#clusterNames.length] as string
    })
    return [...new Set(names)]
  }

  source(i: number): DataSource {
    const random = this.#random(3, i)
    const spec = { ...this.#query(i) }
    const state = random.next()
    // A data system maps a location to clusters, and has fewer locations than tables.
    const location = this.#random(8, random.below(300))
    const clusterNames = this.#clustersIn(location, 1 + location.below(8))
    const locality =
      state < 0.04
        ? undefined
        : {
            clusterNames: state < 0.06 ? [] : clusterNames,
            location: `s3://bucket-of-${tableOf(i)}/data`,
            bytes: 1_000_000 + random.below(1_000_000_000),
          }
    const message = `table ${tableOf(i)} was not found`
    const at = new Date(NOW - random.below(86_400_000)).toISOString()
    return {
      apiVersion: apiVersionOf(dataSources),
      kind: dataSources.kind,
      metadata: { name: nameOfSource(spec), uid: `uid-of-source-${i}`, generation: 2, resourceVersion: `${i + 7}` },
      spec: { ...spec, ...(locality && { locality }) },
      status: {
        phase: state > 0.97 ? 'Unavailable' : 'Available',
        lastResolvedTime: at,
        claimRefs: [{ namespace: space(0), name: claimName(i, 0) }],
        ...(state > 0.97 && {
          conditions: [{ type: 'Ready', status: 'False', reason: 'Unavailable', message, lastTransitionTime: at }],
        }),
      },
    }
  }

  #query(i: number): DataSource['spec'] {
    const attributes = i % 10 === 0 ? { attributes: { catalog: `catalog-of-${tableOf(i)}` } } : {}
    return { system: 'amoro', type: 'table', name: tableOf(i), ...attributes }
  }

  /** The claims for workload i: usually one. */
  claims(i: number): DataSourceClaim[] {
    const random = this.#random(4, i)
    const state = random.next()
    const count = state < 0.03 ? 0 : state > 0.95 ? 2 : 1
    return Array.from({ length: count }, (_, each) => this.#claim(i, each, random))
  }

  #claim(i: number, each: number, random: Random): DataSourceClaim {
    const source = random.below(Math.ceil(this.size.sources * 1.01))
    const { type, name, ...rest } = this.#query(source)
    const index = Math.floor(i / PER_NAMESPACE)
    // A neighbor names some workloads; only some namespaces allow that.
    const isForeign = index > 0 && random.chance(0.02)
    const policy: ClaimPolicy = {
      ...(random.chance(0.2) && { enforcement: 'Preferred' as const }),
      ...(random.chance(0.1) && { onUnresolved: 'Ignore' as const }),
      ...(random.chance(0.1) && { onUnsatisfiable: 'Ignore' as const }),
      ...(random.chance(0.1) && { rebalance: random.pick(['Always', 'Never'] as const) }),
      ...(random.chance(0.1) && { maxStalenessSeconds: 3600 }),
      ...(random.chance(0.1) && { holdTimeoutSeconds: 600 }),
    }
    const workload = { apiVersion: 'apps/v1', kind: 'Deployment', name: workloadName(i) }
    const claim = makeClaim(
      {
        ...rest,
        dataSourceType: type,
        dataSourceName: name,
        workload: isForeign ? { ...workload, namespace: space(index) } : workload,
        ...(Object.keys(policy).length > 0 && { policy }),
      },
      {
        name: claimName(i, each),
        namespace: space(isForeign ? index - 1 : index),
        uid: `uid-of-claim-${i}-${each}`,
        generation: 1,
        resourceVersion: `${i + 7}`,
        ...(random.chance(0.01) && { deletionTimestamp: new Date(NOW - random.below(10_000)).toISOString() }),
      },
    )
    const isResolved = source < this.size.sources
    if (!isResolved) return { ...claim, status: { phase: 'Pending' } }
    return {
      ...claim,
      status: { phase: 'Bound', boundDataSource: nameOfSource(queryOfClaim(claim)), conditions: [...BOUND] },
    }
  }

  #workload(i: number): K8sObject {
    const namespace = space(Math.floor(i / PER_NAMESPACE))
    return makeDeployment(
      {
        name: workloadName(i),
        namespace,
        uid: `uid-of-workload-${i}`,
        resourceVersion: `${i + 7}`,
        labels: { team: `team-of-${namespace}`, part: `part-${policyOf(i) % POLICIES_PER_NAMESPACE}` },
      },
      this.#usesVolume(i) ? [volumeName(i)] : [],
    )
  }

  #usesVolume(i: number): boolean {
    return this.size.volumes !== false && i % 50 === 7
  }

  #volume(i: number): K8sObject {
    return makeVolumeManager([{ id: `id-${volumeName(i)}` }], {
      name: volumeName(i),
      namespace: space(Math.floor(i / PER_NAMESPACE)),
      ...(i % 100 === 7 && { state: 'Running' }),
    })
  }

  /** The binding of workload i, with those of its dependencies. */
  *#bindings(i: number): Generator<ResourceBinding> {
    const binding = this.binding(i)
    yield binding
    const { namespace = '', name = '' } = binding.metadata
    if (this.#usesVolume(i)) yield this.#volumeBinding(i, namespace)
    if (!binding.spec.propagateDeps) return
    const settings = { apiVersion: 'v1', kind: 'ConfigMap', namespace, name: `settings-of-${workloadName(i)}` }
    const { placement: _none, replicas: _no, ...rest } = makeBinding({ resource: settings }).spec
    yield {
      ...makeBinding(),
      metadata: {
        name: bindingName('ConfigMap', settings.name),
        namespace,
        labels: { [dependedByLabel({ namespace, name })]: idOf(i) },
        ownerReferences: [{ apiVersion: 'v1', kind: 'ConfigMap', name: settings.name, uid: `uid-of-settings-${i}` }],
      },
      spec: { ...rest, requiredBy: [{ namespace, name, clusters: binding.spec.clusters ?? [] }] },
    }
  }

  #volumeBinding(i: number, namespace: string): ResourceBinding {
    const resource = {
      apiVersion: apiVersionOf(volumeManagers),
      kind: volumeManagers.kind,
      namespace,
      name: volumeName(i),
    }
    const clusterName = this.#random(6, i).pick(this.#clusterNames)
    const message = `${volumeName(i)} is ready`
    const { replicas: _none, ...spec } = makeBinding({ resource, clusters: [{ name: clusterName }] }).spec
    return {
      ...makeBinding({}, { name: bindingName(resource.kind, resource.name), namespace }),
      spec,
      status: {
        aggregatedStatus: [
          { clusterName, applied: true, status: { state: 'Running', message, volumes: [{ bytes: i }] } },
        ],
      },
    }
  }

  /** The binding of workload i, as the production decision and a scheduler leave it. */
  binding(i: number): ResourceBinding {
    const random = this.#random(5, i)
    const index = Math.floor(i / PER_NAMESPACE)
    const policy = this.policy(policyOf(i))
    const metadata: ObjectMeta = {
      name: bindingName('Deployment', workloadName(i)),
      namespace: space(index),
      uid: `uid-of-binding-${i}`,
      resourceVersion: `${i + 7}`,
      labels: { [BINDING_ID_LABEL]: idOf(i) },
      annotations: {
        'propagationpolicy.karmada.io/namespace': policy.metadata.namespace ?? '',
        'propagationpolicy.karmada.io/name': policy.metadata.name ?? '',
      },
    }
    const created = makeBinding(
      {
        resource: {
          apiVersion: 'apps/v1',
          kind: 'Deployment',
          namespace: space(index),
          name: workloadName(i),
          uid: `uid-of-workload-${i}`,
        },
        replicas: 1 + random.below(3),
        placement: policy.spec.placement ?? {},
        ...(policy.spec.propagateDeps && { propagateDeps: true }),
      },
      metadata,
    )
    const admitted = this.#decide(created, undefined, policy, i, NOW - 3_600_000)
    // Some were never reconciled after their creation, and some claims appeared later.
    const scheduled = this.#schedule(random.chance(0.1) ? created : admitted, random)
    return random.chance(0.1) ? scheduled : this.#decide(scheduled, scheduled, policy, i, NOW - 60_000)
  }

  #decide(
    binding: ResourceBinding,
    stored: ResourceBinding | undefined,
    policy: PropagationPolicy,
    i: number,
    now: number,
  ): ResourceBinding {
    const claims = this.claims(i).map((claim) => locateClaim(claim, this.#sourceOf(claim), now))
    const lookup = (name: string) => this.clusters.get(name)
    const input = { stored, claims, policy: policyInputOf(policy), clusters: lookup, now }
    return decideBinding(makeInput({ binding, ...input })).binding
  }

  #sourceOf({ spec }: DataSourceClaim): DataSource | undefined {
    const i = Number(spec.dataSourceName.split('_').at(-1))
    return i < this.size.sources ? this.source(i) : undefined
  }

  /** Chooses one or two of the clusters that the scheduler would accept; none for a binding on hold. */
  #schedule(binding: ResourceBinding, random: Random): ResourceBinding {
    if (isSuspended(binding.spec) || random.chance(0.03)) return binding
    const lookup = (name: string) => this.clusters.get(name)
    const { allows } = placementFilter(effectiveAffinity(binding.spec.placement), lookup, true, newestRules)
    const refusal = schedulingRefusal(binding.spec, lookup)
    const start = random.below(this.#clusterNames.length)
    const fitting: string[] = []
    for (let step = 0; step < this.#clusterNames.length && fitting.length < 2; step++) {
      const name = this.#clusterNames[(start + step) % this.#clusterNames.length] as string
      if (allows(name) && refusal(name) === undefined) fitting.push(name)
    }
    if (fitting.length === 0) return binding
    return {
      ...binding,
      spec: { ...binding.spec, clusters: fitting.map((name) => ({ name, replicas: 1 })) },
      status: { lastScheduledTime: new Date(NOW - 3_000_000 - random.below(300_000_000)).toISOString() },
    }
  }
}

function policyOf(i: number): number {
  return Math.floor(i / PER_NAMESPACE) * POLICIES_PER_NAMESPACE + (i % POLICIES_PER_NAMESPACE)
}

/** The names have no part that a cluster, a kind or a pseudonym has. */
function space(i: number): string {
  return `tenant-${i}-prod`
}

function workloadName(i: number): string {
  return `workload-${i}-main`
}

function claimName(i: number, each: number): string {
  return `claim-${i}-of-data-${each}`
}

function volumeName(i: number): string {
  return `volume-${i}-set`
}

function tableOf(i: number): string {
  return `lake.shop_${i % 100}.orders_${i}`
}

function idOf(i: number): string {
  return `id-of-binding-${i}`
}
