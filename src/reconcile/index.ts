/** Every loop of Lodestone over domain objects. The registration of webhooks has one of its own (app/app.ts). */
import type { Distribution } from '../core/dependencies/needs.ts'
import type { PropagateDepsMode } from '../core/propagation-policy/decide.ts'
import type { VolumeSettings } from '../core/volume-manager/spec/settings.ts'
import { openAttachedBindingLoop } from './attached-binding.ts'
import { openDataSourceLoop } from './data-source.ts'
import { dataSourceClaimLoop } from './data-source-claim.ts'
import type { ReconcileLoop } from './define.ts'
import { openDependenciesLoop } from './dependencies.ts'
import type { MoverLogs } from './mover-logs.ts'
import { podLoop } from './pod.ts'
import { openPropagationPolicyLoop } from './propagation-policy.ts'
import { resourceBindingLoop } from './resource-binding.ts'
import { openVolumeEvictionLoop } from './volume-eviction.ts'
import { openVolumeManagerLoop } from './volume-manager.ts'

export interface LoopChoices {
  /** The policies that Lodestone makes propagate dependencies. */
  propagate: PropagateDepsMode
  /** Which dependencies Lodestone attaches; with `none` it releases those that it attached before. */
  distribution: Distribution | 'none'
  /** The settings to move data to the nodes of the cluster; absent where Lodestone moves no data, as on a hub. */
  volumes?: () => VolumeSettings
  /** Where the logs of movers go; absent where there are none. */
  moverLogs?: MoverLogs
}

export function openLoops({ propagate, distribution, volumes, moverLogs }: LoopChoices): readonly ReconcileLoop[] {
  return [
    dataSourceClaimLoop,
    openDataSourceLoop(),
    resourceBindingLoop,
    openPropagationPolicyLoop(propagate),
    podLoop,
    openDependenciesLoop(distribution),
    openAttachedBindingLoop(distribution),
    ...(volumes ? [openVolumeManagerLoop(volumes, moverLogs), openVolumeEvictionLoop(volumes)] : []),
  ]
}
