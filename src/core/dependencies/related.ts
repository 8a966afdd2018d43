/** The look-ups of the interpreter beside the workload itself; memory answers, so that interpreting stays pure and quick. */
import type { Service, ServiceAccount } from '../../api/dependencies.ts'
import type { K8sObject, ResourceType } from '../../api/meta.ts'
import type { VolumeManager } from '../../api/volume-manager.ts'
import type { Workload } from './workload.ts'

export interface RelatedObjects {
  /** The Services of the namespace whose selector matches pods with these labels. One without a selector matches none. */
  servicesFor(namespace: string, podLabels: Record<string, string>): readonly Service[]
  /** The Ingresses of the namespace that send to this Service; their TLS Secrets are in `dependencies.references`. */
  ingressesOf(namespace: string, service: string): readonly Workload[]
  serviceAccount(namespace: string, name: string): ServiceAccount | undefined
  volumeManager(namespace: string, name: string): VolumeManager | undefined
  /** The claims for the workload's data. */
  claimsOf(workload: Workload): readonly K8sObject[]
  /** Whether any member cluster serves the kind: what none does would only fail there. */
  memberServes(type: ResourceType): boolean
}

/** For what is interpreted by itself: nothing else is known. */
export const NOTHING_RELATED: RelatedObjects = {
  servicesFor: () => [],
  ingressesOf: () => [],
  serviceAccount: () => undefined,
  volumeManager: () => undefined,
  claimsOf: () => [],
  memberServes: () => false,
}
