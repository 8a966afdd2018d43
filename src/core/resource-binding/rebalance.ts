/** Decides whether a scheduled workload moves when its data does, and whether it returns to its data. */
import type { BindingResource, BindingSpec, Failover } from '../../api/karmada.ts'
import { groupOf } from '../../api/meta.ts'
import { listNames } from '../../base/names.ts'
import type { ClaimTerms } from '../data-source/locate.ts'
import type { MoveCost } from '../workload-kinds/entry.ts'
import type { WorkloadKinds } from '../workload-kinds/kinds.ts'
import type { BindingInput } from './input.ts'

/** The parts of a binding that say what a move costs. */
interface Moved extends Pick<BindingSpec, 'resource' | 'preserveResourcesOnDeletion' | 'failover'> {
  /** The PersistentVolumeClaims that the workload takes along, if it leaves a cluster. Default: none. */
  volumeClaims?: readonly string[] | undefined
  /** The templates of its PersistentVolumeClaims, if it leaves a cluster. Default: none. */
  claimTemplates?: readonly string[] | undefined
  /** Whether it may have such templates, and is not cached. */
  isWorkloadUnread?: boolean | undefined
}

/** API groups of Kubernetes whose kinds lose nothing by a move: they run forever, or do not run at all. */
const RESTARTABLE_GROUPS = new Set(['', 'apps', 'networking.k8s.io', 'rbac.authorization.k8s.io'])

/** Why `rebalance: Auto` leaves a workload where it is, by the cost of its move. */
const REASONS: Readonly<Record<Exclude<MoveCost, 'Restart'>, string>> = {
  Work: 'its work so far would be lost',
  State: 'its state may be lost',
  Unknown: 'Lodestone does not know what its kind loses',
}

/** Karmada does not delete a resource in the cluster that it leaves then (v1.18.1, pkg/controllers/execution/execution_controller.go). */
const PRESERVED = 'its policy sets preserveResourcesOnDeletion: a copy would stay'

/** Karmada takes the state along when it evicts a workload, and not when the scheduler moves it (v1.18.2, pkg/controllers/binding/common.go). */
const STATEFUL = 'its policy sets statePreservation, which keeps its state at a failover only'

const VOLUME_CLAIMS_SHOWN = 3

/** Returns what a workload loses by a move, for `staysBecause`. */
export function movedWorkload({
  binding: { spec },
  volumeClaims,
  claimTemplates,
  isWorkloadUnread,
}: Pick<BindingInput, 'binding' | 'volumeClaims' | 'claimTemplates' | 'isWorkloadUnread'>): Moved {
  return { ...spec, volumeClaims, claimTemplates, isWorkloadUnread }
}

/** Why Auto does not move a workload whose kind loses nothing; undefined if it moves. */
function lossOf({
  resource,
  preserveResourcesOnDeletion,
  failover,
  volumeClaims = [],
  claimTemplates = [],
  isWorkloadUnread,
}: Moved): string | undefined {
  if (preserveResourcesOnDeletion) return PRESERVED
  if (preservesState(failover)) return STATEFUL
  if (volumeClaims.length > 0)
    return `Karmada would delete PersistentVolumeClaim ${listNames(volumeClaims, VOLUME_CLAIMS_SHOWN)} in the cluster that it leaves`
  if (isWorkloadUnread)
    return `Lodestone has not read this ${resource.kind}, which may have templates of PersistentVolumeClaims`
  return claimTemplates.length > 0
    ? `its PersistentVolumeClaims of the template ${listNames(claimTemplates, VOLUME_CLAIMS_SHOWN)} would not follow it`
    : undefined
}

const WITH_STATE: Failover = { application: { statePreservation: { rules: [{}] } } }

/** Returns of a failover only what decisions read: whether state is preserved. Undefined if none is. */
export function keptFailover(failover: Failover | undefined): Failover | undefined {
  return preservesState(failover) ? WITH_STATE : undefined
}

/** Whether a policy says that a workload has state that a new copy needs. */
function preservesState({ application, cluster }: Failover = {}): boolean {
  return [application, cluster].some((behavior) => !!behavior?.statePreservation?.rules?.length)
}

/**
 * Returns why a scheduled workload does not follow its data, with the remedy; undefined if it follows. `rebalance` of every claim counts:
 * Always allows a move, Never does not. Auto depends on what the move costs: what the kind loses, a copy that stays, state
 * that stays behind, or PersistentVolumeClaims that do not follow.
 *
 * @param kinds the table of kinds; a kind that is not in it has the cost of its API group
 */
export function staysBecause(moved: Moved, claims: readonly ClaimTerms[], kinds: WorkloadKinds): string | undefined {
  const never = claims.find(({ rebalance }) => rebalance === 'Never')
  if (never) return `rebalance of ${never.claim} is Never`
  const auto = claims.find(({ rebalance }) => rebalance === 'Auto')
  if (!auto) return undefined
  const cost = moveCostOf(moved.resource, kinds)
  const [what, why] = cost === 'Restart' ? ['the workload', lossOf(moved)] : [`a ${moved.resource.kind}`, REASONS[cost]]
  if (why === undefined) return undefined
  return `rebalance of ${auto.claim} is Auto, which does not move ${what}, since ${why}; use Always to move it`
}

/**
 * Returns why a workload does not move to clusters, as a part of a sentence; undefined if it may. Karmada deletes it in the cluster that it leaves
 * although dispatching is suspended, and does not create it in another one (v1.18.2, pkg/controllers/execution/execution_controller.go, Reconcile).
 */
export function dispatchingProblem(
  { suspension }: Pick<BindingSpec, 'suspension'>,
  targets: readonly string[],
): string | undefined {
  const { dispatching, dispatchingOnClusters } = suspension ?? {}
  if (dispatching) return `its policy suspends dispatching, ${NOT_CREATED}`
  const suspended = targets.filter((name) => dispatchingOnClusters?.clusterNames?.includes(name))
  return suspended.length > 0
    ? `its policy suspends dispatching in ${listNames(suspended, CLUSTERS_SHOWN)}, ${NOT_CREATED}`
    : undefined
}

const CLUSTERS_SHOWN = 3

const NOT_CREATED = 'so Karmada would delete it and not create it there; it moves when dispatching is resumed'

/** Returns why a workload stays where it is after a failover; undefined if it returns to its data. */
export function staysAfterFailover(
  moved: Moved,
  claims: readonly ClaimTerms[],
  kinds: WorkloadKinds,
): string | undefined {
  const never = claims.find(({ failback }) => failback === 'Never')
  return never ? `failback of ${never.claim} is Never` : staysBecause(moved, claims, kinds)
}

function moveCostOf({ apiVersion, kind }: BindingResource, kinds: WorkloadKinds): MoveCost {
  return kinds.find(apiVersion, kind)?.moveCost ?? (RESTARTABLE_GROUPS.has(groupOf(apiVersion)) ? 'Restart' : 'Unknown')
}
