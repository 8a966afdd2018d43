/** The look-ups of the interpreter for objects other than the workload. They read the cache: interpretation has no I/O. */
import type { Service, ServiceAccount } from '../../api/dependencies.ts'
import type { K8sObject, ResourceType } from '../../api/meta.ts'
import type { VolumeManager } from '../../api/volume-manager.ts'
import type { NeverPropagated } from './never-propagated.ts'
import type { Workload } from './workload.ts'

export interface RelatedObjects {
  /** The Services of the namespace whose selector matches pods with these labels. A Service without a selector matches none. */
  servicesFor(namespace: string, podLabels: Record<string, string>): readonly Service[]
  /** The objects of enabled kinds in the namespace that name or select any of these. */
  relatedTo(namespace: string, targets: RelationTargets): readonly K8sObject[]
  /** The Ingresses of the namespace with this Service as a backend; their TLS Secrets are in `dependencies.references`. */
  ingressesOf(namespace: string, service: string): readonly Workload[]
  serviceAccount(namespace: string, name: string): ServiceAccount | undefined
  volumeManager(namespace: string, name: string): VolumeManager | undefined
  /** The DataSourceClaims of the workload. */
  claimsOf(workload: Workload): readonly K8sObject[]
  /** Whether any member cluster serves the kind. If none does, the object could not be applied there. */
  memberServes(type: ResourceType): boolean
  /** Whether each cluster creates the object for itself. */
  isNeverPropagated: NeverPropagated
}

/** The objects around a workload to which others may relate. */
export interface RelationTargets {
  /** The workload, its ServiceAccounts, and the Services that select its pods. */
  named: readonly K8sObject[]
  podLabels: readonly Record<string, string>[]
  serviceLabels: readonly Record<string, string>[]
}
