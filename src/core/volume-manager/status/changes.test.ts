import { expect, test } from 'vitest'
import { makeDeletion, makeReplica } from '../../../../test/volume-builders.ts'
import type { VolumeStatus } from '../../../api/volume-status.ts'
import { listChanges } from './changes.ts'

const quota = (attempt: number) => ({
  reason: 'CreateRefused',
  attempt,
  message: `pods "vck-resource-a-${attempt}" is forbidden: exceeded quota: few, used: pods=${attempt}`,
})
const security = { reason: 'CreateRefused', message: 'violates PodSecurity' }
const volume = (status: Partial<VolumeStatus>): VolumeStatus => ({ id: 'vol1', nodeAffinity: {}, ...status })
const deletions = (more: object) => volume({ deletions: [makeDeletion(more)] })
const replicas = (more: object) => volume({ replicas: [makeReplica(more)] })
const uploads = (upload: object) => replicas({ upload })

test.each<{ name: string; before: VolumeStatus | undefined; after: VolumeStatus; want: string[] }>([
  {
    name: 'a deletion that fails',
    before: deletions({ state: 'Deleting' }),
    after: deletions({ state: 'Failed', ...security }),
    want: ['DeletionFailed: CreateRefused: violates PodSecurity'],
  },
  {
    name: 'nothing of a deletion that is rejected again because of the same quota',
    before: deletions({ state: 'Queued', ...quota(1) }),
    after: deletions({ state: 'Failed', ...quota(2) }),
    want: [],
  },
  {
    name: 'a deletion that is rejected for another cause',
    before: deletions({ state: 'Queued', ...quota(1) }),
    after: deletions({ state: 'Failed', ...security }),
    want: ['DeletionFailed: CreateRefused: violates PodSecurity'],
  },
  {
    name: 'nothing of a replica that is rejected again because of the same quota',
    before: replicas({ state: 'Queued', ...quota(1) }),
    after: replicas({ state: 'Failed', ...quota(2) }),
    want: [],
  },
  {
    name: 'nothing of an upload that fails again in the same way',
    before: uploads({ state: 'Queued', attempt: 2, lastFailure: `CreateRefused: ${quota(1).message}` }),
    after: uploads({ state: 'Failed', ...quota(2) }),
    want: [],
  },
  {
    name: 'an upload that fails in another way',
    before: uploads({ state: 'Queued', attempt: 2, lastFailure: `CreateRefused: ${quota(1).message}` }),
    after: uploads({ state: 'Failed', attempt: 2, ...security }),
    want: ['WriteBackFailed: CreateRefused: violates PodSecurity'],
  },
  {
    name: 'nothing of an upload during which pods wrote files all the time',
    before: uploads({ state: 'Uploading', attempt: 2 }),
    after: uploads({ state: 'Failed', attempt: 2, reason: 'SourceChanged', message: 'still being written: log' }),
    want: [],
  },
  { name: 'nothing of a new volume', before: undefined, after: deletions({ state: 'Failed', ...security }), want: [] },
])('Events report $name', ({ before, after, want }) => {
  expect(listChanges(before, after).map(({ reason, text }) => `${reason}: ${text}`)).toEqual(want)
})
