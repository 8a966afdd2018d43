/** The loop of DataSources: creates one per query of claims, queries its data system at the configured interval, and writes the answer. */

import { type DataSource, dataSources } from '../../api/data-source.ts'
import { type DataSourceClaim, dataSourceClaims } from '../../api/data-source-claim.ts'
import { SOURCE_FINALIZER } from '../../api/lodestone.ts'
import { earliest } from '../../base/time/earliest.ts'
import { lacksLocation, ServedCrd, type SourceCrd, shownCrd } from '../../core/data-source/crd.ts'
import type { SourceInput } from '../../core/data-source/decide.ts'
import { planSource, type SourcePlan } from '../../core/data-source/plan.ts'
import { isHonored } from '../../core/data-source-claim/honored.ts'
import type { System } from '../../locality/locality.ts'
import { claimsRegranted, workloadsFor } from '../../queries/permission.ts'
import {
  claimsOfSource,
  namesAfter,
  sourceNamesOfChange,
  sourceNamesOfClaim,
  sourceToCreate,
} from '../../queries/source.ts'
import { isMissingField, type ObjectStore } from '../../store/store.ts'
import { applyPlan, type Writers } from '../apply.ts'
import type { ReconcileContext, ReconcileLoop } from '../define.ts'
import { Spacing } from '../spacing.ts'
import { reconcileUnavailable } from './deleted-definition.ts'
import {
  applyQuery,
  type FoundSource,
  forgetSource,
  observeSource,
  type SourceState,
  type SourceStates,
} from './source-queries.ts'
import { openSystemQueries, type SystemQueries } from './system-queries.ts'

/** Opens the loop with its own memory. */
export function openDataSourceLoop(): ReconcileLoop {
  const states: SourceStates = new Map()
  let queries: SystemQueries | undefined
  const served = new ServedCrd()
  const spacing = new Spacing()

  return {
    name: 'data-source',
    concurrency: 16,
    keysForChange(change, store) {
      const { type, before, after } = change
      const objects = [before, after].filter((object) => object !== undefined)
      if (type.kind === dataSources.kind) return objects.flatMap((source) => namesAfter(source as DataSource))
      if (type.kind === dataSourceClaims.kind) return sourceNamesOfChange(change, store)
      return claimsRegranted(change, store).flatMap((claim) => sourceNamesOfClaim(claim, store))
    },
    *keysForSystems(systems, store) {
      for (const { metadata, spec } of store.list(dataSources)) if (systems.has(spec.system)) yield metadata.name
      for (const claim of store.list(dataSourceClaims))
        if (systems.has(claim.spec.system)) yield* sourceNamesOfClaim(claim, store)
    },
    *allKeys(store) {
      for (const { metadata } of store.list(dataSources)) yield metadata.name
      for (const claim of store.list(dataSourceClaims)) yield* sourceNamesOfClaim(claim, store)
    },
    turnOf: namespaceOfSource,
    async reconcile(name, context) {
      const { now, signal, observer, enqueue } = context
      const unavailable = await reconcileUnavailable(dataSources, { name }, SOURCE_FINALIZER, context)
      if (unavailable) return unavailable.requeueAfterMs
      const waitMs = spacing.waitMs(name, now())
      if (waitMs > 0) return waitMs
      queries ??= openSystemQueries({ now, signal, observe: observer.queryEnded })
      const found = findSource(name, context)
      spacing.ran(name, found?.claims.length ?? 0, now())
      if (!found) {
        forgetSource(states, name)
        return undefined
      }
      const state = observeSource(states, name, found, now())
      const crd = served.at(now())
      const plan = planSource(gather(found, state, { queries, crd, now: now() }))
      const { attempt } = state
      applyQuery(plan.query, { found, state, queries, now, done: () => enqueue(name) })
      const shown = await applySource(plan, context)
      const isNewCrd = shown !== undefined && served.learn(shown, now())
      if (isNewCrd) observeCrd(shown, context)
      // The source is written again, without the fields that the CRD lacks.
      if (shown === 'upstream') enqueue(name)
      else rememberWrite(state, plan, attempt)
      return earliest(plan.requeueAfterMs, crd === 'upstream' ? served.retryInMs(now()) : undefined)
    },
  }
}

/** Tells an operator that the CRD lacks fields. When it has them again, every source lacks what the API server dropped before. */
function observeCrd(shown: SourceCrd, { observer, store, enqueue }: ReconcileContext): void {
  if (shown === 'upstream') observer.reducedCrd?.()
  else for (const { metadata } of store.list(dataSources)) enqueue(metadata.name ?? '')
}

/** Remembers what the status of a source shows now. A newer answer may have arrived during the write. */
function rememberWrite(state: SourceState, plan: SourcePlan, attempt: SourceState['attempt']): void {
  if (plan.writesAttempt && state.attempt === attempt) state.attempt = undefined
  if (plan.absentUntil !== undefined) state.absentUntil = plan.absentUntil
}

/** Returns the namespace of a claim of the source: the first one in its status, or the one for which the source is created. */
function namespaceOfSource(name: string, store: ObjectStore): string {
  const [shown] = store.get(dataSources, undefined, name)?.status?.claimRefs ?? []
  return shown?.namespace ?? store.byIndex(dataSourceClaims, 'sourceName', name)[0]?.metadata.namespace ?? ''
}

/** Finds a source, or the one to create. Returns undefined if there is none, and no claim needs one. */
function findSource(
  name: string,
  { store, systems, clusterScopedClaims, now }: ReconcileContext,
): FoundSource | undefined {
  const isPermitted = (claim: DataSourceClaim) => workloadsFor(claim, store, clusterScopedClaims).length > 0
  const source = store.get(dataSources, undefined, name) ?? sourceToCreate(name, store, isPermitted)
  if (!source) return undefined
  const claims = claimsOfSource(source, store).filter((claim) => isHonored(claim, now()) && isPermitted(claim))
  return { source, claims, system: systems.get(source.spec.system) }
}

function gather(
  { source, claims, system }: FoundSource,
  { history, sent, attempt, absentUntil }: SourceState,
  { queries, crd, now }: { queries: SystemQueries; crd: SourceCrd; now: number },
): SourceInput {
  return {
    source,
    claims,
    system: system && {
      refreshIntervalMs: system.refreshIntervalMs,
      maxBackoffMs: system.retry.maxBackoffMs,
      isFailing: queries.isFailing(system),
    },
    health: systemHealth(system),
    history,
    isQuerying: sent !== undefined,
    crd,
    attempt,
    absentUntil,
    now,
  }
}

function systemHealth(system: System | undefined): SourceInput['health'] {
  if (!system || system.health.state === 'unknown') return undefined
  const isHealthy = system.health.state === 'healthy'
  return { isHealthy, message: system.health.error?.message ?? 'the data system is healthy' }
}

/** Applies the actions, and returns the CRD that the answer of the API server shows, if it shows one. */
async function applySource(plan: SourcePlan, writers: Writers): Promise<SourceCrd | undefined> {
  const [first] = plan.actions
  try {
    const [written] = (await applyPlan(writers, plan)) as DataSource[]
    return written && shownCrd(first, written)
  } catch (error) {
    if (lacksLocation(first) && isMissingField(error)) return 'upstream'
    throw error
  }
}
