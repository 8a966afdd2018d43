/** Bindings with a recorded base in the tests of the base: what a decision leaves, and what Karmada's detector sends. */
import type { PlacementAffinity, ResourceBinding } from '../src/api/karmada.ts'
import { readAnnotations } from '../src/core/resource-binding/annotations.ts'
import { decideBinding } from '../src/core/resource-binding/decide.ts'
import type { BindingInput, PolicyInput } from '../src/core/resource-binding/input.ts'
import { located, makeBinding, makeInput, makePolicyInput } from './builders.ts'

export const one = (...clusterNames: string[]): PlacementAffinity => ({ clusterAffinity: { clusterNames } })
export const three = one('member1', 'member2', 'member3')
export const labeled = (...clusterNames: string[]): PlacementAffinity => ({
  clusterAffinity: { clusterNames, labelSelector: { matchLabels: { tier: 'core' } } },
})

/** A binding after a decision: narrowed to the clusters with the data, with the base in its annotation. */
export function stored(base: PlacementAffinity = three, ...data: string[]): ResourceBinding {
  const claims = [located(data.length > 0 ? data : ['member2'])]
  return decideBinding(makeInput({ binding: makeBinding({ placement: base }), claims })).binding
}

/** The binding with another affinity, as the detector writes it: annotations stay. */
export function overwritten(binding: ResourceBinding, placement: PlacementAffinity): ResourceBinding {
  return { ...binding, spec: { ...binding.spec, placement } }
}

export const lazy = (placement: PlacementAffinity): PolicyInput => makePolicyInput({ placement, lazy: true })
export const known = (placement: PlacementAffinity): PolicyInput => makePolicyInput({ placement })

/** What a decision leaves: the recorded base, and the affinity. */
export function outcome(input: Partial<BindingInput>): { base: unknown; affinity: unknown } {
  const { binding } = decideBinding(makeInput(input))
  return { base: readAnnotations(binding.metadata.annotations).base, affinity: binding.spec.placement }
}
