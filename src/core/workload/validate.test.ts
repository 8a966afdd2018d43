import { expect, test } from 'vitest'
import { validatePodSpec } from './validate.ts'

test.each([
  { name: 'containers that are a text', spec: { containers: '' }, want: ['spec.containers'] },
  { name: 'containers that are an object', spec: { containers: {} }, want: ['spec.containers'] },
  {
    name: 'init containers that are not a list',
    spec: { containers: [], initContainers: 1 },
    want: ['spec.initContainers'],
  },
  { name: 'a container that is not an object', spec: { containers: ['main'] }, want: ['spec.containers[0]'] },
  { name: 'a spec that is a list', spec: [], want: ['spec'] },
])('$name are rejected with their path', ({ spec, want }) => {
  expect(validatePodSpec(spec).map(({ path }) => path)).toEqual(want)
})
