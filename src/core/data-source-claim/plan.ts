/** Plans the writes of a DataSourceClaim: its finalizer and its status. DataSources have their own loop. */
import type { DataSource } from '../../api/data-source.ts'
import { type DataSourceClaim, dataSourceClaims } from '../../api/data-source-claim.ts'
import type { ResourceBinding } from '../../api/karmada.ts'
import { CLAIM_FINALIZER } from '../../api/lodestone.ts'
import { keyOfObject } from '../../api/meta.ts'
import { type ConditionState, condition, findCondition, withConditions } from '../../base/conditions.ts'
import { defined, jsonEqual } from '../../base/json.ts'
import { type Answer, locateClaim, staleAt } from '../data-source/locate.ts'
import { bindingDecisionId } from '../decision-id.ts'
import { type Action, eventAbout, NOTHING, type Plan, patchOf, statusPatchOf } from '../plan.ts'
import { readiness, STALLED } from '../readiness.ts'
import { readDecision } from '../resource-binding/annotations.ts'
import { withoutPastHold } from '../resource-binding/hold-condition.ts'
import type { ClaimReason, PlacedReason } from '../signal-tables.ts'
import { describeDropped } from './dropped-fields.ts'
import { EFFECTIVE, noEffect, withNoEffect } from './effect.ts'
import { withFinalizer } from './finalizer.ts'
import { honoredUntil, isHonored } from './honored.ts'
import { type ClaimPhase, phaseOfAnswer } from './phase.ts'
import { isPlacedWarning, placedBinding, placedReason, WORKLOAD_PLACED, workloadPlaced } from './workload-placed.ts'

export interface ClaimPlanInput {
  claim: DataSourceClaim
  /** Why the claim does not apply to the workload that it names, and the remedy; undefined if it applies. */
  refusal: string | undefined
  /** The source for the query of the claim, if it exists. */
  source: DataSource | undefined
  /** Whether the data system of the claim is configured. Without it, a source would never get an answer. */
  systemKnown: boolean
  /** A DataSource that has the name for this claim's query but describes different data, if one exists. */
  nameHolder: DataSource | undefined
  /** The bindings of the workload that the claim names. */
  bindings: readonly ResourceBinding[]
  /** Whether bindings are cached. Without them, it is not known whether the claim has an effect. Default: false. */
  readsBindings?: boolean
  now: number
}

/**
 * ```text
 *            no source, or no answer yet          answer: located            answer: nowhere
 *  (new) ───────────────► Pending ─────────────────► Bound ─────────────────────► Failed
 *                            ▲                         │  ▲                          │
 *                            └─── source deleted ──────┘  └──── answer: located ─────┘
 * ```
 * An error of the data system changes no phase: the last answer applies, and the condition Resolved is False with reason Stale. A claim
 * without permission is Pending, even if its data is located: no decision reads it.
 */
export function planClaim(input: ClaimPlanInput): Plan {
  const { claim } = input
  if (claim.metadata.deletionTimestamp) return planRelease(input)
  // A write would make the API server forget the fields for good.
  if (claim.dropped) {
    const actions = [eventAbout(claim, 'Warning', 'FieldsDropped', describeDropped(claim.dropped))]
    return { actions, requeueAfterMs: DROPPED_RETRY_MS }
  }
  const finalizer = addFinalizer(claim)
  // Each run makes one guarded write. The next run continues from its result.
  if (finalizer.length > 0) return { actions: finalizer }
  const requeueAfterMs = untilStale(input)
  return defined({ actions: updateStatus(input), requeueAfterMs })
}

/** In ms. A change of the CRD causes no run of the loop. */
const DROPPED_RETRY_MS = 30_000

/**
 * Plans a write of a claim whose fields the API server does not drop any more. It changes the status, so that the claim comes to all caches. The next
 * run writes the true status.
 *
 * @param claim as the API server has it
 */
export function planReadAgain(claim: DataSourceClaim): Plan {
  const observedGeneration = claim.status?.observedGeneration === -1 ? 0 : -1
  return { actions: [statusPatchOf(dataSourceClaims, claim, { observedGeneration })] }
}

/** Returns how long the location is recent enough for this claim, unless it is refreshed before. */
function untilStale({ claim, refusal, source, now }: ClaimPlanInput): number | undefined {
  const at = source && refusal === undefined ? staleAt(claim, source) : undefined
  return at === undefined || at < now ? undefined : at - now + 1
}

/** Admission adds the finalizer to most claims, see `finalizer.ts`. */
function addFinalizer(claim: DataSourceClaim): Action[] {
  const finalizers = withFinalizer(claim)
  return finalizers ? [patchOf(dataSourceClaims, claim, { metadata: { finalizers } })] : []
}

/**
 * Releases a deleted claim when its workload has no binding, or when the claim is no longer honored and no binding is narrowed for it. The
 * loop of bindings restores the bindings.
 */
function planRelease({ claim, bindings, now }: ClaimPlanInput): Plan {
  const { finalizers = [] } = claim.metadata
  if (!finalizers.includes(CLAIM_FINALIZER)) return NOTHING
  const until = honoredUntil(claim)
  if (until !== undefined && isHonored(claim, now) && bindings.length > 0) {
    return { actions: [], requeueAfterMs: until - now }
  }
  const key = keyOfObject(claim)
  const narrowed = bindings.some(({ metadata }) => readDecision(metadata.annotations).locality?.claims.includes(key))
  if (narrowed) return NOTHING
  const kept = finalizers.filter((finalizer) => finalizer !== CLAIM_FINALIZER)
  return { actions: [patchOf(dataSourceClaims, claim, { metadata: { finalizers: kept } })] }
}

function updateStatus(input: ClaimPlanInput): Action[] {
  const { claim, refusal, source, bindings, readsBindings = false, now } = input
  const { answer } = locateClaim(claim, source, now)
  const before = claim.status ?? {}
  const state = refusal === undefined ? claimState(input, answer) : pending('NotPermitted', refusal)
  const { phase, reason, message } = state
  const placed = refusal === undefined ? workloadPlaced(bindings, before.conditions) : undefined
  const effect = readsBindings && refusal === undefined ? noEffect(claim, bindings) : undefined
  const states = [
    boundCondition(state, claim, source),
    ...readyConditions(state, placed),
    withNoEffect(resolvedCondition(state, answer, refusal === undefined ? source : undefined), effect),
    ...[effect, placed].filter((one) => one !== undefined),
  ]
  const status = defined({
    phase,
    boundDataSource: (phase === 'Bound' && source?.metadata.name) || undefined,
    conditions: withConditions(
      withoutPastHold(before.conditions, bindings, answer),
      states,
      claim.metadata.generation,
      now,
      TEMPORARY,
    ),
  })
  if (
    jsonEqual(status, { phase: before.phase, boundDataSource: before.boundDataSource, conditions: before.conditions })
  ) {
    return []
  }
  // Conditions have the generation too, so it is not compared: the CRD of volcano-global has no such field in the status.
  const observed = defined({ observedGeneration: claim.metadata.generation })
  const write = statusPatchOf(dataSourceClaims, claim, { boundDataSource: null, ...status, ...observed })
  const events: Action[] = []
  // A new claim is Pending by the default of the CRD, and this is no phase that an Event was about.
  const known = before.phase === PENDING && !before.conditions ? undefined : before.phase
  if (known !== phase) events.push(eventAbout(claim, NEEDS_ACTION.has(reason) ? 'Warning' : 'Normal', reason, message))
  if (placed && placed.reason !== placedReason(before.conditions)) {
    const binding = placedBinding(bindings)
    const type = isPlacedWarning(placed.reason) ? 'Warning' : 'Normal'
    const reported = eventAbout(claim, type, `Workload${placed.reason}`, placed.message)
    events.push(defined({ ...reported, decisionId: binding && bindingDecisionId(binding) }))
  }
  return [write, ...events]
}

const PENDING: ClaimPhase = 'Pending'

/** Conditions that are absent if they have nothing to say. Two of them follow from the binding of the workload. */
const TEMPORARY: readonly string[] = [EFFECTIVE, WORKLOAD_PLACED, STALLED]

/** Reasons that require an action of the user. */
const NEEDS_ACTION: ReadonlySet<ClaimReason> = new Set(['NotFound', 'NotPermitted', 'SystemUnknown', 'NameTaken'])

/** The phase, with the reason and the details of this state. */
interface State {
  phase: ClaimPhase
  reason: ClaimReason
  message: string
}

function pending(reason: ClaimReason, message: string): State {
  return { phase: PENDING, reason, message }
}

function claimState({ claim, source, systemKnown, nameHolder }: ClaimPlanInput, answer: Answer): State {
  switch (answer.kind) {
    case 'located':
      return { phase: 'Bound', reason: 'Located', message: `the data is in ${answer.clusters.join(', ')}` }
    case 'nowhere':
      return phaseOfAnswer(answer, source) === 'Failed'
        ? { phase: 'Failed', reason: 'NotFound', message: answer.reason }
        : { phase: 'Bound', reason: 'Elsewhere', message: answer.reason }
    default:
      break
  }
  if (source) return pending('Resolving', answer.reason)
  if (!systemKnown) {
    return pending(
      'SystemUnknown',
      `data system ${claim.spec.system} is not configured; add it, or create a DataSource`,
    )
  }
  if (nameHolder) {
    const { name } = nameHolder.metadata
    return pending(
      'NameTaken',
      `DataSource ${name} exists but describes different data; delete it, and one for this claim is created`,
    )
  }
  return pending('Resolving', answer.reason)
}

/** The condition Bound, with reason and message of volcano-global where it has any: tools may compare them. */
function boundCondition(
  { phase, reason, message }: State,
  claim: DataSourceClaim,
  source: DataSource | undefined,
): ConditionState {
  if (phase === 'Bound') {
    return condition('Bound', true, 'BindingSuccessful', `Successfully bound to DataSource: ${source?.metadata.name}`)
  }
  const before = findCondition(claim.status?.conditions, 'Bound')
  const wasBound = before?.status === 'True' || before?.reason === INVALID
  if (reason !== 'Resolving' || !wasBound) return condition('Bound', false, reason, message)
  return condition('Bound', false, INVALID, 'Binding became invalid, resetting to pending state')
}

const INVALID = 'BindingInvalid'

/**
 * The condition Ready: the data is in a cluster, and the workload is not on hold. A workload that does not exist yet does not count, so that
 * a tool may create it after the claim is ready.
 */
function readyConditions(
  { phase, reason, message }: State,
  placed: (ConditionState & { reason: PlacedReason }) | undefined,
): ConditionState[] {
  const isLocated = reason === 'Located'
  if (isLocated && placed?.status === 'False') {
    return readiness({ isReady: false, isStalled: false, reason: placed.reason, message: placed.message })
  }
  return readiness({ isReady: isLocated, isStalled: phase === 'Failed', reason, message })
}

/** The condition Resolved: the location of the data, or why it is unknown. */
function resolvedCondition({ reason, message }: State, answer: Answer, source: DataSource | undefined): ConditionState {
  const stale = findCondition(source?.status?.conditions, 'Stale')
  if (stale?.status === 'True') return condition('Resolved', false, 'Stale', stale.message)
  if (!source || answer.kind === 'unknown') return { type: 'Resolved', status: 'Unknown', reason, message }
  return condition('Resolved', true, reason, message)
}
