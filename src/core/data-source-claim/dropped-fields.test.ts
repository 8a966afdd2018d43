import { describe, expect, test } from 'vitest'
import { makeClaim } from '../../../test/builders.ts'
import type { DataSourceClaim } from '../../api/data-source-claim.ts'
import type { ManagedFieldsEntry } from '../../api/meta.ts'
import { droppedFields } from './dropped-fields.ts'

const base = { 'f:system': {}, 'f:workload': { 'f:name': {} } }
const owned = (spec: object, more: Partial<ManagedFieldsEntry> = {}): ManagedFieldsEntry => ({
  manager: 'kubectl',
  operation: 'Update',
  fieldsV1: { 'f:spec': { ...base, ...spec } },
  ...more,
})
const never: DataSourceClaim['spec']['policy'] = { rebalance: 'Never' }

describe('the API server drops', () => {
  test.each<{ name: string; spec?: Partial<DataSourceClaim['spec']>; fields: ManagedFieldsEntry[]; want: string[] }>([
    { name: 'no field of a claim without managers', fields: [], want: [] },
    { name: 'no field that the claim has', spec: { policy: never }, fields: [owned({ 'f:policy': {} })], want: [] },
    {
      name: 'the policy that a client has set',
      fields: [owned({ 'f:policy': { '.': {}, 'f:rebalance': {} } }), owned({ 'f:policy': { 'f:failback': {} } })],
      want: ['spec.policy'],
    },
    {
      name: 'a field of the policy that a client has set',
      spec: { policy: never },
      fields: [owned({ 'f:policy': { 'f:rebalance': {}, 'f:failback': {} } })],
      want: ['spec.policy.failback'],
    },
    {
      name: 'attributes, whatever their names',
      spec: { attributes: { region: 'eu' } },
      fields: [owned({ 'f:attributes': { 'f:warehouse': {} } })],
      want: [],
    },
    { name: 'all attributes', fields: [owned({ 'f:attributes': { 'f:warehouse': {} } })], want: ['spec.attributes'] },
    {
      name: 'no field of another subresource',
      fields: [owned({ 'f:policy': {} }, { subresource: 'status' })],
      want: [],
    },
    {
      name: 'the namespace of the workload',
      fields: [owned({ 'f:workload': { 'f:name': {}, 'f:namespace': {} } })],
      want: ['spec.workload.namespace'],
    },
    {
      name: 'no field that only another CRD had',
      spec: { policy: never },
      fields: [owned({ 'f:priority': {}, 'f:policy': { 'f:weight': {} } })],
      want: [],
    },
    { name: 'no field of an invalid entry', fields: [owned({}, { fieldsV1: { 'f:spec': null } })], want: [] },
  ])('$name', ({ spec, fields, want }) => {
    expect(droppedFields(makeClaim(spec, { managedFields: fields }))).toEqual(want)
  })
})
