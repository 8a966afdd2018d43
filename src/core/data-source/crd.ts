/** The CRD that an API server has for DataSources, which can have fewer fields than ours. An API server drops the others. */
import type { DataSource } from '../../api/data-source.ts'
import type { Action } from '../plan.ts'

/** `upstream`: that of volcano-global, without most fields. */
export type SourceCrd = 'ours' | 'upstream'

type Locality = DataSource['spec']['locality']

/** Reduces a location to the fields of the CRD. */
export function localityFor(crd: SourceCrd, locality: Locality): Locality {
  return crd !== 'upstream' || locality === undefined ? locality : { clusterNames: locality.clusterNames ?? [] }
}

/** Reduces a status, or its merge patch, to the fields of the CRD. The condition Ready has the phase as its reason. */
export function statusFor<T extends object>(crd: SourceCrd, status: T): Partial<T> {
  if (crd === 'ours') return status
  const { phase, clusters, size, lastResolvedTime, lastError, observedGeneration, ...known } = status as T &
    Record<string, unknown>
  return known as Partial<T>
}

/**
 * Whether a source can be created with the result of its query. The CRD of volcano-global requires a location; data that does not exist is
 * in no cluster.
 */
export function isCreatable(crd: SourceCrd, attempt: { kind: string } | undefined): boolean {
  return crd !== 'upstream' || attempt?.kind === 'located' || attempt?.kind === 'nowhere'
}

/**
 * Returns the CRD that the answer to a write shows. That of volcano-global has neither the URI of a location nor the phase of a status.
 * Undefined for a write without them.
 */
export function shownCrd(write: Action | undefined, written: DataSource): SourceCrd | undefined {
  const status = write?.kind === 'patch' ? (write.patch['status'] as DataSource['status'] | undefined) : undefined
  const hasKept = [
    ...(writtenSpec(write)?.locality?.location ? [Boolean(written.spec.locality?.location)] : []),
    ...(status?.phase ? [Boolean(written.status?.phase)] : []),
  ]
  if (hasKept.length === 0) return undefined
  return hasKept.includes(false) ? 'upstream' : 'ours'
}

const FIRST_WAIT_MS = 30_000
const LAST_WAIT_MS = 600_000

/**
 * Remembers which CRD the API server has. A write that lost fields is believed for 30 s, and for twice as long each time after that. An API
 * server that has just received a CRD may not use it yet, and the user may apply ours while Lodestone runs.
 */
export class ServedCrd {
  #reducedUntil = Number.NEGATIVE_INFINITY
  #waitMs = FIRST_WAIT_MS
  #isReduced = false

  /** @param now in ms since the epoch; a clock that was set back ends the wait */
  at(now: number): SourceCrd {
    const leftMs = this.#reducedUntil - now
    return leftMs > 0 && leftMs <= LAST_WAIT_MS ? 'upstream' : 'ours'
  }

  /** The ms until a write tries all fields again; undefined while nothing was lost. */
  retryInMs(now: number): number | undefined {
    return this.#isReduced ? Math.max(0, this.#reducedUntil - now) : undefined
  }

  /** Learns from a write. Returns whether the CRD is another one than before. */
  learn(shown: SourceCrd, now: number): boolean {
    const isNew = this.#isReduced !== (shown === 'upstream')
    this.#isReduced = shown === 'upstream'
    if (shown === 'ours') this.#waitMs = FIRST_WAIT_MS
    else if (this.at(now) === 'ours') {
      this.#reducedUntil = now + this.#waitMs
      this.#waitMs = Math.min(LAST_WAIT_MS, this.#waitMs * 2)
    }
    return isNew
  }
}

/** Whether a write creates a source without a location, which the CRD of volcano-global rejects. */
export function lacksLocation(write: Action | undefined): boolean {
  return write?.kind === 'create' && writtenSpec(write)?.locality === undefined
}

function writtenSpec(write: Action | undefined): Partial<DataSource['spec']> | undefined {
  if (write?.kind === 'create') return (write.object as DataSource).spec
  return write?.kind === 'patch' ? (write.patch['spec'] as Partial<DataSource['spec']> | undefined) : undefined
}

/** Whether a source has a known location. Without one, the CRD of volcano-global requires an empty list. */
export function hasLocation(crd: SourceCrd, { spec }: DataSource): boolean {
  return crd !== 'upstream' ? spec.locality !== undefined : Boolean(spec.locality?.clusterNames?.length)
}
