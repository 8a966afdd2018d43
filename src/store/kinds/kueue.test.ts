/** Tests what is cached of the objects of Kueue. */
import { expect, test } from 'vitest'
import { makeAdmissionCheck, makeKueueWorkload, NOW } from '../../../test/builders.ts'
import {
  type AdmissionCheck,
  admissionChecks,
  type KueueWorkload,
  kueueWorkloads,
  type MultiKueueConfig,
  multiKueueClusters,
  multiKueueConfigs,
} from '../../api/kueue.ts'
import { condition, withConditions } from '../../base/conditions.ts'
import type { NominationDecision } from '../../core/kueue/decide-nomination.ts'
import { planNomination } from '../../core/kueue/plan-nomination.ts'
import { awaitsChecks, NOMINATED, volumeManagersNamed } from '../../core/kueue/workload-state.ts'
import type { CachedKind } from '../store.ts'
import { kueueKinds, multiKueueKinds } from './kueue.ts'

const allKinds = [...kueueKinds, ...multiKueueKinds]
const kindOf = <T extends AdmissionCheck | KueueWorkload | MultiKueueConfig>(type: unknown) =>
  allKinds.find((one) => one.type === type) as unknown as CachedKind<T>
const workloads = kindOf<KueueWorkload>(kueueWorkloads)

test('a Workload with quota keeps all of its checks, its jobs and its volumes', () => {
  const retryCount = 3
  const other = { name: 'other', state: 'Pending' as const, lastTransitionTime: '2026-01-02T03:00:00Z', retryCount }
  const raw = makeKueueWorkload({ checks: [other], volumes: '{"name":"weights"}' })
  const kept = workloads.keep(raw)
  expect(kept.status?.admissionChecks).toEqual([other])
  expect([awaitsChecks(kept), volumeManagersNamed(kept)]).toEqual([true, ['weights']])
  expect(workloads.indexes['job']?.(kept)).toEqual(['batch/Job/default/train'])
  expect(workloads.indexes['volumeManager']?.(kept)).toEqual(['default/weights'])
  expect(workloads.indexes['check']?.(kept)).toEqual(['other'])
})

test('a Workload on hold whose condition is current costs no read of the API server', () => {
  const message = 'the data is not located'
  const held: NominationDecision = { clusters: [], message }
  const raw = makeKueueWorkload({}, { generation: 1 })
  const onHold = [condition(NOMINATED, false, 'OnHold', message)]
  const conditions = withConditions(raw.status?.conditions, onHold, raw.metadata.generation, NOW)
  const kept = workloads.keep({ ...raw, status: { ...raw.status, conditions } })
  expect(planNomination(kept, held, NOW + 60_000).actions).toEqual([])
})

test.each([
  { name: 'waits for quota', raw: makeKueueWorkload({ conditions: [] }) },
  { name: 'has finished', raw: makeKueueWorkload({ conditions: ['QuotaReserved', 'Finished'] }) },
])('a Workload that $name is cached with its name only', ({ raw }) => {
  const kept = workloads.keep(raw)
  expect(kept).toEqual({
    apiVersion: 'kueue.x-k8s.io/v1beta2',
    kind: 'Workload',
    metadata: { name: 'job-train', namespace: 'default' },
    spec: {},
  })
  expect(Object.values(workloads.indexes).flatMap((keys) => keys(kept))).toEqual([])
})

test('a Workload with variants keeps its jobs also while it waits for quota', () => {
  const labels = { 'kueue.x-k8s.io/concurrent-admission-parent': 'true' }
  const kept = workloads.keep(makeKueueWorkload({ conditions: [] }, { labels }))
  expect(workloads.indexes['job']?.(kept)).toEqual(['batch/Job/default/train'])
  expect(kept.metadata.labels).toEqual(labels)
})

test.each(allKinds.map((kind) => ({ kind, name: kind.type.kind })))('a $name may have a name only', ({ kind }) => {
  const least = { apiVersion: 'kueue.x-k8s.io/v1beta2', kind: kind.type.kind, metadata: { name: 'least' } }
  const kept = kind.keep(least as never)
  expect(kept).toMatchObject(least)
  expect(Object.values(kind.indexes).flatMap((keys) => keys(kept as never))).toEqual([])
})

test('an AdmissionCheck keeps its parameters and conditions', () => {
  const check = makeAdmissionCheck({ parameters: { name: 'mine' } })
  expect(kindOf<AdmissionCheck>(admissionChecks).keep(check)).toEqual(check)
})

test('a Workload with quota keeps nomination, worker cluster and Nominated condition', () => {
  const raw = makeKueueWorkload({ conditions: ['QuotaReserved', 'PodsReady', 'lodestone.dev/Nominated'] })
  const status = { ...raw.status, nominatedClusterNames: ['worker1'], clusterName: 'worker1' }
  const kept = workloads.keep({ ...raw, status })
  expect(kept.status).toMatchObject({ nominatedClusterNames: ['worker1'], clusterName: 'worker1' })
  expect(kept.status?.conditions?.map(({ type }) => type)).toEqual(['QuotaReserved', 'lodestone.dev/Nominated'])
})

test.each([
  { name: 'names', clusters: ['w2', 'w1'], kept: ['w2', 'w1'] },
  { name: 'a name that is no text', clusters: ['w2', 3, null], kept: ['w2'] },
  { name: 'no list', clusters: 'w1', kept: [] },
])('a MultiKueueConfig with $name', ({ clusters, kept }) => {
  const raw = { apiVersion: 'kueue.x-k8s.io/v1beta2', kind: 'MultiKueueConfig', metadata: { name: 'c' } }
  const config = { ...raw, spec: { clusters: clusters as string[] } }
  expect(kindOf<MultiKueueConfig>(multiKueueConfigs).keep(config)).toEqual({ ...raw, spec: { clusters: kept } })
})

test('of a MultiKueueCluster only the annotation with its name in DataSources is kept', () => {
  const annotations = { 'lodestone.dev/cluster-name': 'paris', other: 'value' }
  const raw = {
    apiVersion: 'kueue.x-k8s.io/v1beta2',
    kind: 'MultiKueueCluster',
    spec: { clusterSource: {} },
    metadata: { name: 'worker1', annotations },
  }
  const { spec: _, ...rest } = raw
  const metadata = { name: 'worker1', annotations: { 'lodestone.dev/cluster-name': 'paris' } }
  expect(kindOf(multiKueueClusters).keep(raw as never)).toEqual({ ...rest, metadata })
})
