/** Derives the volume source and the node affinity in the status from the spec. Both are known before any data arrives. */

import type { NodeAffinity } from '../../../api/node.ts'
import type { VolumeConfig, VolumeManager } from '../../../api/volume-manager.ts'
import type { PublishedSource } from '../../../api/volume-status.ts'
import { defined } from '../../../base/json.ts'
import { shardNames } from './distribution.ts'
import { claimNameOf, dataPathOf, nodeLabelOf, replicaClaimName } from './names.ts'
import { revisionOf, sourceTypeOf } from './source-types.ts'

export interface PublishedVolume {
  id: string
  volumeSource: PublishedSource
  /** The nodes that have all of the data, or any shard of it. */
  nodeAffinity: NodeAffinity
}

/** A shard of the data, which has nodes of its own (`distributionStrategy`). */
export interface PublishedShard {
  name: string
  nodeAffinity: NodeAffinity
}

/** Whether pods mount the replicas of a volume by claims, each with a local PersistentVolume. */
export function hasReplicaClaims({ sourceType, volumeType }: VolumeConfig): boolean {
  return volumeType === 'persistentVolumeClaim' && sourceTypeOf(sourceType).delivery === 'moved'
}

/**
 * The volume source and the node affinity of a volume. A pod may have them before the data arrives, if it does not start before that.
 *
 * @param index the replica whose claim is published, for a volume with claims
 */
export function publishVolume(manager: VolumeManager, config: VolumeConfig, index = 0): PublishedVolume {
  const { id, options = {} } = config
  const revision = revisionOf(config)
  const labelled = nodesWith(nodeLabelOf(manager, id, revision))
  switch (sourceTypeOf(config.sourceType).delivery) {
    case 'mounted': {
      const claim = publishedClaim(config, claimNameOf(manager, config))
      return { id, volumeSource: { persistentVolumeClaim: claim }, nodeAffinity: {} }
    }
    case 'present':
      return { id, volumeSource: { hostPath: { path: options['path'] ?? '' } }, nodeAffinity: labelled }
    default:
      return {
        id,
        volumeSource: hasReplicaClaims(config)
          ? { persistentVolumeClaim: publishedClaim(config, replicaClaimName(manager, id, revision, index)) }
          : { hostPath: { path: dataPathOf(manager, config, revision) } },
        nodeAffinity: labelled,
      }
  }
}

/** The shards of a volume, sorted by name; empty when every node gets all of the data. */
export function publishShards(manager: VolumeManager, config: VolumeConfig): PublishedShard[] {
  if (sourceTypeOf(config.sourceType).delivery !== 'moved') return []
  const revision = revisionOf(config)
  return shardNames(config).map((name) => ({
    name,
    nodeAffinity: nodesWith(nodeLabelOf(manager, config.id, revision, name)),
  }))
}

/** Whether pods and movers can only read the data. The field `readOnly` exists because VCK requires ReadWriteOnce for S3. */
export function isReadOnly({ accessMode, readOnly }: VolumeConfig): boolean {
  return accessMode === 'ReadOnlyMany' || readOnly === true
}

/** Whether the data of a volume can be refreshed: it is downloaded, and pods cannot write files that would be missing in new data. */
export function isRefreshable(config: VolumeConfig): boolean {
  const { contentOptions, delivery } = sourceTypeOf(config.sourceType)
  const hasSource = !contentOptions.includes('sourceURL') || Boolean(config.options?.['sourceURL'])
  return delivery === 'moved' && hasSource && isReadOnly(config)
}

/** The source with which a pod mounts a claim of the volume. */
export function publishedClaim(config: VolumeConfig, claimName: string): { claimName: string; readOnly?: boolean } {
  return defined({ claimName, readOnly: isReadOnly(config) || undefined })
}

/** Requires the label with any value, as VCK does. */
function nodesWith(key: string): NodeAffinity {
  return {
    requiredDuringSchedulingIgnoredDuringExecution: {
      nodeSelectorTerms: [{ matchExpressions: [{ key, operator: 'Exists' }] }],
    },
  }
}
