/** JSON Schema of one volume in the status of a VolumeManager. */
import type {
  DeletionStatus,
  MaintenanceStatus,
  NodeFailure,
  PublishedSource,
  RecordedProgress,
  ReplicaStatus,
  ShardStatus,
  UploadStatus,
  VolumeStatus,
} from '../volume-status.ts'
import { atomicList, count, nodeAffinity, string, time } from './parts.ts'
import type { FieldsOf, Schema } from './schema.ts'

const recordedProgress = {
  bytes: count('Bytes that the current mover has processed.', 'int64'),
  files: count('Files that the current mover has processed.', 'int64'),
  progressTime: time('Time of the last progress.'),
} satisfies FieldsOf<RecordedProgress>

/** The most recent ones; more nodes than that do not fail for causes of their own. */
export const MAX_NODE_FAILURES = 16

const replica: Schema = {
  type: 'object',
  required: ['index', 'state', 'revision', 'attempt'],
  properties: {
    index: count('Number of the replica.'),
    state: string('Queued, Starting, Downloading, Ready, Failed, Unreachable or Evicted.', 63),
    revision: string('The revision of the data.', 63),
    path: string('The directory on its node.', 4096),
    shard: string('Pattern of the part that the replica has; absent without a distribution strategy.'),
    node: string('Node of the replica, or of its next mover.', 253),
    claimName: string('Claim with which pods mount the replica; absent for hostPath.', 253),
    nodeUID: string('UID of the node.', 63),
    attempt: count('Number of movers that were started.'),
    failures: count('Number of consecutive failures.'),
    preemptions: count('How often its movers gave their slot to another namespace.'),
    nodeFailures: atomicList(
      'Nodes on which movers failed, per reason; other nodes are tried first.',
      {
        type: 'object',
        required: ['node', 'reason', 'failures', 'retryTime'],
        properties: {
          node: string('Name of the node.', 253),
          reason: string('Reason of the failures, as one CamelCase word.', 63),
          failures: count('Number of failures since the last one that left more data on the node.'),
          bytes: count('Bytes that the last failed mover left on the node.', 'int64'),
          retryTime: time('End of the back-off of the node; other nodes are tried first.'),
        } satisfies FieldsOf<NodeFailure>,
      },
      MAX_NODE_FAILURES,
    ),
    isPermanent: { type: 'boolean', description: 'True if a retry fails again until something changes.' },
    bytes: count('Bytes on the node.', 'int64'),
    totalBytes: count('Bytes of all data.', 'int64'),
    reason: string('Reason of the state, as one CamelCase word.', 63),
    message: string('Reason of the state, as a sentence.'),
    since: time('Time of the last change of the state.'),
    progressTime: time('Time when bytes last arrived.'),
    retryTime: time('Time of the next attempt.'),
    inUse: { type: 'boolean', description: 'True if a pod mounts the data.' },
    lastUsedTime: time('Time when a pod last started or stopped to use the data.'),
    lastEndTime: time(
      'Latest end of a pod that used the data, by the clock of the node; earlier ends have been processed.',
    ),
    uploadSource: string('Digest of the source to which changes are uploaded.', 63),
    uploadedTime: time('Changes up to this time have been uploaded to the source.'),
    uploads: count('Number of upload movers that were started.'),
    upload: {
      type: 'object',
      description: 'The upload of changes to the source.',
      required: ['state', 'attempt'],
      properties: {
        state: string('Queued, Uploading or Failed.', 63),
        attempt: count('Number of the mover.'),
        failures: count('Number of consecutive failures.'),
        preemptions: count('How often its movers gave their slot to another namespace.'),
        isPermanent: { type: 'boolean', description: 'True if a retry fails again until something changes.' },
        lastFailure: string('Reason and message of the last failure, while the next attempt waits or runs.', 4096),
        reason: string('Reason of the state, as one CamelCase word.', 63),
        message: string('Reason of the state, as a sentence.'),
        since: time('Time of the last change of the state.'),
        ...recordedProgress,
        retryTime: time('Time of the next attempt.'),
      } satisfies FieldsOf<UploadStatus>,
    },
    isDamaged: { type: 'boolean', description: 'True if a check found that data is lost and it is not repaired yet.' },
    isUnchecked: {
      type: 'boolean',
      description: 'True if the node was replaced, and no mover has looked yet whether it still has the data.',
    },
    checkedTime: time('Time of the last check of the data.'),
    refreshedTime: time('Time of the last comparison with the source.'),
    checkedBoot: string(
      'Digest of the boot of the node in which the data was last found: after another boot, it is checked.',
      63,
    ),
    handledCheck: string('Digest of the last annotation lodestone.dev/check that was handled.', 63),
    handledRefresh: string('Digest of the last annotation lodestone.dev/refresh that was handled.', 63),
    requestedCheckTime: time('Time when the last check that the annotation requested ended.'),
    oldTrees: count('Number of replaced versions of the data that running pods may still use.'),
    replacedTime: time('Time of the last replacement of the data, by the clock of the node.'),
    maintenances: count('Number of movers that were started for checks and refreshes.'),
    maintenance: {
      type: 'object',
      description: 'The check or refresh of the data. A failed one says nothing about the data.',
      required: ['kind', 'state', 'attempt'],
      properties: {
        kind: string('Check, FullCheck or Refresh.', 63),
        state: string('Queued, Running or Failed.', 63),
        attempt: count('Number of the mover.'),
        request: string('Digest of the annotation that requested it.', 63),
        failures: count('Number of consecutive failures.'),
        preemptions: count('How often its movers gave their slot to another namespace.'),
        reason: string('Reason of the state, as one CamelCase word.', 63),
        message: string('Reason of the state, as a sentence.'),
        since: time('Time of the last change of the state.'),
        ...recordedProgress,
        retryTime: time('Time of the next attempt.'),
      } satisfies FieldsOf<MaintenanceStatus>,
    },
  } satisfies FieldsOf<ReplicaStatus>,
}

const deletion: Schema = {
  type: 'object',
  required: ['index', 'node', 'path', 'nodeLabels', 'state', 'cause', 'revision', 'attempt'],
  properties: {
    index: count('Number of the deletion; movers have it in their names.'),
    node: string('Node that has the data.', 253),
    path: string('Directory of the data.', 4096),
    nodeLabels: atomicList('Node labels that are removed with the data.', { type: 'string', maxLength: 317 }),
    state: string('Waiting, Queued, Deleting or Failed.', 63),
    cause: string('Cause of the deletion: ScaledDown, Superseded, Moved, Evicted, Abandoned, NoSpace or Removed.', 63),
    revision: string('The revision of the data.', 63),
    attempt: count('Number of movers that were started.'),
    failures: count('Number of consecutive failures.'),
    reason: string('Reason of the state, as one CamelCase word, e.g. InUse.', 63),
    message: string('Reason of the state, as a sentence.'),
    since: time('Time of the last change of the state.'),
    ...recordedProgress,
    retryTime: time('Time of the next attempt.'),
  } satisfies FieldsOf<DeletionStatus>,
}

export const volumeStatusSchema: Schema = {
  type: 'object',
  required: ['id'],
  properties: {
    id: string('Id of the volume in the spec.', 253),
    message: string('success if the volume is usable, otherwise the error.', 4096),
    volumeSource: {
      type: 'object',
      description: 'The volume source for pods.',
      properties: {
        hostPath: {
          type: 'object',
          description: 'A directory of the node.',
          properties: { path: string('Path of the directory.', 4096) },
        },
        persistentVolumeClaim: {
          type: 'object',
          description: 'A claim in the namespace of the VolumeManager.',
          properties: {
            claimName: string('Name of the claim.', 253),
            readOnly: { type: 'boolean', description: 'True for a read-only mount.' },
          },
        },
      } satisfies FieldsOf<PublishedSource>,
    },
    nodeAffinity: nodeAffinity('Nodes that have the data; pods that mount the volume need one of them.'),
    shards: atomicList('The parts of the data.', {
      type: 'object',
      required: ['name'],
      properties: {
        name: string('Pattern of the part.'),
        nodeAffinity: nodeAffinity('Nodes that have the part.'),
        readyReplicas: count('Number of nodes that have the part.'),
      } satisfies FieldsOf<ShardStatus>,
    }),
    revision: string('The revision of the data.', 63),
    readyReplicas: count('Number of nodes that have the data.'),
    bytes: count('Bytes on one node.', 'int64'),
    replicas: atomicList('Replicas of the data.', replica, 5000),
    nextIndex: count('Number of the next new replica.'),
    deletions: atomicList('Data that the controller deletes.', deletion, 5000),
  } satisfies FieldsOf<VolumeStatus>,
}
