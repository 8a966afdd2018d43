/** Finds out whether a hold can end without a change of the given manifests. */
import type { ResourceBinding } from '../../../api/karmada.ts'
import { referenceOf } from '../../../api/meta.ts'
import { volumeManagers } from '../../../api/volume-manager.ts'
import { type ClaimAnswer, locateClaim } from '../../../core/data-source/locate.ts'
import { readDecision } from '../../../core/resource-binding/annotations.ts'
import { claimsFor } from '../../../queries/permission.ts'
import { isPropagated } from '../../../queries/policy.ts'
import { claimSource } from '../../../queries/source.ts'
import { locateVolumes } from '../../../queries/volume-locations.ts'
import { objectBinding } from '../../../queries/workload.ts'
import type { GatherContext } from '../../../webhooks/define.ts'

/** The configured data systems; `unknown` if their configurations cannot be read here. */
export type KnownSystems = ReadonlySet<string> | 'unknown'

type Wait = Pick<ClaimAnswer, 'enforcement' | 'answer' | 'holdTimeoutSeconds'> & {
  /** Whether a loop of Lodestone or Karmada may still locate the data. */
  mayBeLocated: boolean
}

/**
 * Whether a hold can end: by a timeout, by the answer of a data system, or by the placement of a VolumeManager. A hold for a missing claim
 * ends only with that claim.
 */
export function canEnd(binding: ResourceBinding, context: GatherContext, systems: KnownSystems): boolean {
  const { hold } = readDecision(binding.metadata.annotations)
  if (!hold || hold.reason === 'ClaimMissing') return hold === undefined
  const required = bindingWaits(binding, context, systems).filter(({ enforcement }) => enforcement === 'Required')
  if (required.some(({ holdTimeoutSeconds }) => holdTimeoutSeconds !== undefined)) return true
  const missing = required.filter(({ answer }) => answer.kind !== 'located')
  return missing.length > 0 && missing.every(({ mayBeLocated }) => mayBeLocated)
}

function bindingWaits(binding: ResourceBinding, context: GatherContext, systems: KnownSystems): Wait[] {
  const { store, now, clusterScopedClaims } = context
  const claims = claimsFor(binding.spec.resource, store, clusterScopedClaims).map((claim) => ({
    ...locateClaim(claim, claimSource(claim, store), now),
    mayBeLocated: systems === 'unknown' || systems.has(claim.spec.system),
  }))
  const volumes = locateVolumes(binding, store).map((answer) => ({
    ...answer,
    mayBeLocated: isOnItsWay(answer, binding, context),
  }))
  return [...claims, ...volumes]
}

/** Whether Karmada places a VolumeManager, or has placed it. */
function isOnItsWay({ claim }: ClaimAnswer, binding: ResourceBinding, { store }: GatherContext): boolean {
  const { namespace } = binding.spec.resource
  const name = claim.slice(claim.lastIndexOf('/') + 1)
  const manager = store.get(volumeManagers, namespace, name)
  if (!manager) return false
  const placed = objectBinding(referenceOf(manager), store)
  return placed?.spec.placement !== undefined || isPropagated(manager, store)
}
