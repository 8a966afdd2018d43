import { describe, expect, test } from 'vitest'
import { makeVolumeManager } from '../../../../test/builders.ts'
import { asTask, makeDeletion, makeMover, makeReplica } from '../../../../test/volume-builders.ts'
import { VOLUME_SETTINGS } from '../../../../test/volume-world.ts'
import { MOVER_LABEL, MOVER_SLOT_LABEL, MOVER_TASK_ANNOTATION } from '../../../api/lodestone.ts'
import type { ObjectMeta } from '../../../api/meta.ts'
import type { Pod } from '../../../api/pod.ts'
import { leftoverMover } from './build.ts'
import { isInMoverNamespace, isOwnMover, type MoverOwners, reservedErrors } from './own-mover.ts'

const PATH = '/var/datasets/vck-resource-0'
const LEFTOVER = { namespace: 'default', name: 'gone', uid: 'u', id: 'vol1', index: 2, path: PATH }
const manager = makeVolumeManager([{}], {
  status: {
    volumes: [
      {
        id: 'vol1',
        nodeAffinity: {},
        replicas: [makeReplica({ upload: { state: 'Uploading', attempt: 4 } as never })],
        deletions: [makeDeletion({ index: 7 })],
      },
    ],
  },
})
const owners: MoverOwners = {
  manager: (key) => (key === 'default/sales' ? manager : undefined),
  leftover: (key) => (key === 'n1:d' ? LEFTOVER : undefined),
}
const isOwn = (pod: Pod, namespace?: string) => isOwnMover(pod, owners, namespace === undefined ? {} : { namespace })
const mover = makeMover()
const leftover = leftoverMover({
  key: 'n1:d',
  node: 'n1',
  leftover: LEFTOVER,
  namespace: 'default',
  slot: 0,
  settings: VOLUME_SETTINGS.movers,
})
const withMeta = (pod: Pod, metadata: Partial<Pod['metadata']>): Pod => ({
  ...pod,
  metadata: { ...pod.metadata, ...metadata },
})

describe('a Pod is a mover of Lodestone', () => {
  test.each<{ name: string; pod: Pod; namespace?: string; want: boolean }>([
    { name: 'with the name of its task', pod: mover, want: true },
    { name: 'one attempt ahead of the cache', pod: makeMover({ attempt: 2 }), want: true },
    { name: 'not with an attempt that is not in the status', pod: makeMover({ attempt: 9 }), want: false },
    { name: 'not with a replica that is not in the status', pod: makeMover({ index: 5 }), want: false },
    { name: 'not in the namespace of another tenant', pod: withMeta(mover, { namespace: 'shop' }), want: false },
    {
      name: 'in the namespace of all movers',
      pod: withMeta(mover, { namespace: 'movers' }),
      namespace: 'movers',
      want: true,
    },
    { name: 'not with another name', pod: withMeta(mover, { name: 'forged' }), want: false },
    { name: 'not without the label', pod: withMeta(mover, { labels: {} }), want: false },
    { name: 'not without a task', pod: withMeta(mover, { annotations: {} }), want: false },
    {
      name: 'not for a VolumeManager that does not exist',
      pod: asTask({ manager: 'default/other' }, mover),
      want: false,
    },
    { name: 'not with the task of another volume', pod: asTask({ id: 'vol2' }, mover), want: false },
    { name: 'not with another role', pod: asTask({ role: 'upload' }, mover), want: false },
    { name: 'for a leftover', pod: leftover, want: true },
    { name: 'not for a leftover, from another namespace', pod: withMeta(leftover, { namespace: 'shop' }), want: false },
    { name: 'not for a leftover that is gone', pod: asTask({ manager: 'n2:d' }, leftover), want: false },
    { name: 'not with another volume of a leftover', pod: asTask({ id: 'vol2' }, leftover), want: false },
    {
      name: 'not for a leftover, without its directory',
      pod: { ...leftover, spec: { ...leftover.spec, volumes: [] } },
      want: false,
    },
  ])('$name: $want', ({ pod, namespace, want }) => {
    expect(isOwn(pod, namespace)).toBe(want)
  })

  test('not while its VolumeManager has no status', () => {
    const { status: _, ...unobserved } = manager
    expect(isOwnMover(mover, { ...owners, manager: () => unobserved }, {})).toBe(false)
  })
})

test.each([
  { namespace: 'default', want: true },
  { namespace: 'movers', want: true },
  { namespace: 'shop', want: false },
])('a mover may be in $namespace: $want', ({ namespace, want }) => {
  expect(isInMoverNamespace({ metadata: { namespace } }, manager, { namespace: 'movers' })).toBe(want)
})

test.each([
  { namespace: 'lodestone-system', want: true },
  { namespace: 'kube-system', want: true },
  // The namespace of the VolumeManager may belong to another tenant now.
  { namespace: 'default', want: false },
])('a mover of a leftover may be in $namespace: $want', ({ namespace, want }) => {
  expect(isOwnMover(withMeta(leftover, { namespace }), owners, { ownNamespace: 'lodestone-system' })).toBe(want)
})

const labelled = (labels: Record<string, string>): ObjectMeta => ({ name: 'p', labels })
const annotated = (task: string): ObjectMeta => ({ name: 'p', annotations: { [MOVER_TASK_ANNOTATION]: task } })
const plain: ObjectMeta = { name: 'p', labels: { app: 'shop', 'lodestone.dev/inject': 'true' } }

const paths = (metadata: ObjectMeta, stored?: ObjectMeta) =>
  reservedErrors({ metadata }, stored && { metadata: stored }).map(({ path }) => path)

describe('a user', () => {
  test.each<{ does: string; metadata: ObjectMeta; stored?: ObjectMeta; want: string[] }>([
    { does: 'may create a pod without them', metadata: plain, want: [] },
    { does: 'may not create a mover', metadata: labelled({ [MOVER_LABEL]: '' }), want: [MOVER_LABEL] },
    { does: 'may not block a slot', metadata: labelled({ [MOVER_SLOT_LABEL]: '0' }), want: [MOVER_SLOT_LABEL] },
    { does: 'may not forge a task', metadata: annotated('{}'), want: [MOVER_TASK_ANNOTATION] },
    {
      does: 'may not label a pod later',
      metadata: labelled({ [MOVER_LABEL]: 'x' }),
      stored: plain,
      want: [MOVER_LABEL],
    },
    {
      does: 'may not change a task',
      metadata: annotated('{}'),
      stored: annotated('[]'),
      want: [MOVER_TASK_ANNOTATION],
    },
    { does: 'may not hide a mover', metadata: plain, stored: labelled({ [MOVER_LABEL]: 'x' }), want: [MOVER_LABEL] },
    {
      does: 'may write other metadata of a mover',
      metadata: { ...annotated('{}'), finalizers: ['a/b'] },
      stored: annotated('{}'),
      want: [],
    },
  ])('$does', ({ metadata, stored, want }) => {
    expect(paths(metadata, stored)).toEqual(want.map((key) => expect.stringContaining(`[${key}]`)))
  })
})
