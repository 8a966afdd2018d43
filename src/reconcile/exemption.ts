/** Remembers which namespaces are exempt from the policy for claimed workloads, and limits how often they change. */
import { dataSourceClaims } from '../api/data-source-claim.ts'
import { ENFORCE_CLAIMS, ENFORCE_LABEL } from '../api/lodestone.ts'
import { namespaces } from '../api/namespace.ts'
import { jsonEqual } from '../base/json.ts'
import type { Clock } from '../base/time/clock.ts'
import { exemptNamespaces } from '../core/admission/exempt-namespaces.ts'
import type { ObjectStore } from '../store/store.ts'

/** Each change writes the policy, and the API server compiles it again. */
const UNCHANGED_MS = 60_000

export interface ExemptionInput {
  store: Pick<ObjectStore, 'get' | 'list' | 'unavailable'>
  clock: Pick<Clock, 'now'>
  /** Receives each change: all names, and those that were added and removed. */
  onChange(change: ExemptionChange): void
}

export interface ExemptionChange {
  exempt: readonly string[]
  added: string[]
  removed: string[]
}

export class Exemption {
  readonly #input: ExemptionInput
  #exempt: readonly string[] | undefined
  #changedAtMs = Number.NEGATIVE_INFINITY

  constructor(input: ExemptionInput) {
    this.#input = input
  }

  /**
   * Returns the names of the exempt namespaces, sorted. They follow the claims, at most once a minute. If another client changed the policy, they
   * stay as this leader chose them.
   *
   * @param stored the exempt namespaces of the policy in the cluster
   * @param isLeader any other replica adopts those of the policy
   */
  names(stored: readonly string[], isLeader: boolean): readonly string[] {
    if (!isLeader) {
      this.#exempt = undefined
      return stored
    }
    this.#exempt ??= stored
    const before = this.#exempt
    const { store, clock, onChange } = this.#input
    if (clock.now() - this.#changedAtMs < UNCHANGED_MS || isUnknown(store)) return before
    const exempt = exemptNamespaces({
      claims: countClaims(store),
      exempt: before,
      isEnforced: (name) => store.get(namespaces, undefined, name)?.metadata.labels?.[ENFORCE_LABEL] === ENFORCE_CLAIMS,
    })
    if (jsonEqual(exempt, before)) return before
    this.#exempt = exempt
    this.#changedAtMs = clock.now()
    const added = exempt.filter((name) => !before.includes(name))
    onChange({ exempt, added, removed: before.filter((name) => !exempt.includes(name)) })
    return exempt
  }
}

/** Without the present claims or labels, nothing changes. */
function isUnknown(store: Pick<ObjectStore, 'unavailable'>): boolean {
  return store.unavailable().some(({ type }) => [dataSourceClaims.kind, namespaces.kind].includes(type.kind))
}

function countClaims(store: Pick<ObjectStore, 'list'>): Map<string, number> {
  const counts = new Map<string, number>()
  for (const { metadata } of store.list(dataSourceClaims)) {
    const { namespace = '' } = metadata
    counts.set(namespace, (counts.get(namespace) ?? 0) + 1)
  }
  return counts
}
