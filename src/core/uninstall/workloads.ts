/** Removes the traces of Lodestone from workloads and pods: the values in pod templates, requirements for nodes, and scheduling gates. */

import { NODE_REQUIREMENTS_ANNOTATION, VOLUMES_GATE } from '../../api/lodestone.ts'
import type { K8sObject } from '../../api/meta.ts'
import { type Pod, pods } from '../../api/pod.ts'
import { defined } from '../../base/json.ts'
import { declarationsIn } from '../admission/declared-value.ts'
import { isDaemonSet, narrowDaemonSet } from '../workload/daemon-set.ts'
import { type AddedContext, addedValues, openDigest, withoutAdded } from '../workload/requests/added-values.ts'
import { type PodPlace, podPlacesOf } from '../workload/requests/templates.ts'
import { ownAnnotation } from '../workload/requests/workload-requests.ts'
import { hasPods, type WorkloadKind, type WorkloadKinds } from '../workload-kinds/kinds.ts'
import { change, deletion, type Removal, type RemovalRule, withoutKeys } from './removal.ts'
import { isMoverPod } from './volumes.ts'

const TEMPLATE_VALUES = 'values of lodestone.dev/added in pod templates'

/**
 * ReplicaSets come first: a Deployment whose template becomes equal to that of its ReplicaSet keeps the pods
 * (kubernetes, pkg/controller/deployment/util, FindNewReplicaSet).
 */
export function workloadRules(kinds: WorkloadKinds): RemovalRule[] {
  const withPods = kinds.all.filter((kind) => hasPods(kind) && kind.type.kind !== pods.kind)
  const isFirst = ({ type }: WorkloadKind) => type.kind === 'ReplicaSet'
  return [...withPods.filter(isFirst), ...withPods.filter((kind) => !isFirst(kind))].map((kind) => ({
    type: kind.type,
    plan: (object) => planWorkload(object, kind),
  }))
}

function planWorkload(object: K8sObject, kind: WorkloadKind): Removal {
  const cleaned = withoutAddedValues(object, podPlacesOf(object, kind))
  if (kind.immutable) {
    const keeps =
      cleaned === object ? [] : [`${TEMPLATE_VALUES}: the template is immutable; recreate the ${object.kind}`]
    return { removes: [], keeps }
  }
  const freed = withAllNodes(cleaned, kind)
  return change(kind.type, object, freed, [
    ...(cleaned === object ? [] : [TEMPLATE_VALUES]),
    ...(freed === cleaned ? [] : [`annotation ${NODE_REQUIREMENTS_ANNOTATION}`, 'its required node affinity']),
  ])
}

function withoutAddedValues<T extends K8sObject>(object: T, places: readonly PodPlace[]): T {
  const context = contextOf(object, ownAnnotation(object))
  return places.reduce((whole, place) => withoutAdded(whole, place, addedValues(place, context)) as T, object)
}

function contextOf(object: K8sObject, copied: string | undefined): AddedContext {
  return { isDeclared: declarationsIn(object), digest: openDigest(), copied, storedAt: () => undefined }
}

/** Lets the pods of a DaemonSet run on all nodes that its user allows. */
function withAllNodes(object: K8sObject, kind: WorkloadKind): K8sObject {
  if (!isDaemonSet(object)) return object
  const widened = podPlacesOf(object, kind).reduce(
    (whole, { pod }) => (pod ? narrowDaemonSet(whole, pod, []) : whole),
    object,
  )
  return withoutKeys(widened, 'annotations', (key) => key === NODE_REQUIREMENTS_ANNOTATION).object
}

/** Pods lose their gate and the values of their template. Movers are deleted. */
export const podRule: RemovalRule = {
  type: pods,
  plan(object) {
    const pod = object as Pod
    if (isMoverPod(pod)) return deletion(pods, pod)
    const { labels, annotations } = pod.metadata
    const metadata = defined({ labels, annotations })
    const place: PodPlace = { path: 'metadata', keys: ['metadata'], metadata, forAll: false }
    // A pod has the annotation of its template, so an equal one of the pod itself is no copy.
    const context = contextOf(pod, undefined)
    const cleaned = withoutAdded(pod, place, addedValues(place, context)) as Pod
    const gates = pod.spec?.schedulingGates ?? []
    const isGated = gates.some(({ name }) => name === VOLUMES_GATE)
    const removes = [
      ...(cleaned === pod ? [] : ['values of lodestone.dev/added']),
      ...(isGated ? [`scheduling gate ${VOLUMES_GATE}`] : []),
    ]
    return change(pods, pod, isGated ? withoutGate(cleaned) : cleaned, removes)
  },
}

function withoutGate(pod: Pod): Pod {
  const { schedulingGates = [], ...spec } = pod.spec
  const rest = schedulingGates.filter(({ name }) => name !== VOLUMES_GATE)
  return { ...pod, spec: rest.length > 0 ? { ...spec, schedulingGates: rest } : spec }
}
