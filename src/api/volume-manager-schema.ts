/** JSON Schema of VolumeManagers: only shapes, so that admission can say everything else at once and in VCK's words. */
import { conditions, type Schema } from './schema.ts'

const string = (description: string, maxLength = 1024): Schema => ({ type: 'string', description, maxLength })
const time = (description: string): Schema => ({ type: 'string', format: 'date-time', description })
const count = (description: string, format: 'int32' | 'int64' = 'int32'): Schema => ({
  type: 'integer',
  format,
  minimum: 0,
  description,
})
const listOf = (description: string, items: Schema, maxItems = 100): Schema => ({
  type: 'array',
  description,
  items,
  maxItems,
  'x-kubernetes-list-type': 'atomic',
})
const strings = (description: string, maxProperties: number, maxLength = 1024): Schema => ({
  type: 'object',
  description,
  additionalProperties: { type: 'string', maxLength },
  maxProperties,
})

const requirements = (about: string): Schema =>
  listOf(`What a node’s ${about} have to be; all of it.`, {
    type: 'object',
    required: ['key', 'operator'],
    properties: {
      key: string(`Which of the ${about}.`, 317),
      operator: string('In, NotIn, Exists, DoesNotExist, Gt or Lt.', 16),
      values: listOf('What the operator compares with.', { type: 'string', maxLength: 253 }, 1000),
    },
  })

const nodeSelectorTerm: Schema = {
  type: 'object',
  description: 'All of it has to hold.',
  properties: { matchExpressions: requirements('labels'), matchFields: requirements('fields') },
}

const nodeAffinity = (description: string): Schema => ({
  type: 'object',
  description,
  properties: {
    requiredDuringSchedulingIgnoredDuringExecution: {
      type: 'object',
      description: 'Only nodes that match one of the terms.',
      required: ['nodeSelectorTerms'],
      properties: { nodeSelectorTerms: listOf('Any of them is enough.', nodeSelectorTerm) },
    },
    preferredDuringSchedulingIgnoredDuringExecution: listOf('Rather nodes that match.', {
      type: 'object',
      required: ['weight', 'preference'],
      properties: { weight: count('How much it counts, 1 to 100.'), preference: nodeSelectorTerm },
    }),
  },
})

const tolerations = listOf('The taints of nodes that movers put up with.', {
  type: 'object',
  properties: {
    key: string('The taint’s key; all taints when it is empty and the operator is Exists.', 317),
    operator: string('Exists or Equal.', 16),
    value: string('The taint’s value, for Equal.', 63),
    effect: string('NoSchedule, PreferNoSchedule or NoExecute; all when it is empty.', 32),
    tolerationSeconds: { type: 'integer', format: 'int64', description: 'How long NoExecute is put up with.' },
  },
})

const volumeConfig: Schema = {
  type: 'object',
  required: ['id', 'sourceType'],
  properties: {
    id: { ...string('What the volume is called in its VolumeManager.', 253), minLength: 1 },
    replicas: { type: 'integer', format: 'int32', description: 'On how many nodes the data is to be.' },
    sourceType: string('Where the data comes from: S3, NFS, Pachyderm, Local or Stream. S3-Dev means S3.', 63),
    accessMode: string('ReadWriteOnce, or ReadWriteMany or ReadOnlyMany for NFS.', 63),
    capacity: string('How large the data is, e.g. 5Gi. Of NFS volumes, what the claim asks for.', 63),
    labels: strings('Labels of everything that is made for the volume. At least one.', 64, 63),
    nodeAffinity: nodeAffinity('On which nodes the data is to be.'),
    tolerations,
    options: strings('What the source type needs to know. All values are strings.', 64, 8192),
    priority: {
      type: 'integer',
      format: 'int32',
      description: 'Which downloads go first when not all can run at once: those with the higher number. Default 0.',
    },
    evictionPolicy: {
      type: 'string',
      enum: ['Never', 'LeastRecentlyUsed'],
      description: 'Whether copies that nobody uses may go when their node is short of disk. Never is the default.',
    },
    mover: {
      type: 'object',
      description: 'How the data is moved, where that is to be different from the configuration.',
      properties: {
        image: string('An image that keeps the contract of data movers.'),
        priorityClassName: string('The PriorityClass of the movers.', 253),
        resources: {
          type: 'object',
          description: 'What the movers get.',
          properties: {
            requests: strings('What is set aside for a mover.', 16, 63),
            limits: strings('What a mover may use at most.', 16, 63),
          },
        },
      },
    },
    // Kept so that they can be refused with the new form: the API server would drop what is not declared.
    sourceURL: string('No longer here: write it as options.sourceURL.'),
    endpointURL: string('No longer here: write it as options.endpointURL.'),
  },
}

const stateOf = (description: string, ...more: string[]): Schema => ({
  type: 'string',
  description,
  enum: [...more, 'Pending', 'Running', 'Completed', 'Failed'],
})

const replica: Schema = {
  type: 'object',
  required: ['index', 'state', 'revision', 'attempt'],
  properties: {
    index: count('The number of the copy.'),
    state: string('Queued, Starting, Downloading, Ready, Failed, Unreachable or Evicted.', 63),
    revision: string('Which data it is.', 63),
    path: string('The directory on its node.', 4096),
    shard: string('Which part of the data it is.'),
    node: string('Where it is, or is about to be.', 253),
    nodeUID: string('The uid of that node.', 63),
    attempt: count('How many movers were started for it.'),
    failures: count('How many of them failed in a row.'),
    isPermanent: { type: 'boolean', description: 'Whether somebody has to change something first.' },
    bytes: count('The bytes that are there.', 'int64'),
    totalBytes: count('The bytes that are to be there.', 'int64'),
    reason: string('Why it is in this state, in one word.', 63),
    message: string('Why it is in this state.'),
    since: time('Since when it has been in this state.'),
    progressTime: time('When bytes were last seen to arrive.'),
    retryTime: time('When it is tried again.'),
    inUse: { type: 'boolean', description: 'Whether a pod has it mounted.' },
    lastUsedTime: time('When a pod was last seen to begin or to end using it.'),
    uploadedTime: time('Up to when its changes were written back to the source.'),
    uploads: count('How many movers were started to write back.'),
    upload: {
      type: 'object',
      description: 'The changes that are to be written back.',
      required: ['state', 'attempt'],
      properties: {
        state: string('Queued, Uploading or Failed.', 63),
        attempt: count('The number of its mover.'),
        failures: count('How many of them failed in a row.'),
        message: string('Why it failed, or what it waits for.'),
        since: time('Since when it has been in this state.'),
        retryTime: time('When it is tried again.'),
      },
    },
  },
}

const release: Schema = {
  type: 'object',
  required: ['index', 'node', 'path', 'nodeLabels', 'state', 'reason', 'revision', 'attempt'],
  properties: {
    index: count('The number of its movers.'),
    node: string('The node that has the data.', 253),
    path: string('The directory.', 4096),
    nodeLabels: listOf('The labels that the node loses with it.', { type: 'string', maxLength: 317 }),
    state: string('Waiting, Queued, Deleting or Failed.', 63),
    reason: string('Why the data goes.', 63),
    revision: string('Which data it is.', 63),
    attempt: count('How many movers were started for it.'),
    failures: count('How many of them failed in a row.'),
    message: string('What it waits for, or why it failed.'),
    since: time('Since when it has been in this state.'),
    retryTime: time('When it is tried again.'),
  },
}

const volumeStatus: Schema = {
  type: 'object',
  required: ['id'],
  properties: {
    id: string('Which volume.', 253),
    message: string('success when it can be used; what is wrong when it failed.', 4096),
    volumeSource: {
      type: 'object',
      description: 'By what a pod mounts it.',
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
    revision: string('Which data it is.', 63),
    readyReplicas: count('On how many nodes the data is.'),
    bytes: count('How much it is on one node.', 'int64'),
    replicas: listOf('The copies, one by one.', replica, 5000),
    nextIndex: count('The number of the next new copy.'),
    releases: listOf('Data that is to be deleted.', release, 5000),
  },
}

export const volumeManagerSchema: Schema = {
  type: 'object',
  description:
    'A VolumeManager brings data to nodes and keeps it there; pods that name it are placed beside the data and have it mounted.',
  required: ['spec'],
  properties: {
    spec: {
      type: 'object',
      description: 'The data, and what is to become of it.',
      properties: {
        volumeConfigs: listOf('The volumes.', volumeConfig),
        state: stateOf('What is wanted. Completed and Failed release the data; anything else keeps it.', ''),
      },
    },
    status: {
      type: 'object',
      description: 'What has become of the data.',
      properties: {
        state: stateOf('Pending: not all of it can be used yet. Running: it can. Completed: it was released.'),
        message: string('The same as a sentence.', 4096),
        observedGeneration: count('The generation of the spec that this speaks of.', 'int64'),
        ready: string('How many volumes can be used, of all.', 63),
        volumes: listOf('The volumes, by id.', volumeStatus),
        conditions,
      },
    },
  },
}
