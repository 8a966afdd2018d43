import { expect, test } from 'vitest'
import { readLock } from './lock.ts'
import { shrinkwrapOf } from './npm-package.ts'

test('the shrinkwrap has the locked packages of production only, with their hashes', () => {
  const lock = readLock('.')
  const { packages, ...rest } = shrinkwrapOf(lock)
  const { '': root, ...dependencies } = packages
  expect(rest).toMatchObject({ name: 'lodestone', lockfileVersion: 3 })
  expect(root).not.toHaveProperty('devDependencies')
  expect(Object.keys(dependencies)).toContain('node_modules/fastify')
  expect(Object.keys(dependencies)).not.toContain('node_modules/vitest')
  expect(dependencies['node_modules/fastify']).toEqual(lock.packages['node_modules/fastify'])
})
