/** Tests when Kueue waits for the checks of a Workload, and what names the data of it. */
import { describe, expect, test } from 'vitest'
import { makeKueueWorkload } from '../../../test/builders.ts'
import type { AdmissionCheckState, KueueWorkload } from '../../api/kueue.ts'
import { INJECT_LABEL, VOLUMES_ANNOTATION } from '../../api/lodestone.ts'
import {
  awaitsChecks,
  checkAwaitingNomination,
  isOpen,
  jobsOf,
  lacksJob,
  nominatedClusters,
  reservedSince,
  timesBeforeCopies,
  volumeAnnotationsOf,
  volumeManagersNamed,
} from './workload-state.ts'

const at = '2026-01-02T03:00:00Z'
const check = (state: AdmissionCheckState['state']) => ({ name: 'data', state, lastTransitionTime: at })

test.each([
  { name: 'has quota', workload: makeKueueWorkload(), waits: true },
  { name: 'is admitted', workload: makeKueueWorkload({ conditions: ['QuotaReserved', 'Admitted'] }), waits: true },
  { name: 'waits for quota', workload: makeKueueWorkload({ conditions: [] }), waits: false },
  { name: 'is evicted', workload: makeKueueWorkload({ conditions: ['QuotaReserved', 'Evicted'] }), waits: false },
  { name: 'has finished', workload: makeKueueWorkload({ conditions: ['QuotaReserved', 'Finished'] }), waits: false },
  { name: 'is deactivated', workload: makeKueueWorkload({ active: false }), waits: false },
  { name: 'is being deleted', workload: makeKueueWorkload({}, { deletionTimestamp: at }), waits: false },
])('Kueue waits for the checks of a Workload that $name: $waits', ({ workload, waits }) => {
  expect(awaitsChecks(workload)).toBe(waits)
})

test.each([
  { state: 'Pending', conditions: ['QuotaReserved'], open: true },
  { state: 'Ready', conditions: ['QuotaReserved'], open: true },
  { state: 'Ready', conditions: ['QuotaReserved', 'Admitted'], open: false },
  { state: 'Pending', conditions: ['QuotaReserved', 'Admitted'], open: false },
  { state: 'Retry', conditions: ['QuotaReserved'], open: false },
  { state: 'Rejected', conditions: ['QuotaReserved'], open: false },
] as const)('Lodestone may write $state with $conditions: $open', ({ state, conditions, open }) => {
  expect(isOpen(check(state), makeKueueWorkload({ conditions: [...conditions] }))).toBe(open)
})

test('a Workload without a job waits for one, except in a worker cluster of MultiKueue', () => {
  const orphan = { ownerReferences: [] }
  expect(lacksJob(makeKueueWorkload())).toBe(false)
  expect(lacksJob(makeKueueWorkload({}, orphan))).toBe(true)
  expect(lacksJob(makeKueueWorkload({}, { ...orphan, labels: { 'kueue.x-k8s.io/multikueue-origin': 'hub' } }))).toBe(
    false,
  )
})

test.each([
  { name: 'two requests', volumes: '[{"name":"b"},{"name":"a"},{"name":"b"}]', found: ['a', 'b'] },
  { name: 'an annotation that is not JSON', volumes: '{', found: [] },
  { name: 'no annotation', volumes: undefined, found: [] },
])('the VolumeManagers of a pod template with $name', ({ volumes, found }) => {
  expect(volumeManagersNamed(makeKueueWorkload(volumes === undefined ? {} : { volumes }))).toEqual(found)
})

test.each<{ name: string; podSets: unknown }>([
  { name: 'no pod sets', podSets: undefined },
  { name: 'pod sets that are no list', podSets: { main: {} } },
  { name: 'a pod set that is null', podSets: [null] },
  { name: 'a pod set without a template', podSets: [{ name: 'main' }] },
  { name: 'a template without metadata', podSets: [{ name: 'main', template: {} }] },
  {
    name: 'a template without an annotation',
    podSets: [{ template: { metadata: { labels: { [INJECT_LABEL]: 'true' } } } }],
  },
])('a Workload with $name requests no volumes', ({ podSets }) => {
  const spec = { podSets } as KueueWorkload['spec']
  expect(volumeAnnotationsOf({ ...makeKueueWorkload(), spec })).toEqual([])
})

test.each([
  { name: 'the label "true"', labels: { [INJECT_LABEL]: 'true' }, named: ['a'] },
  { name: 'no label, which admission adds to its pods', labels: {}, named: ['a'] },
  { name: 'no labels', labels: undefined, named: ['a'] },
  { name: 'the label "false"', labels: { [INJECT_LABEL]: 'false' }, named: [] },
])('an annotated pod template with $name requests $named', ({ labels, named }) => {
  const metadata = { ...(labels && { labels }), annotations: { [VOLUMES_ANNOTATION]: '{"name":"a"}' } }
  const podSets = [{ name: 'main', template: { metadata, spec: { containers: [] } } }]
  expect(volumeManagersNamed({ ...makeKueueWorkload(), spec: { podSets } })).toEqual(named)
})

test.each<{ name: string; workload: KueueWorkload; waits: boolean }>([
  { name: 'has quota', workload: makeKueueWorkload(), waits: true },
  { name: 'waits for quota', workload: makeKueueWorkload({ conditions: [] }), waits: false },
  { name: 'is in a worker cluster', workload: withStatus({ clusterName: 'worker1' }), waits: false },
  { name: 'is ready', workload: withStatus({ admissionChecks: [check('Ready')] }), waits: false },
  { name: 'is rejected by MultiKueue', workload: withStatus({ admissionChecks: [check('Rejected')] }), waits: false },
  { name: 'has no check', workload: withStatus({ admissionChecks: [] }), waits: false },
  {
    name: 'has a second check of MultiKueue, which Kueue does not read',
    workload: withStatus({ admissionChecks: [check('Ready'), { ...check('Pending'), name: 'second' }] }),
    waits: false,
  },
])('MultiKueue waits for the nomination of a Workload that $name: $waits', ({ workload, waits }) => {
  expect(checkAwaitingNomination(workload, () => true) !== undefined).toBe(waits)
})

test('a check of another controller needs no nomination', () => {
  expect(checkAwaitingNomination(makeKueueWorkload(), () => false)).toBeUndefined()
})

test('the jobs of a Workload are its owners, in its namespace', () => {
  const owners = [
    { apiVersion: 'v1', kind: 'Pod', name: 'train-0', uid: 'u1' },
    { apiVersion: 'v1', kind: 'Pod', name: 'train-1', uid: 'u2' },
  ]
  expect(jobsOf(makeKueueWorkload({}, { ownerReferences: owners }))).toEqual([
    { apiVersion: 'v1', kind: 'Pod', namespace: 'default', name: 'train-0' },
    { apiVersion: 'v1', kind: 'Pod', namespace: 'default', name: 'train-1' },
  ])
})

test('the wait of a Workload begins with its quota, whatever changed later', () => {
  const workload = makeKueueWorkload({ conditions: ['Evicted', 'QuotaReserved', 'Admitted'] })
  const conditions = workload.status?.conditions?.map((condition, i) => ({
    ...condition,
    lastTransitionTime: `2026-01-02T03:00:0${i}Z`,
  }))
  expect(reservedSince(withStatus({ ...(conditions && { conditions }) }))).toBe('2026-01-02T03:00:01Z')
  expect(reservedSince(makeKueueWorkload({ conditions: ['Admitted'] }))).toBeUndefined()
})

describe('a Workload that Kueue has not seen yet', () => {
  const { ownerReferences: _, ...metadata } = makeKueueWorkload().metadata
  const fresh = { apiVersion: 'kueue.x-k8s.io/v1beta2', kind: 'Workload', metadata } as KueueWorkload

  test('waits for neither checks nor a nomination', () => {
    expect([awaitsChecks(fresh), checkAwaitingNomination(fresh, () => true)]).toEqual([false, undefined])
    expect([reservedSince(fresh), nominatedClusters(fresh)]).toEqual([undefined, []])
    expect(reservedSince({ ...fresh, status: {} })).toBeUndefined()
  })

  test('has no job and no volumes', () => {
    expect([jobsOf(fresh), lacksJob(fresh), volumeAnnotationsOf(fresh)]).toEqual([[], true, []])
  })

  test('may get any state of its checks', () => {
    expect(isOpen(check('Pending'), fresh)).toBe(true)
  })
})

test('a Workload without a list of checks waits for no nomination', () => {
  const { admissionChecks: _, ...status } = makeKueueWorkload().status ?? {}
  expect(checkAwaitingNomination({ ...makeKueueWorkload(), status }, () => true)).toBeUndefined()
})

function withStatus(status: KueueWorkload['status']): KueueWorkload {
  const workload = makeKueueWorkload()
  return { ...workload, status: { ...workload.status, ...status } }
}

const later = '2026-01-02T04:00:00Z'

test.each<{ name: string; workload: KueueWorkload; want: readonly string[] | undefined }>([
  {
    name: 'its reservation, without another check',
    workload: makeKueueWorkload({ checks: [check('Pending')] }),
    want: [at],
  },
  {
    name: 'when another check became Ready',
    workload: makeKueueWorkload({
      checks: [check('Pending'), { name: 'other', state: 'Ready', lastTransitionTime: later }],
    }),
    want: [at, later],
  },
  {
    name: 'nothing while another check is Pending',
    workload: makeKueueWorkload({
      checks: [check('Pending'), { name: 'other', state: 'Pending', lastTransitionTime: later }],
    }),
    want: undefined,
  },
  { name: 'nothing without quota', workload: makeKueueWorkload({ conditions: [] }), want: undefined },
])('MultiKueue copies a Workload after $name', ({ workload, want }) => {
  expect(timesBeforeCopies(workload, 'data')).toEqual(want)
})
