/** The table of loops. The registration of webhooks has its own loop (app/registration-loop.ts). */
import type { Distribution } from '../core/dependencies/needs.ts'
import type { PropagateDepsMode } from '../core/propagation-policy/decide.ts'
import type { VolumeSettings } from '../core/volume-manager/rules/settings.ts'
import { openAttachedBindingLoop } from './bindings/attached-binding.ts'
import { openDependenciesLoop } from './bindings/dependencies.ts'
import { openPropagationPolicyLoop } from './bindings/propagation-policy.ts'
import { resourceBindingLoop } from './bindings/resource-binding.ts'
import type { ReconcileLoop } from './define.ts'
import { admissionCheckLoop } from './kueue/admission-check.ts'
import { openMultiKueueDispatcherLoop } from './kueue/multikueue-dispatcher.ts'
import { kueueWorkloadLoop } from './kueue/workload.ts'
import { openDataSourceLoop } from './sources/data-source.ts'
import { openDataSourceClaimLoop } from './sources/data-source-claim.ts'
import { daemonSetLoop } from './volumes/daemon-set.ts'
import type { MoverLogs } from './volumes/mover-logs.ts'
import { podLoop } from './volumes/pod.ts'
import { openVolumeEvictionLoop } from './volumes/volume-eviction.ts'
import { openVolumeLeftoverLoop } from './volumes/volume-leftover.ts'
import { openVolumeManagerLoop } from './volumes/volume-manager.ts'

export interface LoopChoices {
  /** The policies for which Lodestone sets `propagateDeps`. */
  propagate: PropagateDepsMode
  /** Which dependencies Lodestone attaches. With `none`, it releases those that it attached before. */
  distribution: Distribution | 'none'
  /** The settings of data movement; absent if Lodestone moves no data, as on a hub. */
  volumes?: (() => VolumeSettings) | undefined
  /** Reads the logs of movers; absent if they are not collected. */
  moverLogs?: MoverLogs
  /** Whether the AdmissionChecks of Kueue are answered. Default: false. */
  kueue?: boolean
  /** The ms between the nominations of the dispatcher of MultiKueue; absent if Lodestone is not the dispatcher. */
  nominationRoundMs?: number | undefined
}

/** Opens the loops of a configuration. Those with a memory have a new one. */
export function openLoops({
  propagate,
  distribution,
  volumes,
  moverLogs,
  kueue,
  nominationRoundMs,
}: LoopChoices): readonly ReconcileLoop[] {
  return [
    openDataSourceClaimLoop(),
    openDataSourceLoop(),
    resourceBindingLoop,
    openPropagationPolicyLoop(propagate),
    podLoop,
    daemonSetLoop,
    openDependenciesLoop(distribution),
    openAttachedBindingLoop(distribution),
    ...(volumes
      ? [openVolumeManagerLoop(volumes, moverLogs), openVolumeEvictionLoop(volumes), openVolumeLeftoverLoop(volumes)]
      : []),
    ...(kueue ? [admissionCheckLoop, kueueWorkloadLoop] : []),
    ...(nominationRoundMs === undefined ? [] : [openMultiKueueDispatcherLoop(nominationRoundMs)]),
  ]
}
