import { describe, expect, test } from 'vitest'
import type { ReplicaStatus } from '../../../api/volume-status.ts'
import { toTime } from '../../../base/time/timestamp.ts'
import { divideReplica } from './replica.ts'
import { beginUse, endUse, lastUse, stepUse } from './use.ts'

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

/** The replica with pods that mount it, and with the end time of its last ended pod. */
function seen(more: Partial<ReplicaStatus>, { isMounted = false, lastEnd = undefined as string | undefined }) {
  const replica = { ...unused, ...more }
  const { use, download } = divideReplica(replica)
  return stepUse(use, download, { isMounted, lastEnd: () => lastEnd, now: NOW })
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
      ...divideReplica({ ...unused, ...replica }).use,
      ...want,
    })
  })

  test('continues while a pod runs, even when another pod has ended', () => {
    expect(seen({}, { isMounted: true, lastEnd: at(-5) })).toEqual({ inUse: true, lastUsedTime: at(0) })
    const known = { inUse: true, lastUsedTime: at(-50) }
    expect(seen(known, { isMounted: true, lastEnd: at(-5) })).toEqual(known)
  })

  test('is empty while the data is not complete', () => {
    expect(seen({ state: 'Downloading' }, { isMounted: true })).toEqual({})
  })

  test('ends without a new time when the data is lost', () => {
    expect(endUse({ inUse: true, lastUsedTime: at(-9) })).toEqual({ lastUsedTime: at(-9) })
  })

  test.each([
    { endTime: at(-60), want: { lastUsedTime: at(-90), lastEndTime: at(-61) } },
    { endTime: undefined, want: { lastUsedTime: at(-90) } },
  ])('of data that arrived at $endTime has processed earlier ends', ({ endTime, want }) => {
    expect(beginUse({ lastUsedTime: at(-90), lastEndTime: at(3600) }, endTime)).toEqual(want)
  })
})

test.each<{ replica: Partial<ReplicaStatus>; want: number }>([
  { replica: { since: at(-9) }, want: -9 },
  { replica: { since: at(-9), lastUsedTime: at(-5) }, want: -5 },
  { replica: { since: at(-9), lastUsedTime: at(-20) }, want: -9 },
])('the last use of $replica is at $want s', ({ replica, want }) => {
  expect(lastUse(replica)).toBe(NOW + want * 1000)
})
