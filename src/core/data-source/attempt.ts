/** The result of the last query for a DataSource. */

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
