/** The loop of sources: one for each question that is claimed, asked no more often than configured, with the answer noted. */
import { type DataSource, dataSources } from '../api/data-source.ts'
import { type DataSourceClaim, dataSourceClaims } from '../api/data-source-claim.ts'
import { apiVersionOf } from '../api/meta.ts'
import { type Attempt, CONFIRMATIONS, planSource } from '../core/data-source/plan.ts'
import { retryDelayMs } from '../core/data-source/retry.ts'
import { questionOfClaim, sourceKeyOfClaim } from '../core/data-source-claim/keys.ts'
import { counts } from '../core/data-source-claim/leave.ts'
import { fnv1a } from '../core/hash.ts'
import { LocalityError, type System } from '../locality/plugin.ts'
import { claimsOfSource, nameOfSource } from '../store/gather-source.ts'
import type { ObjectStore } from '../store/store.ts'
import { applyPlan } from './apply.ts'
import type { ReconcileContext, ReconcileLoop } from './define.ts'

/** What is known of a source between two questions. Lost with the process, which costs a question and nothing else. */
interface Memory {
  /** Who was asked. */
  system?: System
  etag?: string
  confirmations: number
  failures: number
  /** When it last answered, ms since the epoch. */
  answeredAt?: number
  /** When to ask again if that is sooner or later than the interval says, ms since the epoch. */
  nextAt?: number | undefined
  /** Until when one that was deleted has no successor, ms since the epoch. */
  absentUntil?: number
  /** An answer that is not written yet: a write that failed must not cost another question. */
  unwritten?: Attempt | undefined
}

/** "No such data" is asked again sooner than a location, until it is confirmed. */
const CONFIRM_MS = 10_000
/** Who deletes a source waits to see it gone: kubectl follows the name, and takes a successor that is there at once for the same one. */
const ABSENT_MS = 500

/** Opens the loop; what it remembers lives as long as it does. */
export function openDataSourceLoop(): ReconcileLoop {
  const memories = new Map<string, Memory>()
  return {
    name: 'data-source',
    concurrency: 16,
    keysOf: ({ type, before, after }, store) => {
      const objects = [before, after].filter((object) => object !== undefined)
      if (type.kind === dataSources.kind) return objects.flatMap((source) => namesFor(source as DataSource))
      if (type.kind === dataSourceClaims.kind)
        return objects.flatMap((claim) => sourcesOfClaim(claim as DataSourceClaim, store))
      return []
    },
    *allKeys(store) {
      for (const { metadata } of store.list(dataSources)) yield metadata.name
      for (const claim of store.list(dataSourceClaims)) yield* sourcesOfClaim(claim, store)
    },
    async reconcile(name, context) {
      const { store, systems, now } = context
      const source = store.get(dataSources, undefined, name) ?? draftOf(name, store)
      if (!source) {
        memories.delete(name)
        return undefined
      }
      const claims = claimsOfSource(source, store).filter((claim) => counts(claim, now()))
      const system = systems.get(source.spec.system)
      const isStored = source.metadata.resourceVersion !== undefined
      // Without an answer to come, a source would only say that nobody knows.
      if (!isStored && !system) return undefined
      const memory = memories.get(name) ?? { confirmations: 0, failures: 0 }
      memories.set(name, memory)
      if (system) meet(system, memory, now())
      const absentMs = isStored ? 0 : (memory.absentUntil ?? 0) - now()
      if (absentMs > 0) return absentMs
      const asks = system !== undefined && claims.length > 0
      const intervalMs = refreshIntervalMs(system, claims)
      const isDue = asks && now() >= dueAt(source, memory, intervalMs)
      if (isDue && (!memory.unwritten || memory.unwritten.kind === 'failed')) {
        memory.unwritten = await ask(source, system, memory, context)
      }
      const plan = planSource({
        source,
        claims,
        attempt: memory.unwritten,
        systemKnown: system !== undefined,
        health: healthOf(system),
        now: now(),
      })
      await applyPlan(context, plan)
      if (plan.notesAttempt) delete memory.unwritten
      if (source.metadata.deletionTimestamp && plan.actions.length > 0) memory.absentUntil = now() + ABSENT_MS
      const nextAt = dueAt(source, memory, intervalMs)
      // One that was just made, or may go now, is looked at when that is seen to have happened.
      return asks && nextAt > 0 ? Math.max(0, nextAt - now()) : undefined
    },
  }
}

/** A source and, once it is gone, the one that would take its place. */
function namesFor({ metadata, spec }: DataSource): string[] {
  return [...new Set([metadata.name ?? '', nameOfSource(spec)])]
}

/** The sources that answer a claim, or the one that would. */
function sourcesOfClaim(claim: DataSourceClaim, store: ObjectStore): string[] {
  const asked = store.byIndex(dataSources, 'key', sourceKeyOfClaim(claim)).map(({ metadata }) => metadata.name ?? '')
  const answering = asked.length > 0 ? asked : [nameOfSource(questionOfClaim(claim))]
  const bound = claim.status?.boundDataSource
  return bound && !answering.includes(bound) ? [...answering, bound] : answering
}

/** The source of that name as it would be made: where claims ask its question and no other source answers it. */
function draftOf(name: string, store: ObjectStore): DataSource | undefined {
  const claim = store
    .byIndex(dataSourceClaims, 'sourceName', name)
    .find(({ metadata }) => metadata.deletionTimestamp === undefined)
  if (!claim || store.byIndex(dataSources, 'key', sourceKeyOfClaim(claim)).length > 0) return undefined
  return {
    apiVersion: apiVersionOf(dataSources),
    kind: dataSources.kind,
    metadata: { name },
    spec: questionOfClaim(claim),
  }
}

/**
 * When a source is to be asked: at once when it never was, is to be made or is to go; else an interval after the last answer, less up
 * to a tenth, so that a fleet that was asked at once is spread. A system that failed is left alone for a while whatever happens.
 */
function dueAt({ metadata, status }: DataSource, memory: Memory, intervalMs: number): number {
  if (memory.failures > 0) return memory.nextAt ?? 0
  if (!metadata.resourceVersion || metadata.deletionTimestamp) return 0
  if (memory.nextAt !== undefined) return memory.nextAt
  const last = memory.answeredAt ?? Date.parse(status?.lastResolvedTime ?? '')
  if (Number.isNaN(last)) return 0
  const spread = (Number.parseInt(fnv1a(metadata.name ?? '').slice(-4), 36) % 1000) / 10_000
  return last + intervalMs * (1 - spread)
}

/** A location that becomes too old for a claim is confirmed before that, with time to fail once. */
function refreshIntervalMs(system: System | undefined, claims: readonly DataSourceClaim[]): number {
  const limits = claims.flatMap(({ spec }) => spec.policy?.maxStalenessSeconds ?? [])
  return Math.min(system?.refreshIntervalMs ?? Number.POSITIVE_INFINITY, ...limits.map((limit) => (limit * 1000) / 2))
}

/** A system that was configured anew may know better where data is, and may do what failed before: it is asked at once. */
function meet(system: System, memory: Memory, now: number): void {
  if (memory.system !== undefined && memory.system !== system) {
    memory.failures = 0
    memory.nextAt = now
    delete memory.etag
  }
  memory.system = system
}

function healthOf(system: System | undefined): { isHealthy: boolean; message: string } | undefined {
  if (!system || system.health.state === 'unknown') return undefined
  const isHealthy = system.health.state === 'healthy'
  return { isHealthy, message: system.health.error?.message ?? 'the data system is well' }
}

/** One question at a time per source (a queue never runs a key twice at once), however many claims ask it. */
async function ask(
  source: DataSource,
  system: System,
  memory: Memory,
  { now, signal, observer }: ReconcileContext,
): Promise<Attempt> {
  const { type, name, attributes = {} } = source.spec
  const started = performance.now()
  const told = (result: string) => observer.asked(source.spec.system, (performance.now() - started) / 1000, result)
  try {
    // A version is only of use while its answer is there, and stays.
    const etag = source.spec.locality && !source.metadata.deletionTimestamp ? memory.etag : undefined
    const answer = await system.plugin.locate({ type, name, attributes, ...(etag && { etag }) }, signal)
    told(answer.kind)
    memory.failures = 0
    memory.answeredAt = now()
    if (answer.kind === 'nowhere') {
      memory.confirmations++
      const soon = memory.confirmations < CONFIRMATIONS && source.spec.locality !== undefined
      memory.nextAt = soon ? now() + Math.min(CONFIRM_MS, system.refreshIntervalMs) : undefined
      return { kind: 'nowhere', reason: answer.reason, confirmations: memory.confirmations }
    }
    memory.confirmations = 0
    memory.nextAt = undefined
    if (answer.kind === 'unchanged') return { kind: 'unchanged' }
    if (answer.etag) memory.etag = answer.etag
    else delete memory.etag
    const { location, bytes } = answer
    return { kind: 'located', location, clusters: system.clustersOf(answer), ...(bytes !== undefined && { bytes }) }
  } catch (error) {
    if (!(error instanceof LocalityError)) throw error
    told(error.code)
    memory.failures++
    const { failures } = memory
    const isLocated = source.spec.locality !== undefined
    const { refreshIntervalMs } = system
    memory.nextAt = now() + retryDelayMs({ failures, isLocated, refreshIntervalMs, retryAfterMs: error.retryAfterMs })
    return { kind: 'failed', reason: `${system.plugin.system}: ${error.message}` }
  }
}
