/**
 * JSON Schema of VolumeManagers. It checks only types and lengths; admission checks the values, and returns all errors together with VCK's
 * messages.
 */
import type { Toleration } from '../node.ts'
import type {
  MoverOverrides,
  ResourceRequirements,
  VolumeConfig,
  VolumeManagerSpec,
  VolumeManagerStatus,
} from '../volume-manager.ts'
import { atomicList, conditions, NEW_STATUS, nodeAffinity, observedGeneration, string, strings } from './parts.ts'
import type { FieldsOf, Schema } from './schema.ts'
import { volumeStatusSchema } from './volume-status.ts'

/** The volumes of a VolumeManager, and the entries of its status. */
export const MAX_VOLUMES = 100

const tolerations = atomicList('The taints of nodes that movers tolerate.', {
  type: 'object',
  properties: {
    key: string('The taint’s key; all taints when it is empty and the operator is Exists.', 317),
    operator: string('Exists or Equal.', 16),
    value: string('The taint’s value, for Equal.', 63),
    effect: string('NoSchedule, PreferNoSchedule or NoExecute; all when it is empty.', 32),
    tolerationSeconds: { type: 'integer', format: 'int64', description: 'How long NoExecute is tolerated.' },
  } satisfies FieldsOf<Toleration>,
})

export const volumeConfigSchema: Schema = {
  type: 'object',
  required: ['id', 'sourceType'],
  properties: {
    id: { ...string('The name of the volume in its VolumeManager.', 253), minLength: 1 },
    replicas: { type: 'integer', format: 'int32', description: 'The number of nodes that get the data.' },
    onEveryNode: {
      type: 'boolean',
      description:
        'Whether every node that nodeAffinity allows gets the data, also nodes that join later. Excludes replicas.',
    },
    sourceType: string('The source of the data: S3, AzureBlob, NFS, Pachyderm, Local or Stream. S3-Dev means S3.', 63),
    accessMode: string('ReadWriteOnce, or ReadWriteMany or ReadOnlyMany for NFS.', 63),
    capacity: string('The size of the data, e.g. 5Gi; for NFS volumes, the request of the claim.', 63),
    labels: strings('Labels of all objects that are created for the volume. At least one.', 64, 63),
    nodeAffinity: nodeAffinity('The nodes that may get the data.'),
    tolerations,
    options: strings('Options of the source type. All values are strings.', 64, 8192),
    volumeType: {
      type: 'string',
      enum: ['hostPath', 'persistentVolumeClaim'],
      description:
        'How pods mount the data: as a directory of the node (hostPath, the default), or by a claim for a local PersistentVolume per replica.',
    },
    readOnly: {
      type: 'boolean',
      description:
        'Whether every mount of the data in pods is read-only, even if the pod requests write access. Default false.',
    },
    priority: {
      type: 'integer',
      format: 'int32',
      description: 'The order of downloads when not all can run at once: higher numbers start first. Default 0.',
    },
    evictionPolicy: {
      type: 'string',
      enum: ['Never', 'LeastRecentlyUsed'],
      description:
        'Whether unused copies may be evicted when their node is short of disk. Without it, only a high watermark of the configuration evicts them; Never retains them.',
    },
    refreshIntervalSeconds: {
      type: 'integer',
      format: 'int32',
      description:
        'How often the data is compared with its source, to download what changed, at least 60. Only for read-only data. Default: never.',
    },
    mover: {
      type: 'object',
      description: 'Settings of the movers that differ from the configuration.',
      properties: {
        image: string('An image that implements the contract of data movers.'),
        priorityClassName: string('The PriorityClass of the movers.', 253),
        serviceAccountName: string(
          'The ServiceAccount of movers that read or write the source, to which the cloud gives a role.',
          200,
        ),
        resources: {
          type: 'object',
          description: 'The resources of the movers.',
          properties: {
            requests: strings('The requests of a mover.', 16, 63),
            limits: strings('The limits of a mover.', 16, 63),
          } satisfies FieldsOf<ResourceRequirements>,
        },
      } satisfies FieldsOf<MoverOverrides>,
    },
  } satisfies FieldsOf<VolumeConfig>,
}

const stateSchema = (description: string, ...more: string[]): Schema => ({
  type: 'string',
  description,
  enum: [...more, 'Pending', 'Running', 'Completed', 'Failed'],
})

export const volumeManagerSchema: Schema = {
  type: 'object',
  description:
    'A VolumeManager brings data to nodes and keeps it there; pods that name it are placed beside the data and have it mounted.',
  required: ['spec'],
  properties: {
    spec: {
      type: 'object',
      description: 'The data and its wanted state.',
      properties: {
        volumeConfigs: atomicList('The volumes.', volumeConfigSchema, MAX_VOLUMES),
        state: stateSchema('The wanted state. Completed and Failed delete the data; every other value keeps it.', ''),
      } satisfies FieldsOf<VolumeManagerSpec>,
    },
    status: {
      type: 'object',
      description: 'The observed state of the data.',
      default: NEW_STATUS,
      properties: {
        state: stateSchema('Pending: not all of it can be used yet. Running: it can. Completed: it is deleted.'),
        message: string('The state as a sentence.', 4096),
        observedGeneration,
        ready: string('How many volumes can be used, of all.', 63),
        nodes: string('The first nodes that have all of the data of a volume; for users.', 2300),
        replicas: string('How many replicas of all volumes are ready, of those that are wanted; for users.', 63),
        size: string('The size of the data of all volumes on one node, e.g. 5.0Gi; for users.', 63),
        volumes: atomicList('The volumes, by id.', volumeStatusSchema, MAX_VOLUMES),
        conditions,
      } satisfies FieldsOf<VolumeManagerStatus>,
    },
  },
}
