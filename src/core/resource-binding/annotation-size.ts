/** Keeps our annotations small: a large base refers to the policy, and a long list of clusters becomes a digest. */
import { APPLIED_PLACEMENT_ANNOTATION, type Placement, type PlacementAffinity } from '../../api/karmada.ts'
import { BASE_AFFINITY_ANNOTATION, HOLD_ANNOTATION, LOCALITY_ANNOTATION } from '../../api/lodestone.ts'
import { listDigest } from '../../base/hash.ts'
import { jsonEqual, memberNames } from '../../base/json.ts'
import { fitsIntoBytes, MAX_ANNOTATIONS_BYTES } from '../admission/object-size.ts'
import {
  type Annotations,
  type AnnotationTexts,
  BASE_OF_POLICY,
  type BindingAnnotations,
  type LocalityAnnotation,
  MAY_NAME_PROTOTYPE,
  OUR_ANNOTATIONS,
  parseAnnotation,
} from './annotations.ts'

/** In characters. A longer base is not repeated in an annotation; the annotation refers to the policy instead. */
const MAX_BASE_LENGTH = 32 * 1024
/** If more clusters are required, the annotation has a digest instead of the list. The affinity names those that the base allows. */
const MAX_REQUIRED_CLUSTERS = 200
/** Reserved for the annotations of other writers, in bytes. */
const RESERVED_BYTES = 16 * 1024
/** In characters, of at most three bytes each. If our annotations and those of the object have at most so many each, nothing is measured. */
const SHORT_LENGTH = 5000

interface Surroundings {
  /** The annotations as the requester sent them. */
  annotations: Annotations
  /** The base that is read from them. */
  sentBase?: PlacementAffinity | undefined
  /** The placement that will be written into the binding. */
  placement: Placement
  /** The affinity of the binding's policy; undefined if Lodestone does not know the policy. */
  policy: PlacementAffinity | undefined
}

/**
 * Returns the texts of our annotations. A base that is too long becomes a reference to that of the policy.
 *
 * @returns undefined if they do not fit: the base is too large and differs from the policy's, or the other annotations leave no space
 */
export function fitAnnotations(
  { base, locality, hold }: BindingAnnotations,
  surroundings: Surroundings,
): AnnotationTexts | undefined {
  const baseText = base && (sentText(base, surroundings) ?? shortBaseText(base, surroundings.policy))
  if (base !== undefined && baseText === undefined) return undefined
  const texts: AnnotationTexts = {
    [BASE_AFFINITY_ANNOTATION]: baseText,
    [LOCALITY_ANNOTATION]: locality && JSON.stringify(locality),
    [HOLD_ANNOTATION]: hold && JSON.stringify(hold),
  }
  return hasRoom(texts, surroundings) ? texts : undefined
}

/** The text of the same base in the annotations: with its members in another order, it needs no write. */
function sentText(
  base: NonNullable<BindingAnnotations['base']>,
  { annotations, sentBase }: Surroundings,
): string | undefined {
  const text = annotations?.[BASE_AFFINITY_ANNOTATION]
  if (text === undefined || text.length > MAX_BASE_LENGTH || text === JSON.stringify(BASE_OF_POLICY)) return undefined
  return sentBase && jsonEqual(base, sentBase) ? text : undefined
}

function shortBaseText(
  base: NonNullable<BindingAnnotations['base']>,
  policy: PlacementAffinity | undefined,
): string | undefined {
  const text = JSON.stringify(base)
  if (text.length <= MAX_BASE_LENGTH) return MAY_NAME_PROTOTYPE.test(text) && !parseAnnotation(text) ? undefined : text
  return policy && jsonEqual(base, policy) ? JSON.stringify(BASE_OF_POLICY) : undefined
}

/** Replaces a list of required clusters that is too long by its digest. Returns the same object if the list is short. */
export function shortLocality(locality: LocalityAnnotation): LocalityAnnotation {
  const { required, ...rest } = locality
  if (locality.requiredDigest !== undefined) return rest
  if (required === undefined || required.length <= MAX_REQUIRED_CLUSTERS) return locality
  return { ...rest, requiredDigest: listDigest(required) }
}

function hasRoom(texts: AnnotationTexts, { annotations = {}, placement }: Surroundings): boolean {
  if (isShort(texts) && isShort(annotations)) return true
  const replaced = Object.fromEntries(OUR_ANNOTATIONS.map((key) => [key, annotations[key]]))
  const others = annotationBytes(annotations) - annotationBytes(replaced)
  const applied = annotations[APPLIED_PLACEMENT_ANNOTATION]?.length ?? 0
  const room = MAX_ANNOTATIONS_BYTES - RESERVED_BYTES - annotationBytes(texts) - others
  return room >= 0 && fitsIntoBytes(placement, room + applied)
}

type Texts = Readonly<Record<string, string | undefined>>

/** Whether annotations have few characters: the usual case, in which no bytes are counted. */
function isShort(annotations: Texts): boolean {
  let characters = 0
  for (const key of memberNames(annotations)) {
    characters += key.length + (annotations[key]?.length ?? 0)
    if (characters > SHORT_LENGTH) return false
  }
  return true
}

/** Adds up keys and values, as the API server does (apimachinery, pkg/api/validation, ValidateAnnotationsSize). */
function annotationBytes(annotations: Texts): number {
  let bytes = 0
  for (const key of memberNames(annotations)) {
    const text = annotations[key]
    if (text !== undefined) bytes += utf8Length(key) + utf8Length(text)
  }
  return bytes
}

/** An upper bound of the UTF-8 bytes: a surrogate pair has four bytes but counts as six. */
function utf8Length(text: string): number {
  let bytes = 0
  for (let i = 0; i < text.length; i++) {
    const unit = text.charCodeAt(i)
    bytes += unit < 0x80 ? 1 : unit < 0x800 ? 2 : 3
  }
  return bytes
}
