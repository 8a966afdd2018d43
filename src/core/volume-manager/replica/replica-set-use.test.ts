import { describe, expect, test } from 'vitest'
import type { ReplicaStatus } from '../../../api/volume-status.ts'
import type { VolumeManagerInput } from '../input.ts'
import { toTime } from '../time.ts'
import { recordUse } from './replica-set.ts'

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

/** The replica with pods on these nodes, and with the end time of its last ended pod. */
function seen(replica: Partial<ReplicaStatus>, { users = [] as string[], lastEnd = undefined as string | undefined }) {
  return recordUse({ ...unused, ...replica }, {
    users: () => users.map((node) => ({ pod: 'default/trainer', node })),
    lastEnd: (node: string, directory: string) => (`${node}${directory}` === 'n1/data' ? lastEnd : undefined),
    now: NOW,
  } as unknown as VolumeManagerInput)
}

describe('the use of data', () => {
  test.each<{ name: string; replica?: Partial<ReplicaStatus>; end?: number; want: Partial<ReplicaStatus> }>([
    { name: 'is empty when no pod has ended', want: {} },
    {
      name: 'is recorded for a pod that was never observed running',
      end: -5,
      want: { lastEndTime: at(-5), lastUsedTime: at(0) },
    },
    { name: 'is not recorded when the pod ended before the data arrived', end: -101, want: {} },
    { name: 'is not recorded again for the same end', replica: { lastEndTime: at(-5) }, end: -5, want: {} },
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
    { name: 'is recorded later when the replica is Unreachable', replica: { state: 'Unreachable' }, end: -5, want: {} },
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

  test('continues while a pod runs, even when another pod has ended', () => {
    expect(seen({}, { users: ['n1'], lastEnd: at(-5) })).toEqual({ ...unused, inUse: true, lastUsedTime: at(0) })
    const known = { inUse: true, lastUsedTime: at(-50) }
    expect(seen(known, { users: ['n1'], lastEnd: at(-5) })).toEqual({ ...unused, ...known })
  })

  test('does not include a pod on another node', () => {
    expect(seen({}, { users: ['n2'] })).toEqual(unused)
  })

  test('is empty while the data is not complete', () => {
    const incomplete = { ...unused, state: 'Downloading' } as const

    expect(seen(incomplete, { users: ['n1'] })).toEqual(incomplete)
  })
})
