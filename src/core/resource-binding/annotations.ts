/** Reads and writes our annotations on bindings: the base affinity, the last decision and the hold. */
import type { PlacementAffinity } from '../../api/karmada.ts'
import { BASE_AFFINITY_ANNOTATION, HOLD_ANNOTATION, LOCALITY_ANNOTATION } from '../../api/lodestone.ts'
import { isObject } from '../../base/json.ts'
import { withAnnotations } from '../admission/annotations.ts'
import { MAX_ANNOTATIONS_BYTES } from '../admission/object-size.ts'
import { effectiveAffinity } from '../placement/affinity.ts'
import { isGroups, isHold, isLocality, isTerm } from './annotation-shapes.ts'

/** The last narrowing: its constraint, to apply it again to another base, and the reason. */
export interface LocalityAnnotation {
  state: 'Narrowed' | 'Kept' | 'Relaxed'
  message: string
  /** `namespace/name` of each claim, sorted. */
  claims: string[]
  /** The clusters that have all required data. Absent if nothing is required, or if `requiredDigest` replaces the list. */
  required?: readonly string[]
  /** A digest of the required clusters, if there are too many to list. The affinity beside it names those that the base allows. */
  requiredDigest?: string
  preferred?: readonly (readonly string[])[]
  /** A digest of what the preferred clusters were ranked from. Absent if bytes ranked them. */
  rankedFrom?: string
  /** RFC 3339: since when a return to the data, or a release without a claim, waits. Absent if neither waits. */
  since?: string
  /** How often the groups were renamed, so that the scheduler begins with the first one again. Absent for 0. */
  round?: number
  /**
   * When the workload last returned to its data (RFC 3339), and how many returns in a row have not lasted. The last one counts until it has
   * lasted. Absent without a return.
   */
  returned?: { at: string; times: number }
}

/** A suspension of scheduling by Lodestone. */
export interface HoldAnnotation {
  /** First, since `kubectl describe` shows only the beginning of a long annotation. */
  message: string
  reason: HoldReason
  /** RFC 3339: the time at which the hold began. */
  since: string
  /** The hold lasted longer than its claims allow. The workload is scheduled by the base affinity and is not put on hold again. */
  released?: true
}

export type HoldReason = 'Unresolved' | 'Unsatisfiable' | 'ClaimMissing'

/** Replaces a base that is too large for an annotation and equal to the policy's affinity. */
export const BASE_OF_POLICY = 'policy'

/** Our annotations; an absent one is removed from the binding. */
export interface BindingAnnotations {
  base?: PlacementAffinity | typeof BASE_OF_POLICY
  locality?: LocalityAnnotation
  hold?: HoldAnnotation
}

export type Annotations = Record<string, string> | undefined

export const OUR_ANNOTATIONS = [BASE_AFFINITY_ANNOTATION, LOCALITY_ANNOTATION, HOLD_ANNOTATION] as const

/** Our annotations without the base, which the policy decides. */
export type DecidedAnnotations = Omit<BindingAnnotations, 'base'>

/** Whether an annotation has a narrowing. A binding that is kept in its base has none. */
export function isNarrowing(locality: LocalityAnnotation | undefined): locality is LocalityAnnotation {
  return (locality?.required ?? locality?.requiredDigest ?? locality?.preferred) !== undefined
}

/** Reads our annotations. An annotation with bad JSON or another shape counts as absent: users can write anything there. */
export function readAnnotations(annotations: Annotations): BindingAnnotations {
  const base = parse(annotations, BASE_AFFINITY_ANNOTATION)
  const read: BindingAnnotations = readDecision(annotations)
  if (base === BASE_OF_POLICY) read.base = BASE_OF_POLICY
  // A placement with both kinds of affinity uses only one of them; so does the base.
  else if (isAffinity(base)) read.base = effectiveAffinity(base)
  return read
}

/** Reads our annotations without the base, which may be long. */
export function readDecision(annotations: Annotations): DecidedAnnotations {
  const locality = parse(annotations, LOCALITY_ANNOTATION)
  const hold = parse(annotations, HOLD_ANNOTATION)
  const read: BindingAnnotations = {}
  if (isLocality(locality)) read.locality = locality as LocalityAnnotation
  if (isHold(hold)) read.hold = hold as HoldAnnotation
  return read
}

/** The texts of our annotations; undefined for an absent one. */
export type AnnotationTexts = Readonly<Record<(typeof OUR_ANNOTATIONS)[number], string | undefined>>

/** Replaces our annotations by these texts. Returns the same object if nothing changes, and undefined if no annotation is left. */
export function writeTexts(annotations: Annotations, texts: AnnotationTexts): Annotations {
  if (areOursEqual(annotations, texts)) return annotations
  const all = withAnnotations(annotations, texts)
  return Object.keys(all).length === 0 ? undefined : all
}

/** Whether two objects have the same texts of our annotations. */
export function areOursEqual(one: Annotations, other: Annotations | AnnotationTexts): boolean {
  return OUR_ANNOTATIONS.every((key) => one?.[key] === other?.[key])
}

/** Whether there is an annotation of a decision of Lodestone, valid or not. */
export function hasOurAnnotations(annotations: Annotations): boolean {
  return annotations !== undefined && OUR_ANNOTATIONS.some((key) => Object.hasOwn(annotations, key))
}

/** The only key of the index of bindings that wait. */
export const ANY_CLUSTER = '*'

/** Whether a change of a cluster may change a decision. It is not a plain narrowing, or the workload runs outside of its most preferred data. */
export function isWaiting(
  { hold, locality }: DecidedAnnotations,
  clusters: readonly { name: string }[] | undefined,
): boolean {
  if (hold !== undefined) return true
  if (locality === undefined) return false
  const [best] = locality.preferred ?? []
  const isAway = best !== undefined && clusters?.some(({ name }) => !best.includes(name)) === true
  return isAway || locality.state !== 'Narrowed'
}

function parse(annotations: Annotations, key: string): unknown {
  const text = annotations?.[key]
  return text === undefined ? undefined : parseAnnotation(text)
}

/** Parses the value of an annotation. Returns undefined for a text that Lodestone does not write. */
export function parseAnnotation(text: string): unknown {
  if (text.length > MAX_ANNOTATIONS_BYTES) return undefined
  try {
    return MAY_NAME_PROTOTYPE.test(text) ? JSON.parse(text, rejectPrototype) : JSON.parse(text)
  } catch {
    return undefined // Lodestone writes JSON only.
  }
}

/** Matches each text that may have a member named `__proto__`: a JSON string can contain a character as an escape sequence. */
export const MAY_NAME_PROTOTYPE = /__proto__|\\u/

/** A member with this name would be copied into the placement, and no library applies a JSON Patch that sets it. */
function rejectPrototype(key: string, value: unknown): unknown {
  if (key === '__proto__') throw new SyntaxError(`a member is called ${key}`)
  return value
}

function isAffinity(value: unknown): value is PlacementAffinity {
  if (!isObject(value)) return false
  const { clusterAffinity, clusterAffinities } = value
  return (
    (clusterAffinity === undefined || isTerm(clusterAffinity)) &&
    (clusterAffinities === undefined || isGroups(clusterAffinities))
  )
}
