/** Decides on an object with an annotation for workloads whose kind is not in the table: it gets a warning with the remedy. */
import { VOLUMES_ANNOTATION } from '../../api/lodestone.ts'
import { groupOf, type K8sObject } from '../../api/meta.ts'
import { jsonEqual } from '../json.ts'
import { cut, type Outcome } from '../outcome.ts'
import { mistypedAnnotations, ourAnnotations } from './annotation-keys.ts'
import { parseVolumeRequests } from './volume-requests.ts'

export interface UnknownInput {
  object: K8sObject
  /** The stored object; absent if the request creates it. */
  stored: K8sObject | undefined
}

/**
 * Never rejects: other tools may write the annotation on objects without pods. A changed object with the same annotations gets no warning
 * again.
 */
export function decideUnknown({ object, stored }: UnknownInput): Outcome {
  if (stored && jsonEqual(ourAnnotations(object), ourAnnotations(stored))) return { kind: 'allow' }
  const { annotations } = object.metadata
  const warnings = [...warningsOf(object, annotations?.[VOLUMES_ANNOTATION]), ...mistypedAnnotations(annotations)]
  return { kind: 'allow', ...(warnings.length > 0 && { warnings }) }
}

function warningsOf({ apiVersion, kind }: K8sObject, annotation: string | undefined): string[] {
  if (annotation === undefined) return []
  const parsed = parseVolumeRequests(annotation)
  const group = groupOf(apiVersion)
  const name = group === '' ? kind : `${kind}.${group}`
  return [
    // The remedy comes first, since a warning has 120 characters.
    `lodestone: no volumes: annotate its pod template instead, or add its kind to workloadKinds: ${name}`,
    ...('errors' in parsed ? parsed.errors.map(({ path, message }) => `lodestone: ${path}: ${message}`) : []),
  ].map((text) => cut(text))
}
