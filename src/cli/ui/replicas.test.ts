import { expect, test } from 'vitest'
import { makePod, makeVolumeManager } from '../../../test/builders.ts'
import { pods } from '../../api/pod.ts'
import { volumeManagers } from '../../api/volume-manager.ts'
import type { ReplicaStatus } from '../../api/volume-status.ts'
import { replicaRows } from './replicas.ts'
import { openMemory } from './ui.fake.ts'

const PATH = '/var/datasets/vck-resource-0123-0123456789abc'

async function rowsOf(replica: Partial<ReplicaStatus>, ...users: object[]) {
  const store = await openMemory()
  const replicas = [{ index: 3, revision: 'r', attempt: 1, state: 'Ready' as const, ...replica }]
  await store.create(
    volumeManagers,
    makeVolumeManager([{}], { status: { volumes: [{ id: 'vol1', nodeAffinity: {}, replicas }] } }),
  )
  for (const [i, spec] of users.entries()) {
    await store.create(pods, makePod([{ name: 'sales' }], spec, { name: `pod-${i}` }))
  }
  return replicaRows(store)
}

test('a replica without a node says why it waits', async () => {
  const waiting = { state: 'Queued' as const, reason: 'NoNode', message: 'no node can take the replica now' }
  expect(await rowsOf({ ...waiting, since: '2026-11-20T12:00:00Z' })).toEqual([
    {
      namespace: 'default',
      volumeManager: 'sales',
      volume: 'vol1',
      index: 3,
      ...waiting,
      since: '2026-11-20T12:00:00Z',
      podCount: 0,
      pods: [],
    },
  ])
})

test('a replica has its progress, and the pods of its node that mount it', async () => {
  const mount = { volumes: [{ name: 'data', hostPath: { path: PATH } }] }
  const [row] = await rowsOf(
    { node: 'node-1', path: PATH, bytes: 1, totalBytes: 2 },
    { ...mount, nodeName: 'node-1' },
    { ...mount, nodeName: 'node-2' },
    { nodeName: 'node-1' },
  )
  expect(row).toMatchObject({ node: 'node-1', bytes: 1, totalBytes: 2, podCount: 1, pods: ['default/pod-0'] })
})

test('a replica with a claim is used by the pods with this claim', async () => {
  const mount = { volumes: [{ name: 'data', persistentVolumeClaim: { claimName: 'sales-claim' } }] }
  const [row] = await rowsOf({ node: 'node-1', path: PATH, claimName: 'sales-claim' }, { ...mount, nodeName: 'node-1' })
  expect(row).toMatchObject({ podCount: 1, pods: ['default/pod-0'] })
})

test('at most five pods are named', async () => {
  const mount = { nodeName: 'node-1', volumes: [{ name: 'data', hostPath: { path: PATH } }] }
  const [row] = await rowsOf({ node: 'node-1', path: PATH }, ...Array.from({ length: 7 }, () => mount))
  expect({ count: row?.podCount, names: row?.pods.length }).toEqual({ count: 7, names: 5 })
})
