import { expect, test } from 'vitest'
import { makeVolume } from '../../../../test/builders.ts'
import { estimateStatusBytes } from './status-size.ts'

const withOptions = (options: Record<string, string>, replicas = 1) =>
  makeVolume({ replicas, options: { ...makeVolume().options, ...options } })
/** In JSON, the default path has 15 characters. */
const ONE = 800 + 700 + 2 * 15

test.each([
  { name: 'no volume', configs: [], want: 0 },
  { name: 'one replica', configs: [makeVolume()], want: ONE },
  { name: 'each volume', configs: [makeVolume(), makeVolume({ id: 'vol2' })], want: 2 * ONE },
  { name: 'each replica', configs: [makeVolume({ replicas: 3 })], want: ONE + 2 * 715 },
  { name: 'a path', configs: [withOptions({ dataPath: `/var/datasets/${'x'.repeat(9)}` })], want: ONE + 2 * 10 },
  { name: 'bytes of UTF-8', configs: [withOptions({ dataPath: '/var/datasets/ü' })], want: ONE + 2 * 3 },
  { name: 'patterns', configs: [withOptions({ distributionStrategy: '{"*a": 1, "*bcd": 0}' })], want: ONE + 610 + 6 },
])('the status has room for $name', ({ configs, want }) => {
  expect(estimateStatusBytes(configs)).toBe(want)
})
