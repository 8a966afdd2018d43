// Users with a plan: each story leads a workload into one situation, such as a failover and the return from it. The steps between its
// actions, and some actions of other users, are chosen by the seed.
import type { Random } from '../random.ts'
import type { ClusterChange, UserAction, WorldConfig } from './actions.ts'
import type { CatalogAnswer } from './catalogs.ts'
import { CATALOG } from './catalogs.ts'
import { type ApiObject, type Placement, usualKind, volumeTemplates } from './karmada.ts'
import { PREFERENCES } from './prices.ts'
import { CAPACITY } from './schedule.ts'
import { changePrices, chooseTolerations, chooseUserAction, NAMESPACES, sourceOf, WORKLOAD_KINDS } from './users.ts'
import type { World } from './world.ts'

type Story = Generator<UserAction, void, undefined>
type Tell = (world: World, random: Random) => Story

const DATA = 'd1'
// In ms. Longer than the interval at which the data system is queried.
const REFRESH_MS = 125_000
// In ms. Longer than the stabilization window.
const WINDOW_MS = 310_000
const DIVIDED: Placement = {
  replicaScheduling: { replicaSchedulingType: 'Divided', replicaDivisionPreference: 'Aggregated' },
}
const SETTLE: UserAction = { do: 'settle' }
const HEALTHY: ClusterChange = { taints: [], ready: true, kinds: WORKLOAD_KINDS, room: CAPACITY }

const STORIES: readonly Tell[] = [
  failOverAndReturn,
  moveAll,
  moveToUnable,
  loseClaim,
  changeToUnknown,
  waitOnHold,
  preferData,
]

// In a world with prices, users also follow plans about them.
const PRICED_STORIES: readonly Tell[] = [startByCost]

// In a world whose clusters lose room, users also follow plans about that.
const CROWDED_STORIES: readonly Tell[] = [moveToFull]

// In a world whose policies tolerate taints for some seconds, users also follow plans about that.
const TOLERANT_STORIES: readonly Tell[] = [tolerateForAWhile, moveToTolerated]

// In a world with Kueue, users follow plans about their jobs.
const QUEUED_STORIES: readonly Tell[] = [queueForData]

// The chance that a user without a plan begins one, and that the next action is of the plan.
const BEGIN_CHANCE = 0.3
const NEXT_CHANCE = 0.85

// Chooses the actions of all users of a world.
export class Users {
  readonly #stories: readonly Tell[]
  #story: Story | undefined

  constructor({ stories, links, rooms, tolerates, queues }: Partial<WorldConfig>) {
    const begun = [stories && STORIES, links && PRICED_STORIES, rooms && CROWDED_STORIES, tolerates && TOLERANT_STORIES]
    this.#stories = queues ? QUEUED_STORIES : begun.flatMap((tells) => tells || [])
  }

  next(world: World, random: Random): UserAction {
    if (this.#stories.length === 0) return chooseUserAction(world, random)
    if (!this.#story && random.chance(BEGIN_CHANCE)) this.#story = random.pick(this.#stories)(world, random)
    if (this.#story && random.chance(NEXT_CHANCE)) {
      const { value, done } = this.#story.next()
      if (!done) return value
      this.#story = undefined
    }
    return chooseUserAction(world, random)
  }
}

// The data cluster is tainted until the workload runs elsewhere. Then the taint goes, sometimes for a moment only.
function* failOverAndReturn(world: World, random: Random): Story {
  const app = workloadOf(world, random)
  const [home = ''] = yield* deploy(world, random, [app])
  yield { do: 'cluster', name: home, change: { taints: [maintenance(world)] } }
  yield SETTLE
  if (random.chance(0.5)) yield advance(random.pick([40_000, 700_000]))
  for (let flaps = random.below(3); flaps >= 0; flaps--) {
    yield { do: 'cluster', name: home, change: HEALTHY }
    yield SETTLE
    yield advance(random.pick([3000, 10_000, 40_000, WINDOW_MS]))
    yield SETTLE
    if (flaps > 0) yield { do: 'cluster', name: home, change: { taints: [maintenance(world)] } }
  }
  if (random.chance(0.5)) yield { do: 'rest' }
}

// All workloads have the same data, and it moves. Sometimes the leader changes meanwhile.
function* moveAll(world: World, random: Random): Story {
  const kind = usualKind(world.config)
  const apps = NAMESPACES.flatMap((namespace) => ['w1', 'w2'].map((name) => ({ kind, namespace, name })))
  const [, next = ''] = yield* deploy(world, random, apps)
  yield locateIn(next)
  yield advance(REFRESH_MS)
  yield SETTLE
  if (random.chance(0.5)) yield { do: 'restart', what: random.pick(['leader', 'replica']) }
  if (random.chance(0.5)) yield advance(random.pick([3000, 40_000, REFRESH_MS]))
  yield SETTLE
}

// The data moves to a cluster that cannot take the workload: it is cordoned, does not offer the kind, or is deleted.
function* moveToUnable(world: World, random: Random): Story {
  const app = workloadOf(world, random)
  const [, next = ''] = yield* deploy(world, random, [app])
  yield locateIn(next)
  yield advance(REFRESH_MS)
  const changes: UserAction[] = [
    { do: 'cluster', name: next, change: { taints: [{ key: 'maintenance', effect: 'NoSchedule' }] } },
    { do: 'cluster', name: next, change: { kinds: WORKLOAD_KINDS.filter((kind) => kind !== app.kind) } },
    { do: 'leave', name: next },
  ]
  const change = random.pick(changes)
  yield change
  // A deleted cluster is gone when everything has settled.
  yield change.do === 'leave' ? advance(0) : SETTLE
}

// The only claim is deleted. It is created again soon, or late, or not at all.
function* loseClaim(world: World, random: Random): Story {
  const app = workloadOf(world, random)
  yield* deploy(world, random, [app])
  const { metadata, kind } = claimOf(app)
  yield { do: 'delete', kind, namespace: app.namespace, name: metadata.name ?? '', via: random.below(2) }
  yield SETTLE
  for (const ms of [6000, random.pick([500, 5000, 10_000]), random.pick([3000, 10_000])]) {
    yield advance(ms)
    yield SETTLE
  }
  if (random.chance(0.6)) yield apply(random, claimOf(app))
  yield SETTLE
}

// The claim of a running workload names other data, and the data system does not answer.
function* changeToUnknown(world: World, random: Random): Story {
  const app = workloadOf(world, random)
  yield* deploy(world, random, [app])
  yield { do: 'catalog', data: 'd2', answer: { kind: 'failed' } }
  yield apply(random, claimOf(app, {}, 'd2'))
  yield SETTLE
  yield advance(random.pick([3000, 40_000]))
  yield SETTLE
}

// A workload waits for its data until the data appears, or until its hold ends. Sometimes the leader changes meanwhile.
function* waitOnHold(world: World, random: Random): Story {
  const app = workloadOf(world, random)
  const isLimited = random.chance(0.5)
  yield* remove(world, random, app)
  yield SETTLE
  const [home = ''] = yield* prepare(world, random)
  yield { do: 'catalog', data: DATA, answer: { kind: 'nowhere' } }
  yield advance(REFRESH_MS)
  // No answer of a data system makes the loop look again at a claim for data that a user describes.
  const claim = isLimited ? claimOf(app, { holdTimeoutSeconds: 30 }, 'd9', 'manual') : claimOf(app)
  yield* create(world, random, app, claim)
  yield SETTLE
  if (random.chance(0.5)) yield { do: 'restart', what: random.pick(['leader', 'replica']) }
  if (!isLimited) yield locateIn(home)
  yield advance(random.pick([40_000, REFRESH_MS]))
  if (random.chance(0.5)) yield SETTLE
  yield { do: 'rest' }
}

// A workload runs in each cluster of its policy, and gets a preference.
function* preferData(world: World, random: Random): Story {
  const app = workloadOf(world, random)
  const [home = ''] = yield* prepare(world, random)
  yield locateIn(home)
  yield* removeClaims(world, random, app)
  yield advance(REFRESH_MS)
  yield SETTLE
  yield* create(world, random, app)
  yield SETTLE
  yield apply(random, claimOf(app, { enforcement: 'Preferred' }))
  yield SETTLE
  yield advance(random.pick([3000, REFRESH_MS]))
  yield SETTLE
}

// A workload with two pieces of data starts by their cost, and sometimes in a fleet with a full cluster. Then prices change, or data moves.
function* startByCost(world: World, random: Random): Story {
  const app = workloadOf(world, random)
  yield* remove(world, random, app)
  yield SETTLE
  const names = yield* prepare(world, random)
  const sourceIn = (data: string) => apply(random, sourceOf(data, [random.pick(names)]))
  yield* [sourceIn('d1'), sourceIn('d2')]
  if (random.chance(0.3)) yield { do: 'cluster', name: random.pick(names), change: { taints: [maintenance(world)] } }
  const policy = { enforcement: 'Preferred', preference: random.pick(PREFERENCES) }
  for (const [i, data] of ['d1', 'd2'].entries()) {
    const claim = claimOf(app, policy, data, 'manual')
    yield apply(random, { ...claim, metadata: { ...claim.metadata, name: `${app.name}-${i + 1}` } })
  }
  const { spec, ...rest } = policyOf(world, app)
  const clusterNames = names.slice(random.below(2))
  const placement: Placement = { clusterAffinity: { clusterNames }, ...DIVIDED }
  const divided: ApiObject & { spec: object } = { ...rest, spec: { ...spec, placement } }
  yield apply(random, divided)
  yield SETTLE
  yield apply(random, manifestOf(world, app))
  yield SETTLE
  yield random.chance(0.5) ? changePrices(world, random) : sourceIn('d1')
  yield SETTLE
}

// The data of a divided workload moves to a cluster without room. Then the cluster where it still runs fails, and sometimes there is room later.
function* moveToFull(world: World, random: Random): Story {
  const app = workloadOf(world, random)
  const [home = '', next = ''] = yield* prepare(world, random)
  yield locateIn(home)
  yield* removeClaims(world, random, app)
  const { spec, ...rest } = policyOf(world, app)
  const divided: ApiObject & { spec: object } = {
    ...rest,
    spec: { ...spec, placement: { clusterAffinity: { clusterNames: [...world.clusterNames] }, ...DIVIDED } },
  }
  yield* [apply(random, claimOf(app)), apply(random, divided), apply(random, manifestOf(world, app))]
  yield SETTLE
  yield { do: 'cluster', name: next, change: { room: random.below(2) } }
  yield locateIn(next)
  yield advance(REFRESH_MS)
  yield SETTLE
  yield { do: 'cluster', name: home, change: random.chance(0.7) ? { taints: [maintenance(world)] } : { ready: false } }
  yield SETTLE
  if (random.chance(0.5)) yield { do: 'restart', what: random.pick(['leader', 'replica', 'scheduler']) }
  yield advance(random.pick([3000, 40_000, WINDOW_MS]))
  if (random.chance(0.5)) yield { do: 'cluster', name: next, change: { room: CAPACITY } }
  yield { do: 'rest' }
}

// The data cluster gets a taint that the policy tolerates for a while. Sometimes the taint goes before the workload is evicted.
function* tolerateForAWhile(world: World, random: Random): Story {
  const app = workloadOf(world, random)
  const [home = ''] = yield* deploy(world, random, [app])
  yield* tolerate(world, random, app)
  const isLost = random.chance(0.3)
  yield { do: 'cluster', name: home, change: isLost ? { ready: false } : { taints: [maintenance(world)] } }
  yield SETTLE
  for (const ms of [random.pick([20_000, 40_000]), random.pick([40_000, WINDOW_MS])]) {
    yield advance(ms)
    yield SETTLE
    if (random.chance(0.3)) yield { do: 'cluster', name: home, change: HEALTHY }
  }
  if (random.chance(0.5)) yield { do: 'restart', what: random.pick(['leader', 'replica', 'scheduler']) }
  yield { do: 'cluster', name: home, change: HEALTHY }
  yield SETTLE
  yield advance(random.pick([3000, WINDOW_MS]))
  yield { do: 'rest' }
}

// The data moves to a cluster with a taint that the policy tolerates for a while.
function* moveToTolerated(world: World, random: Random): Story {
  const app = workloadOf(world, random)
  const [, next = ''] = yield* deploy(world, random, [app])
  yield* tolerate(world, random, app)
  yield { do: 'cluster', name: next, change: { taints: [maintenance(world)] } }
  yield locateIn(next)
  yield advance(REFRESH_MS)
  yield SETTLE
  yield advance(random.pick([3000, 40_000, WINDOW_MS]))
  if (random.chance(0.5)) yield { do: 'cluster', name: next, change: HEALTHY }
  yield { do: 'rest' }
}

// Gives the policy of a workload tolerations.
function* tolerate(world: World, random: Random, app: App): Story {
  const { spec, ...rest } = policyOf(world, app)
  const clusterTolerations = chooseTolerations(random)
  const placement: Placement = { clusterAffinity: { clusterNames: [...world.clusterNames] }, clusterTolerations }
  const tolerant: ApiObject & { spec: object } = { ...rest, spec: { ...spec, placement } }
  yield apply(random, tolerant)
  yield SETTLE
}

// A Job waits in Kueue for its data. Then the data moves, or Kueue evicts the Job for another one, while no worker has it.
function* queueForData(world: World, random: Random): Story {
  const app = { kind: 'Job', namespace: random.pick(NAMESPACES), name: random.pick(['w1', 'w2']) }
  yield* remove(world, random, app)
  yield SETTLE
  const [home = '', next = ''] = yield* prepare(world, random)
  const answer = random.pick<CatalogAnswer>([{ kind: 'nowhere' }, { kind: 'failed' }, located([home])])
  yield { do: 'catalog', data: DATA, answer }
  yield advance(REFRESH_MS)
  if (random.chance(0.3)) yield { do: 'cluster', name: home, change: { ready: false } }
  const policy = random.pick([{}, {}, { holdTimeoutSeconds: 30 }, { enforcement: 'Preferred' }])
  // No answer of a data system makes the loop look again at a claim for data that a user describes.
  const claim = random.chance(0.3) ? claimOf(app, policy, 'd9', 'manual') : claimOf(app, policy)
  const workload = { apiVersion: 'batch/v1', kind: 'Job', name: app.name }
  const forJob: ApiObject & { spec: object } = { ...claim, spec: { ...claim.spec, workload } }
  const job: ApiObject & { spec: object } = { ...manifestOf(world, app), apiVersion: 'batch/v1' }
  yield* [apply(random, forJob), apply(random, job)]
  if (random.chance(0.7)) yield SETTLE
  yield locateIn(next)
  yield advance(random.pick([40_000, REFRESH_MS]))
  if (random.chance(0.5)) yield { do: 'restart', what: random.pick(['leader', 'replica']) }
  if (random.chance(0.5)) yield { do: 'preempt', key: `${app.namespace}/job-${app.name}` }
  yield SETTLE
  if (random.chance(0.3)) yield advance(WINDOW_MS)
  yield { do: 'rest' }
}

interface App {
  kind: string
  namespace: string
  name: string
}

function workloadOf({ config }: World, random: Random): App {
  return { kind: usualKind(config), namespace: random.pick(NAMESPACES), name: random.pick(['w1', 'w2']) }
}

// Starts workloads with one required claim each, in the first cluster. Returns the names of the clusters.
function* deploy(world: World, random: Random, apps: readonly App[]): Generator<UserAction, string[], undefined> {
  const names = yield* prepare(world, random)
  yield locateIn(names[0] ?? '')
  for (const app of apps) {
    yield* removeClaims(world, random, app)
    yield* create(world, random, app, claimOf(app))
  }
  yield SETTLE
  yield advance(REFRESH_MS)
  yield SETTLE
  return names
}

// Makes all clusters able to take workloads, and serves all CRDs. Returns the names of the clusters, in a random order.
function* prepare(world: World, random: Random): Generator<UserAction, string[], undefined> {
  for (const kind of ['DataSourceClaim', 'DataSource']) {
    if (!world.isCrdServed(kind)) yield* [SETTLE, { do: 'crd', kind, served: true }] satisfies UserAction[]
  }
  for (const name of world.clusterNames) {
    if (!world.api.get('Cluster', undefined, name)) yield { do: 'join', name }
    yield { do: 'cluster', name, change: HEALTHY }
  }
  return random.shuffled(world.clusterNames)
}

function* create(world: World, random: Random, app: App, claim?: ApiObject): Story {
  if (claim) yield apply(random, claim)
  yield apply(random, policyOf(world, app))
  yield apply(random, manifestOf(world, app))
}

function* remove(world: World, random: Random, app: App): Story {
  yield* removeClaims(world, random, app)
  yield { do: 'delete', ...app, via: random.below(2) }
}

// Deletes every claim of a workload. A claim that the story writes later has a name of this list too.
function* removeClaims(world: World, random: Random, { namespace, name }: App): Story {
  for (const { kind, metadata } of world.api.list('DataSourceClaim')) {
    const { namespace: of = '', name: claim = '' } = metadata
    if (claim.startsWith(`${name}-`)) yield { do: 'delete', kind, namespace: of, name: claim, via: random.below(2) }
    else if (of === namespace && claim === name) yield { do: 'delete', kind, namespace, name, via: random.below(2) }
  }
}

function policyOf(world: World, { kind, namespace, name }: App): ApiObject & { spec: object } {
  const placement: Placement = { clusterAffinity: { clusterNames: [...world.clusterNames] } }
  return {
    apiVersion: 'policy.karmada.io/v1alpha1',
    kind: 'PropagationPolicy',
    metadata: { namespace, name: `${name}-${kind.toLowerCase()}` },
    spec: { resourceSelectors: [{ apiVersion: 'apps/v1', kind, name }], placement, propagateDeps: false, priority: 9 },
  }
}

function manifestOf({ config }: World, { kind, namespace, name }: App): ApiObject & { spec: object } {
  const template = { spec: { containers: [{ name: 'main', image: 'registry.example/app' }] } }
  // As other users write a Job: in Karmada, a kind has replicas from the first or never (v1.18.1, pkg/resourceinterpreter/default/native/replica.go).
  const scale = kind === 'Job' ? { parallelism: 1 } : { replicas: 2 }
  return {
    apiVersion: 'apps/v1',
    kind,
    metadata: { namespace, name },
    spec: { ...scale, template, ...volumeTemplates(config, kind) },
  }
}

function claimOf(
  { kind, namespace, name }: App,
  policy: object = {},
  data = DATA,
  system = CATALOG,
): ApiObject & { spec: object } {
  return {
    apiVersion: 'datadependency.volcano.sh/v1alpha1',
    kind: 'DataSourceClaim',
    metadata: { namespace, name: `${name}-1` },
    spec: {
      system,
      dataSourceType: 'table',
      dataSourceName: data,
      workload: { apiVersion: 'apps/v1', kind, name },
      policy,
    },
  }
}

function maintenance({ config }: World) {
  return { key: 'maintenance', effect: config.failover === 'Off' ? ('NoSchedule' as const) : ('NoExecute' as const) }
}

function locateIn(cluster: string): UserAction {
  return { do: 'catalog', data: DATA, answer: located([cluster]) }
}

function located(clusters: string[]): CatalogAnswer {
  return { kind: 'located', clusters }
}

function advance(ms: number): UserAction {
  return { do: 'advance', ms }
}

function apply(random: Random, object: ApiObject): UserAction {
  return { do: 'apply', object, via: random.below(2) }
}
