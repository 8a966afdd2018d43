/** What Lodestone writes on a binding, besides the affinity: the base, what was decided, and whose hold it is. */
import type { PlacementAffinity } from '../../api/karmada.ts'
import { BASE_AFFINITY_ANNOTATION, HOLD_ANNOTATION, LOCALITY_ANNOTATION } from '../../api/lodestone.ts'
import { isObject } from '../json.ts'
import type { DataConstraint } from '../placement/constraint.ts'

/** The last narrowing: enough to apply it again to another base, and to say why. */
export interface LocalityNote extends DataConstraint {
  state: 'Narrowed' | 'Kept' | 'Relaxed'
  message: string
  /** `namespace/name` of each claim, sorted. */
  claims: string[]
}

/** What the data demanded when it was noted. */
export function constraintIn({ required, preferred }: LocalityNote): DataConstraint {
  const constraint: DataConstraint = {}
  if (required) constraint.required = required
  if (preferred) constraint.preferred = preferred
  return constraint
}

/** A suspension of scheduling that is ours. */
export interface HoldNote {
  /** First, since `kubectl describe` shows only the beginning of a long annotation. */
  message: string
  reason: HoldReason
  /** RFC 3339; when the hold began. */
  since: string
  /** The hold lasted longer than its claims allow: the binding goes on without the affinity and is not held again. */
  released?: true
}

export type HoldReason = 'Unresolved' | 'Unsatisfiable' | 'ClaimMissing'

/** Our annotations; an absent one is not written, and taken away where it was. */
export interface BindingNotes {
  base?: PlacementAffinity
  locality?: LocalityNote
  hold?: HoldNote
}

type Annotations = Record<string, string> | undefined

export const OUR_ANNOTATIONS = [BASE_AFFINITY_ANNOTATION, LOCALITY_ANNOTATION, HOLD_ANNOTATION] as const

/** Reads our annotations. What is not ours to read (bad JSON, another shape) counts as absent: users can write anything there. */
export function readNotes(annotations: Annotations): BindingNotes {
  if (!hasNotes(annotations)) return {}
  const base = parse<PlacementAffinity>(annotations, BASE_AFFINITY_ANNOTATION, isAffinity)
  const locality = parse<LocalityNote>(annotations, LOCALITY_ANNOTATION, isLocality)
  const hold = parse<HoldNote>(annotations, HOLD_ANNOTATION, isHold)
  const notes: BindingNotes = {}
  if (base) notes.base = base
  if (locality) notes.locality = locality
  if (hold) notes.hold = hold
  return notes
}

/** The annotations with ours replaced by these notes; the very same object when nothing changes, undefined when none is left. */
export function writeNotes(annotations: Annotations, notes: BindingNotes): Annotations {
  const base = notes.base && JSON.stringify(notes.base)
  const locality = notes.locality && JSON.stringify(notes.locality)
  const hold = notes.hold && JSON.stringify(notes.hold)
  if (
    annotations?.[BASE_AFFINITY_ANNOTATION] === base &&
    annotations?.[LOCALITY_ANNOTATION] === locality &&
    annotations?.[HOLD_ANNOTATION] === hold
  ) {
    return annotations
  }
  const all = { ...annotations }
  put(all, BASE_AFFINITY_ANNOTATION, base)
  put(all, LOCALITY_ANNOTATION, locality)
  put(all, HOLD_ANNOTATION, hold)
  return Object.keys(all).length === 0 ? undefined : all
}

function put(annotations: Record<string, string>, key: string, text: string | undefined): void {
  if (text !== undefined) annotations[key] = text
  else if (Object.hasOwn(annotations, key)) delete annotations[key]
}

export function hasNotes(annotations: Annotations): boolean {
  return annotations !== undefined && OUR_ANNOTATIONS.some((key) => Object.hasOwn(annotations, key))
}

function parse<T>(annotations: Annotations, key: string, isValid: Check): T | undefined {
  const text = annotations?.[key]
  if (text === undefined) return undefined
  try {
    const value: unknown = JSON.parse(text)
    return isValid(value) ? (value as T) : undefined
  } catch {
    return undefined // Not JSON: somebody else wrote it, and it says nothing to us.
  }
}

type Check = (value: unknown) => boolean

const isString = (value: unknown): value is string => typeof value === 'string'
const isStrings: Check = (value) => isListOf(isString, value)

function isListOf(check: Check, value: unknown): boolean {
  return Array.isArray(value) && value.every(check)
}

/** Whether these members are what they should be, where they are there at all. */
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

const isTerm: Check = (value) =>
  hasShape(value, { clusterNames: isStrings, exclude: isStrings, labelSelector: isSelector, fieldSelector: isSelector })

const isOverflow: Check = (value) => isTerm(value) && isString((value as Record<string, unknown>)['affinityName'])

const isGroup: Check = (value) =>
  isOverflow(value) && hasShape(value, { overflowAffinities: (tiers) => isListOf(isOverflow, tiers) })

const isAffinity: Check = (value) =>
  hasShape(value, {
    clusterAffinity: isTerm,
    clusterAffinities: (groups) => isListOf(isGroup, groups) && (groups as unknown[]).length > 0,
  })

const isLocality: Check = (value) =>
  hasShape(value, { required: isStrings, preferred: (tiers) => isListOf(isStrings, tiers) })

const isTime: Check = (value) => isString(value) && !Number.isNaN(Date.parse(value))

const isHold: Check = (value) => isObject(value) && isTime(value['since']) && isString(value['reason'])
