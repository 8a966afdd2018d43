/** What is wrong with a volume, in the words of admission and in those of the status. */
import type { FieldErrorCode } from '../field-errors.ts'

export interface VolumeProblem {
  /** Below the volume: `options.sourceURL`. */
  field: string
  code: FieldErrorCode
  /** As VCK's validation webhook has it (its branch `validation`), ending in a full stop. */
  message: string
  /** As VCK's handlers have it in the status, where that differs. */
  statusMessage?: string
}

/** What the configuration allows volumes to ask for. */
export interface VolumeLimits {
  /** The directories of nodes below which data may be. */
  allowedRoots: readonly string[]
  /** The images of other movers that may be named: each itself, or, ending in `*`, what it begins with. */
  allowedMoverImages: readonly string[]
}

/** VCK's default directory, and no image but our own. */
export const DEFAULT_VOLUME_LIMITS: VolumeLimits = { allowedRoots: ['/var/datasets'], allowedMoverImages: [] }

export function problem(field: string, code: FieldErrorCode, message: string, statusMessage?: string): VolumeProblem {
  return { field, code, message, ...(statusMessage && { statusMessage }) }
}
