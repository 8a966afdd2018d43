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
  /** The first of the tolerations that match the same; built for the first taint, since most clusters have none. */
  #firsts: Map<string, Ordered> | undefined

  constructor(all: readonly Toleration[] = []) {
    this.#all = all
  }

  /** Returns the taints that keep the object away (k8s.io/component-helpers, FindMatchingUntoleratedTaint). */
  blocking(taints: readonly Taint[] = []): Taint[] {
    return taints.filter((taint) => BLOCKING_EFFECTS.includes(taint.effect) && this.#secondsFor(taint) === undefined)
  }

  /**
   * Finds the taint that first evicts a workload from its cluster; undefined if none does. The first toleration of a taint counts, as in
   * Karmada's taint manager (v1.18.1, pkg/util/helper/taint.go, GetMatchingTolerations).
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
    this.#firsts ??= firstsByMatch(this.#all)
    let first: Ordered | undefined
    for (const ofKey of [key, ANY]) {
      for (const ofEffect of [effect, ANY]) {
        for (const [operator, ofValue] of [['Exists', ANY] as const, ['Equal', value] as const]) {
          const found = this.#firsts.get(JSON.stringify([ofKey, ofEffect, operator, ofValue]))
          if (found && (!first || found.index < first.index)) first = found
        }
      }
    }
    return first?.seconds
  }
}

/** A toleration: its place in the list, and its seconds, infinite for good. */
interface Ordered {
  index: number
  seconds: number
}

function firstsByMatch(tolerations: readonly Toleration[]): Map<string, Ordered> {
  const firsts = new Map<string, Ordered>()
  for (const [index, toleration] of tolerations.entries()) {
    const { key, operator, value, effect, tolerationSeconds: seconds = Number.POSITIVE_INFINITY } = toleration
    const kind = operator || 'Equal'
    const match = JSON.stringify([key || ANY, effect || ANY, kind, kind === 'Exists' ? ANY : (value ?? '')])
    if (!firsts.has(match)) firsts.set(match, { index, seconds })
  }
  return firsts
}

/** Returns a taint as kubectl prints it: `key=value:effect`, or `key:effect` without a value. */
export function taintText({ key, value, effect }: Taint): string {
  return `${key}${value ? `=${value}` : ''}:${effect}`
}
