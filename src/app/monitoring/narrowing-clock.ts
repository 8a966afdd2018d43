/** Measures how long claims whose data is located wait until the binding of their workload is narrowed. Runs on the leader. */
import { type DataSourceClaim, dataSourceClaims } from '../../api/data-source-claim.ts'
import { isBinding, type ResourceBinding } from '../../api/karmada.ts'
import { keyOfObject, splitObjectKey } from '../../api/meta.ts'
import { jsonEqual } from '../../base/json.ts'
import { type Clock, systemClock } from '../../base/time/clock.ts'
import { locateClaim } from '../../core/data-source/locate.ts'
import type { KarmadaRules } from '../../core/karmada-rules.ts'
import { readDecision } from '../../core/resource-binding/annotations.ts'
import { decideBinding } from '../../core/resource-binding/decide.ts'
import type { DecisionSettings } from '../../core/resource-binding/decision-settings.ts'
import { gatherBindingInput } from '../../queries/binding.ts'
import { claimsFor } from '../../queries/permission.ts'
import { claimSource } from '../../queries/source.ts'
import { bindingNamed, bindingsOfClaim } from '../../queries/workload.ts'
import type { ObjectStore } from '../../store/store.ts'

export interface NarrowingClockInput extends DecisionSettings {
  /** A synced store. */
  store: ObjectStore
  /** Returns the rules of the connected Karmada; undefined, for the strictest, if they cannot be read. */
  karmadaRules: () => KarmadaRules | undefined
  /** Milliseconds since the epoch. */
  now: () => number
  /** Receives the seconds of each claim. */
  observe: (seconds: number) => void
  /** Default: the clock of the system. */
  clock?: Pick<Clock, 'now' | 'after'>
}

/** A wait that is longer counts with this time. */
const LONGEST_WAIT_MS = 60_000
/** Further claims are not measured. */
const MAX_WAITS = 10_000

/** How often waits are checked for their end. */
const CHECK_MS = 10_000
/** How many decisions a check makes. Each takes about 50 µs, in which no review is answered. */
const DECISIONS_AT_ONCE = 100

/**
 * Starts with a new claim or a new binding, and ends when the binding names the claim as narrowed. A wait that ends with a hold or a deletion
 * does not count, and neither does one in which the decision is to change nothing. Returns a function that stops the measurement.
 */
export function startNarrowingClock(input: NarrowingClockInput): () => void {
  const { store, clusterScopedClaims, matrix, karmadaRules, timing, kinds, now, observe, clock = systemClock } = input
  /** The key of a binding → the keys of its claims → when the wait began. */
  const waits = new Map<string, Map<string, number>>()
  let cancel: (() => void) | undefined

  function start(binding: ResourceBinding, claims: readonly DataSourceClaim[]): void {
    const permitted = claimsFor(binding.spec.resource, store, clusterScopedClaims).map(keyOfObject)
    const located = claims.filter(
      (claim) =>
        permitted.includes(keyOfObject(claim)) &&
        locateClaim(claim, claimSource(claim, store), now()).answer.kind === 'located',
    )
    if (located.length === 0 || waits.size >= MAX_WAITS) return
    const known = waits.get(keyOfObject(binding)) ?? new Map<string, number>()
    for (const claim of located) known.set(keyOfObject(claim), clock.now())
    waits.set(keyOfObject(binding), known)
    settle(binding)
    cancel ??= clock.after(CHECK_MS, endLate)
  }

  /** Ends the waits of a binding that has a decision for them. */
  function settle(binding: ResourceBinding): void {
    const claims = waits.get(keyOfObject(binding))
    if (!claims) return
    const { locality, hold } = readDecision(binding.metadata.annotations)
    for (const claim of locality?.claims ?? []) {
      const startedAt = claims.get(claim)
      if (startedAt === undefined) continue
      observe((clock.now() - startedAt) / 1000)
      claims.delete(claim)
    }
    if (hold || claims.size === 0) waits.delete(keyOfObject(binding))
  }

  /** Counts the waits that are too long, unless nothing is left to do for their binding. */
  function endLate(): void {
    let decisions = 0
    for (const [key, claims] of waits) {
      const late = [...claims].filter(([, startedAt]) => clock.now() - startedAt >= LONGEST_WAIT_MS)
      if (late.length === 0) continue
      if (decisions++ === DECISIONS_AT_ONCE) break
      const isWaiting = isUndecided(key)
      for (const [claim] of late) {
        claims.delete(claim)
        if (isWaiting) observe(LONGEST_WAIT_MS / 1000)
      }
      if (claims.size === 0) waits.delete(key)
    }
    cancel = waits.size > 0 ? clock.after(CHECK_MS, endLate) : undefined
  }

  function isUndecided(key: string): boolean {
    const binding = bindingNamed(splitObjectKey(key), store)
    if (!binding) return false
    const settings = { store, clusterScopedClaims, matrix, karmadaRules: karmadaRules(), timing, kinds, now: now() }
    const decided = decideBinding(gatherBindingInput(binding, binding, settings))
    return !jsonEqual(decided.binding, binding)
  }

  function bindingChanged(before: ResourceBinding | undefined, after: ResourceBinding | undefined): void {
    if (!after) waits.delete(before ? keyOfObject(before) : '')
    else if (before) settle(after)
    else start(after, claimsFor(after.spec.resource, store, clusterScopedClaims))
  }

  function claimChanged(before: DataSourceClaim | undefined, after: DataSourceClaim | undefined): void {
    for (const binding of before && after ? [] : bindingsOfClaim((after ?? before) as DataSourceClaim, store)) {
      if (after) start(binding, [after])
      else waits.get(keyOfObject(binding))?.delete(before ? keyOfObject(before) : '')
    }
  }

  const unsubscribe = store.subscribe(({ type, before, after }) => {
    if (isBinding(type.kind)) bindingChanged(before as ResourceBinding, after as ResourceBinding)
    else if (type.kind === dataSourceClaims.kind) claimChanged(before as DataSourceClaim, after as DataSourceClaim)
  })
  return () => {
    unsubscribe()
    cancel?.()
  }
}
