import { expect, test } from 'vitest'
import { located, makeBinding, makeInput } from '../../../test/builders.ts'
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
