/** The table of admission points. Those of one type are registered in this order. */
import type { WorkloadKinds } from '../core/workload-kinds/kinds.ts'
import { annotatedPodWebhook } from './annotated-pod.ts'
import { claimFinalizer } from './claim-finalizer.ts'
import { dataSource } from './data-source.ts'
import { dataSourceClaim } from './data-source-claim.ts'
import type { Webhook } from './define.ts'
import { moverPod } from './mover-pod.ts'
import { podWebhook } from './pod.ts'
import { clusterPropagationPolicy, propagationPolicy } from './propagation-policy.ts'
import { bindingWebhooks } from './resource-binding.ts'
import { unknownWorkloadWebhook } from './unknown-workload.ts'
import { volumeManager } from './volume-manager.ts'
import { workloadWebhook } from './workload.ts'

/** Returns all admission points, for workloads of these kinds. */
export function allWebhooks(kinds: WorkloadKinds): readonly Webhook[] {
  return [
    ...bindingWebhooks(kinds),
    propagationPolicy,
    clusterPropagationPolicy,
    podWebhook(kinds),
    annotatedPodWebhook(kinds),
    workloadWebhook(kinds),
    unknownWorkloadWebhook(kinds),
    dataSourceClaim,
    claimFinalizer,
    dataSource,
    volumeManager,
    moverPod,
  ]
}
