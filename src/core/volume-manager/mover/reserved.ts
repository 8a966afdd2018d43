/** Protects the labels and the annotation that identify movers: users may not write them. */
import { MOVER_LABEL, MOVER_SLOT_LABEL, MOVER_TASK_ANNOTATION } from '../../../api/lodestone.ts'
import type { K8sObject } from '../../../api/meta.ts'
import type { FieldError } from '../../../base/field-errors.ts'

export const RESERVED_ON_PODS = [
  { map: 'labels', key: MOVER_LABEL },
  { map: 'labels', key: MOVER_SLOT_LABEL },
  { map: 'annotations', key: MOVER_TASK_ANNOTATION },
] as const

/**
 * Returns an error for each reserved label or annotation that a write adds, changes or removes.
 *
 * @param stored the stored Pod; absent if the write creates it
 */
export function reservedErrors(pod: Pick<K8sObject, 'metadata'>, stored?: Pick<K8sObject, 'metadata'>): FieldError[] {
  return RESERVED_ON_PODS.filter(({ map, key }) => pod.metadata[map]?.[key] !== stored?.metadata[map]?.[key]).map(
    ({ map, key }) => ({
      path: `metadata.${map}[${key}]`,
      code: 'Forbidden',
      message: 'is reserved for the movers of Lodestone; leave it as it is, and remove it from pod templates',
    }),
  )
}
