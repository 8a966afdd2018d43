/** Finds the policies whose `propagateDeps` an uninstallation leaves, since Karmada would harm running workloads without it. */
import type { ResourceBinding } from '../../api/karmada.ts'
import { keyOfObject, objectKey } from '../../api/meta.ts'
import { persistentVolumeClaims } from '../../api/persistent-volume.ts'
import { hasTarget } from '../placement/binding-state.ts'
import { isNarrowing, readAnnotations } from '../resource-binding/annotations.ts'
import { policyReferenceOf } from '../resource-binding/policy.ts'

/** What Karmada would do to workloads of a policy without `propagateDeps`. */
export type Harm = 'moves' | 'deletesVolumeClaims'

/** The part of a binding that matters to policies. */
export interface BindingUse {
  /** The key of the binding. */
  key: string
  /** The key of the policy of its workload. */
  policy: string | undefined
  /** Whether its workload runs where Lodestone narrowed it. */
  isNarrowed: boolean
  /** The keys of the bindings whose workloads it follows, if it is that of a PersistentVolumeClaim. */
  follows: readonly string[]
}

/** Reads what matters of a binding; undefined if nothing does. */
export function useOfBinding(binding: ResourceBinding): BindingUse | undefined {
  const { metadata, spec } = binding
  const reference = policyReferenceOf(metadata)
  const policy = reference && objectKey(reference.namespace, reference.name)
  const isClaim = spec.resource.kind === persistentVolumeClaims.kind && spec.preserveResourcesOnDeletion !== true
  // A binding of another namespace may be forged. A cluster-scoped workload has no namespace.
  const referrers = (isClaim ? (spec.requiredBy ?? []) : []).filter(
    ({ namespace }) => !namespace || namespace === metadata.namespace,
  )
  const follows = referrers.map(({ namespace, name }) => objectKey(namespace, name))
  if (policy === undefined && follows.length === 0) return undefined
  const isNarrowed = hasTarget(spec) && isNarrowing(readAnnotations(metadata.annotations).locality)
  return { key: keyOfObject(binding), policy, isNarrowed, follows }
}

/**
 * Returns the policies that are kept, by key. A change of the spec of a policy makes Karmada write its placement into the bindings (karmada,
 * pkg/detector/policy.go), and so moves narrowed workloads. Without `propagateDeps`, Karmada deletes the dependencies in members.
 *
 * @param uses those of all bindings of the hub
 */
export function policiesToKeep(uses: readonly BindingUse[]): ReadonlyMap<string, Harm> {
  const followed = new Set(uses.flatMap(({ follows }) => follows))
  const kept = new Map<string, Harm>()
  for (const { key, policy, isNarrowed } of uses) {
    if (policy === undefined) continue
    if (isNarrowed) kept.set(policy, 'moves')
    else if (followed.has(key) && !kept.has(policy)) kept.set(policy, 'deletesVolumeClaims')
  }
  return kept
}
