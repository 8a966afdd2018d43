/** Admission of DataSources: rejects invalid objects, with all errors in one response. */
import { type DataSource, dataSources } from '../api/data-source.ts'
import { validateDataSource } from '../core/data-source/validate.ts'
import { denyErrors } from '../core/outcome.ts'
import { defineWebhook } from './define.ts'

export const dataSource = defineWebhook({
  name: 'data-source',
  type: 'validating',
  resources: [dataSources],
  operations: ['CREATE', 'UPDATE'],
  failurePolicy: 'Ignore',
  gather: ({ object }) => object as DataSource,
  decide: (source) => denyErrors(validateDataSource(source)),
})
