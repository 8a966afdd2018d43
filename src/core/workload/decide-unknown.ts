/** Decides on an object with an annotation for workloads whose kind is not in the table: it gets a warning with the remedy. */
import { DEPENDS_ON_ANNOTATION, VOLUMES_ANNOTATION } from '../../api/lodestone.ts'
import { groupOf, type K8sObject } from '../../api/meta.ts'
import { defined, jsonEqual } from '../../base/json.ts'
import { cut, type Outcome } from '../outcome.ts'
import { mistypedAnnotations, ourAnnotations } from './requests/annotation-keys.ts'
import { parseVolumeRequests } from './requests/volume-requests.ts'

export interface UnknownInput {
  object: K8sObject
  /** The stored object; absent if the request creates it. */
  stored: K8sObject | undefined
}

// A remedy comes before the name, since a warning has 120 characters.
const NO_DEPENDENCIES = `lodestone: ${DEPENDS_ON_ANNOTATION} has no effect: add its kind to workloadKinds`

/**
 * Never rejects: other tools may write the annotation on objects without pods. A changed object with the same annotations gets no warning
 * again.
 */
export function decideUnknown({ object, stored }: UnknownInput): Outcome {
  if (stored && jsonEqual(ourAnnotations(object), ourAnnotations(stored))) return { kind: 'allow' }
  const { annotations } = object.metadata
  const warnings = [
    ...unknownKindWarnings(object, annotations?.[VOLUMES_ANNOTATION]),
    ...(annotations?.[DEPENDS_ON_ANNOTATION] === undefined ? [] : [cut(`${NO_DEPENDENCIES}: ${kindTitle(object)}`)]),
    ...mistypedAnnotations(annotations),
  ]
  return defined({ kind: 'allow', warnings: warnings.length > 0 ? warnings : undefined })
}

function unknownKindWarnings(object: K8sObject, annotation: string | undefined): string[] {
  if (annotation === undefined) return []
  const parsed = parseVolumeRequests(annotation)
  return [
    `lodestone: no volumes: annotate its pod template instead, or add its kind to workloadKinds: ${kindTitle(object)}`,
    ...('errors' in parsed ? parsed.errors.map(({ path, message }) => `lodestone: ${path}: ${message}`) : []),
  ].map((text) => cut(text))
}

function kindTitle({ apiVersion, kind }: K8sObject): string {
  const group = groupOf(apiVersion)
  return group === '' ? kind : `${kind}.${group}`
}
