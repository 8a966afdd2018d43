/** Removes the traces of Lodestone from bindings: annotations, holds, attached dependencies, the finalizer and, on request, the narrowing. */
import {
  bindingTypeIn,
  bindingTypes,
  type PropagationPolicy,
  policyTypeIn,
  type ResourceBinding,
} from '../../api/karmada.ts'
import { DEPENDED_BY_LABEL_PREFIX, DEPENDENCIES_FINALIZER } from '../../api/lodestone.ts'
import type { K8sObject } from '../../api/meta.ts'
import { defined, jsonEqual } from '../../base/json.ts'
import { applyMergePatch } from '../../base/merge-patch.ts'
import { planAttachedBinding } from '../dependencies/plan-attached.ts'
import { effectiveAffinity, withAffinity } from '../placement/affinity.ts'
import { isSuspended, withoutScheduling } from '../placement/binding-state.ts'
import { BASE_OF_POLICY, OUR_ANNOTATIONS, readAnnotations } from '../resource-binding/annotations.ts'
import { policyReferenceOf } from '../resource-binding/policy.ts'
import { change, type Removal, type RemovalRule, withoutFinalizer, withoutKeys } from './removal.ts'

/** @param restores whether narrowed bindings get their base affinity */
export function bindingRules(restores: boolean): RemovalRule[] {
  return bindingTypes.map((type) => ({
    type,
    related: (object) => (restores ? policyOfBase(object) : undefined),
    plan: (object, policy) => planBinding(object as ResourceBinding, restores, policy as PropagationPolicy | undefined),
  }))
}

/** The policy that has the base of a binding, if the base was too large for an annotation. */
function policyOfBase({ metadata }: K8sObject) {
  const reference = policyReferenceOf(metadata)
  if (!reference || readAnnotations(metadata.annotations).base !== BASE_OF_POLICY) return undefined
  return { type: policyTypeIn(reference.namespace), ...reference }
}

function planBinding(binding: ResourceBinding, restores: boolean, policy: PropagationPolicy | undefined): Removal {
  const detached = restores ? detach(binding) : unlabel(binding)
  const resumed = resume(detached.object)
  const restored = restores ? restore(resumed.object, policy) : resumed.object
  const freed = withoutFinalizer(restored, DEPENDENCIES_FINALIZER)
  const { object, removed } = withoutKeys(freed, 'annotations', (key) => OUR_ANNOTATIONS.some((own) => own === key))
  const removes = [
    ...detached.removes,
    ...resumed.removes,
    ...(restored === resumed.object ? [] : ['the narrowed affinity']),
    ...(freed === restored ? [] : [`finalizer ${DEPENDENCIES_FINALIZER}`]),
    ...removed.map((key) => `annotation ${key}`),
  ]
  return change(bindingTypeIn(binding.metadata.namespace), binding, object, removes, detached.keeps)
}

interface Step {
  object: ResourceBinding
  removes: string[]
  keeps?: string[]
}

const LABELS = `labels ${DEPENDED_BY_LABEL_PREFIX}…`

/** Removes the labels of an attached binding. Without its entries, Karmada would delete the dependency below running workloads. */
function unlabel(binding: ResourceBinding): Step {
  const { object, removed } = withoutKeys(binding, 'labels', (key) => key.startsWith(DEPENDED_BY_LABEL_PREFIX))
  if (removed.length === 0) return { object, removes: [] }
  return { object, removes: [LABELS], keeps: ['spec.requiredBy: without it Karmada would delete the dependency'] }
}

/** Releases the workloads to which Lodestone attached the binding. Those of Karmada's distributor stay. */
function detach(binding: ResourceBinding): Step {
  const { actions } = planAttachedBinding({
    dependent: undefined,
    stored: binding,
    needs: [],
    bindingOf: () => undefined,
    labeledFor: [],
    isNeverPropagated: false,
    isUnknown: () => false,
    waitedMs: 0,
  })
  const [action] = actions
  if (action?.kind !== 'patch') return { object: binding, removes: [] }
  const changed = applyMergePatch(binding, action.patch) as ResourceBinding
  // The strategy is that of the referrers that are left, which are not read here.
  const { conflictResolution, preserveResourcesOnDeletion } = binding.spec
  const isEmpty = !changed.spec.requiredBy?.length
  const spec = isEmpty
    ? changed.spec
    : {
        ...changed.spec,
        ...(conflictResolution === undefined ? {} : { conflictResolution }),
        ...(preserveResourcesOnDeletion === undefined ? {} : { preserveResourcesOnDeletion }),
      }
  return { object: { ...changed, spec }, removes: [LABELS, 'entries of spec.requiredBy'] }
}

/** Ends a hold. A suspension without the annotation of a hold belongs to another client. */
function resume(binding: ResourceBinding): Step {
  const { hold } = readAnnotations(binding.metadata.annotations)
  if (!hold || hold.released || !isSuspended(binding.spec)) return { object: binding, removes: [] }
  const spec = defined({ ...binding.spec, suspension: withoutScheduling(binding.spec.suspension) })
  return { object: { ...binding, spec }, removes: ['suspension.scheduling'] }
}

/** Gives a binding its affinity before narrowing. */
function restore(binding: ResourceBinding, policy: PropagationPolicy | undefined): ResourceBinding {
  const { placement } = binding.spec
  const { base } = readAnnotations(binding.metadata.annotations)
  const affinity = base === BASE_OF_POLICY ? policy && effectiveAffinity(policy.spec.placement) : base
  if (!placement || !affinity || jsonEqual(affinity, effectiveAffinity(placement))) return binding
  return { ...binding, spec: { ...binding.spec, placement: withAffinity(placement, affinity) } }
}
