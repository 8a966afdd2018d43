/** JSON Schemas of our own resources: what `check` and the webhooks validate by, and what the CRDs are generated from. */
import type { ClaimReference, DataSource } from './data-source.ts'
import type { ClaimPolicy, DataSourceClaim, WorkloadReference } from './data-source-claim.ts'
import type { Condition } from './meta.ts'

/** The part of JSON Schema that is also a Kubernetes structural schema. */
export interface Schema {
  type?: 'object' | 'array' | 'string' | 'integer' | 'boolean'
  description?: string
  properties?: Record<string, Schema>
  additionalProperties?: Schema
  required?: string[]
  items?: Schema
  enum?: string[]
  default?: string
  format?: 'date-time' | 'int32' | 'int64'
  minimum?: number
  minLength?: number
  maxLength?: number
  maxItems?: number
  maxProperties?: number
  pattern?: string
  'x-kubernetes-list-type'?: 'atomic' | 'set' | 'map'
  'x-kubernetes-list-map-keys'?: string[]
  'x-kubernetes-map-type'?: 'atomic'
  'x-kubernetes-validations'?: { rule: string; message: string; fieldPath?: string }[]
}

/** The properties of an object of this type: a field in the type and not in the schema, or the reverse, does not compile. */
export type FieldsOf<Type> = Record<keyof Type, Schema>

const text = (description: string, maxLength: number): Schema => ({
  type: 'string',
  description,
  minLength: 1,
  maxLength,
})

const attributes: Schema = {
  type: 'object',
  description:
    'What else identifies the data inside its system, e.g. warehouse or snapshot. Two claims share a DataSource only when these are equal.',
  additionalProperties: { type: 'string', maxLength: 1024 },
  maxProperties: 32,
}

/** The conditions of a status. */
export const conditions: Schema = {
  type: 'array',
  description: 'What is known about the object right now, one entry a type.',
  'x-kubernetes-list-type': 'map',
  'x-kubernetes-list-map-keys': ['type'],
  items: {
    type: 'object',
    required: ['type', 'status', 'reason', 'message', 'lastTransitionTime'],
    properties: {
      type: { type: 'string', description: 'What the condition is about.', maxLength: 316 },
      status: { type: 'string', description: 'Whether it holds.', enum: ['True', 'False', 'Unknown'] },
      reason: { type: 'string', description: 'Why, as one CamelCase word.', minLength: 1, maxLength: 1024 },
      message: { type: 'string', description: 'Why, as a sentence.', maxLength: 32768 },
      lastTransitionTime: { type: 'string', format: 'date-time', description: 'When the status last changed.' },
      observedGeneration: {
        type: 'integer',
        format: 'int64',
        minimum: 0,
        description: 'The generation of the spec that this condition speaks of.',
      },
    } satisfies FieldsOf<Condition>,
  },
}

const holdOrIgnore = (when: string): Schema => ({
  type: 'string',
  enum: ['Hold', 'Ignore'],
  description: `What an unscheduled workload does while ${when}: Hold (the default) waits, Ignore goes without the data's affinity.`,
})

const claimPolicy: Schema = {
  type: 'object',
  description: 'How strictly, and when, the workload follows its data. Everything has a default.',
  properties: {
    enforcement: {
      type: 'string',
      enum: ['Required', 'Preferred'],
      description: 'Required (the default) allows only clusters that hold the data; Preferred tries those first.',
    },
    onUnresolved: holdOrIgnore('the location of the data is unknown'),
    onUnsatisfiable: holdOrIgnore('no allowed cluster holds the data'),
    holdTimeoutSeconds: {
      type: 'integer',
      minimum: 1,
      description:
        'A hold that lasts longer is released without the affinity. Without it a hold lasts until it is resolved.',
    },
    rebalance: {
      type: 'string',
      enum: ['Auto', 'Always', 'Never'],
      description:
        'Whether a workload that runs already moves when its data moves. Auto (the default) moves what runs for ever and leaves what runs to completion.',
    },
    maxStalenessSeconds: {
      type: 'integer',
      minimum: 1,
      description:
        'A location that was last confirmed longer ago counts as unknown. Without it the last known location stands.',
    },
  } satisfies FieldsOf<ClaimPolicy>,
}

export const dataSourceClaimSchema: Schema = {
  type: 'object',
  description:
    'A DataSourceClaim says which data a workload needs; the workload is then placed on clusters that hold it.',
  required: ['spec'],
  properties: {
    spec: {
      type: 'object',
      description: 'The data, the workload that needs it, and how strictly.',
      required: ['system', 'dataSourceType', 'dataSourceName', 'workload'],
      properties: {
        system: text('The data system that knows the data, e.g. amoro, iceberg-rest, s3, webhdfs or static.', 63),
        dataSourceType: text('What the data is inside its system, e.g. table, bucket, prefix or path.', 63),
        dataSourceName: text('The name of the data inside its system, e.g. catalog.database.table.', 1024),
        attributes,
        workload: {
          type: 'object',
          description:
            'The workload that needs the data: of the claim’s namespace, or of another one that allows it with the annotation lodestone.dev/allow-claims-from.',
          required: ['apiVersion', 'kind', 'name'],
          properties: {
            apiVersion: text('The workload’s API version, e.g. apps/v1. Only the group matters.', 317),
            kind: text('The workload’s kind, e.g. Deployment.', 63),
            name: text('The workload’s name.', 253),
            namespace: text('The workload’s namespace; the claim’s own when it is not given.', 63),
          } satisfies FieldsOf<WorkloadReference>,
        },
        policy: claimPolicy,
      } satisfies FieldsOf<DataSourceClaim['spec']>,
    },
    status: {
      type: 'object',
      description: 'What Lodestone found out about the claim.',
      properties: {
        phase: {
          type: 'string',
          enum: ['Pending', 'Bound', 'Failed'],
          default: 'Pending',
          description:
            'Pending: the location is not known yet. Bound: it is known. Failed: the system says that there is no such data.',
        },
        boundDataSource: { type: 'string', maxLength: 253, description: 'The DataSource that answers this claim.' },
        conditions,
      } satisfies FieldsOf<Required<DataSourceClaim>['status']>,
    },
  },
}

/** A fleet has no more clusters; names of this length and number fit an object of etcd. */
export const MAX_CLUSTER_NAMES = 5000

export const dataSourceSchema: Schema = {
  type: 'object',
  description: 'A DataSource is the cached answer of a data system to one question: which clusters hold this data?',
  required: ['spec'],
  properties: {
    spec: {
      type: 'object',
      description: 'The question (system, type, name, attributes) and its answer (locality).',
      required: ['system', 'type', 'name'],
      properties: {
        system: text('The data system that knows the data.', 63),
        type: text('What the data is inside its system.', 63),
        name: text('The name of the data inside its system.', 1024),
        attributes,
        reclaimPolicy: {
          type: 'string',
          enum: ['Retain', 'Delete'],
          description:
            'What happens when the last claim goes: Retain (the default) keeps the object, Delete removes it.',
        },
        locality: {
          type: 'object',
          description: 'Where the data is.',
          properties: {
            clusterNames: {
              type: 'array',
              description: 'The clusters that hold the data. Empty: the data exists, but in none of our clusters.',
              items: { type: 'string', minLength: 1, maxLength: 48 },
              maxItems: MAX_CLUSTER_NAMES,
              'x-kubernetes-list-type': 'atomic',
            },
            location: { type: 'string', maxLength: 4096, description: 'Where the data system says it is, as a URI.' },
            bytes: { type: 'integer', format: 'int64', minimum: 0, description: 'How large the data is, in bytes.' },
          } satisfies FieldsOf<Required<DataSource['spec']>['locality']>,
        },
      } satisfies FieldsOf<DataSource['spec']>,
    },
    status: {
      type: 'object',
      description: 'How fresh the answer is and who uses it.',
      properties: {
        phase: {
          type: 'string',
          enum: ['Available', 'Unavailable'],
          description: 'Unavailable: the data system says that there is no such data.',
        },
        claimRefs: {
          type: 'array',
          description: 'The claims that use this answer.',
          'x-kubernetes-list-type': 'atomic',
          items: {
            type: 'object',
            'x-kubernetes-map-type': 'atomic',
            properties: {
              apiVersion: { type: 'string', description: 'The claim’s API version.' },
              kind: { type: 'string', description: 'The claim’s kind.' },
              namespace: { type: 'string', description: 'The claim’s namespace.' },
              name: { type: 'string', description: 'The claim’s name.' },
              uid: { type: 'string', description: 'The claim’s UID.' },
            } satisfies FieldsOf<ClaimReference>,
          },
        },
        boundClaims: { type: 'integer', format: 'int32', minimum: 0, description: 'How many claims use this answer.' },
        lastResolvedTime: {
          type: 'string',
          format: 'date-time',
          description: 'When the data system last confirmed it.',
        },
        lastError: { type: 'string', maxLength: 1024, description: 'Why the last question failed, if it did.' },
        conditions,
      } satisfies FieldsOf<Required<DataSource>['status']>,
    },
  },
}
