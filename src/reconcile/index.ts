/** The table of loops. The registration of webhooks has its own loop (app/app.ts). */
import type { Distribution } from '../core/dependencies/needs.ts'
import type { PropagateDepsMode } from '../core/propagation-policy/decide.ts'
import type { VolumeSettings } from '../core/volume-manager/spec/settings.ts'
import { openAttachedBindingLoop } from './attached-binding.ts'
import { daemonSetLoop } from './daemon-set.ts'
import { openDataSourceLoop } from './data-source.ts'
import { dataSourceClaimLoop } from './data-source-claim.ts'
import type { ReconcileLoop } from './define.ts'
import { openDependenciesLoop } from './dependencies.ts'
import type { MoverLogs } from './mover-logs.ts'
import { podLoop } from './pod.ts'
import { openPropagationPolicyLoop } from './propagation-policy.ts'
import { resourceBindingLoop } from './resource-binding.ts'
import { openVolumeEvictionLoop } from './volume-eviction.ts'
import { openVolumeLeftoverLoop } from './volume-leftover.ts'
import { openVolumeManagerLoop } from './volume-manager.ts'

export interface LoopChoices {
  /** The policies for which Lodestone sets `propagateDeps`. */
  propagate: PropagateDepsMode
  /** Which dependencies Lodestone attaches. With `none`, it releases those that it attached before. */
  distribution: Distribution | 'none'
  /** The settings of data movement; absent if Lodestone moves no data, as on a hub. */
  volumes?: () => VolumeSettings
  /** Reads the logs of movers; absent if they are not collected. */
  moverLogs?: MoverLogs
}

export function openLoops({ propagate, distribution, volumes, moverLogs }: LoopChoices): readonly ReconcileLoop[] {
  return [
    dataSourceClaimLoop,
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
  ]
}
