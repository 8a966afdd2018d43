/** Finds the volume requests of a workload: the annotations in its pod templates, and its own for all of its pods. */
import { INJECT_LABEL, VOLUMES_ANNOTATION } from '../../../api/lodestone.ts'
import type { K8sObject } from '../../../api/meta.ts'
import type { FieldError } from '../../../base/field-errors.ts'
import { declarationsIn } from '../../admission/declared-value.ts'
import { cut } from '../../outcome.ts'
import type { WorkloadKind } from '../../workload-kinds/kinds.ts'
import { type AddedValues, addedValues, openDigest, withAdded, withoutAdded } from './added-values.ts'
import { type PodPlace, podPlacesOf } from './templates.ts'
import { notText, type ParsedRequests, parseVolumeRequests } from './volume-requests.ts'

/** A request for the pods of one place. */
export interface PlacedAnnotation {
  annotation: string
  /** The path of the annotation: in the template, or in the workload's own metadata for all templates. */
  writtenAt: string
  place: PodPlace
  /** Whether admission writes label and annotation at the place. */
  isWritten: boolean
  added: AddedValues
  /** The hash of the annotation if it is that of the workload; absent if it is the place's own. */
  hash?: string
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

export interface WorkloadRequests {
  requests: PlacedAnnotation[]
  /** The annotations that are no text. */
  errors: FieldError[]
  /** The places at which admission added values whose cause is gone. */
  stale: { place: PodPlace; added: AddedValues }[]
}

/**
 * Returns a request for each place that has one.
 *
 * @param stored the stored workload; absent if the request creates it
 * @param inherited the annotation of the owner of the workload
 */
export function workloadRequests(
  object: K8sObject,
  kind: WorkloadKind,
  stored: K8sObject | undefined,
  inherited: string | undefined,
): WorkloadRequests {
  const own = ownAnnotation(object, inherited)
  const digest = openDigest()
  const before = new Map((stored ? podPlacesOf(stored, kind) : []).map(({ path, metadata }) => [path, metadata]))
  const context = {
    isDeclared: declarationsIn(object),
    digest,
    copied: stored && ownAnnotation(stored),
    storedAt: (path: string) => before.get(path),
  }
  const places = podPlacesOf(object, kind).map((place) => ({ place, added: addedValues(place, context) }))
  const requests: PlacedAnnotation[] = []
  const errors: FieldError[] = []
  for (const { place, added } of places) {
    const { labels, annotations } = place.metadata
    if ((labels?.[INJECT_LABEL] ?? 'true') !== 'true') continue
    const inPlace = added.annotation ? undefined : annotations?.[VOLUMES_ANNOTATION]
    const writtenAt = `${place.path}.annotations`
    if (typeof inPlace === 'string') {
      requests.push({ annotation: inPlace, writtenAt, place, isWritten: true, added })
    } else if (inPlace !== undefined) {
      errors.push(notText(writtenAt))
    } else if (own !== undefined) {
      // Elsewhere, the controller passes on what is written in the place for all pods, or what another workload inherits.
      const isWritten = kind.inherits !== true && (kind.allPods === undefined || place.forAll)
      requests.push({ annotation: own, writtenAt: OWN_ANNOTATIONS, place, isWritten, added, hash: digest(own) })
    }
  }
  const written = new Set(requests.filter(({ isWritten }) => isWritten).map(({ place }) => place))
  return { requests, errors, stale: places.filter(({ place }) => !written.has(place)) }
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

/** Writes label and annotation at the places of the requests, and removes what was added at stale places. */
export function withRequests(
  whole: K8sObject,
  { requests, stale }: Pick<WorkloadRequests, 'requests' | 'stale'>,
): K8sObject {
  const cleaned = stale.reduce((object, { place, added }) => withoutAdded(object, place, added), whole)
  return requests
    .filter(({ isWritten }) => isWritten)
    .reduce((object, { place, added, ...value }) => withAdded(object, place, added, value), cleaned)
}

/** A response has no room for the warnings about more places. */
const MAX_WARNINGS = 3

/** Returns a warning for each copy that is removed: the user may have moved the annotation into the template. */
export function removalWarnings({ stale }: Pick<WorkloadRequests, 'stale'>): string[] {
  return stale
    .filter(({ added }) => added.annotation)
    .slice(0, MAX_WARNINGS)
    .map(({ place: { path } }) =>
      cut(`lodestone: copied ${VOLUMES_ANNOTATION} is removed; if the pods need it, annotate ${path}`),
    )
}
