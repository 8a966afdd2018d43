/** Plans a DataSource: the query of its data system, and the writes of its locality, its status, and its finalizer or deletion. */
import { type ClaimReference, type DataSource, dataSources } from '../../api/data-source.ts'
import { type DataSourceClaim, dataSourceClaims } from '../../api/data-source-claim.ts'
import { SOURCE_FINALIZER } from '../../api/lodestone.ts'
import { apiVersionOf, keyOfObject } from '../../api/meta.ts'
import { isTrue } from '../../base/conditions.ts'
import { defined, jsonEqual } from '../../base/json.ts'
import { namesColumn, sizeColumn } from '../columns.ts'
import { type Action, eventAbout, type Plan, patchOf, statusPatchOf } from '../plan.ts'
import { type Attempt, answeredLocality } from './attempt.ts'
import { attemptFailure, listed, readyMessage, sourceConditions } from './conditions.ts'
import { hasLocation, localityFor, statusFor } from './crd.ts'
import { ABSENT_MS, decideSource, type SourceDecision, type SourceInput } from './decide.ts'
import { phaseOrDeclared, type SourcePhase, sourcePhase } from './phase.ts'
import { CONFIRMATIONS } from './query-history.ts'

/** References to claims in a status. etcd stores at most 1.5 MiB, and a new claim writes the list again. */
const MAX_CLAIM_REFERENCES = 1000

/** The plan: first the query, then the actions. */
export interface SourcePlan extends Plan, Pick<SourceDecision, 'query'> {
  /** Whether this plan writes the attempt into the status. Otherwise the next plan does. */
  writesAttempt: boolean
  /** Until then, no source with the same name is created; in ms since the epoch. Set when our finalizer of a deleted source is removed. */
  absentUntil?: number
}

/** Plans one run: what happens to the query, and the writes, if there is something to write now. */
export function planSource(input: SourceInput): SourcePlan {
  const { query, writes, requeueAfterMs } = decideSource(input)
  const planned = writes ? planWrites(input) : { actions: [], writesAttempt: false }
  return defined({ query, ...planned, requeueAfterMs })
}

/**
 * Plans one guarded write per run: first the location, since workloads wait for it. The status follows when the source is read again. A new
 * source is created with its location. A source without a claim stays, or is deleted if its reclaim policy is Delete.
 */
function planWrites(input: SourceInput): Omit<SourcePlan, 'query'> {
  const object = planObject(input)
  if (!object) return { actions: updateStatus(input), writesAttempt: true }
  const isReleased = input.source.metadata.deletionTimestamp !== undefined && object.length > 0
  return defined({ actions: object, writesAttempt: false, absentUntil: isReleased ? input.now + ABSENT_MS : undefined })
}

/** Returns the actions on the source itself; undefined if only its status may change. */
function planObject(input: SourceInput): Action[] | undefined {
  const { source, claims } = input
  if (!source.metadata.resourceVersion) return [create(input)]
  if (source.metadata.deletionTimestamp) return release(input)
  if (claims.length === 0 && source.spec.reclaimPolicy === 'Delete') {
    return [{ kind: 'delete', type: dataSources, object: source }]
  }
  return updateObject(input)
}

function create({ source, attempt, crd = 'ours' }: SourceInput): Action {
  const locality = localityFor(crd, attemptLocality(attempt) ?? (crd === 'upstream' ? {} : undefined))
  const object = {
    ...source,
    metadata: { ...source.metadata, finalizers: [SOURCE_FINALIZER] },
    spec: { ...source.spec, ...defined({ locality }) },
  }
  return { kind: 'create', type: dataSources, object }
}

/**
 * Releases a deleted source. If it has a claim, its answer applies until its system answers a new query. Then the finalizer is removed, and
 * a new source with the new answer replaces it.
 */
function release({ source, claims, attempt, system }: SourceInput): Action[] {
  const { finalizers = [] } = source.metadata
  if (!finalizers.includes(SOURCE_FINALIZER)) return []
  const isAnswered = attempt !== undefined && attempt.kind !== 'failed'
  if (claims.length > 0 && system && !isAnswered) return []
  const kept = finalizers.filter((finalizer) => finalizer !== SOURCE_FINALIZER)
  return [patchOf(dataSources, source, { metadata: { finalizers: kept } })]
}

/** Plans the location and the finalizer in one write. A source has the finalizer while it has a claim. */
function updateObject({ source, claims, attempt, crd = 'ours' }: SourceInput): Action[] | undefined {
  const { finalizers = [] } = source.metadata
  const others = finalizers.filter((finalizer) => finalizer !== SOURCE_FINALIZER)
  const wanted = claims.length > 0 ? [...others, SOURCE_FINALIZER] : others
  const before = source.spec.locality
  const after = localityFor(crd, attemptLocality(attempt)) ?? before
  const isProtected = wanted.length === finalizers.length
  const isSame = jsonEqual(before, after)
  if (isProtected && isSame) return undefined
  const moved = before && !jsonEqual(before.clusterNames, after?.clusterNames)
  return [
    patchOf(
      dataSources,
      source,
      defined({
        metadata: isProtected ? undefined : { finalizers: wanted },
        spec: isSame ? undefined : { locality: { ...removeMembers(before), ...after } },
      }),
    ),
    ...(moved
      ? [eventAbout(source, 'Normal', 'Moved', `${listed(before.clusterNames)} → ${listed(after?.clusterNames)}`)]
      : []),
  ]
}

/** Removes every member in a merge patch. */
function removeMembers(locality: object = {}): Record<string, null> {
  return Object.fromEntries(Object.keys(locality).map((key) => [key, null]))
}

function attemptLocality(attempt: Attempt | undefined): DataSource['spec']['locality'] {
  return attempt?.kind === 'located' ? answeredLocality(attempt) : undefined
}

function updateStatus(input: SourceInput): Action[] {
  const { source, claims, attempt, crd = 'ours', now } = input
  const before = source.status ?? {}
  const phase = nextPhase(input)
  const failure = attemptFailure(attempt)
  const columns = sourceColumns(source)
  const status = {
    ...before,
    ...columns,
    ...defined({ phase }),
    claimRefs: firstByKey(claims).map(claimReference),
    boundClaims: claims.length,
    ...defined({ lastResolvedTime: attempt && !failure ? new Date(now).toISOString() : undefined }),
    conditions: sourceConditions(input, phase, now),
  }
  const next = statusFor(crd, attempt ? { ...status, lastError: failure } : status)
  const { claimRefs = [], boundClaims = 0, conditions = [] } = before
  if (jsonEqual(next, statusFor(crd, { ...before, claimRefs, boundClaims, conditions }))) return []
  const removed = {
    ...removedColumns(before, columns),
    ...(attempt ? { lastError: failure ?? null } : {}),
    // Conditions have the generation too, so it is not compared.
    ...defined({ observedGeneration: source.metadata.generation }),
  }
  return [statusPatchOf(dataSources, source, statusFor(crd, { ...next, ...removed })), ...phaseEvents(input, phase)]
}

/** A known location is replaced after several answers that the data does not exist. Without one, the first such answer is enough. */
function nextPhase({ source, attempt, crd = 'ours' }: SourceInput): SourcePhase | undefined {
  const before = sourcePhase(source)
  switch (attempt?.kind) {
    case 'located':
      return 'Available'
    case 'nowhere':
      return !hasLocation(crd, source) || attempt.confirmations >= CONFIRMATIONS ? 'Unavailable' : before
    default:
      return phaseOrDeclared(source)
  }
}

/** Returns an Event when the phase changes, when the system stops answering, or when it answers again. */
function phaseEvents(input: SourceInput, phase: SourcePhase | undefined): Action[] {
  const { source, attempt } = input
  const wasStale = isTrue(source.status?.conditions, 'Stale')
  const failure = attemptFailure(attempt)
  return [
    ...(phase && sourcePhase(source) !== phase
      ? [eventAbout(source, phase === 'Available' ? 'Normal' : 'Warning', phase, readyMessage(input, phase))]
      : []),
    ...(failure !== undefined && !wasStale ? [eventAbout(source, 'Warning', 'Stale', failure)] : []),
    ...(attempt && attempt.kind !== 'failed' && wasStale
      ? [eventAbout(source, 'Normal', 'Fresh', 'the data system answers again')]
      : []),
  ]
}

/** Returns the claims that a status lists, in the order of their keys. Popular data can have a hundred thousand claims: these are not sorted. */
function firstByKey(claims: readonly DataSourceClaim[]): DataSourceClaim[] {
  let first: [key: string, claim: DataSourceClaim][] = []
  const sort = () => first.sort(([a], [b]) => (a < b ? -1 : 1)).slice(0, MAX_CLAIM_REFERENCES)
  let last: string | undefined
  for (const claim of claims) {
    const key = keyOfObject(claim)
    if (last !== undefined && key > last) continue
    first.push([key, claim])
    if (first.length < 2 * MAX_CLAIM_REFERENCES) continue
    first = sort()
    last = first.at(-1)?.[0]
  }
  return sort().map(([, claim]) => claim)
}

function claimReference({ metadata }: DataSourceClaim): ClaimReference {
  const { namespace, name, uid } = metadata
  return defined({
    apiVersion: apiVersionOf(dataSourceClaims),
    kind: dataSourceClaims.kind,
    namespace: namespace || undefined,
    name: name || undefined,
    uid: uid || undefined,
  })
}

interface Columns {
  clusters: string | undefined
  size: string | undefined
}

/** Returns the columns of the location; undefined for a column without a value. */
export function sourceColumns({ spec }: Pick<DataSource, 'spec'>): Columns {
  const { clusterNames, bytes, bytesAreMinimum } = spec.locality ?? {}
  return {
    clusters: clusterNames?.length ? namesColumn(clusterNames) : undefined,
    size: bytes === undefined ? undefined : sizeColumn(bytes, bytesAreMinimum),
  }
}

/** Removes, in a merge patch, the columns of a status that have no value any more. */
export function removedColumns(before: Partial<Columns>, columns: Columns): { clusters?: null; size?: null } {
  return defined({
    clusters: before.clusters !== undefined && columns.clusters === undefined ? null : undefined,
    size: before.size !== undefined && columns.size === undefined ? null : undefined,
  })
}
