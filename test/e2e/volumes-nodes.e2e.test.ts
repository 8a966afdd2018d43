// Nodes that come and go while they have data, on a real API server with the real scheduler and controllers.
import { existsSync } from 'node:fs'
import { afterAll, beforeAll, describe, expect, test } from 'vitest'
import { firstVolume, type Member, onNodes, s3Volume, startMember, volumeManagerOf } from './member.ts'
import { downLabel, nodeObject } from './nodes.ts'

const FILES = { 'a.txt': 'first', 'b.txt': 'second' }

let cluster: Member

beforeAll(async () => {
  cluster = await startMember({ volumes: { deletionNodeTimeoutSeconds: 5 } })
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

describe('a copy on every node of a selector', () => {
  test('comes to nodes that join, and leaves nodes that the selector does not match any more', async () => {
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
