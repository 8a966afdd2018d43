/** The result of the last query for a DataSource. */
import type { DataSource } from '../../api/data-source.ts'
import { defined, sortedUnique } from '../../base/json.ts'

export type Attempt =
  | {
      kind: 'located'
      location: string
      clusters: readonly string[]
      /** Why no cluster is local to the location, with the remedy. */
      whyNoCluster?: string
      bytes?: number
      bytesAreMinimum?: boolean
    }
  /** The system confirms its last answer (HTTP 304). */
  | { kind: 'unchanged' }
  /** The system answers that the data does not exist. `confirmations` counts these answers in a row. */
  | { kind: 'nowhere'; reason: string; confirmations: number }
  | { kind: 'failed'; reason: string }

/** In characters: the limit of `status.lastError` in the schema. A reason may contain a long name of data. */
export const MAX_REASON_LENGTH = 1024

type Locality = NonNullable<DataSource['spec']['locality']>

/** Returns the location of an answer, as the source has it. */
export function answeredLocality(answer: Extract<Attempt, { kind: 'located' }>): Locality {
  const { clusters, location, bytes, bytesAreMinimum } = answer
  const size = bytes === undefined ? {} : defined({ bytes, bytesAreMinimum: bytesAreMinimum || undefined })
  return { clusterNames: sortedUnique(clusters), location, ...size }
}
