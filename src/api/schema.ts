/** JSON Schemas of our own resources, for validation in `check` and webhooks, and for the CRDs. */
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
    'Further identification of the data in its system, e.g. warehouse or snapshot. Claims share a DataSource only if these are equal.',
  additionalProperties: { type: 'string', maxLength: 1024 },
  maxProperties: 32,
}

/** The conditions of a status. */
export const conditions: Schema = {
  type: 'array',
  description: 'The current conditions of the object, one per type.',
  'x-kubernetes-list-type': 'map',
  'x-kubernetes-list-map-keys': ['type'],
  items: {
    type: 'object',
    required: ['type', 'status', 'reason', 'message', 'lastTransitionTime'],
    properties: {
      type: { type: 'string', description: 'The type of the condition.', maxLength: 316 },
      status: { type: 'string', description: 'The status of the condition.', enum: ['True', 'False', 'Unknown'] },
      reason: { type: 'string', description: 'The reason, as one CamelCase word.', minLength: 1, maxLength: 1024 },
      message: { type: 'string', description: 'The reason, as a sentence.', maxLength: 32768 },
      lastTransitionTime: {
        type: 'string',
        format: 'date-time',
        description: 'Time of the last change of the status.',
      },
      observedGeneration: {
        type: 'integer',
        format: 'int64',
        minimum: 0,
        description: 'The generation of the spec that was observed.',
      },
    } satisfies FieldsOf<Condition>,
  },
}

const holdOrIgnore = (when: string): Schema => ({
  type: 'string',
  enum: ['Hold', 'Ignore'],
  description: `Handling of an unscheduled workload while ${when}: Hold (the default) waits, Ignore continues without narrowing.`,
})

const claimPolicy: Schema = {
  type: 'object',
  description: 'How the workload follows its data. Every field has a default.',
  properties: {
    enforcement: {
      type: 'string',
      enum: ['Required', 'Preferred'],
      description: 'Required (the default) allows only clusters with the data; Preferred tries those first.',
    },
    onUnresolved: holdOrIgnore('the location of the data is unknown'),
    onUnsatisfiable: holdOrIgnore('no allowed cluster has the data'),
    holdTimeoutSeconds: {
      type: 'integer',
      minimum: 1,
      description: 'A longer hold ends without narrowing. Default: no limit.',
    },
    rebalance: {
      type: 'string',
      enum: ['Auto', 'Always', 'Never'],
      description:
        'Whether a scheduled workload moves after its data. Auto (the default) moves workloads that run forever, not those that run to completion.',
    },
    maxStalenessSeconds: {
      type: 'integer',
      minimum: 1,
      description: 'A location with an older confirmation counts as unknown. Default: no limit.',
    },
  } satisfies FieldsOf<ClaimPolicy>,
}

export const dataSourceClaimSchema: Schema = {
  type: 'object',
  description:
    'A DataSourceClaim names the data that a workload needs; the workload is placed on clusters with this data.',
  required: ['spec'],
  properties: {
    spec: {
      type: 'object',
      description: 'The data, the workload that needs it, and the policy.',
      required: ['system', 'dataSourceType', 'dataSourceName', 'workload'],
      properties: {
        system: text('The data system, e.g. amoro, iceberg-rest, s3, webhdfs or static.', 63),
        dataSourceType: text('The type of the data in its system, e.g. table, bucket, prefix or path.', 63),
        dataSourceName: text('The name of the data in its system, e.g. catalog.database.table.', 1024),
        attributes,
        workload: {
          type: 'object',
          description:
            'The workload that needs the data: in the namespace of the claim, or in one with the annotation lodestone.dev/allow-claims-from.',
          required: ['apiVersion', 'kind', 'name'],
          properties: {
            apiVersion: text('API version of the workload, e.g. apps/v1. Only the group matters.', 317),
            kind: text('Kind of the workload, e.g. Deployment.', 63),
            name: text('Name of the workload.', 253),
            namespace: text('Namespace of the workload; default: that of the claim.', 63),
          } satisfies FieldsOf<WorkloadReference>,
        },
        policy: claimPolicy,
      } satisfies FieldsOf<DataSourceClaim['spec']>,
    },
    status: {
      type: 'object',
      description: 'The status of the claim.',
      properties: {
        phase: {
          type: 'string',
          enum: ['Pending', 'Bound', 'Failed'],
          default: 'Pending',
          description: 'Pending: the location is not known yet. Bound: it is known. Failed: the data does not exist.',
        },
        boundDataSource: { type: 'string', maxLength: 253, description: 'The DataSource of this claim.' },
        conditions,
      } satisfies FieldsOf<Required<DataSourceClaim>['status']>,
    },
  },
}

/** No fleet has more clusters. This number of names of this length fits an object of etcd. */
export const MAX_CLUSTER_NAMES = 5000

export const dataSourceSchema: Schema = {
  type: 'object',
  description: 'A DataSource is the location of data: the clusters that have it, from a data system or a user.',
  required: ['spec'],
  properties: {
    spec: {
      type: 'object',
      description: 'The query (system, type, name, attributes) and its result (locality).',
      required: ['system', 'type', 'name'],
      properties: {
        system: text('The data system.', 63),
        type: text('The type of the data in its system.', 63),
        name: text('The name of the data in its system.', 1024),
        attributes,
        reclaimPolicy: {
          type: 'string',
          enum: ['Retain', 'Delete'],
          description:
            'Effect of the deletion of the last claim: Retain (the default) keeps the object, Delete deletes it.',
        },
        locality: {
          type: 'object',
          description: 'The location of the data.',
          properties: {
            clusterNames: {
              type: 'array',
              description: 'The clusters with the data. Empty: the data exists, but in none of our clusters.',
              items: { type: 'string', minLength: 1, maxLength: 48 },
              maxItems: MAX_CLUSTER_NAMES,
              'x-kubernetes-list-type': 'atomic',
            },
            location: { type: 'string', maxLength: 4096, description: 'The URI of the data in its system.' },
            bytes: { type: 'integer', format: 'int64', minimum: 0, description: 'Size of the data in bytes.' },
          } satisfies FieldsOf<Required<DataSource['spec']>['locality']>,
        },
      } satisfies FieldsOf<DataSource['spec']>,
    },
    status: {
      type: 'object',
      description: 'The age of the location, and the claims that use it.',
      properties: {
        phase: {
          type: 'string',
          enum: ['Available', 'Unavailable'],
          description: 'Unavailable: the data does not exist.',
        },
        claimRefs: {
          type: 'array',
          description: 'The claims that use this DataSource.',
          'x-kubernetes-list-type': 'atomic',
          items: {
            type: 'object',
            'x-kubernetes-map-type': 'atomic',
            properties: {
              apiVersion: { type: 'string', description: 'API version of the claim.' },
              kind: { type: 'string', description: 'Kind of the claim.' },
              namespace: { type: 'string', description: 'Namespace of the claim.' },
              name: { type: 'string', description: 'Name of the claim.' },
              uid: { type: 'string', description: 'UID of the claim.' },
            } satisfies FieldsOf<ClaimReference>,
          },
        },
        boundClaims: {
          type: 'integer',
          format: 'int32',
          minimum: 0,
          description: 'Number of claims that use this DataSource.',
        },
        lastResolvedTime: {
          type: 'string',
          format: 'date-time',
          description: 'Time of the last confirmation by the data system.',
        },
        lastError: { type: 'string', maxLength: 1024, description: 'Error of the last query, if it failed.' },
        conditions,
      } satisfies FieldsOf<Required<DataSource>['status']>,
    },
  },
}
