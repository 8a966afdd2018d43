import { describe, expect, test } from 'vitest'
import type { ReplicaStatus } from '../../../api/volume-manager.ts'
import type { VolumeManagerInput } from '../input.ts'
import { toTime } from '../status/time.ts'
import { recordUse } from './use.ts'

const NOW = Date.parse('2026-01-01T12:00:00Z')
const at = (seconds: number) => toTime(NOW + seconds * 1000)
const unused: ReplicaStatus = {
  index: 0,
  state: 'Ready',
  revision: 'r',
  attempt: 1,
  node: 'n1',
  path: '/data',
  since: at(-100),
}

/** The replica after pods use it on these nodes, and the last one that has ended did so then. */
function seen(replica: Partial<ReplicaStatus>, { users = [] as string[], lastEnd = undefined as string | undefined }) {
  return recordUse({ ...unused, ...replica }, {
    users: () => users.map((node) => ({ pod: 'default/trainer', node })),
    lastEnd: (node: string, directory: string) => (`${node}${directory}` === 'n1/data' ? lastEnd : undefined),
    now: NOW,
  } as unknown as VolumeManagerInput)
}

describe('the use of data', () => {
  test.each<{ name: string; replica?: Partial<ReplicaStatus>; end?: number; want: Partial<ReplicaStatus> }>([
    { name: 'is none where no pod ended', want: {} },
    {
      name: 'was now by a pod that was never seen',
      end: -5,
      want: { lastEndTime: at(-5), lastUsedTime: at(0) },
    },
    { name: 'is not recorded where the data came later', end: -101, want: {} },
    { name: 'is not recorded again where its end was seen', replica: { lastEndTime: at(-5) }, end: -5, want: {} },
    {
      name: 'is recorded by the clock of the node, even a slow one',
      replica: { lastEndTime: at(-3600), lastUsedTime: at(-10) },
      end: -3590,
      want: { lastEndTime: at(-3590), lastUsedTime: at(0) },
    },
    {
      name: 'is not recorded again by the clock of the node, even a fast one',
      replica: { lastEndTime: at(3600), lastUsedTime: at(-10) },
      end: 3600,
      want: {},
    },
    { name: 'is recorded later where a node does not answer', replica: { state: 'Unreachable' }, end: -5, want: {} },
    {
      name: 'ends with the last pod',
      replica: { inUse: true },
      end: -5,
      want: { inUse: undefined as never, lastEndTime: at(-5), lastUsedTime: at(0) },
    },
  ])('$name', ({ replica = {}, end, want }) => {
    expect(seen(replica, { ...(end !== undefined && { lastEnd: at(end) }) })).toEqual({
      ...unused,
      ...replica,
      ...want,
    })
  })

  test('goes on while a pod is there, even when another pod has ended', () => {
    expect(seen({}, { users: ['n1'], lastEnd: at(-5) })).toEqual({ ...unused, inUse: true, lastUsedTime: at(0) })
    const known = { inUse: true, lastUsedTime: at(-50) }
    expect(seen(known, { users: ['n1'], lastEnd: at(-5) })).toEqual({ ...unused, ...known })
  })

  test('is none by a pod on another node', () => {
    expect(seen({}, { users: ['n2'] })).toEqual(unused)
  })

  test('is none while the data is not complete', () => {
    const incomplete = { ...unused, state: 'Downloading' } as const

    expect(seen(incomplete, { users: ['n1'] })).toEqual(incomplete)
  })
})
