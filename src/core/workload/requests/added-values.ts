/** The values that admission adds to a pod template. An annotation beside them records them, so that they can be removed again. */
import { ADDED_ANNOTATION, INJECT_LABEL, VOLUMES_ANNOTATION } from '../../../api/lodestone.ts'
import type { K8sObject } from '../../../api/meta.ts'
import { fnv1a } from '../../../base/hash.ts'
import { defined, isObject, parseJson } from '../../../base/json.ts'
import type { IsDeclared } from '../../admission/declared-value.ts'
import { type PodMetadata, type PodPlace, type Texts, withValueAt } from './templates.ts'

/** Which values of a place are those of admission. */
export interface AddedValues {
  label: boolean
  /** The copy of the annotation of the workload. */
  annotation: boolean
}

/** The hash of an annotation. One annotation is copied into many places, so hashes are computed once. */
export type Digest = (text: string) => string

/** Returns a function that hashes texts, and remembers the hash of each. */
export function openDigest(): Digest {
  const known = new Map<string, string>()
  return (text) => {
    const hash = known.get(text) ?? fnv1a(text)
    known.set(text, hash)
    return hash
  }
}

/** The content of the annotation. */
interface Note {
  /** Whether admission added the label. */
  inject?: true
  /** A hash of the copied annotation. Another value in its place is that of a user. */
  volumes?: string
}

export interface AddedContext {
  isDeclared: IsDeclared
  digest: Digest
  /** The annotation of the stored workload. Version 0.1.0 added an equal one, with the label, and recorded neither. */
  copied: string | undefined
  /** Returns the labels and annotations at a place of the stored workload; undefined if it has none. */
  storedAt(path: string): PodMetadata | undefined
}

/** Returns which values of a place admission added. Values that a user declares are those of the user. */
export function addedValues({ path, keys, metadata }: PodPlace, context: AddedContext): AddedValues {
  const { isDeclared, digest } = context
  const inPlace = metadata.annotations?.[VOLUMES_ANNOTATION]
  const { inject, volumes } = addedNote(metadata, context)
  // A client that removes the last annotation of a user removes the whole map. The note is gone with it, and the label stays.
  const isInjected = inject === true || addedNote(context.storedAt(path) ?? {}, context).inject === true
  const note = [...keys, 'annotations', ADDED_ANNOTATION]
  const isOurs = (key: string, name: string) => !isDeclared([...keys, key, name], note)
  return {
    label: isInjected && metadata.labels?.[INJECT_LABEL] === 'true' && isOurs('labels', INJECT_LABEL),
    annotation:
      typeof inPlace === 'string' &&
      volumes !== undefined &&
      volumes === digest(inPlace) &&
      isOurs('annotations', VOLUMES_ANNOTATION),
  }
}

/** The note at a place. A note of another form counts as an empty one: a user wrote it. */
function addedNote({ labels, annotations }: PodMetadata, { digest, copied }: AddedContext): Note {
  const text = annotations?.[ADDED_ANNOTATION]
  const inPlace = annotations?.[VOLUMES_ANNOTATION]
  if (text === undefined) {
    const isCopy = copied !== undefined && inPlace === copied && labels?.[INJECT_LABEL] === 'true'
    return isCopy ? { inject: true, volumes: digest(copied) } : {}
  }
  const note = parseJson(text)
  return isObject(note) ? note : {}
}

/** A value for a place: `hash` is absent if the user wrote it there. */
export interface ValueToAdd {
  annotation: string
  hash?: string
}

/** Whether a place has the label and the annotation already. */
export function hasAdded({ metadata: { labels, annotations } }: PodPlace, annotation: string): boolean {
  return labels?.[INJECT_LABEL] === 'true' && annotations?.[VOLUMES_ANNOTATION] === annotation
}

/** Returns the labels and annotations of a place with the label, the annotation, and the note of what is added. */
export function mapsWith(
  { labels, annotations }: PodMetadata,
  { annotation, hash }: ValueToAdd,
  isOurLabel: boolean,
): Required<PodMetadata> {
  const note: Note = defined({ inject: isOurLabel || undefined, volumes: hash })
  return {
    labels: { ...labels, [INJECT_LABEL]: 'true' },
    annotations: { ...annotations, [VOLUMES_ANNOTATION]: annotation, [ADDED_ANNOTATION]: JSON.stringify(note) },
  }
}

/** Writes the label, the annotation and the note at a place. Returns the same object if label and annotation are there. */
export function withAdded(whole: K8sObject, place: PodPlace, added: AddedValues, value: ValueToAdd): K8sObject {
  if (hasAdded(place, value.annotation)) return whole
  const isOurLabel = added.label || place.metadata.labels?.[INJECT_LABEL] === undefined
  return withMaps(whole, place, mapsWith(place.metadata, value, isOurLabel))
}

/** Removes what admission added at a place. Returns the same object if it added nothing. */
export function withoutAdded(whole: K8sObject, place: PodPlace, added: AddedValues): K8sObject {
  const { labels, annotations } = place.metadata
  if (!added.label && !added.annotation && annotations?.[ADDED_ANNOTATION] === undefined) return whole
  return withMaps(whole, place, {
    labels: without(labels, added.label ? [INJECT_LABEL] : []),
    annotations: without(annotations, [ADDED_ANNOTATION, ...(added.annotation ? [VOLUMES_ANNOTATION] : [])]),
  })
}

/** Only both maps are written: another place may be below this one, as the template of a driver of Spark. */
function withMaps(
  whole: K8sObject,
  { keys }: PodPlace,
  maps: Record<'labels' | 'annotations', Texts | undefined>,
): K8sObject {
  const labeled = withValueAt(whole, [...keys, 'labels'], maps.labels)
  return withValueAt(labeled, [...keys, 'annotations'], maps.annotations)
}

/** Returns the map without some keys; undefined if nothing is left. */
function without(map: Texts = {}, keys: readonly string[]): Texts | undefined {
  const kept = Object.entries(map).filter(([key]) => !keys.includes(key))
  return kept.length > 0 ? Object.fromEntries(kept) : undefined
}
