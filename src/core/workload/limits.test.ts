import { describe, expect, test } from 'vitest'
import { makeObject, makePod, makeUsable, managers } from '../../../test/builders.ts'
import { VOLUMES_ANNOTATION } from '../../api/lodestone.ts'
import type { K8sObject } from '../../api/meta.ts'
import type { Outcome } from '../outcome.ts'
import { decidePod } from './decide-pod.ts'
import { decideWorkload } from './decide-workload.ts'
import { MAX_TEMPLATES } from './limits.ts'
import { validatePodSpec } from './validate.ts'
import { parseVolumeRequests } from './volume-requests.ts'

const range = (count: number) => Array.from({ length: count }, (_, i) => i)
const containers = (count: number) => range(count).map((i) => ({ name: `c${i}` }))
const asks = (count: number) => range(count).map((i) => ({ name: 'mnist', id: `v${i}`, 'mount-path': `/data/${i}` }))
const mnist = managers({ name: 'mnist', volumes: range(64).map((i) => makeUsable(`v${i}`)) })

function errorsOf(outcome: Outcome) {
  return outcome.kind === 'deny' ? outcome.errors.map(({ code, message }) => ({ code, message })) : []
}

describe('an annotation that asks for too much is one error, whatever is in it', () => {
  test.each([
    { name: 'too many volumes', annotation: JSON.stringify(asks(65)), want: 'must ask for at most 64 volumes' },
    {
      name: 'numbers',
      annotation: JSON.stringify(range(30_000).map(() => 1)),
      want: 'must ask for at most 64 volumes',
    },
    { name: 'a text that is too long', annotation: ' '.repeat(70_000), want: 'must have at most 65536 characters' },
    {
      name: 'too many containers',
      annotation: JSON.stringify({ name: 'mnist', containers: containers(65) }),
      want: 'must have at most 64 items',
    },
  ])('$name', ({ annotation, want }) => {
    const parsed = parseVolumeRequests(annotation)
    expect('errors' in parsed && parsed.errors).toEqual([
      expect.objectContaining({ code: 'TooLong', message: expect.stringContaining(want) }),
    ])
  })
})

test('a pod that would come to too many mounts is refused before any is made', () => {
  const outcome = decidePod({
    pod: makePod(asks(64), { containers: containers(400) }),
    managers: mnist,
    whenNotReady: 'gate',
    isHub: false,
  })
  expect(errorsOf(outcome)).toEqual([
    { code: 'TooLong', message: expect.stringContaining('25600 mounts, more than 20000; ask for fewer volumes') },
  ])
})

function volcanoJob(templates: number, containersEach: number): K8sObject {
  const task = { template: { spec: { containers: containers(containersEach) } } }
  const object = makeObject('batch.volcano.sh/v1alpha1', 'Job', 'train', {
    spec: { tasks: range(templates).map(() => task) },
  })
  const annotations = { [VOLUMES_ANNOTATION]: JSON.stringify(asks(64)) }
  return { ...object, metadata: { ...object.metadata, annotations } }
}

const input = { stored: undefined, templatePaths: ['spec.tasks.*.template'], managers: mnist, isHub: false }

describe('a workload is refused when it is too large to check', () => {
  test.each([
    {
      name: 'too many pod templates',
      object: volcanoJob(MAX_TEMPLATES + 1, 1),
      want: 'the workload has 501 pod templates, more than 500; divide it',
    },
    { name: 'too many mounts of all templates', object: volcanoJob(400, 1), want: '25600 mounts, more than 20000' },
  ])('$name', ({ object, want }) => {
    expect(errorsOf(decideWorkload({ ...input, object }))).toEqual([
      { code: 'TooLong', message: expect.stringContaining(want) },
    ])
  })
})

test('a workload that is stored with too many pod templates can still be changed', () => {
  const object = volcanoJob(MAX_TEMPLATES + 1, 1)
  expect(decideWorkload({ ...input, object, stored: object })).toEqual({ kind: 'allow' })
})

test('a pod spec with lists that no real pod has is too long', () => {
  expect(validatePodSpec({ containers: containers(1001) })).toEqual([
    expect.objectContaining({ path: 'spec.containers', code: 'TooLong' }),
  ])
})
