/** The table of admission points, in the order of their registration. */
import { dataSource } from './data-source.ts'
import { dataSourceClaim } from './data-source-claim.ts'
import type { Webhook } from './define.ts'
import { pod } from './pod.ts'
import { clusterPropagationPolicy, propagationPolicy } from './propagation-policy.ts'
import { clusterResourceBinding, resourceBinding } from './resource-binding.ts'
import { volumeManager } from './volume-manager.ts'
import { workload } from './workload.ts'

export const webhooks: readonly Webhook[] = [
  resourceBinding,
  clusterResourceBinding,
  propagationPolicy,
  clusterPropagationPolicy,
  pod,
  workload,
  dataSourceClaim,
  dataSource,
  volumeManager,
]
