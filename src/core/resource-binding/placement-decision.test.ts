import { expect, test } from 'vitest'
import { located, makeBinding, makeInput } from '../../../test/builders.ts'
import { LOCALITY_ANNOTATION } from '../../api/lodestone.ts'
import { parseInput } from './parse-input.ts'
import { groupNameRound, keptInBase, narrowed, relaxed } from './placement-decision.ts'

const base = { clusterAffinity: { clusterNames: ['m1', 'm2'] } }
const groups = {
  clusterAffinities: [
    { affinityName: 'a', clusterNames: ['m1'] },
    { affinityName: 'b', clusterNames: ['m2'] },
  ],
}
const input = parseInput(makeInput({ claims: [located(['m2'])] }))

test('a narrowing names the claims and where their data is', () => {
  const { annotations, message } = narrowed(input, { base, constraint: { required: ['m2'] }, affinity: base, round: 2 })
  expect(message).toBe('default/sales is in m2')
  expect(annotations.locality).toEqual({
    state: 'Narrowed',
    message,
    claims: ['default/sales'],
    required: ['m2'],
    round: 2,
  })
})

test('a narrowing that is applied again says why, and since when it waits', () => {
  const since = '2026-01-01T00:00:00.000Z'
  const kept = narrowed(
    input,
    { base, constraint: {}, affinity: base, round: 0 },
    { state: 'Kept', why: 'the source is down', since },
  )
  expect([kept.state, kept.message, kept.annotations.locality?.since]).toEqual(['Kept', 'the source is down', since])
})

test('a workload that was never narrowed is kept in its base, without a constraint', () => {
  const { state, affinity, annotations } = keptInBase(input, base, 'm2 is tainted')
  expect([state, affinity, annotations.locality?.required]).toEqual(['Kept', base, undefined])
})

test('relaxing applies the base, with new names where the first group would be skipped', () => {
  const observing = (name: string) => {
    const binding = { ...makeBinding({ placement: groups }), status: { schedulerObservingAffinityName: name } }
    return parseInput(makeInput({ binding, stored: binding }))
  }
  expect(relaxed(observing('a'), groups, {}, 'm1 is tainted').affinity).toBe(groups)
  const names = relaxed(observing('b'), groups, {}, 'm2 is tainted').affinity.clusterAffinities?.map(
    (each) => each.affinityName,
  )
  expect(names).toEqual(['a.1', 'b.1'])
})

test('a relaxed workload without a cluster gets new group names only with replicas', () => {
  const namesWith = (replicas: number) => {
    const annotations = {
      [LOCALITY_ANNOTATION]: JSON.stringify({ state: 'Relaxed', message: 'm', claims: [], round: 1 }),
    }
    const made = makeBinding({ placement: groups, replicas, replicaRequirements: {} }, { annotations })
    const binding = { ...made, status: { schedulerObservingAffinityName: 'b.1' } }
    const { affinity } = relaxed(parseInput(makeInput({ binding, stored: binding })), groups, {}, 'm2 is tainted')
    return affinity.clusterAffinities?.map(({ affinityName }) => affinityName)
  }
  expect([namesWith(0), namesWith(2)]).toEqual([
    ['a.1', 'b.1'],
    ['a.2', 'b.2'],
  ])
})

test('a very long reason is cut', () => {
  expect(relaxed(input, base, {}, 'x'.repeat(5000)).annotations.locality?.message.length).toBeLessThanOrEqual(1024)
})

test('the round of the request counts before the stored one; a forged one is absent', () => {
  const binding = (round: unknown) =>
    makeBinding(
      {},
      { annotations: { [LOCALITY_ANNOTATION]: JSON.stringify({ state: 'Kept', message: 'm', claims: [], round }) } },
    )
  const rounds = [undefined, 3, -1, 1e9, '7', 1.5].map((round) =>
    groupNameRound(parseInput(makeInput({ binding: binding(round), stored: binding(2) }))),
  )
  expect(rounds).toEqual([2, 3, 2, 2, 2, 2])
})
