import { expect, test } from 'vitest'
import { makeClaim } from '../../../test/builders.ts'
import { protectClaim } from './finalizer.ts'

test.each<{ of: string; finalizers: string[] | undefined; want: string[] }>([
  { of: 'no finalizer', finalizers: undefined, want: ['lodestone.dev/claim'] },
  { of: 'finalizers of others', finalizers: ['a.io/x', 'b.io/y'], want: ['a.io/x', 'b.io/y', 'lodestone.dev/claim'] },
])('a new claim with $of gets our finalizer last', ({ finalizers, want }) => {
  const claim = makeClaim({}, { ...(finalizers && { finalizers }), labels: { team: 'data' } })
  expect(protectClaim(claim)).toEqual({
    kind: 'patch',
    object: { ...claim, metadata: { ...claim.metadata, finalizers: want } },
  })
})

test('a new claim that has our finalizer is left as it is', () => {
  const finalizers = ['lodestone.dev/claim', 'a.io/x']
  expect(protectClaim(makeClaim({}, { finalizers }))).toEqual({ kind: 'allow' })
})
