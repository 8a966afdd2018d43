/** Builds a PersistentVolume and its claim, which name each other: no other claim can bind the volume. */

import { NODE_ANNOTATION, VOLUME_LABEL } from '../../../api/lodestone.ts'
import {
  type PersistentVolume,
  type PersistentVolumeClaim,
  persistentVolumeClaims,
  persistentVolumes,
} from '../../../api/persistent-volume.ts'
import type { VolumeConfig, VolumeManager } from '../../../api/volume-manager.ts'
import type { ReplicaStatus } from '../../../api/volume-status.ts'
import { defined } from '../../../base/json.ts'
import { HOSTNAME_LABEL } from '../nodes/feasibility.ts'
import { volumeKey } from '../rules/names.ts'

/** VCK's StorageClass. It need not exist, since the volume and the claim name each other. */
const NFS_STORAGE_CLASS = 'vck'
/** The StorageClass of the chart. Its binding mode tells users and tools that the PersistentVolume determines the node. */
export const LOCAL_STORAGE_CLASS = 'lodestone-local'

/** The node of a replica. */
interface LocalNode {
  name: string
  /** Its label `kubernetes.io/hostname`; undefined without it. */
  hostname: string | undefined
}

/** A PersistentVolume and its claim, by their common name. */
export interface WantedPersistentVolume {
  name: string
  config: VolumeConfig
  /** For the data of a replica. For NFS, both are absent. */
  local?: { replica: ReplicaStatus; node: LocalNode }
}

/** The PersistentVolume, for a create request. */
export function buildPersistentVolume(manager: VolumeManager, wanted: WantedPersistentVolume): PersistentVolume {
  const { name, config, local } = wanted
  return {
    apiVersion: 'v1',
    kind: persistentVolumes.kind,
    metadata: {
      ...volumeMetadata(manager, wanted),
      ...(local && { annotations: { [NODE_ANNOTATION]: local.node.name } }),
    },
    spec: {
      ...sharedSpec(wanted),
      capacity: { storage: requestedStorage(wanted) },
      // Movers delete the data. Lodestone deletes nothing on an NFS server.
      persistentVolumeReclaimPolicy: 'Retain',
      claimRef: {
        apiVersion: 'v1',
        kind: persistentVolumeClaims.kind,
        namespace: manager.metadata.namespace ?? 'default',
        name,
      },
      ...(local ? localSource(local) : { nfs: nfsExport(config) }),
    },
  }
}

/** The claim, for a create request. */
export function claimOfVolume(manager: VolumeManager, wanted: WantedPersistentVolume): PersistentVolumeClaim {
  const { namespace } = manager.metadata
  return {
    apiVersion: 'v1',
    kind: persistentVolumeClaims.kind,
    metadata: defined({ ...volumeMetadata(manager, wanted), namespace: namespace || undefined }),
    spec: {
      ...sharedSpec(wanted),
      volumeName: wanted.name,
      resources: { requests: { storage: requestedStorage(wanted) } },
    },
  }
}

function volumeMetadata(manager: VolumeManager, { name, config }: WantedPersistentVolume) {
  return { name, labels: { ...config.labels, [VOLUME_LABEL]: volumeKey(manager, config.id) } }
}

function sharedSpec({ config: { accessMode = '' }, local }: WantedPersistentVolume) {
  return { accessModes: [accessMode], storageClassName: local ? LOCAL_STORAGE_CLASS : NFS_STORAGE_CLASS }
}

/** Required by the API server, and counted by ResourceQuotas: the declared size, or that of the data. */
function requestedStorage({ config, local }: WantedPersistentVolume): string {
  return config.capacity || String(Math.max(1, local?.replica.bytes ?? 0))
}

/** The scheduler matches the affinity of a PersistentVolume with labels of nodes only, not with their names. */
function localSource({ replica, node }: NonNullable<WantedPersistentVolume['local']>) {
  const matchExpressions = [{ key: HOSTNAME_LABEL, operator: 'In', values: [node.hostname ?? node.name] }]
  return {
    local: { path: `${replica.path}/data` },
    nodeAffinity: { required: { nodeSelectorTerms: [{ matchExpressions }] } },
  }
}

/** The host name in the affinity of a PersistentVolume of Lodestone; undefined for one without it. */
export function hostnameOfVolume({ spec }: PersistentVolume): string | undefined {
  const [term] = spec?.nodeAffinity?.required?.nodeSelectorTerms ?? []
  return term?.matchExpressions?.find(({ key }) => key === HOSTNAME_LABEL)?.values?.[0]
}

/** The export of an NFS volume. */
export function nfsExport({ options = {}, accessMode }: VolumeConfig) {
  const { server = '', path = '' } = options
  return defined({ server, path, readOnly: accessMode === 'ReadOnlyMany' || undefined })
}
