/** The input of the decision on a binding, and the validation of the fields that it reads. */
import type { Placement, PropagationPolicy, ResourceBinding } from '../../api/karmada.ts'
import { REQUIRES_CLAIM_ANNOTATION } from '../../api/lodestone.ts'
import { bindingSchema, withoutMetadata } from '../../api/schemas/karmada.ts'
import type { FieldError } from '../../base/field-errors.ts'
import { compileSchema } from '../../base/schema/schema-errors.ts'
import type { Present } from '../../base/time/clock-jumps.ts'
import type { ClaimAnswer } from '../data-source/locate.ts'
import type { KarmadaRules } from '../karmada-rules.ts'
import type { ClusterLookup } from '../placement/affinity.ts'
import type { FleetPrices } from '../transfer-cost/rank.ts'
import type { WorkloadKinds } from '../workload-kinds/kinds.ts'
import type { PlacementTiming } from './timing.ts'

export interface BindingInput extends Present {
  /** The binding as the requester sent it, not validated. */
  binding: ResourceBinding
  /** The stored binding; absent if the request creates it. */
  stored: ResourceBinding | undefined
  /** The claims of the bound workload with their answers, in any order. */
  claims: readonly ClaimAnswer[]
  /** Why a claim or VolumeManager of the workload may exist although none is known; absent if all are known. */
  claimsUnknown?: string
  /** The policy of the binding, if Lodestone knows it. */
  policy: PolicyInput | undefined
  clusters: ClusterLookup | undefined
  /** Returns the names of all clusters. Default: only those are known that the policy or a claim names. */
  clusterNames?: () => readonly string[]
  /** The price matrix with the clusters of the hub; absent without one. */
  prices?: FleetPrices | undefined
  /** The PersistentVolumeClaims that Karmada deletes in a cluster that the workload leaves. Default: none. */
  volumeClaims?: readonly string[]
  /** The templates of PersistentVolumeClaims of the workload. Their claims stay in a cluster that it leaves. Default: none. */
  claimTemplates?: readonly string[]
  /** Whether the workload may have such templates, but is not cached: its watch is late, or Lodestone may not read its kind. */
  isWorkloadUnread?: boolean
  /** The rules of the connected Karmada; the strictest if absent. */
  rules?: KarmadaRules | undefined
  /** Whether the object of the binding was deleted without it. Owners are not cached, so the loop knows it only after it has read the binding. */
  isOrphaned?: boolean
  /** Set at admission, which does not move a running workload. The loop moves it, at a limited rate. */
  leavesMovesToLoop?: boolean
  /** The table of workload kinds. */
  kinds: WorkloadKinds
  /** The waiting times of scheduled workloads. */
  timing: PlacementTiming
}

/** The fields of a (Cluster)PropagationPolicy that a decision reads. */
export interface PolicyInput {
  placement: Placement
  /** `activationPreference: Lazy`: the policy's placement reaches the binding only when the template changes. */
  lazy: boolean
  requiresClaim: boolean
}

/** Reads the fields of a policy on which a decision depends. */
export function policyInputOf({ metadata, spec }: PropagationPolicy): PolicyInput {
  return {
    placement: spec.placement ?? {},
    lazy: isLazy({ spec }),
    requiresClaim: metadata.annotations?.[REQUIRES_CLAIM_ANNOTATION] === 'true',
  }
}

/** Whether Karmada applies a change of a policy to a workload only when the workload changes. */
export function isLazy({ spec }: Pick<PropagationPolicy, 'spec'>): boolean {
  return spec.activationPreference === 'Lazy'
}

/** Returns all errors in the fields that Lodestone reads. Karmada validates the other fields. */
export const validateBinding: (binding: ResourceBinding) => FieldError[] = compileSchema(withoutMetadata(bindingSchema))
