/** Validates a DataSourceClaim: first its schema, then its values. Admission also rejects claims without permission. */
import type { DataSourceClaim } from '../../api/data-source-claim.ts'
import { groupOf } from '../../api/meta.ts'
import { dataSourceClaimSchema } from '../../api/schemas/data-source-claim.ts'
import type { FieldError } from '../../base/field-errors.ts'
import { defined, isObject, jsonEqual } from '../../base/json.ts'
import { apiVersionProblem, kindProblem, labelProblem, pathSegmentProblem } from '../../base/names.ts'
import { compileSchema } from '../../base/schema/schema-errors.ts'
import { denyErrors, type Outcome } from '../outcome.ts'

const validateShape = compileSchema(dataSourceClaimSchema, 'forbidden')

/** Kinds of Karmada and of Lodestone itself: they are never the workload of a claim. A claim names a resource template. */
const NOT_WORKLOADS = /(^|\.)(karmada\.io|volcano\.sh\/DataSource|volcano\.sh\/DataSourceClaim)$/

/** Returns all errors of a claim, by path; an empty list means valid. The values of a field are checked only if it matches the schema. */
export function validateDataSourceClaim(claim: DataSourceClaim): FieldError[] {
  const shape = validateShape(defined({ spec: claim.spec, status: claim.status }))
  const wrong = new Set(shape.map(({ path }) => path))
  return [...shape, ...meaning(claim).filter(({ path }) => !wrong.has(path))]
}

function meaning({ spec }: DataSourceClaim): FieldError[] {
  const workload: Partial<DataSourceClaim['spec']['workload']> = isObject(spec?.workload) ? spec.workload : {}
  const policy: NonNullable<DataSourceClaim['spec']['policy']> = isObject(spec?.policy) ? spec.policy : {}
  return [
    check('spec.system', spec?.system, blank),
    check('spec.dataSourceType', spec?.dataSourceType, blank),
    check('spec.dataSourceName', spec?.dataSourceName, blank),
    check('spec.workload.apiVersion', workload.apiVersion, apiVersionProblem),
    check('spec.workload.kind', workload.kind, kindProblem),
    check('spec.workload.name', workload.name, pathSegmentProblem),
    check('spec.workload.namespace', workload.namespace, labelProblem),
    notAWorkload(workload),
    ...policyErrors(policy),
  ].filter((error) => error !== undefined)
}

function policyErrors({
  enforcement,
  preference,
  onUnresolved,
  onUnsatisfiable,
  holdTimeoutSeconds,
}: NonNullable<DataSourceClaim['spec']['policy']>) {
  const preferred = enforcement === 'Preferred'
  const holds = (choice: string | undefined) => !preferred && (choice ?? 'Hold') === 'Hold'
  const pointless = (field: string, message: string): FieldError => ({
    path: `spec.policy.${field}`,
    code: 'Invalid',
    message,
  })
  const never = 'has no effect: a Preferred claim never holds; use enforcement Required or leave it out'
  return [
    preference !== undefined && !preferred
      ? pointless(
          'preference',
          'has no effect: a Required claim has no other clusters; use enforcement Preferred or leave it out',
        )
      : undefined,
    preferred && onUnresolved === 'Hold' ? pointless('onUnresolved', never) : undefined,
    preferred && onUnsatisfiable === 'Hold' ? pointless('onUnsatisfiable', never) : undefined,
    holdTimeoutSeconds !== undefined && !holds(onUnresolved) && !holds(onUnsatisfiable)
      ? pointless(
          'holdTimeoutSeconds',
          'has no effect: this claim never holds; leave it out, or set onUnresolved or onUnsatisfiable to Hold',
        )
      : undefined,
  ]
}

function notAWorkload({ apiVersion, kind }: { apiVersion?: string; kind?: string }): FieldError | undefined {
  if (typeof apiVersion !== 'string' || typeof kind !== 'string') return undefined
  const group = groupOf(apiVersion)
  if (!NOT_WORKLOADS.test(group) && !NOT_WORKLOADS.test(`${group}/${kind}`)) return undefined
  return {
    path: 'spec.workload',
    code: 'Forbidden',
    message: `${kind} of ${group} is not a workload; name the resource template, e.g. a Deployment`,
  }
}

function check(path: string, value: unknown, problem: (text: string) => string | undefined): FieldError | undefined {
  const message = typeof value === 'string' ? problem(value) : undefined
  return message === undefined ? undefined : { path, code: 'Invalid', message }
}

function blank(text: string): string | undefined {
  return text.trim() === text && text !== '' ? undefined : 'must not be blank or start or end with white space'
}

export interface ClaimAdmissionInput {
  claim: DataSourceClaim
  /** The stored claim; absent if the request creates it. */
  stored: DataSourceClaim | undefined
  /** The errors of invalid fields. */
  errors: FieldError[]
  /** Why the claim does not apply to the workload that it names, and the remedy; undefined if it applies. */
  refusal: string | undefined
  /** Whether a price matrix is configured. */
  hasPrices: boolean
}

/** Admission reads a cache: after a user annotates the namespace, a second attempt may be needed. */
const RETRY = 'if this was just done, retry in a few seconds'

/**
 * Rejects a claim without permission if this write names a new workload. Every other write of such a claim is allowed: the permission may
 * have been removed since.
 */
export function admitClaim(input: ClaimAdmissionInput): Outcome {
  const outcome = decideClaim(input)
  const { preference } = input.claim.spec?.policy ?? {}
  const lacksPrices = outcome.kind === 'allow' && !input.hasPrices && (preference === 'Cost' || preference === 'Time')
  return lacksPrices ? { ...outcome, warnings: [withoutPrices(preference)] } : outcome
}

function withoutPrices(preference: string): string {
  return `lodestone: spec.policy.preference: ${preference} counts as Bytes: set transferCosts in the configuration`
}

function decideClaim({ claim, stored, errors, refusal }: ClaimAdmissionInput): Outcome {
  if (refusal === undefined) return denyErrors(errors)
  if (stored && jsonEqual(stored.spec?.workload, claim.spec.workload)) return denyErrors(errors)
  const message = claim.spec.workload.namespace ? `${refusal}; ${RETRY}` : refusal
  return denyErrors([...errors, { path: 'spec.workload', code: 'Forbidden', message }])
}
