/** Admission of objects whose kind is not in the table of workload kinds: warns if they have an annotation for workloads. */
import { DEPENDS_ON_ANNOTATION, VOLUMES_ANNOTATION } from '../api/lodestone.ts'
import type { K8sObject } from '../api/meta.ts'
import { pods } from '../api/pod.ts'
import { decideUnknown } from '../core/workload/decide-unknown.ts'
import type { WorkloadKinds } from '../core/workload-kinds/kinds.ts'
import { hasWorkloadAnnotation } from './annotation-condition.ts'
import { ANY_KIND, defineWebhook, type Webhook } from './define.ts'

/** Returns the admission point for kinds that are not in the table. */
export function unknownWorkloadWebhook(kinds: WorkloadKinds): Webhook {
  const known = [pods, ...kinds.all.map(({ type }) => type)].map(({ group, kind }) => `'${group}/${kind}'`)
  return defineWebhook({
    name: 'unknown-workload',
    type: 'validating',
    // Only the table knows which kinds have pods.
    resources: [ANY_KIND],
    operations: ['CREATE', 'UPDATE'],
    matchCondition: {
      name: 'is-annotated-without-effect',
      // Controllers copy annotations to what they create.
      expression: [
        hasWorkloadAnnotation(VOLUMES_ANNOTATION, DEPENDS_ON_ANNOTATION),
        '!(has(object.metadata.ownerReferences) && object.metadata.ownerReferences.exists(o, has(o.controller) && o.controller))',
        `!(request.kind.group + '/' + request.kind.kind in [${[...new Set(known)].sort().join(', ')}])`,
      ].join(' && '),
    },
    // A warning is no reason to reject a request.
    failurePolicy: 'Ignore',
    validates: 'spec and annotations',
    gather: ({ object, oldObject }) => ({ object, stored: oldObject ?? undefined }),
    // As the condition: commands that review manifests have no API server that evaluates it.
    decide: (input) => (isKnownOrOwned(input.object, kinds) ? { kind: 'allow' } : decideUnknown(input)),
  })
}

function isKnownOrOwned({ apiVersion, kind, metadata }: K8sObject, kinds: WorkloadKinds): boolean {
  const isOwned = metadata.ownerReferences?.some(({ controller }) => controller) ?? false
  return isOwned || !metadata.namespace || kinds.find(apiVersion, kind) !== undefined
}
