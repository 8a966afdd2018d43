/** Admission of workloads whose pods request volumes: checks the requested volumes, and labels the pod templates. */
import { pods } from '../api/pod.ts'
import { withErrors } from '../core/outcome.ts'
import { decideWorkload } from '../core/workload/decide-workload.ts'
import { hasPods, type WorkloadKind, type WorkloadKinds } from '../core/workload-kinds/kinds.ts'
import { declaredErrors } from '../queries/declared.ts'
import { isHub, requestOfOwner, volumeManagersOf } from '../queries/volumes.ts'
import { hasOurKey, hasOwnerOf } from './annotation-condition.ts'
import { defineWebhook, type Webhook } from './define.ts'

/** Returns the admission point for the kinds that create pods. */
export function workloadWebhook(kinds: WorkloadKinds): Webhook {
  const reviewed = kinds.all.filter((kind) => kind.type.kind !== pods.kind && hasPods(kind))
  return defineWebhook({
    name: 'workload',
    type: 'mutating',
    resources: reviewed.flatMap(versionedTypes),
    operations: ['CREATE', 'UPDATE'],
    matchCondition: {
      name: 'asks-for-volumes',
      expression: [
        hasOurKey(reviewed.flatMap(({ allPodMetadata }) => allPodMetadata)),
        hasOwnerOf(reviewed.filter(({ inherits }) => inherits).map(({ type }) => type.kind)),
      ].join(' || '),
    },
    // The webhook for pods checks the rest when the pods are created.
    failurePolicy: 'Ignore',
    validates: 'spec and annotations',
    gather(request, { store, volumeLimits }) {
      const { object, oldObject, namespace } = request
      const { apiVersion, kind, metadata } = object
      return {
        object,
        stored: oldObject ?? undefined,
        kind: kinds.find(apiVersion, kind),
        owner: requestOfOwner(object, namespace || metadata.namespace, kinds, store),
        managers: volumeManagersOf(store, namespace || metadata.namespace, volumeLimits),
        isHub: isHub(store),
        declared: declaredErrors(request, kinds, store),
      }
    },
    decide: (input) => withErrors(decideWorkload(input), input.declared),
  })
}

/** One type per version: an API server may serve any of them. */
function versionedTypes({ type }: WorkloadKind) {
  const { otherVersions = [], ...newest } = type
  return [newest, ...otherVersions.map((version) => ({ ...newest, version }))]
}
