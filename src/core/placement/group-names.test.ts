import { expect, test } from 'vitest'
import type { PlacementAffinity } from '../../api/karmada.ts'
import { nameGroups, skipsFirstGroup, withoutRound } from './group-names.ts'

const groups = (...names: string[]): PlacementAffinity => ({
  clusterAffinities: names.map((affinityName) => ({ affinityName, clusterNames: ['m1'] })),
})
const namesOf = ({ clusterAffinities = [] }: PlacementAffinity) =>
  clusterAffinities.map(({ affinityName }) => affinityName)

test('round 0 has the names of the policy; without groups, the affinity is the same', () => {
  const named = groups('a', 'b')
  const one = { clusterAffinity: { clusterNames: ['m1'] } }
  expect(nameGroups(named, 0)).toBe(named)
  expect(nameGroups(one, 3)).toBe(one)
})

test('each round gives new names of at most 32 characters, also to names that were cut', () => {
  const long = 'x'.repeat(32)
  expect(namesOf(nameGroups(groups('a', 'b'), 12))).toEqual(['a.12', 'b.12'])
  expect(namesOf(nameGroups(groups(long, `${long.slice(0, 31)}y`), 1))).toEqual([
    `${'x'.repeat(30)}.1`,
    `${'x'.repeat(28)}-2.1`,
  ])
})

test('groups whose round was taken away get the same names again in that round', () => {
  const long = 'x'.repeat(32)
  for (const named of [groups('a', 'b'), groups(long, `${long.slice(0, 31)}y`), groups('a.1', 'b.1')]) {
    const second = nameGroups(named, 12)
    expect(nameGroups(withoutRound(second, 12), 12)).toEqual(second)
  }
})

test('an affinity keeps the names of its groups if they are not all of the round', () => {
  const one = { clusterAffinity: { clusterNames: ['m1'] } }
  const mixed = groups('a.1', 'b')
  expect([withoutRound(one, 1), withoutRound(mixed, 1), withoutRound(groups('a.1'), 2)]).toEqual([
    one,
    mixed,
    groups('a.1'),
  ])
})

test('the scheduler skips the first group after a later one, unless that name is gone', () => {
  const named = groups('a', 'b')
  expect([undefined, 'a', 'b', 'b.1'].map((observed) => skipsFirstGroup(named, observed))).toEqual([
    false,
    false,
    true,
    false,
  ])
})
