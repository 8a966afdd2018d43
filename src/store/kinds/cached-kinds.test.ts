import { expect, test } from 'vitest'
import { makeClaim, makeCluster } from '../../../test/builders.ts'
import { type DataSourceClaim, dataSourceClaims } from '../../api/data-source-claim.ts'
import { type Cluster, clusters } from '../../api/karmada.ts'
import { placementKinds } from './cached-kinds.ts'

const clusterKind = placementKinds.find(({ type }) => type === clusters)
const keep = clusterKind?.keep as ((cluster: Cluster) => Cluster) | undefined

test.each([
  { syncMode: 'Pull', want: 'Pull' },
  { syncMode: 'Push', want: undefined },
])('a $syncMode cluster is cached with the mode $want', ({ syncMode, want }) => {
  expect(keep?.(makeCluster('member1', { syncMode })).spec.syncMode).toBe(want)
})

test.each<{ name: string; spec: Partial<Cluster['spec']>; want: string[] | undefined }>([
  { name: 'zones', spec: { zones: ['a', 'b'] }, want: ['a', 'b'] },
  { name: 'the deprecated zone of a manifest', spec: { zone: 'a' }, want: ['a'] },
  { name: 'zones beside the deprecated zone', spec: { zone: 'a', zones: ['b'] }, want: ['b'] },
  { name: 'the deprecated zone beside no zones', spec: { zone: 'a', zones: [] }, want: ['a'] },
  { name: 'no zone', spec: {}, want: undefined },
])('a cluster is cached with $name: $want', ({ spec, want }) => {
  expect(keep?.(makeCluster('member1', spec)).spec.zones).toEqual(want)
})

test('a claim is cached with the fields that the API server drops', () => {
  const claimKind = placementKinds.find(({ type }) => type === dataSourceClaims)
  const keepClaim = claimKind?.keep as (claim: DataSourceClaim) => DataSourceClaim
  const managedFields = [{ manager: 'kubectl', fieldsV1: { 'f:spec': { 'f:policy': {} } } }]
  expect(keepClaim(makeClaim({}, { managedFields })).dropped).toEqual(['spec.policy'])
  expect(keepClaim(makeClaim({ policy: {} }, { managedFields }))).not.toHaveProperty('dropped')
})
