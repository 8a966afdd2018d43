/** JSON Schema of what the status of a VolumeManager says of one volume. */
import type { Schema } from './schema.ts'
import { count, listOf, nodeAffinity, string, time } from './schema-parts.ts'

const workProgress: Record<string, Schema> = {
  bytes: count('How many bytes the mover at work has done.', 'int64'),
  files: count('How many files it has done.', 'int64'),
  progressTime: time('When it last made progress.'),
}

const replica: Schema = {
  type: 'object',
  required: ['index', 'state', 'revision', 'attempt'],
  properties: {
    index: count('The number of the copy.'),
    state: string('Queued, Starting, Downloading, Ready, Failed, Unreachable or Evicted.', 63),
    revision: string('The revision of the data.', 63),
    path: string('The directory on its node.', 4096),
    shard: string('Which part of the data it is.'),
    node: string('The node of the copy, or of its next mover.', 253),
    nodeUID: string('The uid of that node.', 63),
    attempt: count('How many movers were started for it.'),
    failures: count('How many of them failed in a row.'),
    isPermanent: { type: 'boolean', description: 'Whether a retry succeeds only after a change.' },
    bytes: count('The bytes on the node.', 'int64'),
    totalBytes: count('All bytes of the data.', 'int64'),
    reason: string('Why it is in this state, in one word.', 63),
    message: string('Why it is in this state.'),
    since: time('Since when it has been in this state.'),
    progressTime: time('When bytes last arrived.'),
    retryTime: time('When it is tried again.'),
    inUse: { type: 'boolean', description: 'Whether a pod has it mounted.' },
    lastUsedTime: time('When a pod was last seen to begin or to end using it.'),
    lastEndTime: time('Up to when ends of pods that used it are accounted for, by the clock of its node.'),
    uploadedTime: time('Up to when its changes were written back to the source.'),
    uploads: count('How many movers were started to write back.'),
    upload: {
      type: 'object',
      description: 'The upload of changes to the source.',
      required: ['state', 'attempt'],
      properties: {
        state: string('Queued, Uploading or Failed.', 63),
        attempt: count('The number of its mover.'),
        failures: count('How many of them failed in a row.'),
        reason: string('Why it is in this state, in one word.', 63),
        message: string('Why it is in this state.'),
        since: time('Since when it has been in this state.'),
        ...workProgress,
        retryTime: time('When it is tried again.'),
      },
    },
  },
}

const release: Schema = {
  type: 'object',
  required: ['index', 'node', 'path', 'nodeLabels', 'state', 'cause', 'revision', 'attempt'],
  properties: {
    index: count('The number of its movers.'),
    node: string('The node that has the data.', 253),
    path: string('The directory.', 4096),
    nodeLabels: listOf('The labels that the node loses with it.', { type: 'string', maxLength: 317 }),
    state: string('Waiting, Queued, Deleting or Failed.', 63),
    cause: string(
      'Why the data is deleted: ScaledDown, Superseded, Moved, Evicted, Abandoned, NoSpace or Removed.',
      63,
    ),
    revision: string('The revision of the data.', 63),
    attempt: count('How many movers were started for it.'),
    failures: count('How many of them failed in a row.'),
    reason: string('Why it is in this state, in one word, e.g. InUse.', 63),
    message: string('Why it is in this state.'),
    since: time('Since when it has been in this state.'),
    ...workProgress,
    retryTime: time('When it is tried again.'),
  },
}

export const volumeStatusSchema: Schema = {
  type: 'object',
  required: ['id'],
  properties: {
    id: string('Which volume.', 253),
    message: string('success when the volume can be used; the error when it failed.', 4096),
    volumeSource: {
      type: 'object',
      description: 'The volume source for pods.',
      properties: {
        hostPath: {
          type: 'object',
          description: 'A directory of the node.',
          properties: { path: string('Where it is.', 4096) },
        },
        persistentVolumeClaim: {
          type: 'object',
          description: 'A claim in the namespace of the VolumeManager.',
          properties: {
            claimName: string('Its name.', 253),
            readOnly: { type: 'boolean', description: 'Whether it can only be read.' },
          },
        },
      },
    },
    nodeAffinity: nodeAffinity('The nodes that have the data; required of pods that mount it.'),
    shards: listOf('The parts of the data.', {
      type: 'object',
      required: ['name'],
      properties: {
        name: string('The pattern of the part.'),
        nodeAffinity: nodeAffinity('The nodes that have the part.'),
        readyReplicas: count('How many nodes have it.'),
      },
    }),
    revision: string('The revision of the data.', 63),
    readyReplicas: count('On how many nodes the data is.'),
    bytes: count('How much it is on one node.', 'int64'),
    replicas: listOf('The copies, one by one.', replica, 5000),
    nextIndex: count('The number of the next new copy.'),
    deletions: listOf('Data that is to be deleted.', release, 5000),
  },
}
