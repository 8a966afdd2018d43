/** Reports the volumes of VolumeManagers: state, replicas, nodes, size, and why replicas are missing. */
import type { VolumeConfig, VolumeManager } from '../../api/volume-manager.ts'
import type { VolumeStatus } from '../../api/volume-status.ts'
import { defined, sortedUnique } from '../../base/json.ts'
import { isDeployed } from '../../core/volume-manager/codes.ts'
import { wantedReplicas } from '../../core/volume-manager/rules/distribution.ts'
import { sourceTypeOf } from '../../core/volume-manager/rules/source-types.ts'
import type { VolumeReport } from './report.ts'

/** Reports each volume of a VolumeManager, also those that its spec no longer has. */
export function reportVolumes(manager: VolumeManager): VolumeReport[] {
  const { metadata, spec, status } = manager
  // The CRD of VCK allows any content.
  const configs = Array.isArray(spec?.volumeConfigs) ? spec.volumeConfigs : []
  const known = Array.isArray(status?.volumes) ? status.volumes : []
  const ids = new Set([...configs, ...known].map(({ id }) => id))
  return [...ids].map((id) => {
    const config = configs.find((one) => one.id === id)
    const volume = known.find((one) => one.id === id)
    const replicas = volume?.replicas ?? []
    const state = volumeState(manager, volume)
    return {
      namespace: metadata.namespace ?? '',
      volumeManager: metadata.name ?? '',
      volume: id,
      sourceType: config?.sourceType ?? '',
      state,
      readyReplicas: volume?.readyReplicas ?? 0,
      replicas: config ? countWanted(config, volume) : 0,
      nodes: sortedUnique(replicas.flatMap((one) => (one.state === 'Ready' && one.node ? [one.node] : []))),
      ...defined({ bytes: volume?.bytes }),
      ...whyIncomplete(state, volume),
    }
  })
}

function volumeState({ status }: VolumeManager, volume: VolumeStatus | undefined): VolumeReport['state'] {
  if (isDeployed(volume)) return 'Running'
  const { state = 'Pending' } = status ?? {}
  // A failed volume has a message. The others wait, although their VolumeManager is Failed.
  return volume && !volume.message && state === 'Failed' ? 'Pending' : state
}

function countWanted(config: VolumeConfig, volume: VolumeStatus | undefined): number {
  const { delivery } = sourceTypeOf(config.sourceType)
  if (delivery === 'mounted') return 1
  if (delivery === 'present') return config.replicas ?? 1
  if (config.onEveryNode) return volume?.replicas?.length ?? 0
  return [...wantedReplicas(config).values()].reduce((sum, one) => sum + one, 0)
}

function whyIncomplete(
  state: VolumeReport['state'],
  volume: VolumeStatus | undefined,
): Pick<VolumeReport, 'reason' | 'message'> {
  if (!volume) return { message: 'no controller has reported its state yet' }
  const missing = volume.replicas?.find((one) => one.state !== 'Ready')
  const message = missing?.message ?? (state === 'Running' ? undefined : volume.message)
  const reason = missing && (missing.reason ?? missing.state)
  return defined({ reason: reason || undefined, message: message || undefined })
}
