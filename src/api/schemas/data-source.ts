/** JSON Schema of a DataSource. */
import type { ClaimReference, DataSource } from '../data-source.ts'
import { attributes, conditions, NEW_STATUS, observedGeneration, text } from './parts.ts'
import type { FieldsOf, Schema } from './schema.ts'

/** No fleet has more clusters. A list of this many names fits into an object of etcd. */
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
            bytesAreMinimum: {
              type: 'boolean',
              description: 'Whether the data has at least this size: it was not measured completely.',
            },
          } satisfies FieldsOf<Required<DataSource['spec']>['locality']>,
        },
      } satisfies FieldsOf<DataSource['spec']>,
    },
    status: {
      type: 'object',
      description: 'The age of the location, and the claims that use it.',
      default: NEW_STATUS,
      properties: {
        phase: {
          type: 'string',
          enum: ['Available', 'Unavailable'],
          description: 'Unavailable: the data does not exist.',
        },
        claimRefs: {
          type: 'array',
          description: 'The claims that use this DataSource: the first 1,000 by namespace and name.',
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
              resourceVersion: { type: 'string', description: 'Version of the claim, as volcano-global writes it.' },
              fieldPath: { type: 'string', description: 'Part of the claim. No controller writes it.' },
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
        clusters: { type: 'string', maxLength: 512, description: 'The first clusters with the data; for users.' },
        size: { type: 'string', maxLength: 63, description: 'The size of the data, e.g. 5.0Gi; for users.' },
        observedGeneration,
        conditions,
      } satisfies FieldsOf<Required<DataSource>['status']>,
    },
  },
}
