// Namespaces that are deleted with VolumeManagers in them, on a real API server with the real namespace controller.
import { writeFile } from 'node:fs/promises'
import { join } from 'node:path'
import { afterAll, beforeAll, expect, test } from 'vitest'
import type { VolumeManager } from '../../src/api/volume-manager.ts'
import type { VolumeStatus } from '../../src/api/volume-status.ts'
import { type BlockName, findBlock } from '../shell-blocks.ts'
import type { KubeObject } from './api-client.ts'
import { podOf } from './consumers.ts'
import {
  credentialsSecret,
  firstVolume,
  type Member,
  namespaceOf,
  s3Volume,
  startMember,
  volumeManagerOf,
} from './member.ts'
import { runBlock } from './page-block.ts'

let cluster: Member

beforeAll(async () => {
  cluster = await startMember()
  await cluster.putBucket('lake', { 'a.txt': 'first', 'b.txt': 'second' }, 'train/')
})
afterAll(() => cluster?.plane.stopAll())

// A namespace with a VolumeManager that is Running.
async function startTenant(namespace: string, options: Record<string, string> = {}): Promise<VolumeManager> {
  const { plane, s3, proxy } = cluster
  await plane.apply(namespaceOf(namespace, 'privileged'))
  await plane.apply(credentialsSecret('aws-creds', s3.accessKey, s3.secretKey, namespace))
  const replicas = options['resync'] === undefined ? 2 : 1
  const manager = volumeManagerOf('sales', s3Volume(proxy, 's3://lake/train/', { replicas, options }))
  await cluster.create({ ...manager, metadata: { ...manager.metadata, namespace } })
  return statusThat(namespace, ({ status }) => status?.state === 'Running')
}

function statusThat(namespace: string, test: (manager: VolumeManager) => boolean): Promise<VolumeManager> {
  return cluster.plane.eventually(
    `the VolumeManager of ${namespace} is as expected`,
    async () => {
      const found = await cluster.volumeManager('sales', namespace)
      if (!found || !test(found)) throw new Error(JSON.stringify(found?.status ?? 'no status'))
      return found
    },
    60_000,
  )
}

const deleteNamespace = (name: string) => cluster.plane.kubectl(['delete', 'namespace', name, '--wait=false'])

const isGone = (name: string) =>
  cluster.plane.eventually(
    `namespace ${name} is gone`,
    async () => (await cluster.plane.getJson('namespaces', name)) === undefined,
    90_000,
  )

async function dataIsDeleted(volume: VolumeStatus): Promise<void> {
  const { plane } = cluster
  await plane.eventually('the data is deleted', async () => cluster.nodesWith(volume).length === 0, 60_000)
  await plane.eventually('no node has a leftover, and no mover is left', async () => {
    const [nodes, pods] = await Promise.all([plane.listJson('nodes'), plane.listJson('pods', 'kube-system')])
    return !JSON.stringify(nodes).includes('leftover.lodestone.dev') && pods.length === 0
  })
}

async function eventsAbout(namespace: string): Promise<string[]> {
  type Event = KubeObject & { involvedObject: { kind: string; name: string }; reason: string; message: string }
  const events = (await cluster.plane.listJson('events', 'default')) as unknown as Event[]
  return events
    .filter(({ involvedObject: { kind, name } }) => kind === 'Namespace' && name === namespace)
    .map(({ reason, message }) => `${reason}: ${message}`)
}

test('a namespace ends with its VolumeManager, and the data is deleted after it', async () => {
  const { plane } = cluster
  const volume = firstVolume(await startTenant('team'))
  expect(cluster.nodesWith(volume)).toHaveLength(2)
  await cluster.create(podOf('reader', 'sales', {}, 'team'))

  await deleteNamespace('team')

  await isGone('team')
  await dataIsDeleted(volume)
  await plane.eventually('an Event about the Namespace names the nodes', async () =>
    (await eventsAbout('team')).some((text) => text.startsWith('DataLeft: VolumeManager sales: vol1 on ')),
  )

  // The name is free for another tenant, whose data is its own.
  const again = firstVolume(await startTenant('team'))
  expect(again.volumeSource).not.toEqual(volume.volumeSource)
  expect(cluster.nodesWith(again)).toHaveLength(2)
})

test('a namespace with changes without a mover waits until the user accepts their loss', async () => {
  const { plane } = cluster
  const volume = firstVolume(await startTenant('lab', { resync: 'true' }))
  const [node = ''] = cluster.nodesWith(volume)
  await cluster.create(podOf('trainer', 'sales', {}, 'lab'))
  await statusThat('lab', (manager) => firstVolume(manager).replicas[0]?.inUse === true)
  await writeFile(join(cluster.dataOn(node, volume), 'model.txt'), 'trained')

  await deleteNamespace('lab')

  // The namespace controller deletes the VolumeManager a moment after the namespace.
  const { status } = await statusThat('lab', ({ status }) => status?.message?.startsWith('the data is not') === true)
  expect(status?.state).toBe('Failed')
  expect(status?.message).toContain(`the data is not deleted: vol1: ${node}: changes are not written back: `)
  expect(status?.message).toContain('annotate lodestone.dev/delete-in-use=true')
  await plane.eventually('the Namespace names the finalizer', async () => {
    const namespace = await plane.getJson('namespaces', 'lab')
    return JSON.stringify(namespace?.['status']).includes('lodestone.dev/volumes in 1 resource instances')
  })
  await plane.eventually('an Event about the Namespace says the same', async () =>
    (await eventsAbout('lab')).includes(`Failed: VolumeManager sales: ${status?.message}`),
  )
  // On the page, the namespace is called team.
  const block: BlockName = ['docs/guides/troubleshooting.md', 'kubectl get namespace team']
  const shown = await runBlock(plane, block, { team: 'lab' })
  expect(shown).toContain(findBlock(block).outputs[0]?.trim())
  expect(shown).toContain(`sales   ${status?.message}`)
  expect(shown).toMatch(/Warning +Failed +namespace\/lab +VolumeManager sales: the data is not deleted/)
  expect(cluster.nodesWith(volume)).toEqual([node])

  await plane.kubectl(['annotate', 'vmgr', 'sales', '-n', 'lab', 'lodestone.dev/delete-in-use=true'])

  await isGone('lab')
  await dataIsDeleted(volume)
})
