/** The table of an uninstallation: the rules for each kind, in the order in which they are applied. */
import type { K8sObject, ResourceType } from '../../api/meta.ts'
import type { WorkloadKinds } from '../workload-kinds/kinds.ts'
import { bindingRules } from './bindings.ts'
import { admissionRules, definitionRule, installedRules, moverAccessRules } from './installation.ts'
import type { Harm } from './kept-policies.ts'
import { checkRule } from './kueue.ts'
import { policyRules } from './policies.ts'
import type { RemovalRule } from './removal.ts'
import { claimRules, volumeRules } from './volumes.ts'
import { podRule, workloadRules } from './workloads.ts'

export interface UninstallOptions {
  /** Whether narrowed workloads get their base affinity, and may move. */
  restores: boolean
  /** Whether the CRDs are deleted, and with them all claims, sources and VolumeManagers. */
  deletesDefinitions: boolean
  workloadKinds: WorkloadKinds
  /** In ms since the epoch. */
  now: number
  /** The objects that the installation consists of. */
  installed: readonly { type: ResourceType; object: K8sObject }[]
  /** The Leases of replicas that run in this cluster and serve another API server. */
  leasesElsewhere: readonly K8sObject[]
  /** The policies whose `propagateDeps` stays, by key, with what Karmada would do without it. */
  keptPolicies: ReadonlyMap<string, Harm>
}

/**
 * Returns the rules in their order. Policies precede bindings: without the annotations of its bindings, a policy does not show any more
 * that its workloads are narrowed. An uninstallation may be interrupted between both.
 */
export function removalRules(options: UninstallOptions): RemovalRule[] {
  const { restores, workloadKinds } = options
  return [
    ...admissionRules,
    ...policyRules(restores ? new Map() : options.keptPolicies),
    ...bindingRules(restores),
    checkRule(options.now),
    ...claimRules,
    ...workloadRules(workloadKinds),
    podRule,
    ...volumeRules,
    ...moverAccessRules,
    ...(options.deletesDefinitions ? [definitionRule] : []),
    ...installedRules(options.installed, options.leasesElsewhere),
  ]
}
