/** Gathers the input of the decision on a binding from the cache of a store. */
import { dataSourceClaims } from '../api/data-source-claim.ts'
import {
  type BindingSnapshot,
  bindingTypeIn,
  clusters,
  type PropagationPolicy,
  policyTypeIn,
  type ResourceBinding,
} from '../api/karmada.ts'
import { volumeManagers } from '../api/volume-manager.ts'
import { defined } from '../base/json.ts'
import type { Present } from '../base/time/clock-jumps.ts'
import { type ClaimAnswer, locateClaim } from '../core/data-source/locate.ts'
import { isHonored } from '../core/data-source-claim/honored.ts'
import type { KarmadaRules } from '../core/karmada-rules.ts'
import type { ClusterLookup } from '../core/placement/affinity.ts'
import { isSetByUs } from '../core/propagation-policy/decide.ts'
import { selects } from '../core/propagation-policy/select.ts'
import { hasOurAnnotations } from '../core/resource-binding/annotations.ts'
import type { DecisionSettings } from '../core/resource-binding/decision-settings.ts'
import { type BindingInput, policyInputOf } from '../core/resource-binding/input.ts'
import { policyReferenceOf } from '../core/resource-binding/policy.ts'
import { isOrphaned } from '../core/resource-binding/rules/orphaned.ts'
import type { TransferMatrix } from '../core/transfer-cost/matrix.ts'
import type { FleetPrices } from '../core/transfer-cost/rank.ts'
import type { ObjectName, ObjectStore } from '../store/store.ts'
import { volumeClaimsTakenAlong } from './attached.ts'
import { workloadTypeOf } from './dependents.ts'
import { claimsFor } from './permission.ts'
import { claimSource } from './source.ts'
import { locateVolumes } from './volume-locations.ts'
import { bindingNamed } from './workload.ts'

/** What the decision on a binding reads besides the binding. */
export interface BindingContext extends Present, DecisionSettings {
  store: ObjectStore
  /** The rules of the connected Karmada; the strictest if absent. */
  karmadaRules?: KarmadaRules | undefined
}

interface BindingOptions extends Pick<BindingInput, 'leavesMovesToLoop'> {
  /** The VolumeManagers of the workload with their locations; read from the store if absent. */
  volumes?: readonly ClaimAnswer[]
  /** The PersistentVolumeClaims that the workload takes along; read from the store if absent. */
  volumeClaims?: readonly string[]
  /** The templates of PersistentVolumeClaims of the workload; read from the cached workload if absent. */
  claimTemplates?: readonly string[]
}

/** Gathers the input of the decision on a binding, for admission, the loop and the command line. */
export function gatherBindingInput(
  binding: ResourceBinding,
  stored: ResourceBinding | undefined,
  { store, now, jumps, clusterScopedClaims, karmadaRules, timing, kinds, matrix }: BindingContext,
  { leavesMovesToLoop = false, volumes = locateVolumes(binding, store), ...given }: BindingOptions = {},
): BindingInput {
  const policy = bindingPolicy(binding, store)
  const claimsUnknown = whyClaimsUnknown(store)
  // The honored claims; none for a malformed binding.
  const claims = claimsFor(binding.spec.resource, store, clusterScopedClaims)
    .filter((claim) => isHonored(claim, now))
    .map((claim) => locateClaim(claim, claimSource(claim, store), now))
  const hasClaims = claims.length + volumes.length > 0
  const mayTakeAlong = hasClaims && binding.spec.propagateDeps
  const { volumeClaims = mayTakeAlong ? volumeClaimsTakenAlong(binding, store) : [] } = given
  return {
    binding,
    stored,
    claims: volumes.length === 0 ? claims : [...claims, ...volumes],
    ...defined({ claimsUnknown }),
    policy: policy && policyInputOf(policy),
    clusters: clusterLookup(store),
    clusterNames: () => namesOfClusters(store),
    rules: karmadaRules,
    now,
    jumps,
    leavesMovesToLoop,
    kinds,
    timing,
    ...(hasClaims && claimTemplatesIn(binding, { store, kinds }, given.claimTemplates)),
    ...defined({
      volumeClaims: volumeClaims.length > 0 ? volumeClaims : undefined,
      prices: matrix && fleetPrices(matrix, store),
      isOrphaned: (leavesMovesToLoop && isOrphaned(binding)) || undefined,
    }),
  }
}

/**
 * Returns the templates of PersistentVolumeClaims of a workload, or that they are unknown. A store without workloads knows none.
 *
 * @param given the templates, if the caller has read the workload
 */
function claimTemplatesIn(
  { spec: { resource } }: ResourceBinding,
  { store, kinds }: Pick<BindingContext, 'store' | 'kinds'>,
  given: readonly string[] | undefined,
): Pick<BindingInput, 'claimTemplates' | 'isWorkloadUnread'> {
  if (given) return { claimTemplates: given }
  const type = workloadTypeOf(resource, store)
  if (!type) return {}
  const workload = store.get(type, resource.namespace, resource.name)
  if (workload) return defined({ claimTemplates: workload.dependencies.claimTemplates })
  const kind = kinds.find(resource.apiVersion, resource.kind)
  return kind?.templates && kind.claimTemplates ? { isWorkloadUnread: true } : {}
}

/** Returns why a claim or VolumeManager may exist that is not cached; undefined if all are cached. */
function whyClaimsUnknown(store: ObjectStore): string | undefined {
  const unavailable = store.unavailable()
  if (unavailable.length === 0) return undefined
  return unavailable.find(({ type }) => [dataSourceClaims.kind, volumeManagers.kind].includes(type.kind))?.message
}

/** Returns the policy in the annotations of a binding; undefined if it is not cached. */
export function bindingPolicy({ metadata }: ResourceBinding, store: ObjectStore): PropagationPolicy | undefined {
  const reference = policyReferenceOf(metadata)
  return reference && policyNamed(reference, store)
}

/** Whether Lodestone places the workload of a binding, or has set the `propagateDeps` with which its dependencies follow. */
export function followsByUs(snapshot: BindingSnapshot, store: ObjectStore): boolean {
  const binding = bindingNamed(snapshot, store)
  if (!binding) return false
  const policy = bindingPolicy(binding, store)
  return hasOurAnnotations(binding.metadata.annotations) || (policy !== undefined && isSetByUs(policy))
}

/**
 * Replaces the cached policy of an input by that of the API server. Every placement that Karmada's detector has written into the cached binding
 * is from this policy, or from an older state of it. A policy that is gone, is being deleted or selects the workload no more counts as lazy:
 * Karmada leaves the placement as it is.
 */
export async function withCurrentPolicy<T extends BindingInput>(input: T, store: ObjectStore): Promise<T> {
  const { binding, policy } = input
  const reference = policyReferenceOf(binding.metadata)
  if (!reference || !policy) return input
  const { namespace, name } = reference
  const current = await store.read(policyTypeIn(namespace), namespace, name)
  if (!current) return { ...input, policy: { ...policy, lazy: true } }
  const isInForce = !current.metadata.deletionTimestamp && selects(current, binding.spec.resource, undefined) !== false
  const read = policyInputOf(current)
  return { ...input, policy: { ...read, lazy: read.lazy || !isInForce } }
}

/** Whether the object of a cached binding is gone. Reads the binding from the API server, since owners are not cached. */
export async function isOrphanedNow({ metadata }: ResourceBinding, store: ObjectStore): Promise<boolean> {
  const { namespace, name = '' } = metadata
  const current = await store.read<ResourceBinding>(bindingTypeIn(namespace), namespace, name)
  return current !== undefined && isOrphaned(current)
}

/** Returns the policy with this name; without a namespace it is a ClusterPropagationPolicy. */
export function policyNamed({ namespace, name }: ObjectName, store: ObjectStore): PropagationPolicy | undefined {
  return store.get(policyTypeIn(namespace), namespace, name)
}

function fleetPrices(matrix: TransferMatrix, store: ObjectStore): FleetPrices {
  return {
    matrix,
    clusters: (name) => store.get(clusters, undefined, name),
    clusterNames: () => namesOfClusters(store),
  }
}

function namesOfClusters(store: ObjectStore): string[] {
  return [...store.list(clusters)].map(({ metadata }) => metadata.name ?? '')
}

/** Returns undefined if the store has no Clusters, for instance a folder without them. */
export function clusterLookup(store: ObjectStore): ClusterLookup | undefined {
  return store.size(clusters) > 0 ? (name) => store.get(clusters, undefined, name) : undefined
}
