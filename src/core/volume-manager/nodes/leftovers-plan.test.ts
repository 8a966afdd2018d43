import { describe, expect, test } from 'vitest'
import { makeVolume, makeVolumeManager, NOW } from '../../../../test/builders.ts'
import { at, makeDeletion, makeNode, makeVolumeInput, observeVolume, PATH } from '../../../../test/volume-builders.ts'
import type { Node } from '../../../api/node.ts'
import type { VolumeConfig } from '../../../api/volume-manager.ts'
import type { DeletionStatus } from '../../../api/volume-status.ts'
import { fnv1a } from '../../../base/hash.ts'
import { planVolume } from '../replica/volume-plan.ts'
import { MAX_LEFTOVERS, skipNodes } from './leftovers.ts'

const unready = (seconds: number) => makeNode('n1', { unreadySince: at(-seconds) })

function skip(
  node: Node,
  {
    isDeleted = true,
    deletion = {} as Partial<DeletionStatus>,
    more = [] as Partial<DeletionStatus>[],
    volume = {} as Partial<VolumeConfig>,
    isTerminating = false,
  } = {},
) {
  const manager = makeVolumeManager([volume], {
    uid: '4b1d',
    finalizers: ['lodestone.dev/volumes'],
    ...(isDeleted && { deletionTimestamp: at(-5) }),
    status: { volumes: [{ id: 'vol1', nodeAffinity: {}, deletions: [deletion, ...more].map(makeDeletion) }] },
  })
  const namespace = { apiVersion: 'v1', kind: 'Namespace', metadata: { name: 'default' } }
  const input = makeVolumeInput({ manager, nodes: [node], ...(isTerminating && { terminating: { namespace } }) })
  const plan = planVolume(input, observeVolume(input), makeVolume(volume), isDeleted ? 'deleted' : 'present')
  return skipNodes(input, [plan])
}

test('the deletion of a VolumeManager skips a node that is not ready, with an Event', () => {
  const { actions, dueAt } = skip(unready(600))

  const leftover = { namespace: 'default', name: 'sales', uid: '4b1d', id: 'vol1', index: 1, path: PATH }
  expect(actions).toMatchObject([
    {
      kind: 'patch',
      of: { name: 'n1' },
      patch: {
        metadata: {
          uid: 'uid-n1',
          annotations: { [`leftover.lodestone.dev/${fnv1a(PATH)}`]: JSON.stringify(leftover) },
        },
      },
    },
    {
      type: 'Warning',
      reason: 'NodeSkipped',
      message: 'vol1 on n1: the node is not ready; its data is deleted when it is ready again',
    },
  ])
  expect(dueAt).toBeUndefined()
})

test('the leftover has the image of the volume', () => {
  const [patch] = skip(unready(600), { volume: { mover: { image: 'other:1' } } }).actions
  expect(JSON.stringify(patch)).toContain('other:1')
})

test('the timeout begins with the deletion when the node has no time of its own', () => {
  expect(skip(makeNode('n1', { unreadySince: 'unknown' })).dueAt).toBe(NOW + 595_000)
})

test.each<{ name: string; skipped: ReturnType<typeof skip>; dueAt?: number }>([
  { name: 'before the timeout, and says when it is over', skipped: skip(unready(599)), dueAt: NOW + 1000 },
  { name: 'that is ready', skipped: skip(makeNode('n1')) },
  { name: 'that does not exist', skipped: skip(makeNode('n2')) },
  { name: 'while the VolumeManager stays', skipped: skip(unready(600), { isDeleted: false }) },
  { name: 'that has the leftover already', skipped: skip(withLeftovers(unready(600), fnv1a(PATH))) },
  {
    name: 'with too many leftovers',
    skipped: skip(withLeftovers(unready(600), ...Array.from({ length: MAX_LEFTOVERS }, (_, i) => String(i)))),
  },
])('no node is skipped $name', ({ skipped, dueAt }) => {
  expect(skipped.actions).toEqual([])
  expect(skipped.dueAt).toBe(dueAt)
})

function withLeftovers(node: Node, ...digests: string[]): Node {
  const annotations = Object.fromEntries(digests.map((digest) => [`leftover.lodestone.dev/${digest}`, '']))
  return { ...node, metadata: { ...node.metadata, annotations } }
}

describe('in a namespace that is being deleted', () => {
  const isTerminating = true

  test.each([{ state: 'Queued' as const }, { state: 'Deleting' as const }, { state: 'Failed' as const }])(
    'a deletion that is $state becomes a leftover at once, although the node is ready',
    ({ state }) => {
      const { actions, dueAt } = skip(makeNode('n1'), { isTerminating, deletion: { state, since: at(0) } })

      expect(actions).toMatchObject([
        { kind: 'patch', of: { name: 'n1' } },
        { type: 'Normal', reason: 'DataLeft', message: expect.stringContaining('vol1 on n1: the namespace is being') },
      ])
      expect(dueAt).toBeUndefined()
    },
  )

  test.each([
    { name: 'while a pod that was scheduled before may start', node: makeNode('n1'), deletion: {}, dueAt: NOW + 3000 },
    {
      name: 'while the node has its label',
      node: makeNode('n1', { labels: { 'vck.intelai.org/4b1d-0123456789abc': 'true' } }),
      deletion: { since: at(-9) },
    },
    { name: 'while the VolumeManager stays', node: makeNode('n1'), deletion: { since: at(-9) }, isDeleted: false },
  ])('none becomes a leftover $name', ({ name: _, node, dueAt, ...scene }) => {
    expect(skip(node, { isTerminating, ...scene })).toEqual({ actions: [], ...(dueAt && { dueAt }) })
  })

  test('one plan adds no more leftovers than the node may have', () => {
    const node = withLeftovers(makeNode('n1'), ...Array.from({ length: MAX_LEFTOVERS - 1 }, (_, i) => String(i)))
    const more = [{ index: 2, path: `${PATH.slice(0, -1)}d` }]
    const { actions } = skip(node, { isTerminating, deletion: { since: at(-9) }, more })

    expect(actions.filter(({ kind }) => kind === 'patch')).toHaveLength(1)
  })
})
