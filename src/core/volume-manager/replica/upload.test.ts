import { describe, expect, test } from 'vitest'
import { makeVolume, NOW } from '../../../../test/builders.ts'
import { at, makeReplica } from '../../../../test/volume-builders.ts'
import { VOLUME_SETTINGS } from '../../../../test/volume-world.ts'
import type { ReplicaStatus, UploadStatus } from '../../../api/volume-status.ts'
import { divideReplica } from './replica.ts'
import { hasChanges, isWrittenBack, startUpload, stepUpload, type UploadObservation } from './upload.ts'

const withOptions = (options: Record<string, string>) =>
  makeVolume({ options: { ...makeVolume().options, ...options } })
const RESYNC = withOptions({ resync: 'true' })
const EVERY_HOUR = withOptions({ resync: 'true', resyncInterval: '1h' })
const DEFAULTS: UploadObservation = {
  mover: undefined,
  progress: undefined,
  retryTriggers: new Set(),
  config: RESYNC,
  settings: VOLUME_SETTINGS,
  now: NOW,
}
/** Steps the upload of a replica. */
function step(replica: ReplicaStatus, observed: UploadObservation) {
  const { download, use, upload } = divideReplica(replica)
  return stepUpload(upload, { ...download, ...use }, observed)
}
const upload = (more: Partial<UploadStatus> = {}): UploadStatus => ({
  state: 'Uploading',
  attempt: 4,
  since: at(-30),
  ...more,
})

test.each([
  { resync: 'true', want: true },
  { resync: 'T', want: true },
  { resync: 'false', want: false },
  { resync: 'yes', want: false },
  { resync: '', want: false },
])('the option resync "$resync" writes changes back: $want', ({ resync, want }) => {
  expect(isWrittenBack(withOptions({ resync }))).toBe(want)
})

test('without the option, any option or the volume, no changes are written back', () => {
  const { options: _, ...withoutOptions } = makeVolume()

  expect([makeVolume(), withoutOptions, undefined].map(isWrittenBack)).toEqual([false, false, false])
})

test.each<{ name: string; replica: Partial<ReplicaStatus>; want: boolean }>([
  { name: 'was never used', replica: {}, want: false },
  { name: 'is in use', replica: { inUse: true }, want: true },
  { name: 'was used and never written back', replica: { lastUsedTime: at(-9) }, want: true },
  { name: 'was used after the last upload', replica: { lastUsedTime: at(-8), uploadedTime: at(-9) }, want: true },
  {
    name: 'was used in the second of the last upload',
    replica: { lastUsedTime: at(-9), uploadedTime: at(-9) },
    want: true,
  },
  {
    name: 'was used only before the last upload',
    replica: { lastUsedTime: at(-10), uploadedTime: at(-9) },
    want: false,
  },
])('data that $name has changes: $want', ({ replica, want }) => {
  expect(hasChanges(makeReplica(replica))).toBe(want)
})

interface Case {
  name: string
  replica: Partial<ReplicaStatus>
  observed?: Partial<UploadObservation>
  want: { [K in keyof ReplicaStatus]?: ReplicaStatus[K] | undefined }
  due?: number | undefined
}

const used: Partial<ReplicaStatus> = { lastUsedTime: at(-60), uploads: 3 }
const inUse: Partial<ReplicaStatus> = { inUse: true, lastUsedTime: at(-60) }
const CHANGING = { kind: 'failed', code: 'SourceChanged', message: 'log', retry: true, nodeFault: 'no' } as const
const queued: UploadStatus = { state: 'Queued', attempt: 4, since: at(0) }

describe('an upload', () => {
  test.each<Case>([
    { name: 'is not queued for data without changes', replica: {}, want: { upload: undefined } },
    { name: 'is queued when the last pod has ended', replica: used, want: { upload: queued, uploads: 3 }, due: 60 },
    {
      name: 'is the first when there was none',
      replica: { lastUsedTime: at(-60) },
      want: { upload: { ...queued, attempt: 1 } },
      due: 60,
    },
    {
      name: 'is not queued while a pod uses the data, and is checked later',
      replica: inUse,
      want: { upload: undefined },
      due: 60,
    },
    {
      name: 'is not queued for a volume without resync',
      replica: used,
      observed: { config: makeVolume() },
      want: { upload: undefined },
    },
    {
      name: 'is not queued for a volume that is no longer in the spec, and is checked later',
      replica: inUse,
      observed: { config: undefined },
      want: { upload: undefined },
      due: 60,
    },
    {
      name: 'is dropped when the volume has no resync any more',
      replica: { ...used, upload: upload() },
      observed: { config: makeVolume() },
      want: { upload: undefined },
    },
    {
      name: 'is dropped with the data of a replica that is not ready',
      replica: { ...used, state: 'Unreachable', upload: upload() },
      want: { upload: undefined },
    },
    {
      name: 'waits for the interval while pods use the data',
      replica: { ...inUse, lastUsedTime: at(-3570) },
      observed: { config: EVERY_HOUR },
      want: { upload: undefined },
      due: 30,
    },
    {
      name: 'is queued after the interval',
      replica: { ...inUse, lastUsedTime: at(-3600) },
      observed: { config: EVERY_HOUR },
      want: { upload: { ...queued, attempt: 1 } },
      due: 60,
    },
    {
      name: 'counts the interval from the last upload',
      replica: { ...inUse, lastUsedTime: at(-9999), uploadedTime: at(-10) },
      observed: { config: EVERY_HOUR },
      want: { upload: undefined },
      due: 60,
    },
    { name: 'waits for a slot', replica: { ...used, upload: queued }, want: { upload: queued }, due: 60 },
    {
      name: 'adopts a mover that the status does not record',
      replica: { ...used, upload: { ...queued, since: at(-30) } },
      observed: { mover: { kind: 'running' } },
      want: { upload: upload({ since: at(0), progressTime: at(0) }), uploads: 4 },
      due: 60,
    },
    {
      name: 'covers changes up to its beginning when its mover succeeded',
      replica: { ...used, upload: upload() },
      observed: { mover: { kind: 'succeeded' } },
      want: { upload: undefined, uploadedTime: at(-30) },
    },
    {
      name: 'fails with its mover',
      replica: { ...used, upload: upload({ failures: 1 }) },
      observed: {
        mover: { kind: 'failed', code: 'AccessDenied', message: 'no', retry: true, nodeFault: 'no' as const },
      },
      want: {
        upload: upload({
          state: 'Failed',
          since: at(0),
          reason: 'AccessDenied',
          message: 'no',
          failures: 2,
          retryTime: at(20),
        }),
      },
      due: 20,
    },
    {
      name: 'with a conflict fails, and covers the changes: the source has both versions',
      replica: { ...used, upload: upload() },
      observed: {
        mover: { kind: 'failed', code: 'WriteConflict', message: 'a', retry: false, nodeFault: 'no' as const },
      },
      want: {
        upload: upload({
          state: 'Failed',
          since: at(0),
          reason: 'WriteConflict',
          message: 'a',
          failures: 1,
          retryTime: at(60),
          isPermanent: true,
        }),
        uploadedTime: at(-30),
      },
      due: 60,
    },
    ...[
      { name: 'pods write files all the time', use: inUse },
      { name: 'pods that have ended wrote files', use: { lastUsedTime: at(-5) } },
    ].map(({ name, use }) => ({
      name: `is no failure while ${name}: the next upload has them`,
      replica: { ...use, uploads: 4, upload: upload({ failures: 2 }) },
      observed: { config: EVERY_HOUR, mover: CHANGING },
      want: {
        upload: upload({ state: 'Failed', since: at(0), reason: CHANGING.code, message: 'log', retryTime: at(40) }),
        uploadedTime: at(-30),
      },
      due: 40,
    })),
    {
      name: 'fails if no pod that is known writes the files',
      replica: { ...used, upload: upload() },
      observed: { mover: CHANGING },
      want: { upload: expect.objectContaining({ state: 'Failed', failures: 1 }), uploadedTime: undefined },
      due: 10,
    },
    {
      name: 'waits for the interval after files that pods wrote all the time',
      replica: {
        ...inUse,
        lastUsedTime: at(-9999),
        uploadedTime: at(-30),
        upload: upload({ state: 'Failed', reason: CHANGING.code, retryTime: at(-1) }),
      },
      observed: { config: EVERY_HOUR },
      want: { upload: expect.objectContaining({ state: 'Failed' }) },
      due: 60,
    },
    {
      name: 'is tried again after a conflict without new changes, until it is resolved',
      replica: {
        uploads: 3,
        lastUsedTime: at(-60),
        uploadedTime: at(-30),
        upload: upload({
          state: 'Failed',
          reason: 'WriteConflict',
          message: 's3://a',
          failures: 1,
          isPermanent: true,
          retryTime: at(0),
        }),
      },
      want: { upload: { ...queued, failures: 1, isPermanent: true, lastFailure: 'WriteConflict: s3://a' } },
      due: 60,
    },
    {
      name: 'that failed is checked later while a pod uses the data',
      replica: { ...inUse, upload: upload({ state: 'Failed', retryTime: at(-1) }) },
      want: { upload: upload({ state: 'Failed', retryTime: at(-1) }) },
      due: 60,
    },
    {
      name: 'fails when its mover is gone',
      replica: { ...used, upload: upload() },
      want: {
        upload: upload({
          state: 'Failed',
          since: at(0),
          reason: 'PodDeleted',
          message: 'the mover pod was deleted',
          failures: 1,
          retryTime: at(10),
        }),
      },
      due: 10,
    },
    {
      name: 'waits for its retry',
      replica: { ...used, upload: upload({ state: 'Failed', retryTime: at(7) }) },
      want: { upload: upload({ state: 'Failed', retryTime: at(7) }) },
      due: 7,
    },
    {
      name: 'is queued again at its retry time, with its failures',
      replica: { ...used, upload: upload({ state: 'Failed', retryTime: at(0), failures: 2 }) },
      want: { upload: { ...queued, failures: 2 } },
      due: 60,
    },
    {
      name: 'is queued again at once when the API server may accept its mover',
      replica: { ...used, upload: upload({ state: 'Failed', reason: 'CreateRefused', retryTime: at(7) }) },
      observed: { retryTriggers: new Set(['namespace']) },
      want: { upload: { ...queued, lastFailure: 'CreateRefused: ' } },
      due: 60,
    },
    ...(['secret', 'spec'] as const).map((trigger) => ({
      name: `is queued again at once when the ${trigger} changed`,
      replica: { ...used, upload: upload({ state: 'Failed', retryTime: at(7) }) },
      observed: { retryTriggers: new Set([trigger]) },
      want: { upload: queued },
      due: 60,
    })),
  ])('$name', ({ replica, observed = {}, want, due }) => {
    const { next, dueAt } = step(makeReplica(replica), { ...DEFAULTS, ...observed })
    const members: Record<string, unknown> = { ...next }

    expect(Object.fromEntries(Object.keys(want).map((key) => [key, members[key]]))).toEqual(want)
    expect(dueAt).toBe(due === undefined ? undefined : NOW + due * 1000)
  })

  test('that is started is counted', () => {
    const started = startUpload(makeReplica({ upload: queued }), NOW)

    expect([started.upload, started.uploads]).toEqual([{ ...queued, state: 'Uploading' }, 4])
    expect(startUpload(makeReplica(), NOW)).toEqual(makeReplica())
  })
})

test('an upload that was preempted is repeated, with the number of the next mover', () => {
  const replica = makeReplica({ lastUsedTime: at(-60), uploads: 4, upload: upload() })
  const { next } = step(replica, { ...DEFAULTS, mover: { kind: 'preempted', node: 'n1' } })
  const started = startUpload(next, NOW)

  expect(next).toMatchObject({ upload: { state: 'Queued', attempt: 5, reason: 'Preempted' } })
  expect(next.uploadedTime).toBeUndefined()
  expect(started).toMatchObject({ uploads: 5, upload: { state: 'Uploading', attempt: 5, preemptions: 1 } })
})
