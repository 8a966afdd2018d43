import { expect, test } from 'vitest'
import { excludedClusters, isSuspendedKind } from './volcano-global.ts'

test.each([
  { apiVersion: 'apps/v1', kind: 'Deployment', want: true },
  { apiVersion: 'v1', kind: 'Pod', want: true },
  { apiVersion: 'batch.volcano.sh/v1alpha1', kind: 'Job', want: true },
  { apiVersion: 'batch/v1', kind: 'Job', want: true },
  { apiVersion: 'v1', kind: 'Service', want: false },
  { apiVersion: 'example.com/v1', kind: 'Deployment', want: false },
])('the webhook of volcano-global suspends $apiVersion $kind: $want', ({ want, ...workload }) => {
  expect(isSuspendedKind(workload)).toBe(want)
})

test.each([
  { name: 'no annotation', annotations: undefined, want: [] },
  { name: 'an empty annotation', annotations: { 'datadependency.volcano.sh/excluded-clusters': '' }, want: [] },
  { name: 'names', annotations: { 'datadependency.volcano.sh/excluded-clusters': 'm1, m3' }, want: ['m1', 'm3'] },
])('the excluded clusters of $name', ({ annotations, want }) => {
  expect([...excludedClusters(annotations)]).toEqual(want)
})
