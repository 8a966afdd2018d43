import { expect, test } from 'vitest'
import { located, makeBinding, makeInput, NOW, unknown } from '../../../test/builders.ts'
import { LOCALITY_ANNOTATION } from '../../api/lodestone.ts'
import { decideBinding } from './decide.ts'
import { planBinding } from './plan.ts'

const running = makeBinding({ clusters: [{ name: 'member1', replicas: 2 }] })
const plan = (binding = running, cluster = 'member3') =>
  planBinding(makeInput({ binding, stored: binding, claims: [located([cluster])] }))

test('a workload that is taken away from where it runs moves', () => {
  expect(plan()).toMatchObject({ moves: true, actions: [{ kind: 'patch' }] })
})

test('one that is narrowed to where it runs does not', () => {
  expect(plan(running, 'member1')).toMatchObject({ moves: false, actions: [{ kind: 'patch' }] })
})

test('one whose scheduler has not followed yet is not moved a second time, whatever is written on it', () => {
  const moved = decideBinding(makeInput({ binding: running, stored: running, claims: [located(['member3'])] })).binding
  const { [LOCALITY_ANNOTATION]: _note, ...annotations } = moved.metadata.annotations ?? {}
  const mended = { ...moved, metadata: { ...moved.metadata, annotations } }

  expect(plan(mended)).toMatchObject({ moves: false, actions: [{ kind: 'patch' }] })
})

test.each([
  { name: 'nothing but a change', claims: [located(['member1'])], waitMs: undefined },
  { name: 'a claim that is being deleted', claims: [located(['member1'], { honoredUntil: NOW + 3000 })], waitMs: 3000 },
  { name: 'a hold that times out', claims: [unknown({ holdTimeoutSeconds: 60 })], waitMs: 60_000 },
  {
    name: 'the first of several',
    claims: [unknown({ holdTimeoutSeconds: 60 }), unknown({ claim: 'default/b', honoredUntil: NOW + 3000 })],
    waitMs: 3000,
  },
])('a binding is looked at again for $name', ({ claims, waitMs }) => {
  const binding = makeBinding()

  expect(planBinding(makeInput({ binding, stored: binding, claims })).requeueAfterMs).toBe(waitMs)
})
