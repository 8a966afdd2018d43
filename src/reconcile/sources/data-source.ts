/** The loop of DataSources: creates one per query of claims, queries its data system at the configured interval, and writes the answer. */
import { type DataSource, dataSources } from '../../api/data-source.ts'
import { type DataSourceClaim, dataSourceClaims } from '../../api/data-source-claim.ts'
import { SOURCE_FINALIZER } from '../../api/lodestone.ts'
import { dropsLocation, dropsPhase, type SourceCrd } from '../../core/data-source/crd.ts'
import { decideSource } from '../../core/data-source/decide.ts'
import { planSource } from '../../core/data-source/plan.ts'
import { isHonored } from '../../core/data-source-claim/honored.ts'
import { sourceKeyOfSource } from '../../core/data-source-claim/keys.ts'
import type { System } from '../../locality/locality.ts'
import { claimsRegranted, workloadsFor } from '../../queries/permission.ts'
import { claimsOfSource, namesAfter, sourceNamesOfClaim, sourceToCreate } from '../../queries/source.ts'
import { rejectionMessage } from '../../store/store.ts'
import { applyPlan } from '../apply.ts'
import type { ReconcileContext, ReconcileLoop } from '../define.ts'
import { handleUnavailable } from './deleted-definition.ts'
import { cancelQuery, newState, type SourceState, sendQuery, setSystem } from './source-queries.ts'
import { openSystemQueries, type SystemQueries } from './system-queries.ts'

/** Opens the loop with its own state. */
export function openDataSourceLoop(): ReconcileLoop {
  const states = new Map<string, SourceState>()
  let queries: SystemQueries | undefined
  // Until a write shows otherwise. A newer CRD is used after a restart.
  let crd: SourceCrd = 'ours'

  function sourceState(name: string, source: DataSource): SourceState {
    const known = states.get(name)
    if (known?.key === sourceKeyOfSource(source)) return known
    forget(name)
    const state = newState(source)
    states.set(name, state)
    return state
  }

  function forget(name: string): void {
    states.get(name)?.sent?.cancel()
    states.delete(name)
  }

  return {
    name: 'data-source',
    concurrency: 16,
    keysForChange(change, store) {
      const { type, before, after } = change
      const objects = [before, after].filter((object) => object !== undefined)
      if (type.kind === dataSources.kind) return objects.flatMap((source) => namesAfter(source as DataSource))
      if (type.kind === dataSourceClaims.kind)
        return objects.flatMap((claim) => sourceNamesOfClaim(claim as DataSourceClaim, store))
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
    async reconcile(name, context) {
      const { store, systems, clusterScopedClaims, now, signal, observer, enqueue } = context
      const unavailable = await handleUnavailable(dataSources, { name }, SOURCE_FINALIZER, store)
      if (unavailable) return unavailable.requeueAfterMs
      const isPermitted = (claim: DataSourceClaim) => workloadsFor(claim, store, clusterScopedClaims).length > 0
      const source = store.get(dataSources, undefined, name) ?? sourceToCreate(name, store, isPermitted)
      if (!source) {
        forget(name)
        return undefined
      }
      queries ??= openSystemQueries({ now, signal, observe: observer.queryEnded })
      const claims = claimsOfSource(source, store).filter((claim) => isHonored(claim, now()) && isPermitted(claim))
      const system = systems.get(source.spec.system)
      const state = sourceState(name, source)
      setSystem(state, system, now())
      throwFault(state)
      const decision = decideSource({
        source,
        claims,
        system: system && {
          refreshIntervalMs: system.refreshIntervalMs,
          maxBackoffMs: system.retry.maxBackoffMs,
          isFailing: queries.isFailing(system),
        },
        history: state.history,
        isQuerying: state.sent !== undefined,
        crd,
        attempt: state.attempt,
        absentUntil: state.absentUntil,
        now: now(),
      })
      const namespaces = claims.flatMap(({ metadata }) => metadata.namespace ?? [])
      state.sent?.share(namespaces)
      if (decision.query === 'cancel') cancelQuery(state)
      if (decision.query === 'resume' && system) queries.resume(system)
      if (decision.query === 'send' && system) {
        sendQuery({ source, state, system, queries, namespaces, now, done: () => enqueue(name) })
      }
      if (decision.writes) {
        const served = await write(source, claims, { state, system, crd }, context)
        if (served !== crd) {
          crd = served
          observer.reducedCrd?.()
          enqueue(name)
        }
      }
      return decision.requeueAfterMs
    },
  }
}

/** Throws the error of a plugin as the error of this reconcile. The controller logs it and retries. */
function throwFault(state: SourceState): void {
  const { fault } = state
  state.fault = undefined
  if (fault) throw fault.error
}

/** Plans and applies. Returns the CRD of the API server, which its response shows. */
async function write(
  source: DataSource,
  claims: readonly DataSourceClaim[],
  { state, system, crd }: { state: SourceState; system: System | undefined; crd: SourceCrd },
  context: ReconcileContext,
): Promise<SourceCrd> {
  const { attempt } = state
  const systemKnown = system !== undefined
  const plan = planSource({
    source,
    claims,
    attempt,
    systemKnown,
    health: systemHealth(system),
    crd,
    now: context.now(),
  })
  try {
    const [written] = await applyPlan(context, plan)
    const [first] = plan.actions
    const stored = written as DataSource | undefined
    if (stored && (dropsLocation(first, stored) || dropsPhase(first, stored))) return 'upstream'
  } catch (error) {
    // The CRD of volcano-global rejects a source without a location.
    const isNew = source.metadata.resourceVersion === undefined
    if (isNew && crd !== 'upstream' && attempt?.kind !== 'located' && rejectionMessage(error)) return 'upstream'
    throw error
  }
  // A newer answer may have arrived during the write.
  if (plan.writesAttempt && state.attempt === attempt) state.attempt = undefined
  if (plan.absentUntil !== undefined) state.absentUntil = plan.absentUntil
  return crd
}

function systemHealth(system: System | undefined): { isHealthy: boolean; message: string } | undefined {
  if (!system || system.health.state === 'unknown') return undefined
  const isHealthy = system.health.state === 'healthy'
  return { isHealthy, message: system.health.error?.message ?? 'the data system is healthy' }
}
