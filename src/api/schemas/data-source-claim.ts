/** JSON Schema of a DataSourceClaim. */
import type { ClaimPolicy, DataSourceClaim, WorkloadReference } from '../data-source-claim.ts'
import { attributes, conditions, NEW_STATUS, observedGeneration, text } from './parts.ts'
import type { FieldsOf, Schema } from './schema.ts'

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
    preference: {
      type: 'string',
      enum: ['Bytes', 'Cost', 'Time'],
      description:
        'Which clusters a Preferred claim tries first. Bytes (the default): with the most data. Cost: with the cheapest transfer. Time: with the fastest one. Cost and Time need the prices of the configuration.',
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
        'Whether a scheduled workload moves after its data. Auto (the default) moves workloads that run forever, not those that run to completion. The first narrowing by a claim moves a scheduled workload with every value.',
    },
    failback: {
      type: 'string',
      enum: ['Auto', 'Never'],
      description:
        'Whether a workload returns to its data after a failover. Auto (the default) returns workloads that rebalance may move, once the data was available for a while.',
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
        system: text('The data system, e.g. amoro, hive-metastore, iceberg-rest, s3, webhdfs or static.', 63),
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
      default: NEW_STATUS,
      properties: {
        phase: {
          type: 'string',
          enum: ['Pending', 'Bound', 'Failed'],
          default: 'Pending',
          description: 'Pending: the location is not known yet. Bound: it is known. Failed: the data does not exist.',
        },
        boundDataSource: { type: 'string', maxLength: 253, description: 'The DataSource of this claim.' },
        observedGeneration,
        conditions,
      } satisfies FieldsOf<Required<DataSourceClaim>['status']>,
    },
  },
}
