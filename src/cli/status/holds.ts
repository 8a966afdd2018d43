/** Reports workloads on hold: those that bindings and pods record, and in a folder those that admission would put on hold. */

import { bindingTypeIn, isBinding, type ResourceBinding } from '../../api/karmada.ts'
import { type K8sObject, keyOfObject, plainReference, referenceOf } from '../../api/meta.ts'
import { type Pod, pods } from '../../api/pod.ts'
import { defined } from '../../base/json.ts'
import { bindingDecisionId, podDecisionId } from '../../core/decision-id.ts'
import { hasOurAnnotations } from '../../core/resource-binding/annotations.ts'
import { activeHold } from '../../core/resource-binding/hold-not-honored.ts'
import { gateStateOf, isGated } from '../../core/workload/gate/gate-state.ts'
import { volumeManagersOf } from '../../queries/volumes.ts'
import { allBindings } from '../../queries/workload.ts'
import type { FolderStore } from '../../store/folder/folder.ts'
import type { ObjectStore } from '../../store/store.ts'
import { copiesOf } from '../check/input/place-manifests.ts'
import type { ReviewSettings } from '../check/review/review-object.ts'
import { reviewObjects } from '../check/review/review-objects.ts'
import { openFolder } from '../open-folder.ts'
import type { HoldReport } from './report.ts'

/** What admission would do to the objects of a folder. A folder has no controller that writes bindings. */
export interface Predictions {
  /** Workloads and pods that admission would put on hold. */
  holds: HoldReport[]
  /** The bindings with a decision, as Karmada and admission would write them. */
  bindings: ResourceBinding[]
  /** These, and the bindings without a decision. */
  allBindings: ResourceBinding[]
}

/** Reports the holds in the annotations of bindings, and the pods with our scheduling gate. */
export function storedHolds(store: ObjectStore): HoldReport[] {
  const holds: HoldReport[] = []
  for (const binding of allBindings(store)) holds.push(...bindingHold(binding))
  for (const pod of store.list(pods)) holds.push(...podGate(pod, store))
  return holds
}

function bindingHold(binding: ResourceBinding): HoldReport[] {
  const hold = activeHold(binding)
  if (!hold) return []
  const { reason, message, since } = hold
  return [
    {
      workload: plainReference(binding.spec.resource),
      binding: keyOfObject(binding),
      reason,
      message,
      since,
      decisionId: bindingDecisionId(binding),
    },
  ]
}

function isGatedPod(object: K8sObject & { spec?: unknown }): boolean {
  return object.kind === pods.kind && object.spec !== undefined && isGated(object as Pod)
}

/** A pod with our scheduling gate. The cache of a folder has the spec of gated pods only. */
function podGate(pod: Pod, store: ObjectStore): HoldReport[] {
  const { namespace, creationTimestamp } = pod.metadata
  const state = (pod as Partial<Pod>).spec && gateStateOf(pod, volumeManagersOf(store, namespace))
  if (!state) return []
  const { reason, message } = state
  const decisionId = podDecisionId(pod)
  return [defined({ workload: referenceOf(pod), reason, message, since: creationTimestamp || undefined, decisionId })]
}

/**
 * Predicts the decisions on the objects of a folder, by these settings. `check` decides in the same way. A workload with a binding in the folder
 * has no prediction, because the binding records its state.
 */
export async function predict(
  folder: FolderStore,
  settings: ReviewSettings,
  signal: AbortSignal,
): Promise<Predictions> {
  const { workloads } = settings
  const objects = copiesOf(folder)
  // Reviews store what they allow, and the store of the folder must not change.
  const store = openFolder(undefined, { workloads })
  await store.start(signal)
  try {
    const templates = objects.filter((object) => !isBinding(object.kind) && !isGatedPod(object))
    const reviews = await reviewObjects(
      templates.map((object) => ({ object })),
      { ...settings, store },
    )
    const gated = reviews.filter(({ decision }) => decision === 'Gated')
    const allBindings = reviews.flatMap(({ after }) =>
      after && isBinding(after.kind) && !isStored(after, folder) ? [after as ResourceBinding] : [],
    )
    const bindings = allBindings.filter(({ metadata }) => hasOurAnnotations(metadata.annotations))
    const holds = bindings.flatMap(bindingHold).map(({ binding: _, since: __, decisionId: ___, ...hold }) => hold)
    return { holds: [...gated.flatMap(({ after }) => podGate(after as Pod, store)), ...holds], bindings, allBindings }
  } finally {
    await store.stop()
  }
}

function isStored(binding: K8sObject, folder: FolderStore): boolean {
  const { namespace, name = '' } = binding.metadata
  return folder.get(bindingTypeIn(namespace), namespace, name) !== undefined
}
