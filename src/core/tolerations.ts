/** Compares tolerations with taints, as Kubernetes does for nodes and Karmada for clusters. */
import type { Taint, Toleration } from '../api/node.ts'

/** The effects that keep new pods, or new workloads, away. `PreferNoSchedule` only lowers a score. */
const BLOCKING_EFFECTS: readonly string[] = ['NoSchedule', 'NoExecute']

/** A taint that evicts a workload, and after how many seconds: 0 at once. */
export interface EvictingTaint {
  taint: Taint
  seconds: number
}

/** Matches every key, every effect, and with the operator Exists every value. */
const ANY = ''

/**
 * The tolerations of an object, prepared for many taints: a policy may have 100,000 tolerations, and a fleet 1,000 clusters.
 *
 * A toleration matches as in k8s.io/api/core/v1, Toleration.ToleratesTaint. An empty effect or key matches every one, also with the operator Equal:
 * Karmada does not validate the tolerations of a policy. The operators Lt and Gt match nothing, since Karmada disables them.
 */
export class Tolerations {
  readonly #all: readonly Toleration[]
  /** The shortest time of equal tolerations, in seconds; built for the first taint, since most clusters have none. */
  #times: Map<string, number> | undefined

  constructor(all: readonly Toleration[] = []) {
    this.#all = all
  }

  /** Returns the taints that keep the object away (k8s.io/component-helpers, FindMatchingUntoleratedTaint). */
  blocking(taints: readonly Taint[] = []): Taint[] {
    return taints.filter((taint) => BLOCKING_EFFECTS.includes(taint.effect) && this.#secondsFor(taint) === undefined)
  }

  /**
   * Finds the taint that first evicts a workload from its cluster; undefined if none does. The shortest toleration of a taint counts, as in
   * Karmada's taint manager (v1.18.1, pkg/controllers/cluster/taint_manager.go, needEviction).
   */
  evicting(taints: readonly Taint[] = []): EvictingTaint | undefined {
    return taints
      .filter(({ effect }) => effect === 'NoExecute')
      .map((taint) => ({ taint, seconds: Math.max(0, this.#secondsFor(taint) ?? 0) }))
      .filter(({ seconds }) => Number.isFinite(seconds))
      .sort((a, b) => a.seconds - b.seconds)[0]
  }

  /** For how long a taint is tolerated, infinite for good; undefined if it is not tolerated. */
  #secondsFor({ key, value = '', effect }: Taint): number | undefined {
    this.#times ??= shortestTimes(this.#all)
    let shortest: number | undefined
    for (const ofKey of [key, ANY]) {
      for (const ofEffect of [effect, ANY]) {
        for (const [operator, ofValue] of [['Exists', ANY] as const, ['Equal', value] as const]) {
          const seconds = this.#times.get(JSON.stringify([ofKey, ofEffect, operator, ofValue]))
          if (seconds !== undefined) shortest = Math.min(shortest ?? seconds, seconds)
        }
      }
    }
    return shortest
  }
}

function shortestTimes(tolerations: readonly Toleration[]): Map<string, number> {
  const times = new Map<string, number>()
  for (const { key, operator, value, effect, tolerationSeconds = Number.POSITIVE_INFINITY } of tolerations) {
    const kind = operator || 'Equal'
    const match = JSON.stringify([key || ANY, effect || ANY, kind, kind === 'Exists' ? ANY : (value ?? '')])
    times.set(match, Math.min(times.get(match) ?? tolerationSeconds, tolerationSeconds))
  }
  return times
}

/** Returns a taint as kubectl prints it: `key=value:effect`, or `key:effect` without a value. */
export function taintText({ key, value, effect }: Taint): string {
  return `${key}${value ? `=${value}` : ''}:${effect}`
}
