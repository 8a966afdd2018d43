/** What is wrong with a volume, in the words of admission and in those of the status. */
import type { FieldErrorCode } from '../../field-errors.ts'
import type { HostRoots } from './host-paths.ts'
import { DEFAULT_DATA_PATH } from './names.ts'

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
export interface VolumeLimits extends HostRoots {
  /** Loopback and link-local networks in which endpoints of volumes may be. */
  allowedLocalNetworks: readonly string[]
  /** The images of other movers that may be named: each itself, or, ending in `*`, what it begins with. */
  allowedMoverImages: readonly string[]
}

/** VCK's default directory, none for Local volumes, endpoints that are not on the node, and no image but our own. */
export const DEFAULT_VOLUME_LIMITS: VolumeLimits = {
  allowedRoots: [DEFAULT_DATA_PATH],
  localRoots: [],
  allowedLocalNetworks: [],
  allowedMoverImages: [],
}

export function problem(field: string, code: FieldErrorCode, message: string, statusMessage?: string): VolumeProblem {
  return { field, code, message, ...(statusMessage && { statusMessage }) }
}
