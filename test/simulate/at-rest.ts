// Checks a binding when everything is at rest for longer than every window and timeout.
import { isDeepStrictEqual } from 'node:util'
import { allowedBy, isEvictedLater, matches } from './accepts.ts'
import type { WorldConfig } from './actions.ts'
import { dataOf, hasActiveHold, nameOf, waitsLonger, withAffinities } from './bindings.ts'
import { type AppliedClaim, claimsOf, locate } from './claims.ts'
import { claimedPolicyOf, selects } from './detector.ts'
import {
  type Affinity,
  APPLIED_PLACEMENT,
  type Binding,
  type Cluster,
  hasTemplates,
  isWorkload,
  namesOf,
  type Placement,
  type Workload,
} from './karmada.ts'
import { lacksWeight, schedule } from './schedule.ts'
import { minus } from './sets.ts'
import { Violation } from './violation.ts'
import type { World } from './world.ts'

interface Remembered {
  wasScheduled: boolean
  isLost: boolean
  isRuined: boolean
}

// Throws Violation.
export function checkAtRest(world: World, binding: Binding, memory: Remembered): void {
  const { kind, namespace, name } = binding.spec.resource
  const workload = world.api.get<Workload>(kind, namespace, name)
  const policy = claimedPolicyOf(binding, world.api)
  if (!workload || !policy || !selects(policy, workload) || binding.metadata.deletionTimestamp) return
  const clusters = world.api.list<Cluster>('Cluster')
  const base = world.placementOf(binding) ?? policy.spec.placement
  checkAllowed(binding, base, clusters)
  // Another client suspends it: nothing happens until this ends.
  if (binding.spec.suspension?.scheduling === true && !isHeld(binding)) return
  // Karmada evicts such a workload and schedules it again for ever.
  if (comesAndGoes(binding, clusters)) return
  if (
    memory.isLost &&
    !binding.spec.clusters?.length &&
    !isScaledToZero(binding) &&
    schedule(withAffinities(binding, base), clusters).kind === 'fit'
  ) {
    throw new Violation(
      'lost',
      `${nameOf(binding)}: the scheduler emptied it because of its narrowing, and it runs nowhere`,
    )
  }
  checkChoice(world, binding)
  if (memory.wasScheduled && !memory.isRuined) checkRuns(binding, base, clusters)
  // A lazy policy that has changed applies when the workload changes. Until then, its data may be in clusters of one of both placements.
  if (base !== policy.spec.placement && !isDeepStrictEqual(base, policy.spec.placement)) return
  // Without a CRD, the claims are unknown.
  if (memory.isRuined || !world.isCrdServed('DataSourceClaim') || !world.isCrdServed('DataSource')) return
  if (!memory.wasScheduled && isLeftByScheduler(binding, base)) return
  const claims = claimsOf(binding, world.api)
  if (claims.some(({ isDeleting }) => isDeleting))
    throw new Violation('claim-ends', `${nameOf(binding)}: a deleted claim stays`)
  const required = claims.filter((claim) => claim.required)
  const answers = required.map((claim): [AppliedClaim, ReturnType<typeof locate>] => [
    claim,
    locate(claim.claim, world.api),
  ])
  const isLocated = answers.every(([, { kind: answer }]) => answer === 'located')
  // A workload does not move to data in a cluster from which it is evicted.
  const lasting = clusters.filter((cluster) => !isEvictedLater(cluster, base))
  const narrowed = required.length > 0 && isLocated ? narrowedTo(binding, base, dataOf(answers), lasting) : base
  const counted = narrowed && world.config.hidesVersion ? withoutOverflow(narrowed) : narrowed
  if (isLocated && narrowed && counted && schedule(withAffinities(binding, counted), clusters).kind === 'fit') {
    checkHome(binding, claims, narrowed, clusters, memory, world.config)
  } else checkHold(binding, required)
}

// Karmada's scheduler does not try a placement again that no cluster accepted, until the binding or the spec of a cluster changes. If every cluster of
// the policy has the data, a claim changes nothing of it. Then the workload waits, as it would without the claim.
function isLeftByScheduler({ metadata, spec, status }: Binding, base: Placement): boolean {
  const applied = metadata.annotations?.[APPLIED_PLACEMENT]
  return (
    status?.conditions?.some(({ reason }) => reason === 'NoClusterFit') === true &&
    isDeepStrictEqual(spec.placement, base) &&
    isDeepStrictEqual(JSON.parse(applied ?? 'null'), base)
  )
}

// Replicas that do not know the version of Karmada count no overflow tiers.
function withoutOverflow({ clusterAffinities, ...placement }: Placement): Placement {
  return clusterAffinities
    ? { ...placement, clusterAffinities: clusterAffinities.map(({ overflowAffinities: _, ...term }) => term) }
    : placement
}

// Whether the scheduler accepts the workload in a cluster from which the taint manager evicts it.
function comesAndGoes(binding: Binding, clusters: readonly Cluster[]): boolean {
  const { placement = {} } = binding.spec
  return clusters.some(
    (cluster) => isEvictedLater(cluster, placement) && allowedBy(placement, [cluster], isWorkload(binding)).size > 0,
  )
}

function checkAllowed(binding: Binding, base: Placement, clusters: readonly Cluster[]): void {
  const allowed = allowedBy(binding.spec.placement ?? {}, clusters, isWorkload(binding))
  const added = [...minus(allowed, allowedBy(base, clusters, isWorkload(binding)))]
  if (added.length > 0)
    throw new Violation('within-policy', `${nameOf(binding)}: at rest it allows ${added}, its policy does not`)
}

// Lodestone rejects a choice of the scheduler only for a while.
function checkChoice(world: World, binding: Binding): void {
  if (!world.scheduler.queued().includes(nameOf(binding)) || isHeld(binding)) return
  const result = schedule(binding, world.scheduler.clusters.values())
  if (result.kind === 'error') return
  const chosen = result.kind === 'fit' ? namesOf(result.clusters).join() : ''
  throw new Violation(
    'choice-is-accepted',
    `${nameOf(binding)}: the scheduler chooses ${chosen || 'no cluster'} again and again, and it runs in ${namesOf(binding.spec.clusters).join() || 'none'}`,
  )
}

// A workload that ran does not wait for a cluster that its narrowing excludes.
function checkRuns(binding: Binding, base: Placement, clusters: readonly Cluster[]): void {
  if (binding.spec.clusters?.length || isHeld(binding)) return
  const could = schedule(withAffinities(binding, base), clusters)
  if (could.kind === 'fit' && schedule(binding, clusters).kind !== 'fit') {
    throw new Violation(
      'runs-nowhere',
      `${nameOf(binding)}: its narrowing keeps it from running in ${namesOf(could.clusters)}`,
    )
  }
}

// The data is known, and the scheduler would accept the workload there.
function checkHome(
  binding: Binding,
  claims: readonly AppliedClaim[],
  narrowed: Placement,
  clusters: readonly Cluster[],
  { wasScheduled }: Remembered,
  config: WorldConfig,
): void {
  if (isHeld(binding))
    throw new Violation('hold-ends', `${nameOf(binding)}: it is on hold although it can run with its data`)
  if (!claims.some(({ required }) => required) || isScaledToZero(binding)) return
  const running = namesOf(binding.spec.clusters)
  if (running.length === 0) {
    throw new Violation('is-scheduled', `${nameOf(binding)}: it runs nowhere although it can run with its data`)
  }
  const home = allowedBy(narrowed, clusters, isWorkload(binding))
  const away = running.filter((name) => !home.has(name))
  // Karmada would delete the workload and not create it there.
  const isPaused = binding.spec.suspension?.dispatching === true
  const hasVolumes = hasTemplates(config, binding.spec.resource.kind)
  const mayMove = ({ moves, failsBack, isAuto }: AppliedClaim) => moves && failsBack && !(isAuto && hasVolumes)
  const mayStay = wasScheduled && (isPaused || !claims.every(mayMove))
  if (away.length > 0 && !mayStay && !waitsLonger(binding)) {
    throw new Violation('comes-home', `${nameOf(binding)}: it stays in ${away}, its data is in ${[...home]}`)
  }
}

// The scheduler removes a workload without replicas from all clusters, or copies it to each one (core/common.go, AssignReplicas).
function isScaledToZero({ spec }: Binding): boolean {
  return spec.replicas === 0
}

// The workload may wait, but not longer than its claims allow.
function checkHold(binding: Binding, required: readonly AppliedClaim[]): void {
  const isLimited = required.some(
    ({ holdTimeoutSeconds, holdsUnresolved, holdsUnsatisfiable }) =>
      holdTimeoutSeconds !== undefined && holdsUnresolved && holdsUnsatisfiable,
  )
  if (required.length === 0 && isHeld(binding))
    throw new Violation('hold-ends', `${nameOf(binding)}: it is on hold without a claim`)
  if (isLimited && isHeld(binding) && required.length === 1) {
    throw new Violation('hold-ends', `${nameOf(binding)}: it is on hold for longer than its claim allows`)
  }
}

// If another client suspends a workload after its hold was released, it is not on hold.
function isHeld(binding: Binding): boolean {
  return binding.spec.suspension?.scheduling === true && hasActiveHold(binding)
}

// The placement of the policy within these clusters; undefined if no cluster is left.
function narrowedTo(
  binding: Binding,
  base: Placement,
  data: ReadonlySet<string>,
  clusters: readonly Cluster[],
): Placement | undefined {
  const within = <T extends Affinity>(affinity: T): T => ({
    ...affinity,
    clusterNames: clusters.flatMap((cluster) => {
      const { name = '' } = cluster.metadata
      return data.has(name) && matches(cluster, affinity) ? [name] : []
    }),
  })
  const isLeft = ({ clusterNames = [] }: Affinity) => clusterNames.length > 0
  const isWithoutWeight = ({ clusterNames = [] }: Affinity, from: Affinity) =>
    lacksWeight(
      binding,
      base,
      clusterNames,
      clusters.filter((cluster) => matches(cluster, from)),
    )
  const { clusterAffinity = {}, clusterAffinities, ...rest } = base
  if (!clusterAffinities) {
    const affinity = within(clusterAffinity)
    return isLeft(affinity) && !isWithoutWeight(affinity, clusterAffinity)
      ? { ...rest, clusterAffinity: affinity }
      : undefined
  }
  const groups = clusterAffinities.flatMap(({ overflowAffinities, ...term }) => {
    const [narrowed, overflow] = [within(term), (overflowAffinities ?? []).map(within).filter(isLeft)]
    return isLeft(narrowed) && !isWithoutWeight(narrowed, term)
      ? [{ ...narrowed, ...(overflow.length > 0 && { overflowAffinities: overflow }) }]
      : []
  })
  return groups.length > 0 ? { ...rest, clusterAffinities: groups } : undefined
}
