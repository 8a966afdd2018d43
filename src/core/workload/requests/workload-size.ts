/** Bounds what a decision writes into a workload: the mounts of its pods, and the copies of its annotation. */
import { VOLUMES_ANNOTATION } from '../../../api/lodestone.ts'
import type { K8sObject } from '../../../api/meta.ts'
import type { FieldError } from '../../../base/field-errors.ts'
import { defined } from '../../../base/json.ts'
import { annotationSizeErrors } from '../../admission/annotations.ts'
import { fitsIntoBytes, jsonBytes, MAX_OBJECT_BYTES } from '../../admission/object-size.ts'
import { hasAdded, mapsWith } from './added-values.ts'
import { type MountCount, mountCountErrors } from './limits.ts'
import type { ParsedAnnotation, PlacedAnnotation } from './workload-requests.ts'

/**
 * Returns the errors of a workload that is too large with its volumes. Nothing is written before.
 *
 * @param path the path of the annotation
 */
export function workloadSizeErrors(
  path: string,
  object: K8sObject,
  requests: readonly ParsedAnnotation[],
): FieldError[] {
  const tooManyMounts = mountCountErrors(path, mountCounts(requests))
  if (tooManyMounts.length > 0) return tooManyMounts
  const tooLarge = copySizeErrors(path, object, addedCopies(requests))
  return tooLarge.length > 0 ? tooLarge : requests.filter(isMissing).flatMap(podAnnotationErrors)
}

/** The API server rejects the pods of a template with too long annotations. */
function podAnnotationErrors({ place: { path, metadata }, annotation }: PlacedAnnotation): FieldError[] {
  const { annotations } = metadata
  const replaced = annotations?.[VOLUMES_ANNOTATION]
  const added = annotation.length - (typeof replaced === 'string' ? replaced.length : 0)
  return annotationSizeErrors(annotations, `${path}.annotations`, added)
}

function mountCounts(requests: readonly ParsedAnnotation[]): MountCount[] {
  return requests.flatMap(({ place: { pod }, parsed }) =>
    pod && 'requests' in parsed ? [{ spec: pod.spec, requests: parsed.requests }] : [],
  )
}

/** Returns an error if a workload is larger than an object can be with the copies of an annotation. */
function copySizeErrors(path: string, object: object, { copies, bytes }: AddedCopies): FieldError[] {
  if (copies === 0 || fitsIntoBytes(object, MAX_OBJECT_BYTES - bytes)) return []
  const message = `its copies in ${copies} pod templates would add ${bytes} bytes to the ${jsonBytes(object)} of the object, more than the ${MAX_OBJECT_BYTES} that etcd stores; request fewer volumes, or divide the workload`
  return [{ path, code: 'TooLong', message }]
}

interface AddedCopies {
  copies: number
  /** The bytes that all copies add. */
  bytes: number
}

/** Whether admission has to write label and annotation at the place of a request. */
function isMissing({ place, annotation, isWritten }: PlacedAnnotation): boolean {
  return isWritten && !hasAdded(place, annotation)
}

/** Returns how much `withRequests` adds for these requests. */
function addedCopies(requests: readonly PlacedAnnotation[]): AddedCopies {
  const sizes = new Map<string, number>()
  const added = { copies: 0, bytes: 0 }
  for (const request of requests) {
    if (!isMissing(request)) continue
    const { annotation, hash } = request
    const value = defined({ annotation, hash })
    const size = sizes.get(annotation) ?? jsonBytes(mapsWith({}, value, true))
    sizes.set(annotation, size)
    added.copies++
    added.bytes += size
  }
  return added
}
