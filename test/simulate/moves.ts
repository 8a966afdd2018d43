// Checks the moves of scheduled workloads by the loop: within the budget, and at most one return per stabilization window. A workload waits longer
// if its last returns did not last.
import { isDeepStrictEqual } from 'node:util'
import { allowedBy, isLedToEviction, refusalOf } from './accepts.ts'
import { annotatedBaseOf, nameOf, requiredIn, stateOf, viewOf, waitsSince } from './bindings.ts'
import { claimsOf } from './claims.ts'
import { claimedPolicyOf } from './detector.ts'
import { type Binding, type Cluster, hasTemplates, namesOf } from './karmada.ts'
import { schedule } from './schedule.ts'
import { minus } from './sets.ts'
import { Violation } from './violation.ts'
import type { World } from './world.ts'

// The default of the stabilization window.
const WINDOW_MS = 5 * 60_000
// A return lasts if the workload stays with its data for this time. Lodestone counts an hour, from a decision some seconds before its write.
const LASTING_MS = 11 * WINDOW_MS
const MAX_WAIT_MS = 24 * 3_600_000

export class Moves {
  readonly #world: World
  readonly #returns = new Map<string, number>()
  readonly #relaxedAt = new Map<string, number>()
  // How many returns in a row did not last; and the bindings that have returned and were not relaxed since.
  readonly #shortReturns = new Map<string, number>()
  readonly #isBack = new Set<string>()
  #tokens: number
  #filledAtMs: number

  constructor(world: World) {
    this.#world = world
    this.#tokens = world.config.maxMovesPerMinute
    this.#filledAtMs = world.clock.now()
  }

  // A new leader begins with a full budget.
  leaderChanged(): void {
    this.#tokens = this.#world.config.maxMovesPerMinute
    this.#filledAtMs = this.#world.clock.now()
  }

  // Remembers when a binding was relaxed, by any writer.
  written(before: Binding, after: Binding): void {
    const id = after.metadata.uid ?? ''
    // Without the annotation, the returns are forgotten.
    if (stateOf(after) === undefined) {
      this.#shortReturns.delete(id)
      this.#isBack.delete(id)
    }
    if (stateOf(after) !== 'Relaxed' || stateOf(before) === 'Relaxed') return
    const now = this.#world.clock.now()
    this.#relaxedAt.set(id, now)
    const isShort = now - (this.#returns.get(id) ?? Number.NEGATIVE_INFINITY) < LASTING_MS
    if (!isShort) this.#shortReturns.delete(id)
    else if (this.#isBack.has(id)) this.#shortReturns.set(id, (this.#shortReturns.get(id) ?? 0) + 1)
    this.#isBack.delete(id)
  }

  // Checks a write of the loop. Throws Violation.
  check(before: Binding, after: Binding): void {
    const id = before.metadata.uid ?? ''
    const now = this.#world.clock.now()
    const [was, is] = [stateOf(before), stateOf(after)]
    const clusters = this.#world.api.list<Cluster>('Cluster')
    const allows = ({ spec }: Binding) => allowedBy(spec.placement ?? {}, clusters)
    const [allowedBefore, allowedAfter] = [allows(before), allows(after)]
    const moved = namesOf(before.spec.clusters).filter((name) => allowedBefore.has(name) && !allowedAfter.has(name))
    // The loop may write the placement of a new policy before the detector does, which moves the workload at once.
    if (!moved.some((name) => this.#isAllowed(after, name, clusters))) return
    this.#takeToken(now, nameOf(after))
    this.#checkRebalance(before, after)
    this.#checkMovesToStay(before, after)
    if (was !== 'Relaxed' || is !== 'Narrowed') return
    const last = this.#returns.get(id) ?? Number.NEGATIVE_INFINITY
    // The window begins when the data is available again.
    const relaxedAt = Math.max(this.#relaxedAt.get(id) ?? Number.NEGATIVE_INFINITY, waitsSince(before) ?? now)
    this.#returns.set(id, now)
    this.#isBack.add(id)
    const waitMs = Math.min(WINDOW_MS * 2 ** (this.#shortReturns.get(id) ?? 0), MAX_WAIT_MS)
    if (now - last < WINDOW_MS) {
      throw new Violation(
        'one-return-per-window',
        `${nameOf(after)}: it returns ${now - last} ms after its last return`,
      )
    }
    if (now - relaxedAt < waitMs) {
      throw new Violation(
        'returns-after-window',
        `${nameOf(after)}: it returns ${now - relaxedAt} ms after its data was available again, and has to wait ${waitMs}`,
      )
    }
  }

  // docs/concepts/claims.md: `rebalance` keeps a running workload from a move after its data, while it may stay where it runs.
  #checkRebalance(before: Binding, after: Binding): void {
    const [last, now] = [requiredIn(before), requiredIn(after)]
    if (stateOf(before) === 'Relaxed' || last.length === 0 || now.length === 0 || isDeepStrictEqual(last, now)) return
    if (!isDeepStrictEqual(annotatedBaseOf(before), annotatedBaseOf(after))) return
    const { replica } = this.#world.leader
    const hasVolumes = hasTemplates(this.#world.config, after.spec.resource.kind)
    const claims = claimsOf(after, viewOf(replica)).filter(({ isDeleting }) => !isDeleting)
    if (claims.every(({ moves, isAuto }) => moves && !(isAuto && hasVolumes))) return
    const mayStay = (cluster: Cluster) =>
      allowedBy(before.spec.placement ?? {}, [cluster]).size > 0 && refusalOf(cluster, before) === undefined
    const clusters = [...replica.clusters.values()]
    const left = minus(new Set(namesOf(before.spec.clusters)), allowedBy(after.spec.placement ?? {}, clusters))
    const moved = clusters.filter((cluster) => left.has(cluster.metadata.name ?? '') && mayStay(cluster))
    if (moved.length === 0) return
    throw new Violation(
      'stays-by-rebalance',
      `${nameOf(after)}: it leaves ${moved.map(nameOf)} after its data, which its claims do not allow`,
    )
  }

  // docs/concepts/claims.md: a running workload does not move to a cluster from which Karmada would evict it.
  #checkMovesToStay(before: Binding, after: Binding): void {
    const clusters = [...this.#world.leader.replica.clusters.values()]
    const result = schedule(after, clusters)
    if (result.kind !== 'fit') return
    const chosen = namesOf(result.clusters)
    if (!isLedToEviction(chosen, before, after.spec.placement, clusters)) return
    throw new Violation('moves-to-stay', `${nameOf(after)}: it moves to ${chosen}, from where Karmada evicts it`)
  }

  // Whether the present policy of a binding allows a cluster; also if it has no policy any more.
  #isAllowed(binding: Binding, name: string, clusters: readonly Cluster[]): boolean {
    const policy = claimedPolicyOf(binding, this.#world.api)
    return !policy || allowedBy(policy.spec.placement, clusters).has(name)
  }

  #takeToken(now: number, name: string): void {
    const { maxMovesPerMinute } = this.#world.config
    this.#tokens = Math.min(maxMovesPerMinute, this.#tokens + ((now - this.#filledAtMs) / 60_000) * maxMovesPerMinute)
    this.#filledAtMs = now
    this.#tokens -= 1
    if (this.#tokens < -0.01)
      throw new Violation('move-budget', `${name}: more than ${maxMovesPerMinute} moves per minute`)
  }
}
