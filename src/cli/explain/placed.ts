/** Gathers what is known about one workload: its object, claims, policy and binding, and decides on the binding. */
import { type DataSourceClaim, dataSourceClaims } from '../../api/data-source-claim.ts'
import {
  clusterPropagationPolicies,
  type PropagationPolicy,
  propagationPolicies,
  type ResourceBinding,
} from '../../api/karmada.ts'
import { type K8sObject, type ObjectReference, referenceTitle } from '../../api/meta.ts'
import { configuredDecisions } from '../../app/config/decision-settings.ts'
import { defined } from '../../base/json.ts'
import type { ClaimAnswer } from '../../core/data-source/locate.ts'
import { workloadKey } from '../../core/data-source-claim/keys.ts'
import { interpretWorkload } from '../../core/dependencies/workload.ts'
import {
  type DecidedAnnotations,
  type LocalityAnnotation,
  readDecision,
} from '../../core/resource-binding/annotations.ts'
import { type BindingDecision, decideBinding } from '../../core/resource-binding/decide.ts'
import { deriveBinding, otherBindingClause, selectPolicy } from '../../core/resource-binding/derive.ts'
import type { BindingInput } from '../../core/resource-binding/input.ts'
import { planBinding } from '../../core/resource-binding/plan.ts'
import { isOrphaned } from '../../core/resource-binding/rules/orphaned.ts'
import { readVolumeClaimsTakenAlong } from '../../queries/attached.ts'
import { bindingPolicy, gatherBindingInput } from '../../queries/binding.ts'
import { readVolumes } from '../../queries/volume-locations.ts'
import { readBindingByName } from '../../queries/workload.ts'
import { hiddenKinds } from '../hidden-kinds.ts'
import { type Context, readTarget, type Target, targetReference } from './target.ts'
import type { TreeNode } from './tree.ts'

export interface Placed {
  workload: ObjectReference
  /** Undefined if the workload does not exist, and only a claim or a binding names it. */
  object: K8sObject | undefined
  claims: readonly DataSourceClaim[]
  volumes: readonly ClaimAnswer[]
  policy: PropagationPolicy | undefined
  /** The binding as it is stored, or as Karmada would create it, with the decision; undefined without a policy and a binding. */
  placement: { binding: ResourceBinding; input: BindingInput; decision: BindingDecision } | undefined
  /** Whether there are kinds that the user may not list. Then the decision is the stored one, and further policies may exist. */
  isPartial: boolean
  /** The binding of another object that has the name of this workload's. Karmada then creates none for the workload. */
  other?: ResourceBinding | undefined
}

/** Returns undefined if the workload does not exist, no claim names it, and it has no binding. */
export async function placeWorkload(target: Target, context: Context): Promise<Placed | undefined> {
  const { store, kinds, now, karmadaRules, config, isFolder } = context
  const { type, namespace, name } = target
  const object = await readTarget(target, store)
  const named = targetReference(target)
  const claims = store.byIndex(dataSourceClaims, 'workload', workloadKey(named))
  const { binding: stored, other } = await readBindingByName(named, store)
  if (!object && claims.length === 0 && !stored) return undefined
  const [claim] = claims
  // Karmada compares versions: a policy for v1 does not select an object in v1beta1.
  const { apiVersion } = object ?? stored?.spec.resource ?? claim?.spec.workload ?? named
  const workload = { ...named, apiVersion }
  const template: K8sObject = {
    ...object,
    apiVersion,
    kind: type.kind,
    metadata: { ...object?.metadata, name, ...defined({ namespace: namespace || undefined }) },
  }
  const policy =
    (stored && bindingPolicy(stored, store)) ??
    selectPolicy(template, store.list(propagationPolicies), store.list(clusterPropagationPolicies))
  const isPartial = hiddenKinds(store).length > 0
  const binding = stored ?? (policy && !isPartial && !other ? deriveBinding(template, policy) : undefined)
  const volumes =
    object && kinds.find(apiVersion, type.kind)
      ? await readVolumes(object, binding?.spec.propagateDeps ?? false, store, kinds)
      : []
  const settings = {
    store,
    now,
    karmadaRules,
    ...configuredDecisions(config),
  }
  const interpreted = object && interpretWorkload(object, kinds)
  const volumeClaims = interpreted && binding ? await readVolumeClaimsTakenAlong(binding, interpreted, store) : []
  const { claimTemplates } = interpreted?.dependencies ?? {}
  const gathered =
    binding && gatherBindingInput(binding, stored, settings, { volumes, volumeClaims, ...defined({ claimTemplates }) })
  const input = gathered && (!isFolder && isKeptAsOrphaned(gathered) ? { ...gathered, isOrphaned: true } : gathered)
  return {
    workload,
    object,
    claims,
    volumes,
    policy,
    placement: input && { binding, input, decision: isPartial ? storedDecision(binding) : decideBinding(input) },
    isPartial,
    other,
  }
}

/** Whether the loop keeps the workload where it runs, since its object was deleted without the binding: it asks only before a move. */
function isKeptAsOrphaned(input: BindingInput): boolean {
  if (!input.stored || !isOrphaned(input.stored)) return false
  const { moves, needsOwner } = planBinding(input)
  return moves || needsOwner === true
}

/** The states that the annotations of a binding can have. */
export type StoredState = LocalityAnnotation['state'] | 'OnHold' | 'Released' | 'Untouched'

/** Returns the decision that a binding has. `decided`: its annotations, if they were read already. */
export function storedDecision(
  binding: ResourceBinding,
  { hold, locality }: DecidedAnnotations = readDecision(binding.metadata.annotations),
): BindingDecision & { state: StoredState } {
  const state = hold ? (hold.released ? 'Released' : 'OnHold') : (locality?.state ?? 'Untouched')
  return { state, binding, message: hold?.message ?? locality?.message ?? '' }
}

/** One line about a workload: its decision, and the reason. */
export function workloadSummary({ workload, placement, object, isPartial, other }: Placed): TreeNode {
  const { state, message } = placement?.decision ?? {}
  const unplaced = other
    ? `no binding: ${otherBindingClause(other)}`
    : isPartial
      ? 'no decision is stored'
      : 'no policy selects it'
  const words = state === undefined ? unplaced : state === 'Untouched' ? 'unchanged' : state
  const clusters = placement?.binding.spec.clusters?.map((cluster) => cluster.name)
  return {
    ...workload,
    text: `${referenceTitle(workload)}: ${words}${message ? `: ${message}` : ''}${object ? '' : ' (it does not exist)'}`,
    state: state ?? (isPartial ? 'Unknown' : 'NotSelected'),
    ...defined({ reason: message || undefined, clusters }),
  }
}
