import { expect, test } from 'vitest'
import { located, nowhere, unknown } from '../../../test/builders.ts'
import type { ClaimAnswer } from '../data-source-claim/locate.ts'
import { constraintOf, type DataConstraint } from './constraint.ts'

const preferred = { enforcement: 'Preferred' as const }

test.each<{ name: string; claims: ClaimAnswer[]; want: DataConstraint }>([
  { name: 'no claim demands nothing', claims: [], want: {} },
  { name: 'a required claim demands its clusters', claims: [located(['c2', 'c1'])], want: { required: ['c1', 'c2'] } },
  {
    name: 'required claims intersect',
    claims: [located(['c1', 'c2']), located(['c2', 'c3'])],
    want: { required: ['c2'] },
  },
  {
    name: 'required claims that share no cluster demand what cannot be met',
    claims: [located(['c1']), located(['c2'])],
    want: { required: [] },
  },
  {
    name: 'what is not located demands nothing here',
    claims: [unknown(), nowhere(), located(['c1'])],
    want: { required: ['c1'] },
  },
  {
    name: 'preferred claims never restrict',
    claims: [located(['c1']), located(['c2'], preferred)],
    want: { required: ['c1'], preferred: [['c2']] },
  },
  {
    name: 'the cluster with the most bytes comes first',
    claims: [located(['c1'], { ...preferred, bytes: 10 }), located(['c2'], { ...preferred, bytes: 20 })],
    want: { preferred: [['c2'], ['c1']] },
  },
  {
    name: 'bytes of several claims add up',
    claims: [
      located(['c1'], { ...preferred, bytes: 15 }),
      located(['c2', 'c3'], { ...preferred, bytes: 10 }),
      located(['c2'], { ...preferred, bytes: 10 }),
    ],
    want: { preferred: [['c2'], ['c1'], ['c3']] },
  },
  {
    name: 'without bytes the number of claims counts',
    claims: [located(['c1', 'c2'], preferred), located(['c2'], preferred)],
    want: { preferred: [['c2'], ['c1']] },
  },
  {
    name: 'equal clusters share a tier, sorted',
    claims: [located(['c3', 'c1', 'c2'], { ...preferred, bytes: 10 })],
    want: { preferred: [['c1', 'c2', 'c3']] },
  },
])('$name', ({ claims, want }) => {
  expect([constraintOf(claims), constraintOf(claims.toReversed())]).toEqual([want, want])
})
