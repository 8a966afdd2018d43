import { describe, expect, test } from 'vitest'
import { makeUsable, nodesWith } from '../../../../test/builders.ts'
import type { MountableVolumes } from '../injection/mountable-volumes.ts'
import { resolveRequests, separateVolumes, type WantedVolume } from './resolve.ts'
import type { PlacedRequest } from './volume-requests.ts'

const shard = { name: 'part-0', nodeAffinity: nodesWith('data/part-0'), nodes: ['n1'] }
const first = makeUsable('vol1')
const divided = makeUsable('vol2', { shards: () => [shard], nodes: ['n1', 'n2'] })
const { source: _none, ...unmountable } = makeUsable('vol3', { message: 'no such type' })
const sales: MountableVolumes = { name: 'sales', volumes: [first, divided, unmountable] }
const failed: MountableVolumes = {
  name: 'failed',
  refusal: 'it has failed',
  volumes: [makeUsable('vol1', { state: 'Waiting', message: 'bucket is gone' })],
}
const managers = (name: string) => [sales, failed].find((manager) => manager.name === name)
const placed = (request: PlacedRequest['request']): PlacedRequest => ({ path: 'at[0]', request })
const resolve = (request: PlacedRequest['request']) => resolveRequests([placed(request)], managers)

describe('a request is resolved', () => {
  test.each([
    { name: 'to the first volume without an id', request: { name: 'sales' }, volume: first },
    { name: 'to the volume of its id', request: { name: 'sales', id: 'vol2' }, volume: divided },
    {
      name: 'to the nodes of its shard',
      request: { name: 'sales', id: 'vol2', shard: 'part-0' },
      volume: { ...divided, nodeAffinity: shard.nodeAffinity, nodes: shard.nodes },
    },
  ])('$name', ({ request, volume }) => {
    const { wanted, errors, unusable } = resolve(request)
    expect({ errors, unusable }).toEqual({ errors: [], unusable: [] })
    expect(wanted).toEqual([{ ...placed(request), volume, source: volume.source }])
  })
})

describe('a request is an error', () => {
  test.each([
    {
      name: 'for a volume that does not exist',
      request: { name: 'sales', id: 'vol9' },
      want: {
        path: 'at[0].id',
        code: 'NotSupported',
        message: 'VolumeManager sales has no such volume; it has vol1, vol2, vol3',
      },
    },
    {
      name: 'for a shard that does not exist',
      request: { name: 'sales', id: 'vol2', shard: 'x' },
      want: {
        path: 'at[0].shard',
        code: 'NotSupported',
        message: 'volume vol2 of VolumeManager sales has no such shard; it has part-0',
      },
    },
    {
      name: 'for a shard of a volume without shards',
      request: { name: 'sales', id: 'vol1', shard: 'x' },
      want: { path: 'at[0].shard', code: 'NotSupported', message: 'volume vol1 of VolumeManager sales has no shard' },
    },
  ])('$name', ({ request, want }) => {
    expect(resolve(request)).toEqual({ wanted: [], errors: [want], unusable: [] })
  })
})

describe('a request is unusable', () => {
  test.each([
    {
      name: 'without its VolumeManager',
      request: { name: 'absent' },
      path: 'at[0].name',
      message: 'there is no VolumeManager absent',
    },
    {
      name: 'with a failed VolumeManager, for the reason of the volume',
      request: { name: 'failed' },
      path: 'at[0]',
      message: 'VolumeManager failed cannot be used: it has failed (bucket is gone)',
    },
    {
      name: 'with a volume that has no source',
      request: { name: 'sales', id: 'vol3' },
      path: 'at[0]',
      message: 'volume vol3 of VolumeManager sales',
    },
  ])('$name', ({ request, path, message }) => {
    const { wanted, errors, unusable } = resolve(request)
    expect({ wanted, errors }).toEqual({ wanted: [], errors: [] })
    expect(unusable).toEqual([{ path, code: 'Invalid', message: expect.stringContaining(message) }])
  })
})

test('all requests are resolved, each into the right list', () => {
  const requests = [{ name: 'sales' }, { name: 'absent' }, { name: 'sales', id: 'vol9' }].map(placed)
  const { wanted, errors, unusable } = resolveRequests(requests, managers)
  expect([wanted.length, errors.length, unusable.length]).toEqual([1, 1, 1])
})

describe('required volumes that are ready get a warning', () => {
  const wantedOn = (id: string, nodes: string[], request: Partial<PlacedRequest['request']> = {}): WantedVolume => {
    const volume = makeUsable(id, { nodes })
    return { ...placed({ name: 'sales', id, ...request }), volume, source: volume.source ?? {} }
  }
  const warning = 'no node has all of sales/a, sales/b; give them the same nodeAffinity'

  test.each([
    { name: 'on different nodes', wanted: [wantedOn('a', ['n1', 'n2']), wantedOn('b', ['n3'])], want: [warning] },
    { name: 'not if one node has both', wanted: [wantedOn('a', ['n1', 'n2']), wantedOn('b', ['n2'])], want: [] },
    { name: 'not if the nodes of one are not known', wanted: [wantedOn('a', ['n1']), wantedOn('b', [])], want: [] },
    {
      name: 'not if one is preferred',
      wanted: [wantedOn('a', ['n1']), wantedOn('b', ['n2'], { enforcement: 'Preferred' })],
      want: [],
    },
    { name: 'not if there is one volume', wanted: [wantedOn('a', ['n1'])], want: [] },
    { name: 'not if there is none', wanted: [], want: [] },
    {
      name: 'if only pairs have a node together',
      wanted: [wantedOn('a', ['n1', 'n2']), wantedOn('b', ['n2', 'n3']), wantedOn('c', ['n3', 'n1'])],
      want: ['no node has all of sales/a, sales/b, sales/c; give them the same nodeAffinity'],
    },
  ])('$name', ({ wanted, want }) => {
    expect(separateVolumes(wanted)).toEqual(want)
  })
})
