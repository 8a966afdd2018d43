/** Tests when Kueue waits for the checks of a Workload, and what names the data of it. */
import { expect, test } from 'vitest'
import { makeKueueWorkload } from '../../../test/builders.ts'
import type { AdmissionCheckState, KueueWorkload } from '../../api/kueue.ts'
import { awaitsChecks, checkAwaitingNomination, isOpen, lacksJob, volumeManagersNamed } from './workload-state.ts'

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

test('a pod template without the label requests nothing, since admission injects nothing', () => {
  const workload = makeKueueWorkload({ volumes: '{"name":"a"}' })
  const [podSet] = workload.spec.podSets ?? []
  if (podSet?.template.metadata) podSet.template.metadata.labels = {}
  expect(volumeManagersNamed(workload)).toEqual([])
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

function withStatus(status: KueueWorkload['status']): KueueWorkload {
  const workload = makeKueueWorkload()
  return { ...workload, status: { ...workload.status, ...status } }
}
