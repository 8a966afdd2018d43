import { expect, test } from 'vitest'
import { makeUsable, nodesWith } from '../../../../test/builders.ts'
import { defined } from '../../../base/json.ts'
import { MAX_REQUIREMENTS, MAX_TERMS } from '../requests/limits.ts'
import type { WantedVolume } from '../requests/resolve.ts'
import { isTooLarge, narrowAffinity, narrowToVolumes } from './volume-affinity.ts'

const wants = (label: string, enforcement: 'Required' | 'Preferred', bytes?: number): WantedVolume => ({
  path: 'p',
  request: { name: 'mnist', enforcement },
  volume: makeUsable('vol1', defined({ nodeAffinity: nodesWith(label), bytes })),
  source: { hostPath: { path: '/d' } },
})
const term = (...keys: string[]) => ({ matchExpressions: keys.map((key) => ({ key, operator: 'Exists' })) })

test('only required volumes narrow the terms', () => {
  expect(narrowToVolumes(undefined, [wants('a', 'Required'), wants('b', 'Preferred')])).toEqual([term('a')])
  expect(narrowToVolumes([term('gpu')], [wants('b', 'Preferred')])).toEqual([term('gpu')])
})

test('preferred volumes get weights by their share of the bytes', () => {
  const affinity = narrowAffinity(undefined, [wants('a', 'Preferred', 300), wants('b', 'Preferred', 100)])
  expect(affinity).toEqual({
    preferredDuringSchedulingIgnoredDuringExecution: [
      { weight: 75, preference: term('a') },
      { weight: 25, preference: term('b') },
    ],
  })
})

test('an affinity that has everything stays the same object', () => {
  const own = nodesWith('a')
  expect(narrowAffinity(own, [wants('a', 'Required')])).toBe(own)
})

test.each([
  ['as many terms as allowed', Array(MAX_TERMS).fill(term('a')), false],
  ['a term more', Array(MAX_TERMS + 1).fill(term('a')), true],
  ['as many requirements as allowed', [term(...Array<string>(MAX_REQUIREMENTS).fill('a'))], false],
  ['a requirement more', [term(...Array<string>(MAX_REQUIREMENTS + 1).fill('a'))], true],
])('an affinity with %s', (_name, terms, want) => {
  expect(isTooLarge(terms)).toBe(want)
})
