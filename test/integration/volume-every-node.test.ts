/** VolumeManagers with a copy on every node, on a store in memory. */
import { expect, test } from 'vitest'
import { nodes } from '../../src/api/node.ts'
import { volumeManagers } from '../../src/api/volume-manager.ts'
import { makeVolume, makeVolumeManager, nodesWith } from '../builders.ts'
import { ended, moverSays, VolumeWorld } from '../volume-world.ts'

const EVERY = { onEveryNode: true, replicas: undefined as never }
/** The limit of etcd for one object, which is the default of `--max-request-bytes`. */
const MAX_OBJECT_BYTES = 1.5 * 1024 * 1024

async function worldWith(names: string[], volume = {}) {
  const world = await new VolumeWorld().start(...names)
  await world.store.create(volumeManagers, makeVolumeManager([{ ...EVERY, ...volume }]))
  await world.settle()
  return world
}

const replicasOf = async (world: VolumeWorld) =>
  (await world.volume())?.replicas?.map(({ node, state }) => [node, state])

test('nodes that join get a copy, and nodes that are deleted take theirs with them', async () => {
  const world = await worldWith(['n1', 'n2', 'n3'])
  expect(await world.nodesOf()).toEqual(['n1', 'n2', 'n3'])

  await world.addNode('n4')
  await world.settle()
  expect(await world.nodesOf()).toEqual(['n1', 'n2', 'n3', 'n4'])
  expect((await world.manager())?.status?.state).toBe('Running')

  await world.removeNode('n2')
  await world.settle()
  expect(await world.nodesOf()).toEqual(['n1', 'n3', 'n4'])
  expect((await replicasOf(world))?.map(String).sort()).toEqual(['n1,Ready', 'n3,Ready', 'n4,Ready'])
  expect(world.violations).toEqual([])
})

test('a node that the selector ceases to match has its copy deleted', async () => {
  const world = await new VolumeWorld().start()
  for (const name of ['n1', 'n2', 'n3']) await world.addNode(name, { labels: { gpu: '' } })
  world.fate = ({ spec }) =>
    spec.nodeName === 'n3'
      ? ended('Failed', { exitCode: 1, message: moverSays({ code: 'Unexpected', retry: true }) })
      : 'completes'
  await world.store.create(volumeManagers, makeVolumeManager([{ ...EVERY, nodeAffinity: nodesWith('gpu') }]))
  await world.settle()
  expect(await world.nodesOf()).toEqual(['n1', 'n2'])
  expect((await world.manager())?.status?.state).toBe('Running')

  await world.store.patch(nodes, { name: 'n1' }, { metadata: { labels: { gpu: null } } })
  for (let i = 0; i < 2; i++) await world.pass(5)

  expect(await world.nodesOf()).toEqual(['n2'])
  expect([...world.disks.keys()].filter((place) => place.startsWith('n1'))).toEqual([])
})

test('a node that does not answer for long is not replaced, and keeps its copy', async () => {
  const world = await worldWith(['n1', 'n2'])
  await world.setCondition('n1', 'Ready', 'Unknown')
  await world.pass(10)
  expect((await replicasOf(world))?.map(([, state]) => state)).toEqual(['Ready', 'Ready'])
  await world.pass(301)
  expect((await replicasOf(world))?.map(([, state]) => state).sort()).toEqual(['Ready', 'Unreachable'])

  await world.setCondition('n1', 'Ready', 'True')
  await world.pass(10)
  expect((await replicasOf(world))?.map(([, state]) => state)).toEqual(['Ready', 'Ready'])
  expect([...world.downloads.values()]).toEqual([1, 1])
})

test('without a matching node, the volume is not usable', async () => {
  const world = await worldWith(['n1'], { nodeAffinity: nodesWith('gpu') })
  const { state, volumes } = (await world.manager())?.status ?? {}
  expect([state, volumes?.[0]?.message]).toEqual(['Failed', 'replicas [1] greater than number of nodes [0]'])
  await world.addNode('n2', { labels: { gpu: '' } })
  await world.settle()
  expect(await world.nodesOf()).toEqual(['n2'])
})

test('a change from replicas to every node and back adds and deletes copies', async () => {
  const world = await worldWith(['n1', 'n2', 'n3'], { onEveryNode: false, replicas: 1 })
  await world.change({ spec: { volumeConfigs: [makeVolume(EVERY)] } })
  await world.settle()
  expect(await world.nodesOf()).toEqual(['n1', 'n2', 'n3'])
  await world.change({ spec: { volumeConfigs: [makeVolume({ replicas: 1 })] } })
  for (let i = 0; i < 3; i++) await world.pass(5)
  expect(await world.nodesOf()).toHaveLength(1)
  expect(world.disks.size).toBe(1)
})

test('the status of a thousand failing copies is smaller than an object may be', async () => {
  const world = await worldWith(['n1', 'n2'])
  const volume = await world.volume()
  const [replica] = volume?.replicas ?? []
  const node = 'n'.repeat(63)
  const failure = { node, reason: 'SourceChanged', failures: 99, bytes: 1e12, retryTime: replica?.since }
  const failing = {
    ...replica,
    node,
    state: 'Failed',
    reason: 'ChecksumMismatch',
    message: 'm'.repeat(512),
    nodeFailures: [failure],
    attempt: 9999,
    failures: 9999,
    retryTime: replica?.since,
    bytes: 1e12,
    totalBytes: 1e12,
  }
  const status = { ...volume, replicas: Array.from({ length: 1000 }, () => failing) }
  expect(JSON.stringify(status).length).toBeLessThan(0.8 * MAX_OBJECT_BYTES)
})
