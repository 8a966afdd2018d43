/** Builds the binding of a dependency: its referrers, their clusters and the conflict strategy. */
import {
  BINDING_FINALIZER,
  BINDING_ID_LABEL,
  type BindingSnapshot,
  type BindingSpec,
  CLUSTER_BINDING_ID_LABEL,
  type ResourceBinding,
  type TargetCluster,
} from '../../api/karmada.ts'
import {
  apiVersionOf,
  type K8sObject,
  nameOfObject,
  objectKey,
  type ResourceType,
  referenceOf,
} from '../../api/meta.ts'
import { defined } from '../../base/json.ts'
import { clustersWithWorkload } from '../placement/binding-state.ts'
import { bindingName } from '../resource-binding/derive.ts'
import { dependedByLabel } from './names.ts'

/** How Karmada applies the resource in member clusters; one strategy for all referrers. */
export type Strategy = Pick<BindingSpec, 'conflictResolution' | 'preserveResourcesOnDeletion'>

/**
 * Builds the binding of `dependent` for these referrers, as Karmada's distributor does (dependencies_distributor.go, buildAttachedBinding).
 */
export function newAttachedBinding(
  type: ResourceType<ResourceBinding>,
  dependent: K8sObject,
  referrers: readonly ResourceBinding[],
): ResourceBinding {
  const { apiVersion, kind, metadata } = dependent
  const { namespace, name = '', uid = '' } = metadata
  const owner = { apiVersion, kind, name, uid, controller: true, blockOwnerDeletion: true }
  return {
    apiVersion: apiVersionOf(type),
    kind: type.kind,
    metadata: defined({
      name: bindingName(kind, name),
      namespace: (type.namespaced && namespace) || undefined,
      labels: labelsFor(referrers),
      finalizers: [BINDING_FINALIZER],
      ownerReferences: [owner],
    }),
    spec: {
      resource: objectResource(dependent),
      requiredBy: referrerSnapshots(
        defined({ namespace: (type.namespaced && namespace) || undefined, name: bindingName(kind, name) }),
        referrers,
      ),
      ...combineStrategies(referrers).strategy,
    },
  }
}

/** Our labels for these referrers: label → the permanent id of the referrer. A recreated binding with the same name has another id. */
export function labelsFor(referrers: readonly ResourceBinding[]): Record<string, string> {
  return Object.fromEntries(referrers.map((binding) => [dependedByLabel(nameOfObject(binding)), bindingId(binding)]))
}

/** Returns the key of the binding that a snapshot names. */
export function snapshotKey({ namespace, name }: BindingSnapshot): string {
  return objectKey(namespace, name)
}

/**
 * Returns the snapshots of these referrers for the attached binding. Karmada's distributor looks up every entry as a ResourceBinding. If it
 * does not find one, it neither updates nor releases the attached binding (policy_utils.go, resolveResourceBindingFromSnapshots). It never
 * finds a cluster-scoped binding. Therefore one entry represents all cluster-scoped referrers. It has the name of the attached binding
 * itself, which always exists.
 *
 * Unlike those of the distributor, they have the clusters that a workload leaves gracefully. It runs there until its replacement does, and needs its
 * dependencies as long.
 */
export function referrerSnapshots(attached: BindingSnapshot, referrers: readonly ResourceBinding[]): BindingSnapshot[] {
  const named = referrers.filter(({ metadata }) => metadata.namespace || !attached.namespace)
  const unnamed = referrers.filter(({ metadata }) => !metadata.namespace && attached.namespace)
  const clusters = new Map(
    unnamed.flatMap(({ spec }) => clustersWithWorkload(spec)).map((cluster) => [cluster.name, cluster]),
  )
  return [
    ...named.map((binding) => snapshot(nameOfObject(binding), clustersWithWorkload(binding.spec))),
    ...(unnamed.length > 0 ? [snapshot(attached, [...clusters.values()].sort(byName))] : []),
  ]
}

function byName(a: TargetCluster, b: TargetCluster): number {
  return a.name < b.name ? -1 : 1
}

function snapshot({ namespace, name }: BindingSnapshot, clusters: TargetCluster[] = []): BindingSnapshot {
  return defined({ namespace: namespace || undefined, name, clusters: clusters.length > 0 ? clusters : undefined })
}

/**
 * The reference to an object with its uid and resourceVersion. When it changes, Karmada applies the object in the member clusters again.
 */
export function objectResource(object: K8sObject): BindingSpec['resource'] {
  const { uid, resourceVersion } = object.metadata
  return {
    ...referenceOf(object),
    ...defined({ uid: uid || undefined, resourceVersion: resourceVersion || undefined }),
  }
}

/**
 * Combines the strategies of the referrers: one that overwrites or preserves decides for all (Karmada's proposal
 * dependency-policy-conflict-resolution). Without referrers, there is no strategy.
 */
export function combineStrategies(referrers: readonly ResourceBinding[]): { strategy: Strategy; conflicts: string[] } {
  if (referrers.length === 0) return { strategy: {}, conflicts: [] }
  const overwrites = new Set(referrers.map(({ spec }) => spec.conflictResolution === 'Overwrite'))
  const preserves = new Set(referrers.map(({ spec }) => spec.preserveResourcesOnDeletion === true))
  return {
    strategy: {
      conflictResolution: overwrites.has(true) ? 'Overwrite' : 'Abort',
      preserveResourcesOnDeletion: preserves.has(true),
    },
    conflicts: [
      ...(overwrites.size > 1 ? ['conflictResolution (Overwrite and Abort)'] : []),
      ...(preserves.size > 1 ? ['preserveResourcesOnDeletion (true and false)'] : []),
    ],
  }
}

function bindingId({ metadata }: ResourceBinding): string {
  return metadata.labels?.[metadata.namespace ? BINDING_ID_LABEL : CLUSTER_BINDING_ID_LABEL] ?? ''
}
