/** Writes of a binding in the tests of the rules: a round of the loop, or a write of Karmada that admission sees. */

import type { BindingSpec, Placement, ResourceBinding } from '../src/api/karmada.ts'
import type { ClaimAnswer } from '../src/core/data-source/locate.ts'
import { decideBinding } from '../src/core/resource-binding/decide.ts'
import type { BindingInput } from '../src/core/resource-binding/input.ts'
import { lookup, makeBinding, makeInput } from './builders.ts'

export const one = (...clusterNames: string[]): Placement => ({ clusterAffinity: { clusterNames } })
export const three = one('m1', 'm2', 'm3')
export const runsIn = (...names: string[]) => ({ clusters: names.map((name) => ({ name, replicas: 1 })) })
export const healthy = lookup('m1', 'm2', 'm3')

export function bind(spec: Partial<BindingSpec>, status?: ResourceBinding['status']): ResourceBinding {
  return { ...makeBinding({ placement: three, ...spec }), ...(status && { status }) }
}

/** A round of the loop: the binding that it writes, with the state and its message. */
export function loop(binding: ResourceBinding, claims: readonly ClaimAnswer[], more: Partial<BindingInput> = {}) {
  const decision = decideBinding(makeInput({ binding, stored: binding, claims, clusters: healthy, ...more }))
  return { ...decision, names: decision.binding.spec.placement?.clusterAffinity?.clusterNames }
}

/** The scheduler, or another writer of Karmada, changes the spec of a stored binding. */
export function write(stored: ResourceBinding, spec: Partial<BindingSpec>, more: Partial<BindingInput> = {}) {
  const binding = { ...stored, spec: { ...stored.spec, ...spec } }
  return decideBinding(makeInput({ binding, stored, clusters: healthy, leavesMovesToLoop: true, ...more }))
}
