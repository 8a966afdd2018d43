/** Derives the answer to a claim from its DataSource: located, nowhere or unknown. */
import type { DataSource } from '../../api/data-source.ts'
import type { DataSourceClaim, HoldOrIgnore, PreferenceFigure } from '../../api/data-source-claim.ts'
import { keyOfObject } from '../../api/meta.ts'
import { sortedUnique } from '../../base/json.ts'
import { describeDropped } from '../data-source-claim/dropped-fields.ts'
import { honoredUntil } from '../data-source-claim/honored.ts'
import { conditionReason, type ReasonCondition } from './conditions.ts'
import { sourcePhase } from './phase.ts'

/** The policy of a claim, with its defaults. */
export interface ClaimTerms {
  /** `namespace/name`. */
  claim: string
  /** The name of its DataSource; absent without one. */
  dataSource?: string | undefined
  enforcement: 'Required' | 'Preferred'
  /** By which figure clusters are ranked. Default: Bytes. */
  preference?: PreferenceFigure | undefined
  onUnresolved: HoldOrIgnore
  onUnsatisfiable: HoldOrIgnore
  rebalance: 'Auto' | 'Always' | 'Never'
  /** Whether the workload returns to its data after a failover. Default: Auto. */
  failback?: 'Auto' | 'Never' | undefined
  holdTimeoutSeconds: number | undefined
  /** Until when a deleted claim is honored, in ms since the epoch. */
  honoredUntil?: number | undefined
}

/** The known location of a claim's data. */
export type Answer =
  | { kind: 'located'; clusters: readonly string[]; bytes: number | undefined; bytesAreMinimum?: boolean }
  /** The data system answered that the data does not exist, or the data is in none of our clusters. */
  | { kind: 'nowhere'; reason: string }
  /** No answer is known, or it is too old. */
  | { kind: 'unknown'; reason: string }

export type ClaimAnswer = ClaimTerms & { answer: Answer }

/** Returns the claim's terms and its answer at `now` (ms since the epoch). */
export function locateClaim(claim: DataSourceClaim, source: DataSource | undefined, now: number): ClaimAnswer {
  const policy = claim.spec.policy ?? {}
  return {
    claim: keyOfObject(claim),
    dataSource: source?.metadata.name,
    enforcement: policy.enforcement ?? 'Required',
    preference: policy.preference,
    onUnresolved: policy.onUnresolved ?? 'Hold',
    onUnsatisfiable: policy.onUnsatisfiable ?? 'Hold',
    rebalance: policy.rebalance ?? 'Auto',
    failback: policy.failback,
    holdTimeoutSeconds: policy.holdTimeoutSeconds,
    honoredUntil: honoredUntil(claim),
    answer: claimAnswer(claim, source, now),
  }
}

function claimAnswer(claim: DataSourceClaim, source: DataSource | undefined, now: number): Answer {
  // Without the policy, it is not known what the claim demands.
  if (claim.dropped) return { kind: 'unknown', reason: describeDropped(claim.dropped) }
  if (!source) {
    const { system, dataSourceType, dataSourceName } = claim.spec
    return { kind: 'unknown', reason: `no DataSource for ${system} ${dataSourceType} ${dataSourceName} yet` }
  }
  if (sourcePhase(source) !== 'Unavailable' && now > (staleAt(claim, source) ?? Number.POSITIVE_INFINITY)) {
    const maxAge = claim.spec.policy?.maxStalenessSeconds
    return { kind: 'unknown', reason: reasonWith(source, `is older than ${maxAge} s`, 'Stale') }
  }
  return answerOfSource(source)
}

/** Returns the location that a source has, whatever its age. */
export function answerOfSource(source: DataSource): Answer {
  if (sourcePhase(source) === 'Unavailable')
    return { kind: 'nowhere', reason: reasonWith(source, 'is Unavailable', 'Ready') }
  const { clusterNames, bytes, bytesAreMinimum } = source.spec.locality ?? {}
  if (!clusterNames) return { kind: 'unknown', reason: reasonWith(source, 'has no locality yet', 'Stale') }
  if (clusterNames.length === 0)
    return { kind: 'nowhere', reason: reasonWith(source, 'is in none of the clusters', 'Mapped') }
  const located = { kind: 'located', clusters: sortedClusters(clusterNames), bytes } as const
  return bytesAreMinimum ? { ...located, bytesAreMinimum } : located
}

/** The state of a source, with the reason that its data system gave. */
function reasonWith(source: DataSource, state: string, condition: ReasonCondition): string {
  const reason = conditionReason(source, condition)
  return `DataSource ${source.metadata.name} ${state}${reason === undefined ? '' : `: ${reason}`}`
}

/** Sorted names, by list: a cached source never changes, and each decision reads its clusters. */
const sorted = new WeakMap<readonly string[], readonly string[]>()

function sortedClusters(names: readonly string[]): readonly string[] {
  const known = sorted.get(names) ?? sortedUnique(names)
  sorted.set(names, known)
  return known
}

/**
 * Returns when a location becomes too old for a claim, in ms since the epoch. Undefined means never, for instance if a user wrote the
 * location.
 */
export function staleAt({ spec }: DataSourceClaim, source: DataSource): number | undefined {
  const maxAge = spec.policy?.maxStalenessSeconds
  if (maxAge === undefined) return undefined
  const confirmed = Date.parse(source.status?.lastResolvedTime ?? '')
  return Number.isNaN(confirmed) ? undefined : confirmed + maxAge * 1000
}
