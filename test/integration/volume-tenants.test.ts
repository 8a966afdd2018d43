/** Tenants that forge movers with the labels and annotations of Lodestone, on a store in memory. */
import { expect, test } from 'vitest'
import { LABELS_ANNOTATION, MOVER_LABEL, MOVER_SLOT_LABEL, MOVER_TASK_ANNOTATION } from '../../src/api/lodestone.ts'
import { nodes } from '../../src/api/node.ts'
import { type Pod, pods } from '../../src/api/pod.ts'
import { volumeManagers } from '../../src/api/volume-manager.ts'
import { leftoverDigests, leftoverKey } from '../../src/core/volume-manager/nodes/leftovers.ts'
import { makeVolume, makeVolumeManager } from '../builders.ts'
import { VOLUME_SETTINGS, VolumeWorld } from '../volume-world.ts'

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

test('a forged task of a leftover does not make Lodestone forget data on the disk', async () => {
  const world = await new VolumeWorld().start('n1')
  await world.store.create(volumeManagers, makeVolumeManager([{ replicas: 1 }]))
  await world.settle()
  await world.setCondition('n1', 'Ready', 'Unknown')
  await world.deleteManager()
  await world.pass(5)
  await world.pass(601)
  const node = world.store.get(nodes, undefined, 'n1')
  const [digest = ''] = node ? leftoverDigests(node) : []
  expect(digest).not.toBe('')

  const task = { manager: leftoverKey('n1', digest), id: 'vol1', role: 'leftover', index: 0, attempt: 1 }
  await world.store.create(pods, forgedMover('forged', task, { phase: 'Succeeded' }))
  world.fate = () => 'goes on'
  await world.setCondition('n1', 'Ready', 'True')
  await world.pass(5)
  expect(leftoverDigests(world.store.get(nodes, undefined, 'n1') as never)).toEqual([digest])
  expect(world.events.map(({ reason }) => reason)).not.toContain('LeftoverDeleted')
})

/** What a tenant would choose for movers outside of its namespace. */
const CHOSEN = {
  options: { ...makeVolume().options, awsCredentialsSecretName: '' },
  labels: { app: 'shop' },
  tolerations: [{ operator: 'Exists' as const }],
  mover: { priorityClassName: 'system-node-critical', resources: { limits: { cpu: '64' } } },
}
const ALLOWED = { allowedPriorityClassNames: ['*'], allowedTolerationKeys: ['*'], maxResources: { cpu: '64' } }

/** A world with one namespace for all movers and a volume with these choices, which was stored without admission. */
async function worldOfMovers(limits: object) {
  const world = await new VolumeWorld().start('n1')
  const made: Pod[] = []
  world.fate = (pod) => {
    made.push(pod)
    return 'completes'
  }
  world.settings = { ...VOLUME_SETTINGS, movers: { ...VOLUME_SETTINGS.movers, namespace: 'movers', ...limits } }
  await world.store.create(volumeManagers, makeVolumeManager([CHOSEN]))
  await world.settle()
  return { world, made }
}

test('a volume with a choice that is not allowed has no mover, as its status says', async () => {
  const { world, made } = await worldOfMovers({})

  const said = (await world.volume())?.message ?? ''
  for (const key of ['allowedPriorityClassNames', 'allowedTolerationKeys', 'maxResources'])
    expect(said).toContain(`volumes.movers.${key} of the configuration`)
  expect(made).toEqual([])
})

test('a choice that is allowed applies to movers, but never labels of a volume', async () => {
  const { made } = await worldOfMovers(ALLOWED)

  expect(made.map(({ spec }) => spec)).toMatchObject([
    {
      priorityClassName: 'system-node-critical',
      tolerations: CHOSEN.tolerations,
      containers: [{ resources: CHOSEN.mover.resources }],
    },
  ])
  expect(made[0]?.metadata).toMatchObject({
    namespace: 'movers',
    annotations: { [LABELS_ANNOTATION]: JSON.stringify(CHOSEN.labels) },
  })
  expect(made[0]?.metadata.labels).not.toHaveProperty('app')
})

test('data of a volume with forbidden choices is deleted by a mover without them', async () => {
  const { world, made } = await worldOfMovers(ALLOWED)
  expect(world.disks.size).toBe(1)

  world.settings = { ...VOLUME_SETTINGS, movers: { ...VOLUME_SETTINGS.movers, namespace: 'movers' } }
  await world.deleteManager()
  for (let i = 0; i < 3; i++) await world.pass(60)

  expect(world.disks.size).toBe(0)
  expect(made.at(-1)?.spec.containers).toMatchObject([{ resources: VOLUME_SETTINGS.movers.resources }])
  expect(made.at(-1)?.spec).not.toHaveProperty('priorityClassName')
})
