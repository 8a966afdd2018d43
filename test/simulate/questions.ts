// Questions to `what-if`, asked before an action in a world at rest. Afterwards, what was said is compared with what happened.
import { type DataSource, dataSources } from '../../src/api/data-source.ts'
import { type DataSourceClaim, dataSourceClaims } from '../../src/api/data-source-claim.ts'
import { type Cluster, clusters, propagationPolicies } from '../../src/api/karmada.ts'
import type { K8sObject, ResourceType } from '../../src/api/meta.ts'
import type { Taint } from '../../src/api/node.ts'
import { defined } from '../../src/base/json.ts'
import { newestRules } from '../../src/core/karmada-rules.ts'
import { DIVIDED_REPLICAS } from '../../src/core/resource-binding/narrow-to-fit.ts'
import { DEFAULT_TIMING, FAILBACK_WINDOW } from '../../src/core/resource-binding/timing.ts'
import type { Effect } from '../../src/core/what-if/effect.ts'
import { leaveCluster, loseCluster, moveData } from '../../src/core/what-if/suppose.ts'
import { SHIPPED_KINDS } from '../../src/core/workload-kinds/kinds.ts'
import { openFleet } from '../../src/queries/what-if/ask.ts'
import type { WorkloadChange } from '../../src/queries/what-if/workload-change.ts'
import { allKinds } from '../../src/store/kinds/cached-kinds.ts'
import { OverlayStore } from '../../src/store/overlay-store.ts'
import type { ObjectStore, StoreChange } from '../../src/store/store.ts'
import type { Random } from '../random.ts'
import type { AskedAction } from './actions.ts'
import { keyOf } from './api-server.ts'
import { CATALOG } from './catalogs.ts'
import { bindingNameOf, policyNameOf } from './detector.ts'
import { type Binding, namesOf } from './karmada.ts'
import { bytesOf } from './prices.ts'
import { chooseClaim, choosePlacement, someClusters } from './users.ts'
import { Violation } from './violation.ts'
import type { World } from './world.ts'

// An action whose effect is asked about first; undefined if the chosen one is not possible.
export function chooseQuestion(world: World, random: Random): AskedAction | undefined {
  const choose = random.pick([loseAny, taintAny, untaintAny, leaveAny, moveAny, changePolicy, addClaim, deleteAny])
  return choose(world, random)
}

function loseAny(world: World, random: Random): AskedAction | undefined {
  return world.config.failover === 'Off'
    ? undefined
    : { do: 'cluster', name: random.pick(world.clusterNames), change: { ready: false } }
}

function taintAny(world: World, random: Random): AskedAction {
  const effect = world.config.failover === 'Off' ? 'NoSchedule' : random.pick(['NoSchedule', 'NoExecute'] as const)
  return { do: 'cluster', name: random.pick(world.clusterNames), change: { taints: [{ key: 'maintenance', effect }] } }
}

function untaintAny(world: World, random: Random): AskedAction {
  return { do: 'cluster', name: random.pick(world.clusterNames), change: { taints: [], ready: true } }
}

function leaveAny(world: World, random: Random): AskedAction | undefined {
  const present = world.api.list('Cluster')
  return present.length > 1 ? { do: 'leave', name: random.pick(present).metadata.name ?? '' } : undefined
}

// The loop of sources asks the catalog again within its interval.
function moveAny(world: World, random: Random): AskedAction | undefined {
  const known = world.api.list<K8sObject & DataSource>('DataSource').filter(({ spec }) => spec.system === CATALOG)
  if (known.length === 0) return undefined
  return {
    do: 'catalog',
    data: random.pick(known).spec.name,
    answer: { kind: 'located', clusters: someClusters(world, random) },
  }
}

function changePolicy(world: World, random: Random): AskedAction | undefined {
  const [policy] = random.shuffled(world.api.list<K8sObject & { spec: object }>('PropagationPolicy'))
  if (!policy) return undefined
  const { apiVersion, kind, metadata, spec } = policy
  const { namespace = '', name = '' } = metadata
  const object = {
    apiVersion,
    kind,
    metadata: { namespace, name },
    spec: { ...spec, placement: choosePlacement(world, random) },
  }
  return { do: 'apply', object, via: random.below(2) }
}

// Without a source, the location of a claim is not known. One that no claim refers to is not kept current.
function addClaim(world: World, random: Random): AskedAction | undefined {
  const action = chooseClaim(world, random)
  if (action.do !== 'apply' || action.object.kind !== 'DataSourceClaim') return undefined
  const { system, dataSourceName } = (action.object as K8sObject as DataSourceClaim).spec
  const sources = world.api.list<K8sObject & DataSource>('DataSource')
  return sources.some(
    ({ spec, status }) => spec.system === system && spec.name === dataSourceName && status?.boundClaims,
  )
    ? action
    : undefined
}

function deleteAny(world: World, random: Random): AskedAction | undefined {
  const [object] = random.shuffled(world.api.list(random.pick(['DataSourceClaim', 'PropagationPolicy', 'Deployment'])))
  if (!object) return undefined
  const { namespace = '', name = '' } = object.metadata
  return { do: 'delete', kind: object.kind, namespace, name, via: random.below(2) }
}

export interface Asked {
  // The clusters of each binding before the action, without those that the scheduler has overlooked.
  before: ReadonlyMap<string, readonly string[]>
  changes: ReadonlyMap<string, WorkloadChange>
}

// Asks what an action does. The present state is that of the leader's cache.
export async function ask(world: World, action: AskedAction): Promise<Asked> {
  const { replica } = world.leader
  const store: ObjectStore = replica
  const settings = {
    matrix: replica.matrix,
    now: world.clock.now(),
    clusterScopedClaims: 'forbidden',
    timing: DEFAULT_TIMING,
    kinds: SHIPPED_KINDS,
    karmadaRules: newestRules,
  } as const
  const overlay = new OverlayStore(store, allKinds(SHIPPED_KINDS))
  const question = { store: overlay, changes: suppose(world, action, overlay) }
  const fleet = await openFleet(store, settings)
  const answer = await fleet.ask(question)
  const all = await fleet.ask(question, { decidesAll: true })
  if (JSON.stringify(answer.changes) !== JSON.stringify(all.changes))
    throw new Violation(
      'what-if-index',
      `the index gives ${describe(answer.changes)}; all bindings give ${describe(all.changes)}`,
    )
  return {
    before: new Map([...clustersOfBindings(world)].filter(([, names]) => !isOverlooked(world, names))),
    changes: new Map(answer.changes.map((change) => [bindingKey(change), change])),
  }
}

// Whether a workload at rest runs in a cluster that is being deleted: one of an overflow tier. The scheduler compares a changed cluster with the
// group alone (event_handler.go, enqueueAffectedBindings), and moves the workload after any other change.
function isOverlooked(world: World, names: readonly string[] = []): boolean {
  return names.some((name) => world.api.get('Cluster', undefined, name)?.metadata.deletionTimestamp !== undefined)
}

function describe(changes: readonly WorkloadChange[]): string {
  return changes.map((change) => `${bindingKey(change)} ${change.effect}`).join(', ') || 'none'
}

function bindingKey({ workload }: WorkloadChange): string {
  return keyOf(workload.namespace, bindingNameOf(workload.kind, workload.name))
}

function suppose(world: World, action: AskedAction, overlay: OverlayStore): StoreChange[] {
  switch (action.do) {
    case 'cluster': {
      const cluster = overlay.get(clusters, undefined, action.name)
      // Karmada does not look any more at a cluster that is being deleted.
      if (!cluster || cluster.metadata.deletionTimestamp) return []
      return [overlay.put(clusters, changedCluster(cluster, action.change))]
    }
    case 'leave': {
      const cluster = overlay.get(clusters, undefined, action.name)
      return cluster ? [overlay.put(clusters, leaveCluster(cluster, world.clock.now()))] : []
    }
    case 'catalog': {
      const { data, answer } = action
      const sources = [...overlay.list(dataSources)].filter(({ spec }) => spec.system === CATALOG && spec.name === data)
      if (answer.kind !== 'located') throw new Error('only locations are asked about')
      // What-if keeps the last known size. The catalog will also tell the size of data that it has not located before.
      const bytes = world.config.links && bytesOf(data)
      return sources.map((source) => {
        const { spec, ...moved } = moveData(source, answer.clusters, world.clock.now())
        const locality = { ...spec.locality, ...defined({ bytes }) }
        return overlay.put(dataSources, { ...moved, spec: { ...spec, locality } } as DataSource)
      })
    }
    case 'apply': {
      const type = typeOf(action.object.kind)
      const { status } = (overlay.get(type, action.object.metadata.namespace, action.object.metadata.name ?? '') ??
        {}) as {
        status?: object
      }
      return [overlay.put(type, { ...action.object, ...(status && { status }) } as K8sObject)]
    }
    case 'delete': {
      const { kind, namespace, name } = action
      const removed = kind === 'Deployment' ? [] : [overlay.remove(typeOf(kind), namespace, name)]
      const type = [...overlay.kinds()].find((known) => known.kind === 'ResourceBinding') as ResourceType
      const bound = kind === 'Deployment' ? [overlay.remove(type, namespace, bindingNameOf(kind, name))] : []
      return [...removed, ...bound].filter((change) => change !== undefined)
    }
    default:
      throw new Error(`unknown question ${action satisfies never}`)
  }
}

function changedCluster(cluster: Cluster, { taints, ready }: { taints?: Taint[]; ready?: boolean }): Cluster {
  if (ready === false) return loseCluster(cluster)
  const present = cluster.spec?.taints ?? []
  const isKarmadas = ({ key }: Taint) => key.startsWith('cluster.karmada.io/')
  const byUsers = taints ?? present.filter((taint) => !isKarmadas(taint))
  const byKarmada = ready === true ? [] : present.filter(isKarmadas)
  return { ...cluster, spec: { ...cluster.spec, taints: [...byUsers, ...byKarmada] } }
}

function typeOf(kind: string): ResourceType {
  const known: ResourceType[] = [dataSourceClaims, dataSources, propagationPolicies]
  const type = known.find((each) => each.kind === kind)
  if (!type) throw new Error(`no question is about ${kind}`)
  return type
}

function clustersOfBindings(world: World): Map<string, string[]> {
  return new Map(
    world.api
      .list<Binding>('ResourceBinding')
      .map(({ metadata, spec }) => [keyOf(metadata.namespace, metadata.name), namesOf(spec.clusters)]),
  )
}

// Compares what was said with the clusters of the bindings at rest. Throws Violation.
export function checkAnswer(world: World, action: AskedAction, { before, changes }: Asked): void {
  const after = clustersOfBindings(world)
  for (const [key, was] of before) {
    const change = changes.get(key)
    if (!isPredicted(world, key, was, after.get(key)) || isLeftOpen(change)) continue
    const last = change?.next ?? change
    const said = last && { ...last, to: [...last.to, ...(change?.to ?? [])] }
    const is = after.get(key)
    const effects = change ? [change.effect, ...(change.next ? [change.next.effect] : [])].join(' then ') : 'unchanged'
    const problem = said ? problemOf(said.effect, { said, was, is }) : unchangedProblem(was, is)
    if (problem) {
      const from = `${said?.from.join(',') ?? ''}→${said?.to.join(',') ?? ''}`
      throw new Violation(
        'what-if',
        `${JSON.stringify(action)}: ${key} ran in [${was}], and what-if said ${effects} ${from} (${said?.reason ?? ''}), but it runs in [${is}]: ${problem}`,
      )
    }
  }
}

// One case is not compared. The scheduler looks at a binding without a policy when a cluster changes, or if it had the binding in its queue
// before. Then it may move anywhere.
function isPredicted(world: World, key: string, was: readonly string[], is: readonly string[] = []): boolean {
  const [namespace, name = ''] = key.split('/')
  const binding = world.api.get<Binding>('ResourceBinding', namespace, name)
  const hasFailed = binding?.status?.conditions?.some(({ status }) => status === 'False')
  const mayBeQueued =
    binding && policyNameOf(binding) === undefined && (hasFailed || was.length === 0 || !sameSet(was, is))
  return !mayBeQueued
}

// After a choice of the scheduler among several clusters, what-if names no later step. Then a workload may return, or follow a preference with all
// of its replicas.
function isLeftOpen(change: WorkloadChange | undefined): boolean {
  if (change === undefined || change.takesAll || change.next) return false
  return [FAILBACK_WINDOW, DIVIDED_REPLICAS].some((reason) => change.reason.includes(reason))
}

interface Compared {
  said: Pick<WorkloadChange, 'from' | 'to'>
  was: readonly string[]
  is: readonly string[] | undefined
}

function unchangedProblem(was: readonly string[], is: readonly string[] | undefined): string | undefined {
  if (!is) return 'its binding is gone'
  return sameSet(was, is) ? undefined : 'it was said to be unchanged'
}

function problemOf(effect: Effect, { said, was, is }: Compared): string | undefined {
  if (!is) return effect === 'removed' ? undefined : 'its binding is gone'
  const left = said.from.filter((name) => is.includes(name) && !said.to.includes(name))
  const unsaid = is.filter((name) => !was.includes(name) && !said.to.includes(name))
  const lost = was.filter((name) => !is.includes(name) && !said.from.includes(name))
  switch (effect) {
    case 'stranded':
    case 'waits':
      return is.length > 0 ? 'it runs' : undefined
    case 'stays':
      return sameSet(was, is) ? undefined : 'it does not stay'
    case 'removed':
      return 'its binding exists'
    default:
      // A workload without replicas is released, and needs no cluster.
      if (is.length === 0) return effect === 'released' && said.to.length === 0 ? undefined : 'it runs nowhere'
      if (left.length > 0) return `it still runs in ${left}`
      if (unsaid.length > 0) return `it runs in ${unsaid}, too`
      return lost.length > 0 && effect !== 'moves' && effect !== 'comesHome' ? `it has left ${lost}` : undefined
  }
}

function sameSet(one: readonly string[], other: readonly string[]): boolean {
  return one.length === other.length && one.every((name) => other.includes(name))
}
