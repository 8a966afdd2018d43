/** Tenants that forge movers with the labels and annotations of Lodestone, on a store in memory. */
import { expect, test } from 'vitest'
import { MOVER_LABEL, MOVER_SLOT_LABEL, MOVER_TASK_ANNOTATION } from '../../src/api/lodestone.ts'
import { nodes } from '../../src/api/node.ts'
import { type Pod, pods } from '../../src/api/pod.ts'
import { volumeManagers } from '../../src/api/volume-manager.ts'
import { leftoverKey, leftoversOf } from '../../src/core/volume-manager/leftover/leftover.ts'
import { makeVolumeManager } from '../builders.ts'
import { VolumeWorld } from '../volume-world.ts'

/** A Pod of the namespace `shop` that claims to be a mover with this task. */
function forgedMover(name: string, task: object, status: Pod['status'] = {}): Pod {
  return {
    apiVersion: 'v1',
    kind: 'Pod',
    metadata: {
      name,
      namespace: 'shop',
      labels: { [MOVER_LABEL]: 'download', [MOVER_SLOT_LABEL]: '0' },
      annotations: { [MOVER_TASK_ANNOTATION]: JSON.stringify(task) },
    },
    spec: { nodeName: 'n1', containers: [{ name: 'main', image: 'pause' }] },
    status,
  }
}

test('20 forged movers of a tenant do not stop the downloads of others', async () => {
  const world = await new VolumeWorld().start('n1', 'n2')
  world.fate = (pod) => (pod.metadata.namespace === 'shop' ? 'goes on' : 'completes')
  const task = { manager: 'default/sales', id: 'vol1', role: 'replica', index: 0, attempt: 1 }
  for (let i = 0; i < 20; i++) await world.store.create(pods, forgedMover(`forged-${i}`, task))
  await world.store.create(volumeManagers, makeVolumeManager([{ replicas: 2 }]))
  await world.settle()

  expect(world.disks.size).toBe(2)
  const left = world.movers().filter(({ metadata }) => metadata.namespace === 'shop')
  expect(left).toHaveLength(20)
})

test('a forged task of a leftover does not make Lodestone forget data that is on the disk', async () => {
  const world = await new VolumeWorld().start('n1')
  await world.store.create(volumeManagers, makeVolumeManager([{ replicas: 1 }]))
  await world.settle()
  await world.setCondition('n1', 'Ready', 'Unknown')
  await world.deleteManager()
  await world.pass(5)
  await world.pass(601)
  const node = world.store.get(nodes, undefined, 'n1')
  const [digest = ''] = node ? leftoversOf(node) : []
  expect(digest).not.toBe('')

  const task = { manager: leftoverKey('n1', digest), id: 'vol1', role: 'leftover', index: 0, attempt: 1 }
  await world.store.create(pods, forgedMover('forged', task, { phase: 'Succeeded' }))
  world.fate = () => 'goes on'
  await world.setCondition('n1', 'Ready', 'True')
  await world.pass(5)
  expect(leftoversOf(world.store.get(nodes, undefined, 'n1') as never)).toEqual([digest])
  expect(world.events.map(({ reason }) => reason)).not.toContain('LeftoverDeleted')
})
