import { describe, expect, test } from 'vitest'
import { NOW } from '../../../../test/builders.ts'
import { at } from '../../../../test/volume-builders.ts'
import { VOLUME_SETTINGS } from '../../../../test/volume-world.ts'
import type { UploadStatus } from '../../../api/volume-status.ts'
import { earliest } from '../../../base/time/earliest.ts'
import { MESSAGES } from '../codes.ts'
import { fromTime } from '../time.ts'
import {
  enter,
  fail,
  hasNewInput,
  isRetryDue,
  mayBeAccepted,
  type Observation,
  stepWork,
  untilRetry,
} from './transition.ts'

const work: UploadStatus = { state: 'Uploading', attempt: 3, since: at(-60) }
const RUNNING = { kind: 'running', node: 'n1' } as const
const STARTING = { kind: 'waiting', reason: 'Starting', message: 'the mover was created' } as const
const reported = (bytes: number, files: number, attempt = 3) => ({ attempt, bytes, files })

test.each<{ triggers: Parameters<typeof hasNewInput>[0]; want: boolean }>([
  { triggers: new Set(), want: false },
  { triggers: new Set(['node']), want: false },
  { triggers: new Set(['secret']), want: true },
  { triggers: new Set(['node', 'spec']), want: true },
])('a user has changed the input of a failed attempt: $want', ({ triggers, want }) => {
  expect(hasNewInput(triggers)).toBe(want)
})

test.each<{ triggers: Parameters<typeof mayBeAccepted>[0]; reason: string; want: boolean }>([
  { triggers: new Set(['namespace']), reason: 'CreateRefused', want: true },
  { triggers: new Set(['namespace']), reason: 'Unexpected', want: false },
  { triggers: new Set(['node']), reason: 'CreateRefused', want: false },
])('a mover that failed with $reason may be accepted now: $want', ({ triggers, reason, want }) => {
  expect(mayBeAccepted(triggers, { reason })).toBe(want)
})

describe('a new state', () => {
  const failed: UploadStatus = { ...work, state: 'Failed', reason: 'A', message: 'B', retryTime: at(9) }

  test('begins now, without the reason and message of the last state', () => {
    expect(enter(failed, 'Queued', NOW)).toEqual({ state: 'Queued', attempt: 3, since: at(0) })
  })

  test('keeps its beginning when it is the same state, with the new reason and message', () => {
    expect(enter(failed, 'Failed', NOW, { reason: 'C', message: 'D' })).toEqual({
      state: 'Failed',
      attempt: 3,
      since: at(-60),
      reason: 'C',
      message: 'D',
    })
  })

  test('begins now when no beginning is recorded', () => {
    expect(enter({ state: 'Failed', attempt: 1 }, 'Failed', NOW)).toEqual({ state: 'Failed', attempt: 1, since: at(0) })
  })
})

describe('a failure', () => {
  test.each([
    { failures: undefined, retry: true, seconds: 10 },
    { failures: 1, retry: true, seconds: 20 },
    { failures: 5, retry: true, seconds: 320 },
    { failures: 6, retry: true, seconds: 600 },
    { failures: 60, retry: true, seconds: 600 },
    { failures: undefined, retry: false, seconds: 60 },
    { failures: 2, retry: false, seconds: 240 },
    { failures: 4, retry: false, seconds: 600 },
  ])('after $failures failures (retry: $retry) is retried $seconds s later', ({ failures, retry, seconds }) => {
    const before = { ...work, ...(failures !== undefined && { failures }) }

    expect(fail(before, { code: 'NoSpace', message: 'full', retry }, NOW)).toEqual({
      next: {
        state: 'Failed',
        attempt: 3,
        since: at(0),
        reason: 'NoSpace',
        message: 'full',
        failures: (failures ?? 0) + 1,
        retryTime: at(seconds),
      },
      dueAt: fromTime(at(seconds)),
    })
  })

  test.each([
    { retryTime: undefined, isDue: true, dueAt: NOW },
    { retryTime: 'soon', isDue: true, dueAt: NOW },
    { retryTime: at(0), isDue: true, dueAt: fromTime(at(0)) },
    { retryTime: at(1), isDue: false, dueAt: fromTime(at(1)) },
    { retryTime: at(600), isDue: false, dueAt: fromTime(at(600)) },
    { retryTime: at(3600), isDue: true, dueAt: fromTime(at(3600)) },
  ])('with the retry time $retryTime is due: $isDue', ({ retryTime, isDue, dueAt }) => {
    const failed = { ...work, state: 'Failed' as const, ...(retryTime && { retryTime }) }

    expect(isRetryDue(failed, NOW)).toBe(isDue)
    expect(untilRetry(failed, NOW)).toEqual({ next: failed, dueAt })
  })
})

describe('the work of a mover', () => {
  const observe = (more: Partial<Observation>): Observation => ({
    mover: RUNNING,
    progress: undefined,
    retryTriggers: new Set(),
    settings: VOLUME_SETTINGS,
    now: NOW,
    ...more,
  })
  const failedWith = (reason: string) => ({ state: 'Failed', reason, failures: 1 })

  test.each<{ name: string; of?: Partial<UploadStatus>; observed: Partial<Observation>; want: object }>([
    {
      name: 'waits for a mover that starts, without a reason',
      of: { reason: 'Unschedulable', message: '0/3 nodes' },
      observed: { mover: STARTING },
      want: { state: 'Uploading', reason: undefined, message: undefined },
    },
    {
      name: 'shows why its mover waits',
      observed: { mover: { kind: 'waiting', reason: 'Unschedulable', message: '0/3 nodes' } },
      want: { state: 'Uploading', reason: 'Unschedulable', message: '0/3 nodes' },
    },
    {
      name: 'drops the reason when its mover runs',
      of: { reason: 'Unschedulable', message: '0/3 nodes' },
      observed: {},
      want: { reason: undefined, message: undefined, progressTime: at(0) },
    },
    {
      name: 'waits as long as the start timeout',
      of: { since: at(-1800) },
      observed: { mover: STARTING },
      want: { state: 'Uploading' },
    },
    {
      name: 'fails when the start takes longer',
      of: { since: at(-1801) },
      observed: { mover: STARTING },
      want: { ...failedWith('PrepareTimeout'), message: 'did not start in time: the mover was created' },
    },
    {
      name: 'records bytes',
      of: { bytes: 1, files: 1, progressTime: at(-600) },
      observed: { progress: reported(2, 1) },
      want: { bytes: 2, files: 1, progressTime: at(0) },
    },
    {
      name: 'records files',
      of: { bytes: 1, files: 1, progressTime: at(-600) },
      observed: { progress: reported(1, 2) },
      want: { bytes: 1, files: 2, progressTime: at(0) },
    },
    {
      name: 'ignores the progress of another attempt',
      of: { progressTime: at(-5) },
      observed: { progress: reported(9, 9, 2) },
      want: { bytes: undefined, progressTime: at(-5) },
    },
    {
      name: 'continues as long as the progress timeout',
      of: { bytes: 2, files: 1, progressTime: at(-600) },
      observed: { progress: reported(2, 1) },
      want: { state: 'Uploading', progressTime: at(-600) },
    },
    {
      name: 'fails when there is no progress for longer, without the progress',
      of: { bytes: 2, files: 1, progressTime: at(-601) },
      observed: { progress: reported(2, 1) },
      want: { ...failedWith('Stalled'), bytes: undefined, files: undefined, progressTime: undefined },
    },
    {
      name: 'fails when its mover has reported nothing for longer, and says so',
      of: { progressTime: at(-601) },
      observed: {},
      want: { ...failedWith('Stalled'), message: MESSAGES.Stalled(false) },
    },
    {
      name: 'fails as before when the last report is gone',
      of: { bytes: 2, files: 1, progressTime: at(-601) },
      observed: {},
      want: { ...failedWith('Stalled'), message: MESSAGES.Stalled(true) },
    },
    { name: 'fails when its mover is gone', observed: { mover: undefined }, want: failedWith('PodDeleted') },
    {
      name: 'fails with its mover',
      observed: {
        mover: { kind: 'failed', code: 'AccessDenied', message: 'no', retry: false, nodeFault: 'no' as const },
      },
      want: { ...failedWith('AccessDenied'), retryTime: at(60) },
    },
  ])('$name', ({ of = {}, observed, want }) => {
    const step = stepWork({ ...work, ...of }, observe(observed))
    const next: Record<string, unknown> = { ...step?.next }

    expect(Object.fromEntries(Object.keys(want).map((key) => [key, next[key]]))).toEqual(want)
    expect(step?.dueAt).toBe(next['state'] === 'Failed' ? fromTime(String(next['retryTime'])) : NOW + 60_000)
  })

  test('is done when its mover succeeded', () => {
    expect(stepWork(work, observe({ mover: { kind: 'succeeded' } }))).toBeUndefined()
  })
})

test.each([
  { times: [], want: undefined },
  { times: [undefined], want: undefined },
  { times: [3, undefined, 2], want: 2 },
])('the earliest of $times is $want', ({ times, want }) => {
  expect(earliest(...times)).toBe(want)
})

test('a preempted mover is no failure: its work waits again, with a doubled back-off', () => {
  const preempted = { ...work, bytes: 5, files: 1, progressTime: at(-1), failures: 2 }
  const observation: Observation = {
    mover: { kind: 'preempted', node: 'n1' },
    progress: undefined,
    retryTriggers: new Set(),
    settings: VOLUME_SETTINGS,
    now: NOW,
  }
  const again = (preemptions?: number) =>
    stepWork({ ...preempted, ...(preemptions !== undefined && { preemptions }) }, observation)

  expect(again()).toEqual({
    next: {
      state: 'Queued',
      attempt: 4,
      since: at(0),
      failures: 2,
      preemptions: 1,
      retryTime: at(30),
      reason: 'Preempted',
      message: 'its mover was stopped, because movers of other namespaces wait; the next one continues its work',
    },
    dueAt: NOW + 30_000,
  })
  expect([again(1), again(2), again(99)].map((one) => one?.next.retryTime)).toEqual([at(60), at(120), at(240)])
})
