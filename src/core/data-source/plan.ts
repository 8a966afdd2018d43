/** What a source needs done after its data system was asked, or was not: locality, status, reclaim, and when to ask again. */
import { type ClaimReference, type DataSource, dataSources } from '../../api/data-source.ts'
import { type DataSourceClaim, dataSourceClaims } from '../../api/data-source-claim.ts'
import { apiVersionOf, objectKey } from '../../api/meta.ts'
import { condition, withConditions } from '../conditions.ts'
import { jsonEqual, sortedUnique } from '../json.ts'
import type { Action, Plan } from '../plan.ts'

/** What came of asking the data system. */
export type Attempt =
  | { kind: 'located'; location: string; clusters: readonly string[]; bytes?: number }
  /** The same as last time (HTTP 304). */
  | { kind: 'unchanged' }
  /** The system says that there is no such data; `confirmations` counts how often in a row. */
  | { kind: 'nowhere'; reason: string; confirmations: number }
  | { kind: 'failed'; reason: string }

export interface SourcePlanInput {
  source: DataSource
  /** The claims that ask this question and are not being deleted. */
  claims: readonly DataSourceClaim[]
  /** Undefined when nobody was asked: not due yet, or no plugin knows the system. */
  attempt: Attempt | undefined
  now: number
}

/** How often a system has to say "no such data" before it replaces a location that was known. */
export const CONFIRMATIONS = 3

export function planSource(input: SourcePlanInput): Plan {
  const { source, claims } = input
  if (source.metadata.deletionTimestamp) return { actions: [] }
  if (claims.length === 0 && source.spec.reclaimPolicy === 'Delete') {
    return { actions: [{ kind: 'delete', type: dataSources, object: source }] }
  }
  return { actions: [...updateLocality(input), ...updateStatus(input)] }
}

function updateLocality({ source, attempt }: SourcePlanInput): Action[] {
  if (attempt?.kind !== 'located') return []
  const { location, bytes } = attempt
  const locality = { clusterNames: sortedUnique(attempt.clusters), location, ...(bytes !== undefined && { bytes }) }
  const before = source.spec.locality
  if (jsonEqual(before, locality)) return []
  const { resourceVersion, name = '' } = source.metadata
  const patch = { metadata: { resourceVersion }, spec: { locality: { bytes: null, ...locality } } }
  const moved = before && !jsonEqual(before.clusterNames, locality.clusterNames)
  return [
    { kind: 'patch', of: { type: dataSources, name }, patch },
    ...(moved
      ? [event(source, 'Normal', 'Moved', `${listed(before.clusterNames)} → ${listed(locality.clusterNames)}`)]
      : []),
  ]
}

function updateStatus(input: SourcePlanInput): Action[] {
  const { source, claims, attempt, now } = input
  const before = source.status ?? {}
  const phase = phaseOf(input)
  const resolved = attempt && attempt.kind !== 'failed'
  const failure = attempt?.kind === 'failed' ? attempt.reason : undefined
  const states = [
    ...(phase ? [condition('Ready', phase === 'Available', phase, messageOf(input, phase))] : []),
    ...(attempt
      ? [
          condition(
            'Stale',
            failure !== undefined,
            failure ? 'NotAnswered' : 'Answered',
            failure ?? 'the data system answers',
          ),
        ]
      : []),
  ]
  const status = {
    ...before,
    ...(phase && { phase }),
    claimRefs: claims
      .map(referenceOf)
      .sort((a, b) => (objectKey(a.namespace, a.name ?? '') < objectKey(b.namespace, b.name ?? '') ? -1 : 1)),
    boundClaims: claims.length,
    ...(resolved && { lastResolvedTime: new Date(now).toISOString() }),
    conditions: withConditions(before.conditions, states, source.metadata.generation, now),
  }
  const next = attempt ? { ...status, lastError: failure } : status
  if (
    jsonEqual(next, {
      ...before,
      claimRefs: before.claimRefs ?? [],
      boundClaims: before.boundClaims ?? 0,
      conditions: before.conditions ?? [],
    })
  )
    return []
  const patch = { status: { ...next, ...(attempt && { lastError: failure ?? null }) } }
  const told =
    phase && before.phase !== phase
      ? [event(source, phase === 'Available' ? 'Normal' : 'Warning', phase, messageOf(input, phase))]
      : []
  return [
    { kind: 'patch', of: { type: dataSources, name: source.metadata.name ?? '' }, patch, subresource: 'status' },
    ...told,
  ]
}

/** "Nowhere" has to be said several times before it replaces a location; the first answer of all counts at once. */
function phaseOf({ source, attempt }: SourcePlanInput): 'Available' | 'Unavailable' | undefined {
  const before = source.status?.phase as 'Available' | 'Unavailable' | undefined
  switch (attempt?.kind) {
    case 'located':
      return 'Available'
    case 'nowhere':
      return source.spec.locality === undefined || attempt.confirmations >= CONFIRMATIONS ? 'Unavailable' : before
    default:
      return before
  }
}

function messageOf({ source, attempt }: SourcePlanInput, phase: string): string {
  if (attempt?.kind === 'located') return `the data is in ${listed(attempt.clusters)}`
  if (attempt?.kind === 'nowhere') return attempt.reason
  return source.status?.conditions?.find(({ type }) => type === 'Ready')?.message ?? phase
}

function referenceOf({ metadata }: DataSourceClaim): ClaimReference {
  const { namespace, name, uid } = metadata
  return {
    apiVersion: apiVersionOf(dataSourceClaims),
    kind: dataSourceClaims.kind,
    ...(namespace && { namespace }),
    ...(name && { name }),
    ...(uid && { uid }),
  }
}

function listed(clusters: readonly string[] | undefined): string {
  return clusters?.length ? clusters.join(', ') : 'no cluster'
}

function event(about: DataSource, type: 'Normal' | 'Warning', reason: string, message: string): Action {
  return { kind: 'event', about, type, reason, message }
}
