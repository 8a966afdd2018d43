import { expect, test } from 'vitest'
import { makeVolumeManager } from '../../../../test/builders.ts'
import { moverNamespace } from './settings.ts'

test('movers run beside their VolumeManager, or in the namespace of all movers', () => {
  expect(moverNamespace(makeVolumeManager(), {})).toBe('default')
  expect(moverNamespace(makeVolumeManager(), { namespace: 'movers' })).toBe('movers')
})
