/** Tests the clusters of locations: by the mapping, then by the mapping of regions, then by the regions of clusters. */
import { expect, test } from 'vitest'
import type { Cluster } from '../../api/karmada.ts'
import { type ClusterRules, clustersOfLocation, describeLocation, mapsRegion, whyNoCluster } from './clusters.ts'
import { indexLocations } from './location-index.ts'

function cluster(name: string, spec: Cluster['spec']): Cluster {
  return { apiVersion: 'cluster.karmada.io/v1alpha1', kind: 'Cluster', metadata: { name }, spec }
}

const clusters = [
  cluster('m3', { provider: 'aliyun', region: 'us-east-1' }),
  cluster('m2', { provider: 'AWS', region: 'US-EAST-1' }),
  cluster('m1', { region: 'us-east-1' }),
  cluster('m4', { provider: 'gcp', region: 'europe-west1', zones: ['europe-west1-b'] }),
  cluster('m5', {}),
]
const rules: ClusterRules = {
  locations: indexLocations({ 's3://mapped': ['z', 'a'], 's3://none': [] }, 'segments'),
  regionMapping: {},
}

test.each<{ name: string; uri: string; more?: Partial<ClusterRules>; want: string[] }>([
  { name: 'the mapping wins over the region', uri: 's3://mapped/x?region=us-east-1', want: ['a', 'z'] },
  { name: 'an unknown location has no clusters', uri: 's3://b/x', want: [] },
  { name: 'the clusters of the region', uri: 's3://b?region=us-east-1', want: ['m1', 'm2', 'm3'] },
  {
    name: 'clusters of its provider, and those without a provider',
    uri: 's3://b?region=us-east-1',
    more: { provider: 'amazon' },
    want: ['m1', 'm2'],
  },
  { name: 'I: a region in upper case, as GCS has it', uri: 'gs://b?region=EUROPE-WEST1', want: ['m4'] },
  { name: 'a zone', uri: 's3://b?region=europe-west1-b', want: ['m4'] },
  {
    name: 'two regions',
    uri: 'gs://b?region=europe-west1,us-east-1',
    more: { provider: 'google' },
    want: ['m1', 'm4'],
  },
  { name: 'the configured region', uri: 'hdfs://ns/x', more: { region: 'Europe-West1' }, want: ['m4'] },
  {
    name: 'the region of the location precedes the configured one',
    uri: 's3://b?region=us-east-1',
    more: { region: 'europe-west1', provider: 'aliyun' },
    want: ['m1', 'm3'],
  },
  {
    name: 'the mapping of regions precedes the clusters',
    uri: 's3://b?region=us-east-1',
    more: { regionMapping: { 'US-East-1': ['y', 'x'] } },
    want: ['x', 'y'],
  },
  {
    name: 'the mapping of a provider’s region precedes that of any provider',
    uri: 's3://b?region=us-east-1',
    more: { provider: 'aws', regionMapping: { 'us-east-1': ['any'], 'AWS/us-east-1': ['aws'] } },
    want: ['aws'],
  },
  {
    name: 'no clusters, by the mapping',
    uri: 's3://b?region=us-east-1',
    more: { regionMapping: { 'us-east-1': [] } },
    want: [],
  },
])('$name', ({ uri, more, want }) => {
  expect(clustersOfLocation(uri, { ...rules, ...more }, clusters)).toEqual(want)
  expect(clustersOfLocation(uri, { ...rules, ...more }, [...clusters].reverse())).toEqual(want)
})

test.each([
  { region: 'US-east-1', want: true },
  { region: 'dc1', provider: 'amazon', want: true },
  { region: 'dc1', want: false },
  { region: 'eu-west-1', want: false },
])('the region $region of $provider is in the mapping: $want', ({ want, region, ...rules }) => {
  expect(mapsRegion(region, { regionMapping: { 'us-east-1': ['a'], 'aws/dc1': [] }, ...rules })).toBe(want)
})

test.each<{ name: string; uri: string; more?: Partial<ClusterRules>; want: string }>([
  {
    name: 'no key matches',
    uri: 's3://lake-eu/db/orders',
    want: 'location s3://lake-eu/db/orders matches no key of locationMapping of system lake; add one',
  },
  {
    name: 'no key and no region matches',
    uri: 's3://b/x?region=eu-west-9',
    want: 'location s3://b/x matches no key of locationMapping of system lake, and no cluster is in region eu-west-9; add a key, or the region to regionMapping',
  },
  {
    name: 'a key without clusters matches',
    uri: 's3://none/x',
    want: 'location s3://none/x matches s3://none in locationMapping of system lake, which lists no cluster; add its clusters',
  },
  {
    name: 'volcano-global has no regions',
    uri: 's3://b/x?region=eu-west-9',
    more: { locations: indexLocations({}, 'prefix') },
    want: 'location s3://b/x matches no key of locationMapping of system lake; add one',
  },
])('the reason for no cluster: $name', ({ uri, more, want }) => {
  expect(whyNoCluster(uri, { ...rules, ...more }, 'lake')).toBe(want)
})

test('in a file of volcano-global, a location has no cluster by its region', () => {
  const prefixRules = { ...rules, locations: indexLocations({}, 'prefix'), region: 'us-east-1' }
  expect(clustersOfLocation('s3://b?region=us-east-1', prefixRules, clusters)).toEqual([])
})

test.each([
  { uri: 's3n://AKIA1:hunter2@bucket/x', want: 's3n://***@bucket/x' },
  {
    uri: 'abfss://data@acct.dfs.core.windows.net/x?sv=1&sig=hunter2',
    want: 'abfss://data@acct.dfs.core.windows.net/x',
  },
  { uri: `s3://b/${'x'.repeat(5000)}`, want: `s3://b/${'x'.repeat(248)}…` },
  { uri: 's3://b/\u202eabc\u001b[1m', want: 's3://b/ abc [1m' },
])('a message has a location without credentials, cut and printable: $want', ({ uri, want }) => {
  expect(describeLocation(uri)).toBe(want)
})
