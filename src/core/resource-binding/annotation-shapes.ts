/** Checks the shapes of annotations on bindings before they are read, since a user can write anything there. */
import type { Placement } from '../../api/karmada.ts'
import { isObject } from '../../base/json.ts'

type Check = (value: unknown) => boolean

const isString: Check = (value) => typeof value === 'string'
const isNumber: Check = (value) => typeof value === 'number'
const isStrings: Check = (value) => isListOf(isString, value)

function isListOf(check: Check, value: unknown): boolean {
  return Array.isArray(value) && value.every(check)
}

/** Whether a value is an object whose present members pass their checks. */
function hasShape(value: unknown, members: Record<string, Check>): value is Record<string, unknown> {
  return (
    isObject(value) && Object.entries(members).every(([key, check]) => value[key] === undefined || check(value[key]))
  )
}

const isRequirements: Check = (value) =>
  isListOf(
    (item) => hasShape(item, { values: isStrings }) && isString(item['key']) && isString(item['operator']),
    value,
  )

const isSelector: Check = (value) =>
  hasShape(value, {
    matchLabels: (labels) => isObject(labels) && Object.values(labels).every(isString),
    matchExpressions: isRequirements,
  })

/** Whether a value is a ClusterAffinity. */
export const isTerm: Check = (value) =>
  hasShape(value, { clusterNames: isStrings, exclude: isStrings, labelSelector: isSelector, fieldSelector: isSelector })

const isOverflow: Check = (value) => isTerm(value) && isString((value as Record<string, unknown>)['affinityName'])

const isGroup: Check = (value) =>
  isOverflow(value) && hasShape(value, { overflowAffinities: (tiers) => isListOf(isOverflow, tiers) })

/** Whether a value is a list of ClusterAffinityTerms, of one at least. */
export const isGroups: Check = (value) => isListOf(isGroup, value) && (value as unknown[]).length > 0

const isToleration: Check = (value) =>
  hasShape(value, { key: isString, operator: isString, value: isString, effect: isString, tolerationSeconds: isNumber })

/** Whether the tolerations of a placement can be read. Its other fields are not checked. */
export function isTolerant(value: unknown): value is Pick<Placement, 'clusterTolerations'> {
  return hasShape(value, { clusterTolerations: (tolerations) => isListOf(isToleration, tolerations) })
}

/** The year has four digits, as in RFC 3339: a wait can be added to any such time. */
const isTime: Check = (value) =>
  isString(value) && /^\d{4}-/.test(value as string) && !Number.isNaN(Date.parse(value as string))

/** As `listDigest` makes it. */
const isDigest: Check = (value) => isString(value) && /^[0-9a-f]{16}$/.test(value as string)

/** The limit keeps the suffix of a group's name short. A return every minute reaches it after 19 years. */
const isRound: Check = (value) => Number.isInteger(value) && (value as number) > 0 && (value as number) < 10_000_000

const isReturn: Check = (value) =>
  isObject(value) && isTime(value['at']) && Number.isInteger(value['times']) && (value['times'] as number) > 0

export const isLocality: Check = (value) =>
  hasShape(value, {
    required: isStrings,
    requiredDigest: isDigest,
    preferred: (tiers) => isListOf(isStrings, tiers),
    rankedFrom: isDigest,
    claims: isStrings,
    message: isString,
    since: isTime,
    round: isRound,
    returned: isReturn,
  }) &&
  isStrings(value['claims']) &&
  isString(value['message'])

export const isHold: Check = (value) =>
  isObject(value) && isTime(value['since']) && isString(value['reason']) && isString(value['message'])
