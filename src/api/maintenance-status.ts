/** The status of checks and refreshes of a replica, and the progress of every mover that is not a download. */

/** The progress of a mover that uploads or deletes, while it runs. */
export interface RecordedProgress {
  /** The amount of work that the mover reports as done. */
  bytes?: number
  files?: number
  /** The last time at which progress was observed; at first, the time at which the mover ran. */
  progressTime?: string
}

/**
 * A check or a refresh. Queued: waits for a slot. Running: a mover does it. Failed: it could not be done, which says nothing about the data;
 * the next attempt follows at `retryTime`.
 */
export interface MaintenanceStatus extends RecordedProgress {
  kind: 'Check' | 'FullCheck' | 'Refresh'
  state: 'Queued' | 'Running' | 'Failed'
  attempt: number
  /** The digest of the annotation that requested it. */
  request?: string
  failures?: number
  reason?: string
  message?: string
  since?: string
  retryTime?: string
}
