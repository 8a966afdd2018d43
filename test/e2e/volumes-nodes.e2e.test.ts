// Nodes that come and go while they have data, on a real API server with the real scheduler and controllers.
import { existsSync } from 'node:fs'
import { rm, writeFile } from 'node:fs/promises'
import { dirname, join } from 'node:path'
import { afterAll, beforeAll, describe, expect, test } from 'vitest'
import type { ReplicaStatus } from '../../src/api/volume-status.ts'
import { jobOf, podOf } from './consumers.ts'
import { firstVolume, type Member, onNodes, s3Volume, startMember, volumeManagerOf } from './member.ts'
import { downLabel, nodeObject } from './nodes.ts'

const FILES = { 'a.txt': 'first', 'b.txt': 'second' }

let cluster: Member

beforeAll(async () => {
  cluster = await startMember({
    volumes: { deletionNodeTimeoutSeconds: 5, nodeLossSeconds: 5 },
    movers: { awaitNewNodes: true },
  })
  await cluster.putBucket('lake', FILES, 'train/')
})
afterAll(() => cluster?.plane.stopAll())

const onThe = (...names: string[]) =>
  s3Volume(cluster.proxy, 's3://lake/train/', { replicas: names.length, nodeAffinity: onNodes(...names) })

describe('the deletion of a VolumeManager', () => {
  test('skips a node that is not ready, whose copy is deleted when it returns', async () => {
    const { plane } = cluster
    await cluster.create(volumeManagerOf('skipped', onThe('node-1', 'node-2')))
    const before = firstVolume(await cluster.reached('skipped', 'Running'))
    expect(cluster.nodesWith(before)).toEqual(['node-1', 'node-2'])
    await goDown('node-1')

    await plane.kubectl(['delete', 'vmgr', 'skipped', '--timeout=60s'], { timeoutMs: 70_000 })

    expect(cluster.nodesWith(before)).toEqual(['node-1'])
    await plane.eventually('an Event names the node', () => hasEvent('NodeSkipped', 'node-1'))
    await cluster.create(volumeManagerOf('skipped', onThe('node-2', 'node-3')))
    const after = firstVolume(await cluster.reached('skipped', 'Running'))

    await comeBack('node-1')

    await plane.eventually('its copy is deleted', async () => cluster.nodesWith(before).length === 0)
    await plane.eventually('an Event tells of it', () => hasEvent('LeftoverDeleted', 'node-1'))
    await plane.eventually('nothing is left to remember', async () => {
      const { metadata } = (await plane.getJson('nodes', 'node-1')) as { metadata: object }
      return !JSON.stringify(metadata).includes('leftover.lodestone.dev')
    })
    expect(cluster.nodesWith(after)).toEqual(['node-2', 'node-3'])
    await plane.eventually('its mover is gone', async () => (await cluster.moversOf('skipped')).length === 0)
  })

  test('does not wait for a node that was deleted', async () => {
    const { plane, kubelet } = cluster
    await cluster.create(volumeManagerOf('gone', onThe('node-4', 'node-5')))
    const volume = firstVolume(await cluster.reached('gone', 'Running'))
    await kubelet.loseNode('node-4')
    await plane.kubectl(['delete', 'node', 'node-4'])

    await plane.kubectl(['delete', 'vmgr', 'gone', '--timeout=30s'], { timeoutMs: 40_000 })

    expect(existsSync(cluster.dataOn('node-5', volume))).toBe(false)
    kubelet.returnNode('node-4')
    await plane.apply(nodeObject('node-4'))
    await isReady('node-4')
  })
})

test('data that a node lost with its disk is downloaded again after its next boot', async () => {
  const { plane } = cluster
  const boot = (bootID: string) => {
    const patch = JSON.stringify({ status: { nodeInfo: { bootID } } })
    return plane.kubectl(['patch', 'node', 'node-3', '--subresource=status', '--type=merge', '-p', patch])
  }
  await boot('0b3f3b52-0a34-4d9e-9a53-0f3a9f0f5e10')
  await cluster.create(volumeManagerOf('booted', onThe('node-3')))
  const volume = firstVolume(await cluster.reached('booted', 'Running'))
  await goDown('node-3')
  await rm(dirname(cluster.dataOn('node-3', volume)), { recursive: true })
  await boot('9d1c8a3e-52f4-4a0b-8f57-3a1a3c8a7b21')

  await comeBack('node-3')

  await plane.eventually('an Event names the loss', () => hasEvent('ReplicaLost', 'DataMissing'), 90_000)
  await plane.eventually('the data is there again', async () => {
    return cluster.nodesWith(volume).join() === 'node-3' && (await cluster.reached('booted', 'Running')) !== undefined
  })
  await cluster.deleteManager('booted')
})

describe('changes on a node that was lost and comes back', () => {
  test('are written back against that download: a conflict keeps both versions', async () => {
    const { plane, s3 } = cluster
    await cluster.putBucket('late', { a: 'downloaded', b: 'downloaded' }, 'run/')
    const over = { options: { resync: 'true' }, nodeAffinity: onNodes('node-1', 'node-2') }
    await cluster.create(volumeManagerOf('late', s3Volume(cluster.proxy, 's3://late/run/', over)))
    const volume = firstVolume(await cluster.reached('late', 'Running'))
    const [lost = ''] = cluster.nodesWith(volume)
    await cluster.create(podOf('early-writer', 'late'))
    expect(await cluster.nodeOf('early-writer')).toBe(lost)
    for (const name of ['a', 'new']) await writeFile(join(cluster.dataOn(lost, volume), name), 'of the lost node')
    await plane.eventually('the use is recorded', () => replicaOn(lost, ({ inUse }) => inUse === true))

    await goDown(lost)
    const other = lost === 'node-1' ? 'node-2' : 'node-1'
    await plane.eventually('it is replaced', () => replicaOn(other, ({ state }) => state === 'Ready'))
    // A user or the node lifecycle controller deletes it, since its node does not answer.
    await plane.kubectl(['delete', 'pod', 'early-writer', '--force', '--grace-period=0'])
    await writeFile(join(cluster.dataOn(other, volume), 'a'), 'of the other node')
    await cluster.create(jobOf('other-writer', 'late', 1))
    const stored = async (key: string) => (await s3.request('GET', `/late/run/${key}`)).text
    await plane.eventually('its change is written back', async () => (await stored('a')) === 'of the other node')

    await comeBack(lost)

    const isConflict = ({ upload }: ReplicaStatus) => upload?.state === 'Failed' && upload.reason === 'WriteConflict'
    await plane.eventually('the status names the conflict', () => replicaOn(lost, isConflict))
    const { status } = await cluster.reached('late', 'Failed')
    expect(status?.message).toContain('s3://late/run/a (copy .lodestone-conflict-')
    expect(status?.conditions?.find(({ type }) => type === 'WrittenBack')).toMatchObject({ status: 'False' })
    await plane.eventually('an Event names it', () => hasEvent('WriteBackFailed', 's3://late/run/a'))
    const { text } = await s3.request('GET', '/late')
    const keys = [...text.matchAll(/<Key>run\/([^<]*)<\/Key>/g)].map(([, key = '']) => key)
    const copy = keys.find((key) => key.startsWith('a.lodestone-conflict-')) ?? ''
    expect(keys.sort()).toEqual(['a', copy, 'b', 'new'].sort())
    expect(await Promise.all(['a', copy, 'b', 'new'].map(stored))).toEqual([
      'of the other node',
      'of the lost node',
      'downloaded',
      'of the lost node',
    ])

    await s3.request('DELETE', `/late/run/${copy}`)
    await cluster.deleteManager('late')
    expect(cluster.nodesWith(volume)).toEqual([])
  })
})

describe('a copy on every node of a selector', () => {
  test('comes to nodes that join, and leaves nodes that the selector no longer matches', async () => {
    const { plane } = cluster
    const label = (node: string, change: string) => plane.kubectl(['label', 'node', node, change])
    await label('node-2', 'pool=gpu')
    const volume = s3Volume(cluster.proxy, 's3://lake/train/', { onEveryNode: true, nodeAffinity: selector('pool') })
    const { replicas: _, ...config } = volume
    await cluster.create(volumeManagerOf('cached', config))
    const status = firstVolume(await cluster.reached('cached', 'Running'))
    expect(cluster.nodesWith(status)).toEqual(['node-2'])
    const refused = await cluster.tryCreate(volumeManagerOf('refused', { ...config, replicas: 2 }))
    expect(refused.stderr).toContain('replicas cannot be set with onEveryNode')

    await label('node-3', 'pool=gpu')
    await plane.kubectl(['delete', 'node', 'node-5'])
    const joined = nodeObject('node-5')
    const labels = { ...joined.metadata.labels, pool: 'gpu' }
    await plane.apply({ ...joined, metadata: { ...joined.metadata, labels } })

    await plane.eventually('the joined nodes have a copy', async () => {
      return cluster.nodesWith(status).join() === 'node-2,node-3,node-5'
    })
    await label('node-2', 'pool-')
    await plane.eventually('the node that left has none', async () => {
      return cluster.nodesWith(status).join() === 'node-3,node-5'
    })
    const after = await cluster.reached('cached', 'Running')
    await plane.eventually('the labels are right', async () => {
      return (await cluster.labeledNodes(after)).sort().join() === 'node-3,node-5'
    })
  })
})

test('data for a pool without nodes has a Pod for which an autoscaler adds one', async () => {
  const { plane } = cluster
  const volume = s3Volume(cluster.proxy, 's3://lake/train/', { replicas: 1, nodeAffinity: selector('scaled') })
  await cluster.create(volumeManagerOf('scaled', volume))
  await plane.eventually('the scheduler finds no node for its mover', async () => {
    const [mover] = await cluster.moversOf('scaled')
    return mover?.status?.conditions?.some(({ reason }) => reason === 'Unschedulable') ?? false
  })

  await plane.kubectl(['label', 'node', 'node-1', 'scaled=true'])

  const status = firstVolume(await cluster.reached('scaled', 'Running'))
  expect(cluster.nodesWith(status)).toEqual(['node-1'])
  await cluster.deleteManager('scaled')
})

async function replicaOn(name: string, test: (replica: ReplicaStatus) => boolean): Promise<boolean> {
  const found = await cluster.volumeManager('late')
  return found?.status?.volumes?.[0]?.replicas?.some((one) => one.node === name && test(one)) ?? false
}

function selector(key: string) {
  const terms = [{ matchExpressions: [{ key, operator: 'Exists' }] }]
  return { requiredDuringSchedulingIgnoredDuringExecution: { nodeSelectorTerms: terms } }
}

async function goDown(node: string): Promise<void> {
  const { plane, kubelet } = cluster
  await plane.kubectl(['label', 'node', node, `${downLabel}=true`])
  kubelet.disconnectNode(node)
  const now = new Date().toISOString()
  const unknown = { type: 'Ready', status: 'Unknown', reason: 'NodeStatusUnknown', lastTransitionTime: now }
  const patch = JSON.stringify({ status: { conditions: [unknown] } })
  await plane.kubectl(['patch', 'node', node, '--subresource=status', '--type=strategic', '-p', patch])
}

async function comeBack(node: string): Promise<void> {
  cluster.kubelet.returnNode(node)
  await cluster.plane.kubectl(['label', 'node', node, `${downLabel}-`])
  await isReady(node)
}

async function isReady(node: string): Promise<void> {
  await cluster.plane.eventually(`${node} is ready`, async () => {
    const found = (await cluster.plane.getJson('nodes', node)) as
      | { spec?: { taints?: object[] }; status?: { conditions?: { type: string; status: string }[] } }
      | undefined
    const ready = found?.status?.conditions?.find(({ type }) => type === 'Ready')
    return ready?.status === 'True' && !found?.spec?.taints?.length
  })
}

async function hasEvent(reason: string, text: string): Promise<boolean> {
  const { stdout } = await cluster.plane.kubectl(['get', 'events', `--field-selector=reason=${reason}`])
  return stdout.includes(text)
}
