import { expect, test } from 'vitest'
import { DEFAULT_CONFIG } from './config.ts'
import { changeable, changedKeys, takesEffect } from './live-config.ts'

const { volumes } = DEFAULT_CONFIG
const changed = {
  ...DEFAULT_CONFIG,
  log: { level: 'debug' as const, format: 'json' as const },
  volumes: {
    ...volumes,
    enabled: true,
    allowedRoots: ['/data', '/var/datasets'],
    movers: { ...volumes.movers, maxInAll: 5, priorityClassName: 'low' },
  },
}

test('a difference is reported by its path, a list as one value', () => {
  expect(changedKeys(DEFAULT_CONFIG, changed)).toEqual([
    'volumes.enabled',
    'volumes.allowedRoots',
    'volumes.movers.maxInAll',
    'volumes.movers.priorityClassName',
    'log.level',
    'log.format',
  ])
  expect(changedKeys(changed, structuredClone(changed))).toEqual([])
})

test('settings of volumes take effect immediately, except volumes.enabled', () => {
  expect(changedKeys(DEFAULT_CONFIG, changed).filter(takesEffect)).toEqual([
    'volumes.allowedRoots',
    'volumes.movers.maxInAll',
    'volumes.movers.priorityClassName',
  ])
  const used = changeable(DEFAULT_CONFIG, changed)
  expect(changedKeys(changed, used)).toEqual(['volumes.enabled', 'log.level', 'log.format'])
  expect(changedKeys(DEFAULT_CONFIG, used).every(takesEffect)).toBe(true)
})
