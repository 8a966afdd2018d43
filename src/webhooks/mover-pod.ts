/** Admission of pods with a label or an annotation of movers: only Lodestone may write them (ADR 27). */
import { pods } from '../api/pod.ts'
import { denyErrors } from '../core/outcome.ts'
import { MOVER_RIGHT } from '../core/volume-manager/mover/credentials.ts'
import { RESERVED_ON_PODS, reservedErrors } from '../core/volume-manager/mover/own-mover.ts'
import { defineWebhook } from './define.ts'

const { group, resource, verb } = MOVER_RIGHT
const isAllowed = `authorizer.group('${group}').resource('${resource}').check('${verb}').allowed()`

export const moverPod = defineWebhook({
  name: 'mover-pod',
  type: 'validating',
  resources: [pods],
  operations: ['CREATE', 'UPDATE'],
  // Labels can be written with the status, and with the binding to a node. Other subresources leave them as they are.
  subresources: ['status', 'binding'],
  // The API server sends no other pods, and none of Lodestone. So while Lodestone is not available, only forged movers wait for it.
  failurePolicy: 'Fail',
  validates: 'labels and annotations',
  matchCondition: {
    name: 'writes-reserved-metadata-without-the-right',
    expression: `(${RESERVED_ON_PODS.map(isWritten).join(' || ')}) && !${isAllowed}`,
  },
  gather: ({ object, oldObject }) => ({ object, stored: oldObject ?? undefined }),
  decide: ({ object, stored }) => denyErrors(reservedErrors(object, stored)),
})

/** Returns an expression: whether a write adds, changes or removes a value. */
function isWritten({ map, key }: (typeof RESERVED_ON_PODS)[number]): string {
  // A space is no value of a label, and no task.
  const valueIn = (object: string) =>
    `(${object} != null && has(${object}.metadata.${map}) && '${key}' in ${object}.metadata.${map} ? ${object}.metadata.${map}['${key}'] : ' ')`
  return `${valueIn('object')} != ${valueIn('oldObject')}`
}
