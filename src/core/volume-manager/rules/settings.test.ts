import { expect, test } from 'vitest'
import { makeVolumeManager } from '../../../../test/builders.ts'
import { leftoverNamespaces, moverNamespace } from './settings.ts'

test('movers run beside their VolumeManager, or in the namespace of all movers', () => {
  expect(moverNamespace(makeVolumeManager(), {})).toBe('default')
  expect(moverNamespace(makeVolumeManager(), { namespace: 'movers' })).toBe('movers')
})

test.each([
  { name: 'the namespace of all movers', settings: { namespace: 'movers', ownNamespace: 'own' }, want: ['movers'] },
  {
    name: 'that of Lodestone, else that of the cluster',
    settings: { ownNamespace: 'own' },
    want: ['own', 'kube-system'],
  },
])('movers of leftovers run in $name', ({ settings, want }) => {
  expect(leftoverNamespaces({ namespace: 'default' }, settings)).toEqual(want)
})
