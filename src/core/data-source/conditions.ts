/** The conditions of a DataSource: what its data system answered, and why. */
import type { DataSource } from '../../api/data-source.ts'
import type { Condition } from '../../api/meta.ts'
import { type ConditionState, condition, findCondition, withConditions } from '../../base/conditions.ts'
import { printable } from '../../base/printable.ts'
import { cut } from '../outcome.ts'
import { readiness, STALLED } from '../readiness.ts'
import { type Attempt, MAX_REASON_LENGTH } from './attempt.ts'
import { type SourcePhase, sourcePhase } from './phase.ts'

export interface SourceStateInput {
  source: DataSource
  /** Undefined without a result. */
  attempt: Attempt | undefined
  /** The last health check of the system. */
  health: { isHealthy: boolean; message: string } | undefined
}

/** False for data that exists in none of the clusters, else absent. */
const MAPPED = 'Mapped'

/** Returns the conditions after a result. `now` is in ms since the epoch. */
export function sourceConditions(input: SourceStateInput, phase: SourcePhase | undefined, now: number): Condition[] {
  const { metadata, spec, status } = input.source
  const isUnmapped = phase !== 'Unavailable' && spec.locality?.clusterNames?.length === 0
  const temporary = isUnmapped ? [STALLED] : [STALLED, MAPPED]
  return withConditions(status?.conditions, states(input, phase), metadata.generation, now, temporary)
}

function states(input: SourceStateInput, phase: SourcePhase | undefined): ConditionState[] {
  const { source, attempt, health } = input
  const before = source.status?.conditions
  const failure = attemptFailure(attempt)
  return [
    ...readyStates(input, phase, failure),
    ...(attempt
      ? [
          condition(
            'Stale',
            failure !== undefined,
            failure ? 'NotAnswered' : 'Answered',
            failure ?? 'the data system answers',
          ),
        ]
      : // `kubectl wait` ignores a condition of an older generation.
        (before ?? []).filter(({ type }) => type === 'Stale')),
    ...mappedStates(attempt),
    // If a system never failed, its thousands of sources do not need the condition.
    ...(health && (!health.isHealthy || before?.some(({ type }) => type === 'SystemHealthy'))
      ? [condition('SystemHealthy', health.isHealthy, health.isHealthy ? 'Healthy' : 'Unhealthy', health.message)]
      : []),
  ]
}

function readyStates(
  input: SourceStateInput,
  phase: SourcePhase | undefined,
  failure: string | undefined,
): ConditionState[] {
  if (phase) {
    const isReady = phase === 'Available'
    return readiness({ isReady, isStalled: !isReady, reason: phase, message: readyMessage(input, phase) })
  }
  const [reason, message] = failure ? ['NotAnswered', failure] : ['Resolving', 'the location is not known yet']
  return [{ type: 'Ready', status: 'Unknown', reason, message }]
}

/** The condition of data in none of the clusters, if the answer has a reason. */
export function mappedStates(attempt: Attempt | undefined): ConditionState[] {
  if (attempt?.kind !== 'located' || attempt.clusters.length > 0 || !attempt.whyNoCluster) return []
  return [condition(MAPPED, false, 'NoCluster', bounded(attempt.whyNoCluster))]
}

/** Returns the error of a failed query, as the status has it. */
export function attemptFailure(attempt: Attempt | undefined): string | undefined {
  return attempt?.kind === 'failed' ? bounded(attempt.reason) : undefined
}

/** The message of the condition Ready, and of the Event about a new phase. */
export function readyMessage({ source, attempt }: SourceStateInput, phase: SourcePhase): string {
  if (attempt?.kind === 'located') return `the data is in ${listed(attempt.clusters)}`
  if (attempt?.kind === 'nowhere') return bounded(attempt.reason)
  const before = findCondition(source.status?.conditions, 'Ready')
  if (before && before.status !== 'Unknown') return before.message
  return phase === 'Available' ? `the data is in ${listed(source.spec.locality?.clusterNames)}` : phase
}

/** Returns the names of clusters for a message. */
export function listed(clusters: readonly string[] | undefined): string {
  return clusters?.length ? clusters.join(', ') : 'no cluster'
}

/** The conditions with a reason: Ready for data that does not exist, Mapped for data in no cluster, Stale for a failed query. */
export type ReasonCondition = 'Ready' | 'Mapped' | 'Stale'

/**
 * Returns the reason in the words of the data system, for messages such as that of a hold. Returns undefined if the status has none.
 */
export function conditionReason(source: DataSource, type: ReasonCondition): string | undefined {
  const found = findCondition(source.status?.conditions, type)
  if (!found?.message || found.status !== (type === 'Stale' ? 'True' : 'False')) return undefined
  // Without a message of the system, the phase is the message.
  return found.message === sourcePhase(source) ? undefined : cut(printable(found.message), MAX_SHOWN)
}

/** In characters. A hold may have several reasons. */
const MAX_SHOWN = 512

function bounded(text: string): string {
  return cut(printable(text), MAX_REASON_LENGTH)
}
