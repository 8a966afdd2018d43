/** Measures holds by reason: their number, the age of the oldest one, and those that exceeded the timeout of their claims. */
import { isBinding, type ResourceBinding } from '../../api/karmada.ts'
import { keyOfObject, splitObjectKey } from '../../api/meta.ts'
import type { KarmadaRules } from '../../core/karmada-rules.ts'
import { type HoldReason, readDecision } from '../../core/resource-binding/annotations.ts'
import { decideBinding } from '../../core/resource-binding/decide.ts'
import type { DecisionSettings } from '../../core/resource-binding/decision-settings.ts'
import { gatherBindingInput } from '../../queries/binding.ts'
import { claimsFor } from '../../queries/permission.ts'
import { allBindings, bindingNamed } from '../../queries/workload.ts'
import type { ObjectStore } from '../../store/store.ts'
import type { DomainMetrics } from '../../telemetry/domain-metrics.ts'

export interface HoldMeterInput extends DecisionSettings {
  /** A synced store. */
  store: ObjectStore
  /** Returns the rules of the connected Karmada; undefined, for the strictest, if they cannot be read. */
  karmadaRules: () => KarmadaRules | undefined
  /** Milliseconds since the epoch. */
  now: () => number
}

/** The loop releases a hold within this time after its timeout. */
const GRACE_MS = 60_000
/** A scrape checks at most so many holds: each takes 2 µs, and 50 µs if a timeout of its claims ended. */
const MAX_CHECKS = 200
/** A change of the claims of a hold counts after this time. */
const RECHECK_MS = 60_000

interface KnownHold {
  reason: HoldReason
  /** In ms since the epoch. */
  since: number
  /** When to look at its claims again, in ms since the epoch. */
  checkAt: number
  isOverdue: boolean
}

const REASONS = ['Unresolved', 'Unsatisfiable', 'ClaimMissing'] as const satisfies HoldReason[]

export function openHoldMeter(input: HoldMeterInput): { read: () => DomainMetrics['holds']; stop: () => void } {
  const { store, now } = input
  const holds = new Map<string, KnownHold>()
  function update({ metadata }: ResourceBinding, isDeleted: boolean): void {
    const key = keyOfObject({ metadata })
    const { hold } = readDecision(metadata.annotations)
    if (!hold || hold.released || isDeleted) holds.delete(key)
    else {
      const since = Date.parse(hold.since)
      holds.set(key, { reason: hold.reason, since, checkAt: since + GRACE_MS, isOverdue: false })
    }
  }
  for (const binding of allBindings(store)) update(binding, false)
  const stop = store.subscribe(({ type, before, after }) => {
    if (isBinding(type.kind)) update((after ?? before) as ResourceBinding, after === undefined)
  })
  return { read: () => measure(holds, input, now()), stop }
}

function measure(holds: ReadonlyMap<string, KnownHold>, input: HoldMeterInput, now: number): DomainMetrics['holds'] {
  const sums = Object.fromEntries(REASONS.map((reason) => [reason, { count: 0, oldestSeconds: 0, overdue: 0 }]))
  let checks = 0
  for (const [key, hold] of holds) {
    const sum = sums[hold.reason]
    if (!sum) continue
    if (hold.checkAt <= now && checks < MAX_CHECKS) {
      checks++
      hold.checkAt = now + RECHECK_MS
      hold.isOverdue = isOverdue(key, now - hold.since - GRACE_MS, input, now)
    }
    sum.count++
    sum.oldestSeconds = Math.max(sum.oldestSeconds, (now - hold.since) / 1000)
    if (hold.isOverdue) sum.overdue++
  }
  return sums
}

/** Whether the decision of a minute ago released the hold. It is decided only if a timeout ended, which may be of another cause. */
function isOverdue(
  key: string,
  heldMs: number,
  { store, karmadaRules, ...settings }: HoldMeterInput,
  now: number,
): boolean {
  const binding = bindingNamed(splitObjectKey(key), store)
  if (!binding) return false
  const isEnded = claimsFor(binding.spec.resource, store, settings.clusterScopedClaims).some(
    ({ spec }) => (spec.policy?.holdTimeoutSeconds ?? Number.POSITIVE_INFINITY) * 1000 <= heldMs,
  )
  if (!isEnded) return false
  const context = { ...settings, store, karmadaRules: karmadaRules(), now: now - GRACE_MS }
  const input = gatherBindingInput(binding, binding, context)
  return readDecision(decideBinding(input).binding.metadata.annotations).hold?.released === true
}
