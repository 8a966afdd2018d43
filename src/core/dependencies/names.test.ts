import { expect, test } from 'vitest'
import { dependedByLabel, karmadaDependedByLabel } from './names.ts'

test.each([
  [{ namespace: 'test', name: 'test-binding' }, '5dbb6dc9c8'],
  [{ namespace: 'default', name: 'nginx-deployment' }, '5bdc5c4dcf'],
  [{ namespace: 'test', name: 'web-deployment' }, '5d7b58564'],
])('the label of %o ends with the hash that Karmada computes', (binding, hash) => {
  expect(dependedByLabel(binding)).toBe(`lodestone.dev/depended-by-${hash}`)
  expect(karmadaDependedByLabel(binding)).toBe(`resourcebinding.karmada.io/depended-by-${hash}`)
})

test('a cluster-scoped binding is hashed by its name alone', () => {
  expect(dependedByLabel({ name: 'reader-clusterrole' })).not.toBe(
    dependedByLabel({ namespace: 'default', name: 'reader-clusterrole' }),
  )
})
