import { describe, expect, test } from 'vitest'
import { NOW } from '../../../../test/builders.ts'
import { at, makeDeletion, makeReplica, PATH } from '../../../../test/volume-builders.ts'
import type { ReplicaStatus } from '../../../api/volume-status.ts'
import { abandonNode, arrangeReplicas, deleteAll, type ReplicaSet, type Wanted } from './replica-set.ts'

const LABEL = 'vck.intelai.org/4b1d-0123456789abc'
const wanted = (count: number, more: Partial<Wanted> = {}): Wanted => ({
  revision: 'r',
  path: PATH,
  counts: new Map([[undefined, count]]),
  allows: () => true,
  admits: () => true,
  isLost: () => false,
  labelsOf: () => [LABEL],
  mustStay: () => false,
  ...more,
})
const setOf = (...replicas: Partial<ReplicaStatus>[]): ReplicaSet => ({
  replicas: replicas.map((more, index) => makeReplica({ index, node: `n${index + 1}`, ...more })),
  deletions: [],
  nextIndex: 10,
})
/** A short description of the remaining replicas and the deletions. */
const short = ({ replicas, deletions }: ReplicaSet) => ({
  replicas: replicas.map(({ index, state }) => `${index} ${state}`),
  deletions: deletions.map(({ node, cause }) => `${node} ${cause}`),
})

describe('an incomplete replica on a node that may not take it any more', () => {
  const closed = { admits: () => false }
  const excluded = { allows: () => false }
  const lost = { isLost: () => true }

  test.each<{ state: ReplicaStatus['state']; rules: Partial<Wanted>; replicas: string[]; deletions: string[] }>([
    { state: 'Failed', rules: excluded, replicas: ['11 Queued'], deletions: ['n1 Moved'] },
    { state: 'Queued', rules: closed, replicas: ['11 Queued'], deletions: ['n1 Moved'] },
    { state: 'Starting', rules: closed, replicas: ['11 Queued'], deletions: ['n1 Moved'] },
    { state: 'Downloading', rules: excluded, replicas: ['11 Queued'], deletions: ['n1 Moved'] },
    { state: 'Downloading', rules: closed, replicas: ['0 Downloading'], deletions: [] },
    { state: 'Ready', rules: closed, replicas: ['0 Ready'], deletions: [] },
    { state: 'Downloading', rules: lost, replicas: ['11 Queued'], deletions: ['n1 Moved'] },
    { state: 'Ready', rules: lost, replicas: ['0 Ready'], deletions: [] },
  ])('($state) is replaced at once, or stays', ({ state, rules, replicas, deletions }) => {
    expect(short(arrangeReplicas(setOf({ state }), wanted(1, rules), NOW))).toEqual({ replicas, deletions })
  })
})

describe('the replicas of a volume', () => {
  test.each<{ name: string; set: ReplicaSet; wants: Wanted; replicas: string[]; deletions?: string[] }>([
    {
      name: 'do not change when they are as wanted',
      set: setOf({}, {}),
      wants: wanted(2),
      replicas: ['0 Ready', '1 Ready'],
    },
    {
      name: 'are added when there are too few',
      set: setOf({}),
      wants: wanted(3),
      replicas: ['0 Ready', '10 Queued', '11 Queued'],
    },
    {
      name: 'are added in place of unreachable ones, which stay',
      set: setOf({}, { state: 'Unreachable' }),
      wants: wanted(2),
      replicas: ['0 Ready', '1 Unreachable', '10 Queued'],
    },
    {
      name: 'are dropped when there are too many: waiting ones first',
      set: setOf({ state: 'Queued', node: undefined as never }, {}),
      wants: wanted(1),
      replicas: ['1 Ready'],
    },
    {
      name: 'are dropped when there are too many: only the surplus ones',
      set: setOf({}, {}, {}, {}),
      wants: wanted(1),
      replicas: ['0 Ready'],
      deletions: ['n4 ScaledDown', 'n3 ScaledDown', 'n2 ScaledDown'],
    },
    {
      name: 'are dropped when there are too many: the less complete ones first',
      set: setOf(
        ...(['Ready', 'Downloading', 'Starting', 'Queued', 'Failed', 'Evicted'] as const)
          .toReversed()
          .map((state) => ({ state })),
      ),
      wants: wanted(1),
      replicas: ['5 Ready'],
      deletions: ['n1', 'n2', 'n3', 'n4', 'n5'].map((node) => `${node} ScaledDown`),
    },
    {
      name: 'are dropped when there are too many: unused ones before those in use',
      set: setOf({ since: at(-1) }, { inUse: true, since: at(-900), lastUsedTime: at(-900) }),
      wants: wanted(1),
      replicas: ['1 Ready'],
      deletions: ['n1 ScaledDown'],
    },
    {
      name: 'are dropped when there are too many: the least recently used ones',
      set: setOf({ since: at(-900), lastUsedTime: at(-9) }, { since: at(-900), lastUsedTime: at(-5) }),
      wants: wanted(1),
      replicas: ['1 Ready'],
      deletions: ['n1 ScaledDown'],
    },
    {
      name: 'are dropped when there are too many: the newest of equal ones',
      set: setOf({}, {}),
      wants: wanted(1),
      replicas: ['0 Ready'],
      deletions: ['n2 ScaledDown'],
    },
    {
      name: 'of another revision are dropped at once while incomplete',
      set: setOf({ revision: 'old', state: 'Downloading' }),
      wants: wanted(1),
      replicas: ['11 Queued'],
      deletions: ['n1 Superseded'],
    },
    {
      name: 'of another revision stay until the new data is ready',
      set: setOf({ revision: 'old' }, { state: 'Downloading' }),
      wants: wanted(1),
      replicas: ['0 Ready', '1 Downloading'],
    },
    {
      name: 'of another revision are dropped when the new data is ready',
      set: setOf({ revision: 'old' }, { revision: 'old', state: 'Unreachable' }, {}),
      wants: wanted(1),
      replicas: ['2 Ready'],
      deletions: ['n1 Superseded', 'n2 Superseded'],
    },
    {
      name: 'of another revision that are unreachable stay until the new data is ready',
      set: setOf({ revision: 'old', state: 'Unreachable' }),
      wants: wanted(1),
      replicas: ['0 Unreachable', '10 Queued'],
    },
    {
      name: 'with changes stay, although they are surplus',
      set: setOf({}, { lastUsedTime: at(-900), since: at(-900) }),
      wants: wanted(1, { mustStay: ({ index }) => index === 1 }),
      replicas: ['0 Ready', '1 Ready'],
    },
    {
      name: 'on a node that is not allowed stay until another one is ready',
      set: setOf({}),
      wants: wanted(1, { allows: (node) => node !== 'n1' }),
      replicas: ['0 Ready', '10 Queued'],
    },
    {
      name: 'on a node that is not allowed are moved when another one is ready',
      set: setOf({}, {}),
      wants: wanted(1, { allows: (node) => node !== 'n1' }),
      replicas: ['1 Ready'],
      deletions: ['n1 Moved'],
    },
    {
      name: 'of each part are counted separately',
      set: setOf({ shard: 'a' }, { shard: 'a' }, { shard: 'c' }),
      wants: wanted(0, {
        counts: new Map([
          ['a', 1],
          ['b', 1],
        ]),
      }),
      replicas: ['0 Ready', '2 Ready', '11 Queued'],
      deletions: ['n2 ScaledDown'],
    },
  ])('$name', ({ set, wants, replicas, deletions = [] }) => {
    const arranged = arrangeReplicas(set, wants, NOW)

    expect(short(arranged)).toEqual({ replicas, deletions })
    expect(short(arrangeReplicas(arranged, wants, NOW))).toEqual({ replicas, deletions })
  })

  test('that are added are queued for the wanted data, and checked later', () => {
    const { replicas, nextIndex, dueAt } = arrangeReplicas(setOf(), wanted(0, { counts: new Map([['a', 1]]) }), NOW)

    expect(replicas).toEqual([
      { index: 10, state: 'Queued', revision: 'r', path: PATH, shard: 'a', attempt: 1, since: at(0) },
    ])
    expect([nextIndex, dueAt]).toEqual([11, NOW + 60_000])
  })

  test('that are added to a volume on no node have neither a directory nor a part', () => {
    const { replicas } = arrangeReplicas(setOf(), wanted(1, { path: undefined }), NOW)

    expect(replicas).toStrictEqual([{ index: 10, state: 'Queued', revision: 'r', attempt: 1, since: at(0) }])
  })
})

test('all replicas are deleted with a volume, except with changes or without a node', () => {
  const set = setOf({}, { state: 'Queued', node: undefined as never }, {})

  const left = deleteAll(set, { labelsOf: () => [LABEL], mustStay: ({ index }) => index === 2 }, NOW)

  expect(left.replicas.map(({ index }) => index)).toEqual([2])
  expect(left.deletions).toEqual([makeDeletion({ index: 10, cause: 'Removed' })])
  expect(left.nextIndex).toBe(11)
})

describe('a node that a failed mover left', () => {
  const left = { node: 'n1', path: PATH, revision: 'r' }

  test.each([
    { code: 'NoSpace', cause: 'NoSpace' },
    { code: 'Stalled', cause: 'Abandoned' },
    { code: undefined, cause: 'Abandoned' },
  ])('with $code is cleaned up as $cause', ({ code, cause }) => {
    const { deletions, nextIndex } = abandonNode(setOf(), { ...left, code }, NOW)

    expect(deletions).toEqual([makeDeletion({ index: 10, nodeLabels: [], cause })])
    expect(nextIndex).toBe(11)
  })

  test('is cleaned up once for each directory', () => {
    const once = abandonNode(setOf(), left, NOW)

    expect(abandonNode(once, left, NOW)).toEqual(once)
    expect(abandonNode(once, { ...left, path: `${PATH}-2` }, NOW).deletions).toHaveLength(2)
    expect(abandonNode(once, { ...left, node: 'n2' }, NOW).deletions).toHaveLength(2)
  })

  test('keeps the directory of a Local volume', () => {
    expect(abandonNode(setOf(), { ...left, path: '/mnt/local/sales' }, NOW).deletions).toEqual([])
  })
})
