import { describe, expect, test } from 'vitest'
import { makeBinding, makeInput, NOW } from '../../../test/builders.ts'
import { LOCALITY_ANNOTATION } from '../../api/lodestone.ts'
import type { LocalityAnnotation } from './annotations.ts'
import { parseInput } from './parse-input.ts'
import { describeWait, isReturnDue, recordReturn, waitMs } from './returns.ts'
import { DEFAULT_TIMING } from './timing.ts'

const WINDOW = DEFAULT_TIMING.failbackWindowMs
const at = (ms: number) => new Date(ms).toISOString()
const returned = (times: number, ms = NOW) => ({ at: at(ms), times })
type Fields = Partial<LocalityAnnotation>

const locality = (fields: Fields): LocalityAnnotation => ({ state: 'Relaxed', message: '', claims: [], ...fields })

/** The input of a decision on a write. `sent`: the annotation of the request, by default the stored one. */
function inputOf(stored: Fields, sent: Fields = stored) {
  const withNote = (fields: Fields) => {
    const binding = makeBinding()
    const annotations = { [LOCALITY_ANNOTATION]: JSON.stringify(locality(fields)) }
    return { ...binding, metadata: { ...binding.metadata, annotations } }
  }
  return parseInput(makeInput({ binding: withNote(sent), stored: withNote(stored) }))
}

describe('the wait of a binding', () => {
  test.each<{ name: string; fields: Fields; want: number }>([
    { name: 'without a claim', fields: { state: 'Kept' }, want: DEFAULT_TIMING.releaseDelayMs },
    { name: 'for preferred data', fields: { state: 'Narrowed' }, want: WINDOW },
    {
      name: 'for preferred data after a return',
      fields: { state: 'Narrowed', returned: returned(1) },
      want: 2 * WINDOW,
    },
    { name: 'that never returned', fields: {}, want: WINDOW },
    { name: 'after one return that did not last', fields: { returned: returned(1) }, want: 2 * WINDOW },
    { name: 'after eight', fields: { returned: returned(8) }, want: 256 * WINDOW },
    { name: 'after nine: a day', fields: { returned: returned(9) }, want: 86_400_000 },
    { name: 'after a forged number: a day', fields: { returned: returned(1e300) }, want: 86_400_000 },
  ])('$name', ({ fields, want }) => {
    expect(waitMs(locality(fields), DEFAULT_TIMING)).toBe(want)
  })

  test('is over after its time, and not before', () => {
    const input = inputOf({ returned: returned(1) })
    expect([2 * WINDOW, 2 * WINDOW - 1].map((ms) => isReturnDue(input, at(NOW - ms)))).toEqual([true, false])
    expect(isReturnDue(input, undefined)).toBe(true)
  })

  test.each([
    { times: 1, want: /did not stay there after its last return$/ },
    { times: 3, want: /did not stay there after its last 3 returns$/ },
  ])('says why it is longer: $times', ({ times, want }) => {
    expect(describeWait(returned(times))).toMatch(want)
  })
})

describe('the record of returns', () => {
  const hour = 12 * WINDOW

  test.each<{ name: string; stored: Fields; sent?: Fields; state: LocalityAnnotation['state']; want: unknown }>([
    { name: 'begins with a return', stored: {}, state: 'Narrowed', want: returned(1) },
    { name: 'counts a further one', stored: { returned: returned(2, 0) }, state: 'Narrowed', want: returned(3) },
    { name: 'ends at 20', stored: { returned: returned(20, 0) }, state: 'Narrowed', want: returned(20) },
    {
      name: 'has the time that the loop sent a moment ago',
      stored: {},
      sent: { state: 'Narrowed', returned: returned(1, NOW - 1000) },
      state: 'Narrowed',
      want: returned(1, NOW - 1000),
    },
    {
      name: 'has no older time of a request, and no number of it',
      stored: {},
      sent: { state: 'Narrowed', returned: returned(9, NOW - hour) },
      state: 'Narrowed',
      want: returned(1),
    },
    { name: 'is not begun by a workload that waits', stored: {}, state: 'Relaxed', want: undefined },
    {
      name: 'is kept while the workload is with its data',
      stored: { state: 'Narrowed', returned: returned(2, NOW - 9 * hour) },
      state: 'Narrowed',
      want: returned(2, NOW - 9 * hour),
    },
    {
      name: 'is kept if the workload leaves its data soon',
      stored: { state: 'Narrowed', returned: returned(2, NOW - hour + 1) },
      state: 'Relaxed',
      want: returned(2, NOW - hour + 1),
    },
    {
      name: 'is gone if the return has lasted',
      stored: { state: 'Narrowed', returned: returned(2, NOW - hour) },
      state: 'Relaxed',
      want: undefined,
    },
    {
      name: 'is kept as long as the workload waits',
      stored: { returned: returned(2, NOW - 9 * hour) },
      state: 'Relaxed',
      want: returned(2, NOW - 9 * hour),
    },
  ])('$name', ({ stored, sent, state, want }) => {
    expect(recordReturn(inputOf(stored, sent), { state })).toEqual(want)
  })

  test.each<{ name: string; stored: Fields; decided: Fields; want: unknown }>([
    { name: 'begins with new names of the groups', stored: { since: at(0) }, decided: { round: 1 }, want: returned(1) },
    {
      name: 'counts a further one',
      stored: { since: at(0), round: 1, returned: returned(1, 0) },
      decided: { round: 2 },
      want: returned(2),
    },
    { name: 'is not begun by a wait', stored: {}, decided: { since: at(NOW) }, want: undefined },
    { name: 'is not begun by another end of a wait', stored: { since: at(0) }, decided: {}, want: undefined },
    { name: 'is not begun by a move with its data', stored: {}, decided: { round: 1 }, want: undefined },
    {
      name: 'is kept if the next wait begins soon',
      stored: { round: 1, returned: returned(1, NOW - hour + 1) },
      decided: { round: 1, since: at(NOW) },
      want: returned(1, NOW - hour + 1),
    },
    {
      name: 'is gone if the return has lasted',
      stored: { round: 1, returned: returned(1, NOW - hour) },
      decided: { round: 1, since: at(NOW) },
      want: undefined,
    },
    {
      name: 'is kept as long as the workload waits',
      stored: { round: 1, returned: returned(1, NOW - 9 * hour), since: at(0) },
      decided: { round: 1, since: at(0) },
      want: returned(1, NOW - 9 * hour),
    },
  ])('of preferred data $name', ({ stored, decided, want }) => {
    expect(recordReturn(inputOf({ ...stored, state: 'Narrowed' }), { ...decided, state: 'Narrowed' })).toEqual(want)
  })
})
