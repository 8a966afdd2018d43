import { expect, test } from 'vitest'
import { operatingSystemErrors } from './operating-system.ts'

const containers = [{ name: 'main' }]

test.each([
  ['for Windows by its operating system', { os: { name: 'windows' } }, ['spec.os.name']],
  [
    'for Windows by its node selector',
    { nodeSelector: { 'kubernetes.io/os': 'windows' } },
    ['spec.nodeSelector[kubernetes.io/os]'],
  ],
  ['for Linux', { os: { name: 'linux' }, nodeSelector: { 'kubernetes.io/os': 'linux' } }, []],
  ['for any system', { nodeSelector: { disk: 'windows' } }, []],
])('a pod %s', (_name, spec, paths) => {
  const errors = operatingSystemErrors({ containers, ...spec })
  expect(errors.map(({ path }) => path)).toEqual(paths)
  for (const { message } of errors) expect(message).toContain('run the pod on kubernetes.io/os: linux')
})
