import { describe, expect, test } from 'vitest'
import { ANY_NODE, makeObject, makePod, makeUsable, managers } from '../../../../test/builders.ts'
import { VOLUMES_ANNOTATION } from '../../../api/lodestone.ts'
import type { K8sObject } from '../../../api/meta.ts'
import type { Outcome } from '../../outcome.ts'
import { SHIPPED_KINDS } from '../../workload-kinds/kinds.ts'
import { decidePod } from '../decide-pod.ts'
import { decideWorkload } from '../decide-workload.ts'
import { validatePodSpec } from '../validate.ts'
import { MAX_TEMPLATES, mountCountErrors } from './limits.ts'
import { parseVolumeRequests } from './volume-requests.ts'

const range = (count: number) => Array.from({ length: count }, (_, i) => i)
const containers = (count: number) => range(count).map((i) => ({ name: `c${i}` }))
const asks = (count: number) => range(count).map((i) => ({ name: 'mnist', id: `v${i}`, 'mount-path': `/data/${i}` }))
const mnist = managers({ name: 'mnist', volumes: range(64).map((i) => makeUsable(`v${i}`)) })

function errorsOf(outcome: Outcome) {
  return outcome.kind === 'deny' ? outcome.errors.map(({ code, message }) => ({ code, message })) : []
}

describe('an annotation that requests too much is one error, for any content', () => {
  test.each([
    { name: 'too many volumes', annotation: JSON.stringify(asks(65)), want: 'must have at most 64 items' },
    {
      name: 'numbers',
      annotation: JSON.stringify(range(30_000).map(() => 1)),
      want: 'must have at most 64 items',
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

test('a pod with too many mounts is rejected before any mount is added', () => {
  const outcome = decidePod({
    pod: makePod(asks(64), { containers: containers(400) }),
    managers: mnist,
    ...ANY_NODE,
    whenNotReady: 'gate',
    isHub: false,
  })
  expect(errorsOf(outcome)).toEqual([
    {
      code: 'TooLong',
      message: expect.stringContaining('must add at most 20000 mounts, adds 25600; request fewer volumes'),
    },
  ])
})

test.each([
  { name: 'the maximum number of mounts', spec: { containers: containers(400) }, want: [] },
  {
    name: 'one more container',
    spec: { containers: containers(400), initContainers: containers(1) },
    want: ['must add at most 20000 mounts, adds 20050; request fewer volumes, or use fewer containers'],
  },
])('$name', ({ spec, want }) => {
  const parsed = parseVolumeRequests(JSON.stringify(asks(50)))
  const requests = 'requests' in parsed ? parsed.requests : []
  const errors = mountCountErrors('at', [{ spec, requests }])
  expect(errors).toEqual(want.map((message) => ({ path: 'at', code: 'TooLong', message })))
})

function volcanoJob(templates: number, containersEach: number): K8sObject {
  const task = { template: { spec: { containers: containers(containersEach) } } }
  const object = makeObject('batch.volcano.sh/v1alpha1', 'Job', 'train', {
    spec: { tasks: range(templates).map(() => task) },
  })
  const annotations = { [VOLUMES_ANNOTATION]: JSON.stringify(asks(64)) }
  return { ...object, metadata: { ...object.metadata, annotations } }
}

const input = {
  stored: undefined,
  kind: SHIPPED_KINDS.find('batch.volcano.sh/v1alpha1', 'Job'),
  managers: mnist,
  isHub: false,
}

describe('a workload that is too large to check is rejected', () => {
  test.each([
    {
      name: 'too many pod templates',
      object: volcanoJob(MAX_TEMPLATES + 1, 1),
      want: 'the workload has 501 pod templates, more than 500; divide it',
    },
    {
      name: 'too many mounts in all templates',
      object: volcanoJob(400, 1),
      want: 'must add at most 20000 mounts, adds 25600',
    },
  ])('$name', ({ object, want }) => {
    const path = 'metadata.annotations[lodestone.dev/volumes]'
    expect(decideWorkload({ ...input, object })).toEqual({
      kind: 'deny',
      errors: [{ path, code: 'TooLong', message: expect.stringContaining(want) }],
    })
  })
})

describe('the limit of pod templates', () => {
  const { name, namespace } = volcanoJob(1, 1).metadata
  const ask = { [VOLUMES_ANNOTATION]: '{"name":"mnist"}' }
  const jobOf = (count: number, annotations: object, ofLast: object = annotations): K8sObject =>
    makeObject('batch.volcano.sh/v1alpha1', 'Job', name ?? '', {
      metadata: { name, namespace },
      spec: {
        tasks: range(count).map((i) => ({
          template: {
            metadata: { annotations: i === count - 1 ? ofLast : annotations },
            spec: { containers: containers(1) },
          },
        })),
      },
    })

  test('allows the maximum number', () => {
    expect(decideWorkload({ ...input, object: jobOf(MAX_TEMPLATES, {}, ask) }).kind).toBe('patch')
  })

  test('applies if a single template requests volumes', () => {
    expect(decideWorkload({ ...input, object: jobOf(MAX_TEMPLATES + 1, { other: 'x' }, ask) }).kind).toBe('deny')
  })

  test('applies only to workloads that request volumes', () => {
    expect(decideWorkload({ ...input, object: jobOf(MAX_TEMPLATES + 1, { other: 'x' }) })).toEqual({ kind: 'allow' })
  })

  test('is checked again when a stored workload grows above it', () => {
    const stored = jobOf(1, ask)
    expect(decideWorkload({ ...input, object: jobOf(MAX_TEMPLATES + 1, ask), stored }).kind).toBe('deny')
  })
})

test('a stored workload with too many pod templates can still be changed', () => {
  const object = volcanoJob(MAX_TEMPLATES + 1, 1)
  expect(decideWorkload({ ...input, object, stored: object })).toEqual({ kind: 'allow' })
})

test('a pod spec with lists above the limits is too long', () => {
  expect(validatePodSpec({ containers: containers(1001) })).toEqual([
    expect.objectContaining({ path: 'spec.containers', code: 'TooLong' }),
  ])
})
