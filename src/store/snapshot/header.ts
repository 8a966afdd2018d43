/** The header of a snapshot: its version and time, and what decisions read besides objects. */
import { describeErrors, type FieldError } from '../../base/field-errors.ts'
import { isObject } from '../../base/json.ts'
import { compileSchema } from '../../base/schema/schema-errors.ts'
import { UserError } from '../../base/user-error.ts'
import type { ClusterScopedClaims } from '../../core/data-source-claim/permission.ts'
import type { KarmadaRules } from '../../core/karmada-rules.ts'
import type { DecisionSettings } from '../../core/resource-binding/decision-settings.ts'
import type { PlacementTiming } from '../../core/resource-binding/timing.ts'
import {
  currencySchema,
  type TransferConfig,
  transferLinksSchema,
  validateTransferLinks,
} from '../../core/transfer-cost/matrix.ts'
import { type WorkloadKindEntry, workloadKindsSchema } from '../../core/workload-kinds/entry.ts'
import { buildWorkloadKinds } from '../../core/workload-kinds/kinds.ts'
import { validateWorkloadKinds } from '../../core/workload-kinds/validate.ts'
import type { UnavailableReason } from '../store.ts'

/** A snapshot that cannot be read or written; the message names the file and the remedy. */
export class SnapshotError extends UserError {
  override name = 'SnapshotError'
}

export const SNAPSHOT_FORMAT = 'lodestone-snapshot'
export const SNAPSHOT_VERSION = 1

/** A kind that could not be read when the snapshot was written: its objects may be missing. */
export interface UnavailableSnapshotKind {
  group: string
  kind: string
  reason: UnavailableReason
  message: string
}

export interface SnapshotHeader {
  format: typeof SNAPSHOT_FORMAT
  version: typeof SNAPSHOT_VERSION
  /** RFC 3339: when the objects were read. Questions take it as the present, since waiting times and ages depend on it. */
  takenAt: string
  /** Whether names of tenants are replaced by pseudonyms. */
  anonymous: boolean
  /** The rules of the Karmada of the hub. */
  karmadaRules: KarmadaRules
  clusterScopedClaims: ClusterScopedClaims
  timing: PlacementTiming
  /** The configured entries of the table of workload kinds. */
  workloadKinds: readonly WorkloadKindEntry[]
  /** The price matrix; absent without one. */
  transferCosts?: TransferConfig
  unavailable: readonly UnavailableSnapshotKind[]
  /** The kinds that the API server did not serve, as keys of kinds. */
  notServed: readonly string[]
}

/** What decisions read besides objects, as `gatherBindingInput` takes it. */
export interface SnapshotContext extends Omit<DecisionSettings, 'matrix'> {
  karmadaRules: KarmadaRules
}

/** Returns what decisions read from a header. */
export function snapshotContext({
  clusterScopedClaims,
  timing,
  workloadKinds,
  karmadaRules,
}: SnapshotHeader): SnapshotContext {
  return { clusterScopedClaims, timing, karmadaRules, kinds: buildWorkloadKinds(workloadKinds) }
}

const text = { type: 'string', maxLength: 4096 }
const flag = { type: 'boolean' }
const milliseconds = { type: 'number', minimum: 0 }

const validate = compileSchema({
  type: 'object',
  required: [
    ...['takenAt', 'anonymous', 'karmadaRules', 'clusterScopedClaims'],
    ...['timing', 'workloadKinds', 'unavailable', 'notServed'],
  ],
  properties: {
    takenAt: text,
    anonymous: flag,
    karmadaRules: {
      type: 'object',
      required: ['zoneInMatchesAny', 'overflowAffinities'],
      properties: { zoneInMatchesAny: flag, overflowAffinities: flag },
    },
    clusterScopedClaims: { enum: ['allowed', 'forbidden'] },
    timing: {
      type: 'object',
      required: ['failbackWindowMs', 'releaseDelayMs'],
      properties: { failbackWindowMs: milliseconds, releaseDelayMs: milliseconds },
    },
    workloadKinds: workloadKindsSchema,
    transferCosts: {
      type: 'object',
      required: ['links'],
      properties: { currency: currencySchema, links: transferLinksSchema },
    },
    unavailable: {
      type: 'array',
      maxItems: 1000,
      items: {
        type: 'object',
        required: ['group', 'kind', 'reason', 'message'],
        properties: {
          group: text,
          kind: text,
          reason: { enum: ['Terminating', 'NotServed', 'NotEstablished', 'Forbidden'] },
          message: text,
        },
      },
    },
    notServed: { type: 'array', maxItems: 1000, items: text },
  },
})

/** Checks the first value of a file. Throws `SnapshotError` for another file, another version, and invalid content. */
export function checkHeader(value: unknown, file: string): SnapshotHeader {
  if (!isObject(value) || value['format'] !== SNAPSHOT_FORMAT) throw notSnapshot(file)
  const { version } = value
  if (version !== SNAPSHOT_VERSION) {
    throw new SnapshotError(
      `${file} has version ${JSON.stringify(version)} of the format, and this Lodestone reads version ${SNAPSHOT_VERSION}; write it again with this Lodestone`,
    )
  }
  const errors = headerErrors(value)
  if (errors.length > 0) throw damaged(file, `its header is invalid: ${describeErrors(errors)}`)
  return value as unknown as SnapshotHeader
}

function headerErrors(value: Record<string, unknown>): FieldError[] {
  const errors = validate(value)
  if (errors.length > 0) return errors
  const { takenAt, workloadKinds, transferCosts } = value as unknown as SnapshotHeader
  const message = 'must be a time in RFC 3339'
  return [
    ...(Number.isNaN(Date.parse(takenAt)) ? [{ path: 'takenAt', code: 'Invalid' as const, message }] : []),
    ...validateWorkloadKinds(workloadKinds),
    ...validateTransferLinks(transferCosts?.links ?? []),
  ]
}

/** Returns the error for a file of another format. */
export function notSnapshot(file: string): SnapshotError {
  return new SnapshotError(`${file} is not a snapshot; write one with: lodestone snapshot -o FILE`)
}

/** Returns the error for a snapshot that cannot be read. `what`: the part of the sentence that says why. */
export function damaged(file: string, what: string): SnapshotError {
  return new SnapshotError(`${file} is damaged: ${what}; write the snapshot again`)
}
