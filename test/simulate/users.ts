// The users, and the failures of clusters and catalogs. Each function returns one action by value, chosen at random.
import type { Random } from '../random.ts'
import type { UserAction } from './actions.ts'
import { CATALOG } from './catalogs.ts'
import {
  type Affinity,
  type ApiObject,
  type Binding,
  type BindingSpec,
  type Placement,
  type Policy,
  type ReplicaScheduling,
  type Taint,
  type Toleration,
  usualKind,
  volumeTemplates,
} from './karmada.ts'
import { pickWeighted } from './pick.ts'
import { bytesOf, chooseLinks, PREFERENCES } from './prices.ts'
import { CAPACITY } from './schedule.ts'
import type { World } from './world.ts'

export const NAMESPACES = ['a', 'b']
const WORKLOADS = ['w1', 'w2']
const DATA = ['d1', 'd2', 'd3']
export const OUR_CRDS = ['DataSourceClaim', 'DataSource']
const API_VERSIONS: Record<string, string> = { Deployment: 'apps/v1', StatefulSet: 'apps/v1', Job: 'batch/v1' }
export const WORKLOAD_KINDS = Object.keys(API_VERSIONS)
const OURS = ['lodestone.dev/base-affinity', 'lodestone.dev/locality', 'lodestone.dev/hold']
const DATA_GROUP = 'datadependency.volcano.sh/v1alpha1'

type Choose = (world: World, random: Random) => UserAction | undefined

// The relative frequency of each choice.
const CHOICES: readonly [number, Choose][] = [
  [10, applyWorkload],
  [8, applyPolicy],
  [12, chooseClaim],
  [8, applySource],
  [8, changeCatalog],
  [14, changeCluster],
  [3, leaveOrJoin],
  [6, deleteSomething],
  [5, replaceSomething],
  [3, changeGrant],
  [1, changeCrd],
  [2, ruinAnnotation],
  [4, restartSomething],
  [10, (_world, random) => ({ do: 'advance', ms: random.pick([500, 3000, 10_000, 40_000, 120_000, 400_000]) })],
  [3, () => ({ do: 'rest' })],
]

const CHOICES_WITH_PRICES: typeof CHOICES = [...CHOICES, [2, changePrices]]
const ROOM_CHOICE: (typeof CHOICES)[number] = [8, changeRoom]
const TOLERATION_CHOICE: (typeof CHOICES)[number] = [8, tolerateForSeconds]
const REBALANCE_CHOICE: (typeof CHOICES)[number] = [8, rebalanceSomething]
const CLUSTER_POLICY_CHOICES: typeof CHOICES = [
  [8, applyPolicy],
  [4, deleteClusterPolicy],
]
const SUSPEND_CHOICE: (typeof CHOICES)[number] = [8, suspendSomething]
const FAILURE_CHOICES: typeof CHOICES = [
  [8, failSomething],
  [3, purgeSomething],
]
const QUEUE_CHOICES: typeof CHOICES = [
  [8, applyJob],
  [4, preemptSomething],
]

export function chooseUserAction(world: World, random: Random): UserAction {
  for (;;) {
    const { links, rooms, tolerates, queues, scales, fails, suspends, preempts } = world.config
    const always = links ? CHOICES_WITH_PRICES : CHOICES
    const choices = [
      ...always,
      ...(rooms ? [ROOM_CHOICE] : []),
      ...(tolerates ? [TOLERATION_CHOICE] : []),
      ...(queues ? QUEUE_CHOICES : []),
      ...(scales ? [REBALANCE_CHOICE] : []),
      ...(fails ? FAILURE_CHOICES : []),
      ...(suspends ? [SUSPEND_CHOICE] : []),
      ...(preempts ? CLUSTER_POLICY_CHOICES : []),
    ]
    const action = pickWeighted(choices, random)(world, random)
    if (action) return action
  }
}

function applyWorkload(world: World, random: Random): UserAction {
  const present = workloadsOf(world)
  if (present.length > 0 && random.chance(0.6)) {
    const object = random.pick(present)
    const spec = { ...(object as { spec?: object }).spec }
    if (hasComponents(world, object.kind)) Object.assign(spec, chooseComponents(random))
    else if (object.kind !== 'Job') Object.assign(spec, { replicas: (world.config.scales ? 0 : 1) + random.below(4) })
    return apply(random, {
      ...bare(object),
      metadata: { ...bare(object).metadata, labels: { edit: `${random.below(3)}` } },
      spec,
    })
  }
  const usual = usualKind(world.config)
  const kind = random.pick([usual, usual, usual, 'StatefulSet', 'Job'])
  const metadata = { namespace: random.pick(NAMESPACES), name: random.pick(WORKLOADS) }
  const isBestEffort = world.config.scales && random.chance(0.5)
  const template = {
    ...(isBestEffort && { metadata: { labels: { qos: 'best-effort' } } }),
    spec: { containers: [{ name: 'main', image: 'registry.example/app' }] },
  }
  const replicas = hasComponents(world, kind)
    ? chooseComponents(random)
    : kind === 'Job'
      ? { parallelism: 1 }
      : { replicas: 1 + random.below(3) }
  const spec = {
    ...replicas,
    template,
    ...volumeTemplates(world.config, kind),
  }
  return apply(random, { apiVersion: API_VERSIONS[kind] as string, kind, metadata, spec })
}

// A kind has components or replicas (pkg/detector, applyReplicaInterpretation).
function hasComponents({ config }: World, kind: string): boolean {
  return config.components === true && kind === 'StatefulSet'
}

function chooseComponents(random: Random): { components: NonNullable<BindingSpec['components']> } {
  return { components: ['main', 'side'].map((name) => ({ name, replicas: 1 + random.below(3) })) }
}

function applyPolicy(world: World, random: Random): UserAction {
  const usual = usualKind(world.config)
  const kind = random.pick([usual, usual, 'StatefulSet', 'Job'])
  const name = random.pick(WORKLOADS)
  const namespace = random.pick(NAMESPACES)
  const spec = {
    resourceSelectors: [{ apiVersion: API_VERSIONS[kind], kind, ...(random.chance(0.7) && { name }) }],
    placement: choosePlacement(world, random),
    propagateDeps: false,
    ...(random.chance(0.2) && { priority: random.below(3) }),
    ...(random.chance(0.05) && { suspension: { dispatching: true } }),
    ...(world.config.lazy && random.chance(0.6) && { activationPreference: 'Lazy' }),
  }
  const policyName = `${name}-${kind.toLowerCase()}`
  if (!world.config.preempts) return apply(random, policyObject({ namespace, name: policyName }, spec))
  // Two policies, and one of the cluster, for each workload.
  const isOfCluster = random.chance(0.4)
  const metadata = isOfCluster ? { name: policyName } : { namespace, name: `${policyName}-${random.below(2)}` }
  const resourceSelectors = spec.resourceSelectors.map((selector) => ({
    ...selector,
    ...(isOfCluster && random.chance(0.7) && { namespace }),
  }))
  const preemption = random.chance(0.6) && { preemption: 'Always', priority: random.below(3) }
  return apply(random, policyObject(metadata, { ...spec, resourceSelectors, ...preemption }))
}

function policyObject(metadata: ApiObject['metadata'], spec: object): ApiObject & { spec: object } {
  const kind = metadata.namespace === undefined ? 'ClusterPropagationPolicy' : 'PropagationPolicy'
  return { apiVersion: 'policy.karmada.io/v1alpha1', kind, metadata, spec }
}

function deleteClusterPolicy(world: World, random: Random): UserAction | undefined {
  const policies = world.api.list<Policy>('ClusterPropagationPolicy')
  if (policies.length === 0) return undefined
  const { name = '' } = random.pick(policies).metadata
  return { do: 'delete', kind: 'ClusterPropagationPolicy', name, via: random.below(2) }
}

const EXISTS = { operator: 'Exists' } as const
const MAINTENANCE = { key: 'maintenance', ...EXISTS } as const
// Up to 1.14, Karmada's webhook wrote these into every policy, and they stay there (karmada v1.14, pkg/webhook/propagationpolicy).
const DEFAULT_TOLERATIONS: readonly Toleration[] = ['not-ready', 'unreachable'].map((condition) => ({
  key: `cluster.karmada.io/${condition}`,
  ...EXISTS,
  effect: 'NoExecute',
  tolerationSeconds: 300,
}))

export function chooseTolerations(random: Random): Toleration[] {
  const briefly = { ...MAINTENANCE, tolerationSeconds: random.pick([0, 30, 300]) }
  const anyBriefly = { ...EXISTS, tolerationSeconds: random.pick([30, 300]) }
  const lists = [
    [briefly],
    [...DEFAULT_TOLERATIONS],
    [...DEFAULT_TOLERATIONS, briefly],
    [briefly, EXISTS],
    [EXISTS, briefly],
    [MAINTENANCE, anyBriefly],
  ]
  return random.pick(lists)
}

// Karmada reads the first toleration of a taint, so their order differs.
function tolerateForSeconds(world: World, random: Random): UserAction | undefined {
  const [policy] = random.shuffled(world.api.list<Policy>('PropagationPolicy'))
  if (!policy) return undefined
  const placement = { ...policy.spec.placement, clusterTolerations: chooseTolerations(random) }
  const object: ApiObject & { spec: object } = { ...bare(policy), spec: { ...policy.spec, placement } }
  return apply(random, object)
}

export function chooseClaim(world: World, random: Random): UserAction {
  const workload = random.pick(workloadsOf(world).concat(random.chance(0.2) ? [plainWorkload(random)] : []))
  if (!workload) return applyWorkload(world, random)
  const { apiVersion, kind, metadata } = workload
  const namespace = random.chance(0.85) ? metadata.namespace : random.pick(NAMESPACES)
  const isForeign = namespace !== metadata.namespace
  const policy = {
    ...choosePreference(world, random),
    ...(random.chance(0.15) && { onUnresolved: 'Ignore' }),
    ...(random.chance(0.15) && { onUnsatisfiable: 'Ignore' }),
    ...(random.chance(0.2) && { holdTimeoutSeconds: random.pick([30, 120]) }),
    ...(random.chance(0.2) && { rebalance: random.pick(['Always', 'Never']) }),
  }
  return apply(random, {
    apiVersion: DATA_GROUP,
    kind: 'DataSourceClaim',
    metadata: { namespace: namespace ?? '', name: `${metadata.name}-${1 + random.below(2)}` },
    spec: {
      system: random.pick([CATALOG, 'manual']),
      dataSourceType: 'table',
      dataSourceName: random.pick(DATA),
      workload: { apiVersion, kind, name: metadata.name, ...(isForeign && { namespace: metadata.namespace }) },
      policy,
    },
  })
}

function choosePreference({ config }: World, random: Random): object {
  const isPreferred = random.chance(config.links ? 0.7 : 0.25)
  if (!isPreferred) return {}
  return { enforcement: 'Preferred', ...(config.links && { preference: random.pick(PREFERENCES) }) }
}

// A DataSource that a user writes: its system is not configured.
function applySource(world: World, random: Random): UserAction {
  const name = random.pick(DATA)
  const { spec, ...source } = sourceOf(name, someClusters(world, random))
  const { bytes: _bytes, ...locality } = spec.locality
  return apply(random, { ...source, spec: { ...spec, locality: world.config.links ? spec.locality : locality } })
}

function applyJob(_world: World, random: Random): UserAction {
  const metadata = { namespace: random.pick(NAMESPACES), name: random.pick(WORKLOADS) }
  const template = { spec: { containers: [{ name: 'main', image: 'registry.example/app' }] } }
  return apply(random, { apiVersion: 'batch/v1', kind: 'Job', metadata, spec: { parallelism: 1, template } })
}

function preemptSomething(world: World, random: Random): UserAction | undefined {
  const workloads = world.api.list('Workload')
  if (workloads.length === 0) return undefined
  const { namespace, name } = random.pick(workloads).metadata
  return { do: 'preempt', key: `${namespace}/${name}` }
}

function rebalanceSomething(world: World, random: Random): UserAction | undefined {
  const key = anyBinding(world, random)
  return key ? { do: 'rebalance', key, via: random.below(2) } : undefined
}

function failSomething(world: World, random: Random): UserAction | undefined {
  const running = world.api.list<Binding>('ResourceBinding').filter(({ spec }) => spec.clusters?.length)
  if (running.length === 0) return undefined
  const { metadata, spec } = random.pick(running)
  const { name: cluster } = random.pick(spec.clusters ?? [])
  const purgeMode = random.pick(['Gracefully', 'Directly', 'Never'] as const)
  const gracePeriodSeconds = random.pick([30, 600])
  const key = `${metadata.namespace}/${metadata.name}`
  return { do: 'fail', key, cluster, purgeMode, gracePeriodSeconds, via: random.below(2) }
}

function purgeSomething(world: World, random: Random): UserAction | undefined {
  const key = anyBinding(world, random)
  return key ? { do: 'purge', key, via: random.below(2) } : undefined
}

function suspendSomething(world: World, random: Random): UserAction | undefined {
  const key = anyBinding(world, random)
  return key ? { do: 'suspend', key, value: random.chance(0.5), via: random.below(2) } : undefined
}

function anyBinding(world: World, random: Random): string | undefined {
  const bindings = world.api.list<Binding>('ResourceBinding')
  if (bindings.length === 0) return undefined
  const { namespace, name } = random.pick(bindings).metadata
  return `${namespace}/${name}`
}

export function sourceOf(name: string, clusterNames: string[]) {
  return {
    apiVersion: DATA_GROUP,
    kind: 'DataSource',
    metadata: { name: `manual-table-${name}` },
    spec: { system: 'manual', type: 'table', name, locality: { clusterNames, bytes: bytesOf(name) } },
  }
}

export function changePrices(world: World, random: Random): UserAction {
  return { do: 'prices', links: chooseLinks(world.clusterNames, random) }
}

function changeCatalog(world: World, random: Random): UserAction {
  const data = random.pick(DATA)
  const kind = random.pick(['located', 'located', 'located', 'nowhere', 'failed'] as const)
  const answer = kind === 'located' ? { kind, clusters: someClusters(world, random) } : { kind }
  return { do: 'catalog', data, answer }
}

function changeCluster(world: World, random: Random): UserAction {
  const name = random.pick(world.clusterNames)
  const effects = world.config.failover === 'Off' ? (['NoSchedule'] as const) : (['NoSchedule', 'NoExecute'] as const)
  const taint: Taint = { key: 'maintenance', effect: random.pick(effects) }
  switch (random.below(8)) {
    case 0:
    case 1:
    case 2:
      return { do: 'cluster', name, change: { taints: [taint] } }
    case 3:
    case 4:
      return { do: 'cluster', name, change: { taints: [], ready: true, kinds: WORKLOAD_KINDS } }
    case 5:
      return { do: 'cluster', name, change: { ready: random.chance(0.5) } }
    case 6:
      return { do: 'cluster', name, change: { kinds: WORKLOAD_KINDS.filter(() => random.chance(0.7)) } }
    default:
      return { do: 'cluster', name, change: { labels: { tier: random.pick(['core', 'edge']) } } }
  }
}

function changeRoom(world: World, random: Random): UserAction {
  return { do: 'cluster', name: random.pick(world.clusterNames), change: { room: random.pick([0, 0, 1, CAPACITY]) } }
}

function leaveOrJoin(world: World, random: Random): UserAction {
  const name = random.pick(world.clusterNames)
  return world.api.get('Cluster', undefined, name) ? { do: 'leave', name } : { do: 'join', name }
}

function deleteSomething(world: World, random: Random): UserAction | undefined {
  const object = anyObject(world, random)
  if (!object) return undefined
  const { namespace, name = '' } = object.metadata
  return { do: 'delete', kind: object.kind, ...(namespace && { namespace }), name, via: random.below(2) }
}

function replaceSomething(world: World, random: Random): UserAction | undefined {
  const object = anyObject(world, random)
  return object && { do: 'replace', object: bare(object), via: random.below(2) }
}

function changeGrant(_world: World, random: Random): UserAction {
  const [namespace, other] = random.shuffled(NAMESPACES)
  const annotations = random.chance(0.7) ? { 'lodestone.dev/allow-claims-from': other as string } : {}
  return apply(random, { apiVersion: 'v1', kind: 'Namespace', metadata: { name: namespace as string, annotations } })
}

function changeCrd(world: World, random: Random): UserAction {
  const gone = OUR_CRDS.find((kind) => !world.isCrdServed(kind))
  return gone ? { do: 'crd', kind: gone, served: true } : { do: 'crd', kind: random.pick(OUR_CRDS), served: false }
}

function ruinAnnotation(world: World, random: Random): UserAction | undefined {
  const bindings = world.api.list<Binding>('ResourceBinding')
  if (bindings.length === 0) return undefined
  const { metadata } = random.pick(bindings)
  const annotation = random.pick(OURS)
  const value = random.pick([null, 'not JSON', '{}', '{"clusterAffinity":{}}'])
  return { do: 'annotate', key: `${metadata.namespace}/${metadata.name}`, annotation, value, via: random.below(2) }
}

function restartSomething(_world: World, random: Random): UserAction {
  return { do: 'restart', what: random.pick(['detector', 'scheduler', 'leader', 'replica']) }
}

export function choosePlacement(world: World, random: Random): Placement {
  const placement: Placement = random.chance(0.75)
    ? { clusterAffinity: anyAffinity(world, random) }
    : { clusterAffinities: anyGroups(world, random) }
  const scheduling = anyReplicaScheduling(world, random)
  if (scheduling) placement.replicaScheduling = scheduling
  if (random.chance(0.15)) {
    placement.spreadConstraints = [{ spreadByField: 'cluster', minGroups: 1 + random.below(2), maxGroups: 2 }]
  }
  if (world.config.shapes && random.chance(0.2)) placement.spreadConstraints = anyRegions(random)
  if (random.chance(0.1)) placement.clusterTolerations = [{ key: 'maintenance', operator: 'Exists' }]
  return placement
}

function anyGroups(world: World, random: Random) {
  const overflow = () => [{ affinityName: 'spill', ...anyAffinity(world, random) }]
  const names = world.config.shapes ? ['first', 'second', 'third'] : ['first', 'second']
  return names.map((affinityName) => ({
    affinityName,
    ...anyAffinity(world, random),
    ...(random.chance(0.15) && { overflowAffinities: overflow() }),
  }))
}

function anyAffinity(world: World, random: Random): Affinity {
  if (random.chance(0.1)) return { labelSelector: { matchLabels: { tier: random.pick(['core', 'edge']) } } }
  if (random.chance(0.1)) return { exclude: [random.pick(world.clusterNames)] }
  if (random.chance(0.3)) return { clusterNames: [...world.clusterNames] }
  return { clusterNames: random.shuffled(world.clusterNames).slice(0, 1 + random.below(3)) }
}

// Karmada's webhook demands a constraint of clusters beside one of regions (pkg/util/validation, validateSpreadConstraint).
function anyRegions(random: Random): NonNullable<Placement['spreadConstraints']> {
  const minGroups = 1 + random.below(2)
  return [
    { spreadByField: 'region', minGroups, maxGroups: minGroups + random.below(3 - minGroups) },
    { spreadByField: 'cluster', minGroups, maxGroups: minGroups + random.below(2) },
  ]
}

// Some clusters have no weight.
function anyWeights(world: World, random: Random): ReplicaScheduling {
  const clusters = random.shuffled(world.clusterNames).slice(0, 1 + random.below(3))
  const ofTier = { targetCluster: { labelSelector: { matchLabels: { tier: 'core' } } }, weight: 1 }
  const staticWeightList = clusters.map((name) => ({
    targetCluster: { clusterNames: [name] },
    weight: 1 + random.below(3),
  }))
  return {
    replicaSchedulingType: 'Divided',
    replicaDivisionPreference: 'Weighted',
    weightPreference: { staticWeightList: random.chance(0.2) ? [...staticWeightList, ofTier] : staticWeightList },
  }
}

function anyReplicaScheduling(world: World, random: Random): ReplicaScheduling | undefined {
  if (world.config.shapes && random.chance(0.4)) return anyWeights(world, random)
  return random.pick<ReplicaScheduling | undefined>([
    undefined,
    { replicaSchedulingType: 'Duplicated' },
    { replicaSchedulingType: 'Divided', replicaDivisionPreference: 'Weighted' },
    { replicaSchedulingType: 'Divided', replicaDivisionPreference: 'Aggregated' },
    {
      replicaSchedulingType: 'Divided',
      replicaDivisionPreference: 'Weighted',
      weightPreference: { dynamicWeight: 'AvailableReplicas' },
    },
  ])
}

export function someClusters(world: World, random: Random): string[] {
  return random
    .shuffled(world.clusterNames)
    .slice(0, random.pick([1, 1, 1, 2]))
    .sort()
}

function anyObject(world: World, random: Random): ApiObject | undefined {
  const kind = random.pick(['DataSourceClaim', 'DataSourceClaim', 'PropagationPolicy', 'DataSource', 'workload'])
  const objects = kind === 'workload' ? workloadsOf(world) : world.api.list(kind)
  return objects.length > 0 ? random.pick(objects) : undefined
}

function workloadsOf(world: World): ApiObject[] {
  return WORKLOAD_KINDS.flatMap((kind) => world.api.list(kind))
}

function plainWorkload(random: Random): ApiObject {
  const metadata = { namespace: random.pick(NAMESPACES), name: random.pick(WORKLOADS) }
  return { apiVersion: 'apps/v1', kind: 'Deployment', metadata }
}

function apply(random: Random, object: ApiObject & { spec?: unknown }): UserAction {
  return { do: 'apply', object, via: random.below(2) }
}

// The manifest of an object, without what the API server adds.
function bare(object: ApiObject): ApiObject {
  const { status: _status, ...rest } = object as ApiObject & { status?: unknown }
  const { namespace, name = '', annotations, labels } = object.metadata
  const metadata = {
    ...(namespace && { namespace }),
    name,
    ...(annotations && { annotations }),
    ...(labels && { labels }),
  }
  return { ...rest, metadata }
}
