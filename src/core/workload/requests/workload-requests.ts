/** Finds the volume requests of a workload: the annotations in its pod templates, and its own for all of its pods. */
import { INJECT_LABEL, VOLUMES_ANNOTATION } from '../../../api/lodestone.ts'
import type { K8sObject } from '../../../api/meta.ts'
import type { WorkloadKind } from '../../workload-kinds/kinds.ts'
import { type PodPlace, podPlacesOf, withValueAt } from './templates.ts'
import { type ParsedRequests, parseVolumeRequests } from './volume-requests.ts'

/** A request for the pods of one place. */
export interface PlacedAnnotation {
  annotation: string
  /** The path of the annotation: in the template, or in the workload's own metadata for all templates. */
  writtenAt: string
  place: PodPlace
  /** Whether admission writes label and annotation at the place. */
  isWritten: boolean
}

export interface ParsedAnnotation extends PlacedAnnotation {
  parsed: ParsedRequests
}

/** The path of the annotations of the workload itself. */
export const OWN_ANNOTATIONS = 'metadata.annotations'

/** Returns the request of the workload itself; if absent, that of its owner. */
export function ownAnnotation({ metadata }: K8sObject, inherited?: string): string | undefined {
  return metadata.annotations?.[VOLUMES_ANNOTATION] ?? inherited
}

/**
 * Returns a request for each place that has one.
 *
 * @param stored the stored workload; absent if the request creates it
 * @param inherited the annotation of the owner of the workload
 */
export function requestsOf(
  object: K8sObject,
  kind: WorkloadKind,
  stored: K8sObject | undefined,
  inherited: string | undefined,
): PlacedAnnotation[] {
  const own = ownAnnotation(object, inherited)
  // If a place has the workload's old annotation, it is our copy: the new annotation replaces it.
  const copied = stored && ownAnnotation(stored)
  return podPlacesOf(object, kind).flatMap((place) => {
    const { labels, annotations } = place.metadata
    if ((labels?.[INJECT_LABEL] ?? 'true') !== 'true') return []
    const inPlace = annotations?.[VOLUMES_ANNOTATION]
    if (inPlace !== undefined && (own === undefined || inPlace !== copied)) {
      return { annotation: inPlace, writtenAt: `${place.path}.annotations`, place, isWritten: true }
    }
    if (own === undefined) return []
    // Elsewhere, the controller passes on what is written in the place for all pods, or what another workload inherits.
    const isWritten = kind.inherits !== true && (kind.allPods === undefined || place.forAll)
    return { annotation: own, writtenAt: OWN_ANNOTATIONS, place, isWritten }
  })
}

/** Parses each annotation once, since that of the workload applies to all of its templates. */
export function parseAll(requests: readonly PlacedAnnotation[]): ParsedAnnotation[] {
  const ofWorkload = new Map<string, ParsedRequests>()
  return requests.map((request) => {
    const { annotation, writtenAt } = request
    if (writtenAt !== OWN_ANNOTATIONS) return { ...request, parsed: parseVolumeRequests(annotation, writtenAt) }
    const parsed = ofWorkload.get(annotation) ?? parseVolumeRequests(annotation, writtenAt)
    ofWorkload.set(annotation, parsed)
    return { ...request, parsed }
  })
}

/** Writes label and annotation at the place of a request, if they are not there yet. */
export function withRequest(whole: K8sObject, { place, annotation, isWritten }: PlacedAnnotation): K8sObject {
  const { labels, annotations } = place.metadata
  if (!isWritten || (labels?.[INJECT_LABEL] === 'true' && annotations?.[VOLUMES_ANNOTATION] === annotation))
    return whole
  // Only both maps are written: another place may be below this one, as the template of a driver of Spark.
  const labeled = withValueAt(whole, [...place.keys, 'labels'], { ...labels, [INJECT_LABEL]: 'true' })
  return withValueAt(labeled, [...place.keys, 'annotations'], { ...annotations, [VOLUMES_ANNOTATION]: annotation })
}
