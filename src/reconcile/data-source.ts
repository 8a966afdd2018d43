/** The loop of sources: one for each query that claims make, asked no more often than configured, with the answer in its status. */
import { type DataSource, dataSources } from '../api/data-source.ts'
import { type DataSourceClaim, dataSourceClaims } from '../api/data-source-claim.ts'
import { apiVersionOf } from '../api/meta.ts'
import { dueAt, refreshIntervalMs } from '../core/data-source/due.ts'
import { planSource } from '../core/data-source/plan.ts'
import { questionOfClaim, sourceKeyOfSource } from '../core/data-source-claim/keys.ts'
import { counts } from '../core/data-source-claim/leave.ts'
import type { System } from '../locality/plugins/plugin.ts'
import { claimsRegranted, workloadsFor } from '../queries/permission.ts'
import { claimsOfSource, nameOfSource, sourcesFor } from '../queries/source.ts'
import type { ObjectStore } from '../store/store.ts'
import { applyPlan } from './apply.ts'
import type { ReconcileContext, ReconcileLoop } from './define.ts'
import { askWhenDue, meetSystem, newState, type SourceState } from './source-queries.ts'
import { openSystemQueries, type SystemQueries } from './system-queries.ts'

/** kubectl waits for a deleted source by its name, and takes a successor that exists at once for the same object. */
const ABSENT_MS = 500

/** Opens the loop; what it remembers lives as long as it does. */
export function openDataSourceLoop(): ReconcileLoop {
  const states = new Map<string, SourceState>()
  let queries: SystemQueries | undefined

  function stateOf(name: string, source: DataSource): SourceState {
    const known = states.get(name)
    if (known?.question === sourceKeyOfSource(source)) return known
    forget(name)
    const state = newState(source)
    states.set(name, state)
    return state
  }

  function forget(name: string): void {
    states.get(name)?.cancel?.()
    states.delete(name)
  }

  return {
    name: 'data-source',
    concurrency: 16,
    keysOf: (change, store) => {
      const { type, before, after } = change
      const objects = [before, after].filter((object) => object !== undefined)
      if (type.kind === dataSources.kind) return objects.flatMap((source) => namesFor(source as DataSource))
      if (type.kind === dataSourceClaims.kind)
        return objects.flatMap((claim) => sourcesOfClaim(claim as DataSourceClaim, store))
      return claimsRegranted(change, store).flatMap((claim) => sourcesOfClaim(claim, store))
    },
    *keysOfSystems(systems, store) {
      for (const { metadata, spec } of store.list(dataSources)) if (systems.has(spec.system)) yield metadata.name
      for (const claim of store.list(dataSourceClaims))
        if (systems.has(claim.spec.system)) yield* sourcesOfClaim(claim, store)
    },
    *allKeys(store) {
      for (const { metadata } of store.list(dataSources)) yield metadata.name
      for (const claim of store.list(dataSourceClaims)) yield* sourcesOfClaim(claim, store)
    },
    async reconcile(name, context) {
      const { store, systems, clusterScopedClaims, now, signal, observer, enqueue } = context
      const isPermitted = (claim: DataSourceClaim) => workloadsFor(claim, store, clusterScopedClaims).length > 0
      const source = store.get(dataSources, undefined, name) ?? draftOf(name, store, isPermitted)
      if (!source) {
        forget(name)
        return undefined
      }
      const claims = claimsOfSource(source, store).filter((claim) => counts(claim, now()) && isPermitted(claim))
      const system = systems.get(source.spec.system)
      const isStored = source.metadata.resourceVersion !== undefined
      // Without an answer to come, a source would only say that nothing is known.
      if (!isStored && !system) return undefined
      queries ??= openSystemQueries({ now, signal, observe: observer.asked })
      const state = stateOf(name, source)
      meetSystem(state, system, now())
      rethrowFault(state)
      const absentMs = isStored ? 0 : (state.absentUntil ?? 0) - now()
      if (absentMs > 0) return absentMs
      const asked = claims.length > 0 ? system : undefined
      const intervalMs = refreshIntervalMs(system?.refreshIntervalMs, claims)
      if (asked) askWhenDue({ source, state, system: asked, queries, now, done: () => enqueue(name) }, intervalMs)
      else withdraw(state)
      // A new source is made with its answer, in one write. A system that fails may give none for long: then the source says so.
      const isPatient = !isStored && state.unwritten === undefined && asked && !queries.isFailing(asked)
      if (!isPatient) await write(source, claims, state, system, context)
      const nextAt = dueAt(source, state.memory, intervalMs)
      // A source that was just made, or may go now, is looked at when the store shows it.
      return asked && !state.cancel && nextAt > 0 ? Math.max(0, nextAt - now()) : undefined
    },
  }
}

/** Reports the error of a plugin as that of a run, which is logged and tried again. */
function rethrowFault(state: SourceState): void {
  const { fault } = state
  state.fault = undefined
  if (fault) throw fault.error
}

/** A source that no claim uses is not asked. */
function withdraw(state: SourceState): void {
  state.cancel?.()
  state.cancel = undefined
}

async function write(
  source: DataSource,
  claims: readonly DataSourceClaim[],
  state: SourceState,
  system: System | undefined,
  context: ReconcileContext,
): Promise<void> {
  const { now } = context
  const attempt = state.unwritten
  const plan = planSource({
    source,
    claims,
    attempt,
    systemKnown: system !== undefined,
    health: healthOf(system),
    now: now(),
  })
  await applyPlan(context, plan)
  // A newer answer may have come during the write.
  if (plan.notesAttempt && state.unwritten === attempt) state.unwritten = undefined
  if (source.metadata.deletionTimestamp && plan.actions.length > 0) state.absentUntil = now() + ABSENT_MS
}

/** A source and, once it is gone, the one that would take its place. */
function namesFor({ metadata, spec }: DataSource): string[] {
  return [...new Set([metadata.name ?? '', nameOfSource(spec)])]
}

/** The sources that answer a claim, or the one that would. */
function sourcesOfClaim(claim: DataSourceClaim, store: ObjectStore): string[] {
  const asked = sourcesFor(claim, store).map(({ metadata }) => metadata.name ?? '')
  const answering = asked.length > 0 ? asked : [nameOfSource(questionOfClaim(claim))]
  const bound = claim.status?.boundDataSource
  return bound && !answering.includes(bound) ? [...answering, bound] : answering
}

/** The source of that name as it would be created: where permitted claims have its query and no other source answers it. */
function draftOf(
  name: string,
  store: ObjectStore,
  isPermitted: (claim: DataSourceClaim) => boolean,
): DataSource | undefined {
  const claim = store
    .byIndex(dataSourceClaims, 'sourceName', name)
    .find((claim) => claim.metadata.deletionTimestamp === undefined && isPermitted(claim))
  if (!claim || sourcesFor(claim, store).length > 0) return undefined
  return {
    apiVersion: apiVersionOf(dataSources),
    kind: dataSources.kind,
    metadata: { name },
    spec: questionOfClaim(claim),
  }
}

function healthOf(system: System | undefined): { isHealthy: boolean; message: string } | undefined {
  if (!system || system.health.state === 'unknown') return undefined
  const isHealthy = system.health.state === 'healthy'
  return { isHealthy, message: system.health.error?.message ?? 'the data system is healthy' }
}
