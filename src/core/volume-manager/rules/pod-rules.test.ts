import { describe, expect, test } from 'vitest'
import { makeVolume } from '../../../../test/builders.ts'
import type { Toleration } from '../../../api/node.ts'
import type { ResourceRequirements } from '../../../api/volume-manager.ts'
import { resourceFault, tolerationFault } from './pod-rules.ts'
import { DEFAULT_VOLUME_LIMITS } from './settings.ts'
import { volumeProblems } from './volume-rules.ts'

describe('a toleration that the API server accepts', () => {
  test.each<Toleration>([
    { operator: 'Exists' },
    { operator: 'Exists', effect: 'NoSchedule' },
    { key: 'gpu', operator: 'Exists', value: '' },
    { key: 'example.com/gpu', value: 'a-1' },
    { key: 'gpu', operator: 'Equal', value: '', effect: '' },
    { key: 'gpu', operator: 'Exists', effect: 'NoExecute', tolerationSeconds: -1 },
  ])('has no fault: %j', (toleration) => {
    expect(tolerationFault(toleration)).toBeUndefined()
  })
})

test.each<{ toleration: Toleration; field: string; message: string }>([
  { toleration: {}, field: 'operator', message: 'must be Exists without a key' },
  { toleration: { operator: 'Equal', value: 'a' }, field: 'operator', message: 'must be Exists without a key' },
  { toleration: { key: 'a', operator: 'exists' }, field: 'operator', message: 'must be Exists or Equal' },
  { toleration: { key: 'a b' }, field: 'key', message: 'must be the key of a taint' },
  { toleration: { key: 'a', operator: 'Exists', value: 'b' }, field: 'value', message: 'must be empty for Exists' },
  { toleration: { key: 'a', value: 'b c' }, field: 'value', message: 'must be the value of a taint' },
  {
    toleration: { key: 'a', effect: 'noSchedule' },
    field: 'effect',
    message: 'must be NoSchedule, PreferNoSchedule or NoExecute',
  },
  {
    toleration: { key: 'a', effect: 'NoSchedule', tolerationSeconds: 5 },
    field: 'effect',
    message: 'must be NoExecute with tolerationSeconds',
  },
  {
    toleration: { key: 'a', tolerationSeconds: 0 },
    field: 'effect',
    message: 'must be NoExecute with tolerationSeconds',
  },
])('the fault of the toleration $toleration is $field: $message', ({ toleration, field, message }) => {
  expect(tolerationFault(toleration)).toEqual({ field, message })
})

describe('resources that the API server accepts', () => {
  test.each<ResourceRequirements>([
    {},
    { requests: { cpu: '100m' } },
    { requests: { cpu: '1' }, limits: { cpu: '1000m', memory: '1Gi', 'ephemeral-storage': '0' } },
    { requests: { 'nvidia.com/gpu': '1k' }, limits: { 'nvidia.com/gpu': '1000' } },
    { limits: { 'nvidia.com/gpu': '1' } },
    { limits: { cpu: '1', 'hugepages-2Mi': '2Mi' } },
  ])('have no fault: %j', (resources) => {
    expect(resourceFault(resources)).toBeUndefined()
  })
})

test.each<{ resources: ResourceRequirements; field: string; message: string }>([
  {
    resources: { requests: { gpu: '1' } },
    field: 'requests[gpu]',
    message: 'must be cpu, memory, ephemeral-storage or a name with a domain',
  },
  {
    resources: { limits: { 'a b/c': '1' } },
    field: 'limits[a b/c]',
    message: 'must be cpu, memory, ephemeral-storage or a name with a domain',
  },
  { resources: { requests: { cpu: '-1' } }, field: 'requests[cpu]', message: 'must be a quantity, e.g. 500m or 1Gi' },
  {
    resources: { limits: { memory: '5gb' } },
    field: 'limits[memory]',
    message: 'must be a quantity, e.g. 500m or 1Gi',
  },
  { resources: { limits: { 'a.com/b': '500m' } }, field: 'limits[a.com/b]', message: 'must be an integer' },
  {
    resources: { requests: { cpu: '1001m' }, limits: { cpu: '1' } },
    field: 'requests[cpu]',
    message: 'must be at most its limit of 1',
  },
  { resources: { requests: { 'a.com/b': '1' } }, field: 'requests[a.com/b]', message: 'must be equal to its limit' },
  {
    resources: { requests: { 'a.com/b': '1' }, limits: { 'a.com/b': '2' } },
    field: 'requests[a.com/b]',
    message: 'must be equal to its limit',
  },
])('the fault of the resources $resources is $field: $message', ({ resources, field, message }) => {
  expect(resourceFault(resources)).toEqual({ field, message })
})

test('a volume has the path of the first fault of each part', () => {
  const config = makeVolume({
    tolerations: [{ key: 'a' }, { key: 'b', operator: 'In' }, { key: 'c d' }],
    mover: { resources: { limits: { cpu: 'much' } } },
  })

  expect(volumeProblems(config, DEFAULT_VOLUME_LIMITS)).toEqual([
    {
      field: 'tolerations[1].operator',
      code: 'Invalid',
      message: 'tolerations[1].operator must be Exists or Equal.',
    },
    {
      field: 'mover.resources.limits[cpu]',
      code: 'Invalid',
      message: 'mover.resources.limits[cpu] must be a quantity, e.g. 500m or 1Gi.',
    },
  ])
})

test.each(['', ' ', 'mover ', '\nmover'])('the image %j is invalid, whatever the configuration allows', (image) => {
  const limits = { ...DEFAULT_VOLUME_LIMITS, allowedMoverImages: ['*'] }

  expect(volumeProblems(makeVolume({ mover: { image } }), limits)).toMatchObject([
    { field: 'mover.image', code: 'Invalid' },
  ])
})
