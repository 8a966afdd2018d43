import { describe, expect, test } from 'vitest'
import type { PlacementAffinity } from '../../api/karmada.ts'
import { chosenGroup, type FitInput, findMisfit } from './fit.ts'

const one = (...clusterNames: string[]): PlacementAffinity => ({ clusterAffinity: { clusterNames } })
const groups = (...names: string[][]): PlacementAffinity => ({
  clusterAffinities: names.map((clusterNames, i) => ({ affinityName: `g${i + 1}`, clusterNames })),
})
const overflow: PlacementAffinity = {
  clusterAffinities: [
    { affinityName: 'g1', clusterNames: ['bad'], overflowAffinities: [{ affinityName: 'o', clusterNames: ['good'] }] },
  ],
}

function fitOf(affinity: PlacementAffinity, more: Partial<FitInput> = {}): FitInput {
  const refuses = (name: string) => (name.startsWith('bad') ? 'is tainted' : undefined)
  return { affinity, refuses, spread: () => undefined, usesOverflow: true, observedGroup: undefined, ...more }
}

function misfit(affinity: PlacementAffinity, more: Partial<FitInput> = {}): string | undefined {
  return findMisfit(fitOf(affinity, more))
}

describe('the scheduler finds a cluster', () => {
  test.each<{ name: string; affinity: PlacementAffinity; more?: Partial<FitInput> }>([
    { name: 'if it accepts one of them', affinity: one('bad', 'good') },
    { name: 'if a later group has one', affinity: groups(['bad'], ['good']) },
    { name: 'in the group that it chose last', affinity: groups(['bad'], ['good']), more: { observedGroup: 'g2' } },
    {
      name: 'in the first group, if the one that it chose last is gone',
      affinity: groups(['good']),
      more: { observedGroup: 'g7' },
    },
    { name: 'in an overflow tier of a workload', affinity: overflow },
  ])('$name', ({ affinity, more }) => {
    expect(misfit(affinity, more)).toBeUndefined()
  })
})

describe('the scheduler finds no cluster', () => {
  test.each<{ name: string; affinity: PlacementAffinity; more?: Partial<FitInput>; want: string }>([
    { name: 'if it refuses all', affinity: one('bad1', 'bad2'), want: 'bad1 is tainted, bad2 is tainted' },
    {
      name: 'in the groups before the one that it chose last',
      affinity: groups(['good'], ['bad']),
      more: { observedGroup: 'g2' },
      want: 'bad is tainted',
    },
    {
      name: 'in several groups; the reason names each cluster once',
      affinity: groups(['bad1'], ['bad1', 'bad2']),
      want: 'bad1 is tainted, bad2 is tainted',
    },
    {
      name: 'if those that it accepts do not satisfy the spread constraints',
      affinity: one('bad', 'good'),
      more: { spread: (names) => (names.length < 2 ? 'too few' : undefined) },
      want: 'too few',
    },
    {
      name: 'in the overflow tier of another object',
      affinity: overflow,
      more: { usesOverflow: false },
      want: 'bad is tainted',
    },
    {
      name: 'in a single group, although all groups together would satisfy the spread constraints',
      affinity: groups(['good1'], ['good2']),
      more: { spread: (names) => (names.length < 2 ? 'too few' : undefined) },
      want: 'too few',
    },
    { name: 'without any cluster', affinity: {}, want: 'its placement allows no cluster' },
    {
      name: 'among three, and names all',
      affinity: one('bad1', 'bad2', 'bad3'),
      want: 'bad1 is tainted, bad2 is tainted, bad3 is tainted',
    },
    {
      name: 'and the reason is that of the first group',
      affinity: groups(['good1'], ['bad']),
      more: { spread: () => 'too few' },
      want: 'too few',
    },
    {
      name: 'among many, and names a few',
      affinity: one('bad1', 'bad2', 'bad3', 'bad4', 'bad5'),
      want: 'bad1 is tainted, bad2 is tainted, bad3 is tainted, and so on for 2 more',
    },
  ])('$name', ({ affinity, more, want }) => {
    expect(misfit(affinity, more)).toBe(want)
  })
})

describe('the scheduler chooses', () => {
  test.each<{ name: string; affinity: PlacementAffinity; more?: Partial<FitInput>; want: string[] | undefined }>([
    { name: 'between all clusters of one affinity', affinity: one('bad', 'good'), want: ['bad', 'good'] },
    { name: 'the first group', affinity: groups(['good1'], ['good2']), want: ['good1'] },
    {
      name: 'the first group with a cluster that takes the workload',
      affinity: groups(['bad'], ['good']),
      want: ['good'],
    },
    {
      name: 'the group that it chose last, and none before it',
      affinity: groups(['good1'], ['good2'], ['good3']),
      more: { observedGroup: 'g2' },
      want: ['good2'],
    },
    {
      name: 'the first group that the spread constraints accept',
      affinity: groups(['good1'], ['good2', 'good3']),
      more: { spread: (names) => (names.length < 2 ? 'too few' : undefined) },
      want: ['good2', 'good3'],
    },
    { name: 'a group with its overflow tiers', affinity: overflow, want: ['bad', 'good'] },
    { name: 'no overflow tier of another object', affinity: overflow, more: { usesOverflow: false }, want: undefined },
    { name: 'none if it accepts none', affinity: groups(['bad1'], ['bad2']), want: undefined },
    { name: 'between clusters that are not named', affinity: {}, want: undefined },
    {
      name: 'perhaps a first group that names none, and no later one',
      affinity: groups([], ['good']),
      want: undefined,
    },
  ])('$name', ({ affinity, more, want }) => {
    expect(chosenGroup(fitOf(affinity, more))).toEqual(want)
  })
})
