/** VolumeManagers on a store in memory, with a scheduler and kubelets beside them: what a user sees, step by step. */
import { describe, expect, test } from 'vitest'
import { events as EVENTS } from '../../src/api/event.ts'
import type { K8sObject } from '../../src/api/meta.ts'
import { nodes } from '../../src/api/node.ts'
import { pods } from '../../src/api/pod.ts'
import { volumeManagers } from '../../src/api/volume-manager.ts'
import { directoryOfMover } from '../../src/core/volume-manager/mover/affinity.ts'
import { makeVolume, makeVolumeManager } from '../builders.ts'
import { ended, moverSays, PLATFORM, VolumeWorld } from '../volume-world.ts'
import { failed, isDelete, pathOf, replicaStates, spec, tell, wholeOn, worldWith } from './volume-steps.ts'

const directoryOf = async (world: VolumeWorld) => (await pathOf(world)).replace(/\/data$/, '')

const ON_N1 = {
  requiredDuringSchedulingIgnoredDuringExecution: {
    nodeSelectorTerms: [{ matchFields: [{ key: 'metadata.name', operator: 'In', values: ['n1'] }] }],
  },
}

describe('a VolumeManager that is created', () => {
  test('is Running when its data is on as many nodes as asked for, in the words of VCK', async () => {
    const world = await worldWith()

    await world.reconcile()
    await world.reconcile()
    expect((await world.manager())?.status).toMatchObject({
      state: 'Pending',
      message: 'Beginning sub-resource deployment',
      ready: '0/1',
    })
    await world.settle()

    expect((await world.manager())?.status).toMatchObject({
      state: 'Running',
      message: 'successfully deployed all sub-resources',
      observedGeneration: 1,
      ready: '1/1',
      volumes: [{ id: 'vol1', message: 'success', readyReplicas: 2, bytes: 4096 }],
      conditions: [
        { type: 'Ready', status: 'True' },
        { type: 'ReplicasReady', status: 'True' },
      ],
    })
    expect(await world.nodesOf()).toEqual(['n1', 'n2'])
    expect([...world.downloads.values()]).toEqual([1, 1])
    expect(world.movers()).toEqual([])
    expect(world.events.map(({ reason }) => reason)).toEqual(['Pending', 'Running'])
  })

  test('has the nodes of its data in the status before the download, unchanged later', async () => {
    const world = await worldWith()
    for (let i = 0; i < 3; i++) await world.reconcile()
    const early = await world.volume()
    await world.settle()

    const { volumeSource, nodeAffinity } = (await world.volume()) ?? {}
    expect(early).toMatchObject({ volumeSource, nodeAffinity })
    expect(volumeSource?.hostPath?.path).toMatch(/^\/var\/datasets\/vck-resource-[0-9a-f-]{36}-[0-9a-z]{13}\/data$/)
  })

  test('makes movers with the credentials by reference, one directory, and no rights', async () => {
    const world = await worldWith([{ tolerations: [{ key: 'gpu', operator: 'Exists' }] }])
    for (let i = 0; i < 3; i++) await world.reconcile()

    const [mover] = world.movers()
    expect(mover).toMatchObject({
      metadata: { labels: { vckname: 'sales', vcid: 'vol1', 'lodestone.dev/mover': 'download' } },
      spec: {
        restartPolicy: 'Never',
        serviceAccountName: 'lodestone-mover',
        tolerations: [{ key: 'gpu', operator: 'Exists' }],
        containers: [
          {
            args: expect.arrayContaining([
              'mover',
              'download',
              '--source',
              's3://lake/sales/',
              '--target',
              '/volume/data',
            ]),
            env: expect.arrayContaining([
              { name: 'AWS_ACCESS_KEY_ID', valueFrom: { secretKeyRef: { name: 'aws-creds', key: 'awsAccessKeyID' } } },
            ]),
            securityContext: expect.objectContaining({ capabilities: { drop: ['ALL'] }, readOnlyRootFilesystem: true }),
          },
        ],
      },
    })
    expect(mover?.spec.volumes?.filter(({ hostPath }) => hostPath)).toEqual([
      { name: 'volume', hostPath: { path: await directoryOf(world), type: 'DirectoryOrCreate' } },
    ])
    const kinds = world.store.objects().map(({ object }) => object.kind)
    expect(kinds).toEqual(expect.arrayContaining(['ServiceAccount', 'RoleBinding']))
  })

  test('with an affinity has its data there and nowhere else', async () => {
    const zone = {
      requiredDuringSchedulingIgnoredDuringExecution: {
        nodeSelectorTerms: [{ matchExpressions: [{ key: 'zone', operator: 'In', values: ['a'] }] }],
      },
    }
    const world = await worldWith([{ replicas: 2, nodeAffinity: zone }])
    await world.addNode('n8', { labels: { zone: 'a' } })
    await world.addNode('n9', { labels: { zone: 'a' } })

    await world.settle()

    expect(await world.nodesOf()).toEqual(['n8', 'n9'])
  })

  test('with more replicas than nodes reports it, and continues when nodes join', async () => {
    const world = await worldWith([{ replicas: 3 }], ['n1', 'n2'])
    await world.settle()
    expect((await world.manager())?.status).toMatchObject({
      state: 'Failed',
      message: 'failed to deploy all the sub-resources',
      volumes: [{ message: 'replicas [3] greater than number of nodes [2]' }],
    })
    expect(await world.nodesOf()).toEqual(['n1', 'n2'])

    await world.addNode('n3')
    await world.settle()

    expect((await world.manager())?.status?.state).toBe('Running')
    expect(await world.nodesOf()).toEqual(['n1', 'n2', 'n3'])
  })

  test('with an invalid spec fails with the message of VCK, and starts nothing', async () => {
    const world = await worldWith([{ labels: {} }])
    await world.settle()

    expect((await world.manager())?.status).toMatchObject({
      state: 'Failed',
      message: 'failed to deploy all the sub-resources',
      volumes: [{ id: 'vol1', message: 'labels cannot be empty' }],
    })
    await world.change(spec({}))
    await world.settle()
    expect((await world.manager())?.status?.state).toBe('Running')
  })

  test('wanted as Failed is Failed, and nothing is done for it', async () => {
    const world = await new VolumeWorld().start('n1')
    await world.store.create(volumeManagers, makeVolumeManager([{}], { state: 'Failed' }))
    await world.settle()

    expect((await world.manager())?.status).toMatchObject({
      state: 'Failed',
      message: 'Added with desired state as failed and controller marked volume manager as Failed',
    })
    expect(world.downloads.size).toBe(0)
  })

  test('has the parts of divided data on nodes of their own', async () => {
    const options = { ...makeVolume().options, distributionStrategy: '{"*0_1*": 2, "*1_1*": 1}' }
    const world = await worldWith([{ replicas: 3, options }])
    const asked: string[][] = []
    world.fate = (pod) => {
      asked.push(pod.spec.containers[0]?.args ?? [])
      return 'completes'
    }
    await world.settle()

    const volume = await world.volume()
    expect(volume?.message).toBe('success')
    expect(volume?.shards?.map(({ name, readyReplicas }) => [name, readyReplicas])).toEqual([
      ['*0_1*', 2],
      ['*1_1*', 1],
    ])
    expect(asked.map((args) => args[args.indexOf('--match') + 1]).sort()).toEqual(['*0_1*', '*0_1*', '*1_1*'])
    expect(await world.nodesOf()).toEqual(['n1', 'n2', 'n3'])
    const [first, second] = volume?.shards ?? []
    const matching = (shard = first) =>
      [...world.store.list(nodes)].filter(({ metadata }) => {
        const [term] = shard?.nodeAffinity.requiredDuringSchedulingIgnoredDuringExecution?.nodeSelectorTerms ?? []
        return metadata.labels?.[term?.matchExpressions?.[0]?.key ?? ''] !== undefined
      }).length
    expect([matching(first), matching(second)]).toEqual([2, 1])
  })
})

describe('when a node', () => {
  test('is deleted, its replica is made again on another one', async () => {
    const world = await worldWith()
    await world.settle()
    await world.removeNode('n1')
    await world.settle()

    expect(await world.nodesOf()).toEqual(['n2', 'n3'])
    expect((await world.manager())?.status?.state).toBe('Running')
    expect(world.events.map(({ reason }) => reason)).toContain('ReplicaLost')
  })

  test('goes while there is only one, the volume is Pending, and Running with a node', async () => {
    const world = await worldWith([{}], ['n1'])
    await world.settle()
    await world.removeNode('n1')
    await world.settle()
    expect((await world.manager())?.status).toMatchObject({ state: 'Failed' })

    await world.addNode('n2')
    await world.settle()

    expect((await world.manager())?.status?.state).toBe('Running')
  })

  test('does not answer for long, another one takes its place until it is back', async () => {
    const world = await worldWith()
    await world.settle()
    await world.setCondition('n1', 'Ready', 'Unknown')
    await world.pass(60)
    expect(await world.nodesOf()).toEqual(['n1', 'n2'])
    await world.pass(300)
    expect((await world.volume())?.readyReplicas).toBe(2)
    expect((await replicaStates(world))?.sort()).toEqual(['Ready', 'Ready', 'Unreachable'])

    await world.setCondition('n1', 'Ready', 'True')
    for (let i = 0; i < 3; i++) await world.pass(10)

    expect(await replicaStates(world)).toEqual(['Ready', 'Ready'])
    expect(wholeOn(world)).toHaveLength(2)
    expect(await world.nodesOf()).toEqual(wholeOn(world))
  })

  test('is created again under its name: its data is checked before it is used', async () => {
    const world = await worldWith([{}], ['n1'])
    await world.settle()
    const node = await world.store.read(nodes, undefined, 'n1')
    if (node) await world.store.delete(nodes, node)
    await world.addNode('n1')

    await world.settle()

    expect((await world.manager())?.status?.state).toBe('Running')
    expect(await world.nodesOf()).toEqual(['n1'])
    // Its disk was the same: the mover found everything there.
    expect([...world.downloads.values()]).toEqual([1])
  })

  test('loses its label, it gets it again', async () => {
    const world = await worldWith([{}], ['n1'])
    await world.settle()
    await world.store.patch(nodes, { name: 'n1' }, { metadata: { labels: null } })
    await world.settle()

    expect(await world.nodesOf()).toEqual(['n1'])
    expect([...world.downloads.values()]).toEqual([1])
  })
})

describe('a change of the spec', () => {
  test('to more replicas downloads only what is missing', async () => {
    const world = await worldWith()
    await world.settle()
    await world.change(spec({ replicas: 3 }))
    await world.settle()

    expect(await world.nodesOf()).toEqual(['n1', 'n2', 'n3'])
    expect([...world.downloads.values()]).toEqual([1, 1, 1])
    expect((await world.manager())?.status?.observedGeneration).toBe(2)
  })

  test('to fewer replicas deletes unused data', async () => {
    const world = await worldWith([{ replicas: 3 }])
    await world.settle()
    await world.use('reader', await pathOf(world), 'n3')
    await world.change(spec({ replicas: 1 }))
    for (let i = 0; i < 3; i++) await world.pass(10)

    expect(wholeOn(world)).toEqual(['n3'])
    expect(await world.nodesOf()).toEqual(['n3'])
  })

  test('of the source keeps the old data until the new is there', async () => {
    const world = await worldWith()
    await world.settle()
    const before = await pathOf(world)
    world.fate = () => failed('NotFound', false)
    const source = (url: string) => spec({ replicas: 2, options: { ...makeVolume().options, sourceURL: url } })
    await world.change(source('s3://lake/misspelt/'))
    await world.settle()
    expect((await world.manager())?.status?.state).toBe('Failed')
    expect(wholeOn(world)).toEqual(['n1', 'n2'])

    world.fate = () => 'completes'
    await world.change(source('s3://lake/sales/'))
    await world.settle()
    expect(await pathOf(world)).toBe(before)
    expect((await world.manager())?.status?.state).toBe('Running')
    expect([...world.downloads.values()]).toEqual([1, 1])

    await world.change(source('s3://lake/other/'))
    for (let i = 0; i < 3; i++) await world.pass(10)
    expect(await pathOf(world)).not.toBe(before)
    expect([...world.disks.keys()].filter((place) => before.startsWith(place.split(':')[1] ?? ''))).toEqual([])
    expect((await world.volume())?.deletions).toBeUndefined()
  })

  test('of the affinity moves the data: first it is there, then it leaves', async () => {
    const world = await worldWith([{}], ['n1'])
    await world.settle()
    await world.addNode('n2', { labels: { disk: 'ssd' } })
    const nodeAffinity = {
      requiredDuringSchedulingIgnoredDuringExecution: {
        nodeSelectorTerms: [{ matchExpressions: [{ key: 'disk', operator: 'In', values: ['ssd'] }] }],
      },
    }
    await world.change(spec({ nodeAffinity }))
    for (let i = 0; i < 3; i++) await world.pass(10)

    expect(wholeOn(world)).toEqual(['n2'])
    expect(await world.nodesOf()).toEqual(['n2'])
  })

  test('that takes a volume away deletes its data and its status', async () => {
    const world = await worldWith([{}, { id: 'vol2' }])
    await world.settle()
    await world.change(spec({}))
    for (let i = 0; i < 3; i++) await world.pass(10)

    expect((await world.manager())?.status?.volumes?.map(({ id }) => id)).toEqual(['vol1'])
    expect(world.disks.size).toBe(1)
  })

  test('to Completed deletions the data, and back brings it again', async () => {
    const world = await worldWith()
    await world.settle()
    await world.change({ spec: { state: 'Completed' } })
    for (let i = 0; i < 3; i++) await world.pass(10)
    expect((await world.manager())?.status).toMatchObject({ state: 'Completed', volumes: [{ message: 'deleted' }] })
    expect((await world.volume())?.volumeSource).toBeUndefined()
    expect(world.disks.size).toBe(0)
    const labels = [...world.store.list(nodes)].flatMap(({ metadata }) => Object.keys(metadata.labels ?? {}))
    expect(new Set(labels)).toEqual(new Set([...Object.keys(PLATFORM), 'kubernetes.io/hostname']))

    await world.change({ spec: { state: 'Running' } })
    await world.settle()
    expect((await world.manager())?.status?.state).toBe('Running')
  })
})

describe('data that is to be deleted', () => {
  test('is deleted on every node before the VolumeManager goes', async () => {
    const world = await worldWith()
    await world.settle()
    await world.deleteManager()
    for (let i = 0; i < 3; i++) await world.pass(10)

    expect(await world.manager()).toBeUndefined()
    expect(world.disks.size).toBe(0)
    expect(world.movers()).toEqual([])
  })

  test('stays while a pod in the status uses it, unless an annotation overrides this', async () => {
    const world = await worldWith()
    await world.settle()
    await world.use('reader', await pathOf(world), 'n1')
    await world.deleteManager()
    for (let i = 0; i < 3; i++) await world.pass(60)
    expect(wholeOn(world)).toEqual(['n1'])
    expect((await world.manager())?.status).toMatchObject({
      state: 'Pending',
      message: expect.stringContaining('in use by default/reader; annotate lodestone.dev/delete-in-use=true'),
    })

    await world.change({ metadata: { annotations: { 'lodestone.dev/delete-in-use': 'true' } } })
    for (let i = 0; i < 3; i++) await world.pass(10)

    expect(await world.manager()).toBeUndefined()
    expect(world.disks.size).toBe(0)
  })

  test('goes when the pod has ended', async () => {
    const world = await worldWith()
    await world.settle()
    await world.use('reader', await pathOf(world), 'n1')
    await world.deleteManager()
    await world.pass(60)
    await world.end('reader')
    for (let i = 0; i < 3; i++) await world.pass(60)

    expect(await world.manager()).toBeUndefined()
  })

  test('is deleted on tainted nodes as well, by a mover without an owner', async () => {
    const world = await worldWith([{}])
    await world.settle()
    const seen: unknown[] = []
    world.fate = (pod) => {
      seen.push({ tolerations: pod.spec.tolerations, owners: pod.metadata.ownerReferences })
      return 'completes'
    }
    await world.deleteManager()
    for (let i = 0; i < 3; i++) await world.pass(10)

    expect(seen).toEqual([{ tolerations: [{ operator: 'Exists' }], owners: undefined }])
  })

  test('that cannot be deleted is tried again', async () => {
    const world = await worldWith([{}])
    await world.settle()
    world.fate = () => failed('Unexpected', true)
    await world.deleteManager()
    for (let i = 0; i < 3; i++) await world.pass(5)
    expect((await world.volume())?.deletions).toMatchObject([
      { state: 'Failed', reason: 'Unexpected', message: 'Unexpected' },
    ])

    world.fate = () => 'completes'
    for (let i = 0; i < 5; i++) await world.pass(60)

    expect(await world.manager()).toBeUndefined()
    expect(world.disks.size).toBe(0)
  })

  test('is not reported as used by pods because the message of a mover reads like that', async () => {
    const world = await worldWith([{}])
    await world.settle()
    world.fate = () => failed('Unexpected', true, 'device is in use by another process')
    await world.deleteManager()
    for (let i = 0; i < 3; i++) await world.pass(5)

    const { message, conditions } = (await world.manager())?.status ?? {}
    expect(message).toContain('Unexpected: device is in use by another process')
    expect(message).not.toContain('lodestone.dev/delete-in-use')
    expect(conditions?.find(({ type }) => type === 'Ready')?.reason).toBe('Deleting')
  })

  test('by a mover without progress is continued by another mover', async () => {
    const world = await worldWith([{}])
    await world.settle()
    world.fate = () => 'goes on'
    await world.deleteManager()
    await world.pass(5)
    await tell(world, 1024, 1)
    await world.pass(500)
    // Files without bytes are progress as well.
    await tell(world, 1024, 2)
    await world.pass(500)
    expect((await world.volume())?.deletions).toMatchObject([{ state: 'Deleting', bytes: 1024, files: 2 }])

    await world.pass(601)
    const [release] = (await world.volume())?.deletions ?? []
    expect(release).toMatchObject({ state: 'Failed', reason: 'Stalled', message: 'made no progress for too long' })
    expect(release).not.toHaveProperty('bytes')
    expect(world.movers()).toEqual([])

    world.fate = () => 'completes'
    for (let i = 0; i < 3; i++) await world.pass(60)
    expect(await world.manager()).toBeUndefined()
    expect(world.disks.size).toBe(0)
  })

  test('by a mover that found its node late has all of its time from then on', async () => {
    const world = await worldWith([{}])
    await world.settle()
    await world.deleteManager()
    for (let i = 0; i < 5; i++) {
      await world.reconcile()
      world.now += 1000
    }
    world.now += 1500_000
    world.fate = () => 'goes on'
    await world.settle()
    await world.pass(500)

    expect((await world.volume())?.deletions).toMatchObject([{ state: 'Deleting', attempt: 1 }])
  })

  test('does not keep its VolumeManager while a finalizer keeps an ended mover', async () => {
    const world = await worldWith([{}])
    await world.settle()
    world.fate = () => 'goes on'
    await world.deleteManager()
    await world.settle()
    await world.pass(10)
    for (const { metadata } of world.movers()) {
      const patch = { metadata: { finalizers: ['example.org/queue'] } }
      await world.store.patch(pods, { namespace: 'default', name: metadata.name ?? '' }, patch)
    }
    expect(world.movers()).not.toEqual([])
    world.fate = () => 'completes'
    await world.settle()

    expect(await world.manager()).toBeUndefined()
  })

  test('is not looked for on a node that is gone', async () => {
    const world = await worldWith()
    await world.settle()
    await world.deleteManager()
    await world.removeNode('n1')
    await world.removeNode('n2')
    for (let i = 0; i < 3; i++) await world.pass(10)

    expect(await world.manager()).toBeUndefined()
  })

  test('during the download leaves no data behind', async () => {
    const world = await worldWith([{}])
    for (let i = 0; i < 3; i++) {
      await world.reconcile()
      await world.live()
    }
    world.fate = (pod) => (isDelete(pod) ? 'completes' : failed('Canceled', true))
    await world.deleteManager()
    for (let i = 0; i < 4; i++) await world.pass(60)

    expect(await world.manager()).toBeUndefined()
    expect(world.disks.size).toBe(0)
  })
})

test('a requested check waits 10 minutes after the last one, as the condition says', async () => {
  const world = await worldWith([{ readOnly: true }])
  await world.settle()
  let checks = 0
  world.fate = (pod) => {
    if (pod.spec.containers[0]?.args?.includes('check')) checks++
    return 'completes'
  }
  const request = async (value: string) => {
    await world.change({ metadata: { annotations: { 'lodestone.dev/check': value } } })
    await world.settle()
  }
  const ready = async () =>
    (await world.manager())?.status?.conditions?.find(({ type }) => type === 'ReplicasReady')?.message
  await request('1')
  expect([checks, await ready()]).toEqual([1, 'vol1: 1 ready'])
  const endedAt = (await world.volume())?.replicas?.[0]?.requestedCheckTime ?? ''

  await request('2')
  const next = new Date(Date.parse(endedAt) + 600_000).toISOString().replace('.000Z', 'Z')
  expect([checks, await ready()]).toEqual([
    1,
    `vol1: 1 ready (the requested check begins at ${next}: 10 minutes after the last requested one)`,
  ])
  await world.pass(600)
  await world.settle()
  expect([checks, await ready()]).toEqual([2, 'vol1: 1 ready'])
})

test('data of another source is not refreshed from the new one', async () => {
  const volume = (folder: string) => ({
    readOnly: true,
    refreshIntervalSeconds: 60,
    options: { ...makeVolume().options, sourceURL: `s3://lake/${folder}/` },
  })
  const world = await worldWith([volume('sales')])
  await world.settle()
  const old = await directoryOf(world)
  const refreshed: (string | undefined)[] = []
  world.fate = (pod) => {
    const args = pod.spec.containers[0]?.args ?? []
    const isNew = args.includes('s3://lake/other/')
    if (isNew) refreshed.push(directoryOfMover(pod))
    return isNew ? failed('AccessDenied', false) : 'completes'
  }
  await world.change(spec(volume('other')))
  for (let i = 0; i < 4; i++) await world.pass(120)

  expect(refreshed.length).toBeGreaterThan(0)
  expect(refreshed).not.toContain(old)
  expect(world.disks.get(`n1:${old}`)).toBe('whole')
})

test('a stream without a source is an empty directory on its nodes, ready when created', async () => {
  const world = await worldWith([{ sourceType: 'Stream', options: {} }])
  const seen: string[] = []
  world.fate = (pod) => {
    seen.push(pod.spec.containers[0]?.args?.[1] ?? '')
    return 'completes'
  }
  await world.settle()

  expect(seen).toEqual(['prepare'])
  expect(await world.nodesOf()).toEqual(['n1'])
})

test('a stream with a source is ready from its first bytes on', async () => {
  const world = await worldWith([{ sourceType: 'Stream' }])
  world.fate = () => 'goes on'
  await world.settle()
  expect((await world.manager())?.status?.state).toBe('Pending')
  expect(await world.reconcile()).toBeLessThanOrEqual(5_000)
  const name = `${world.movers()[0]?.metadata.name}.data-path-progress`
  const message = JSON.stringify({ v: 1, attempt: 1, doneBytes: 1024 })
  await world.store.create(EVENTS, {
    apiVersion: 'v1',
    kind: 'Event',
    metadata: { name, namespace: 'default' },
    message,
  } as K8sObject)

  await world.pass(5)

  expect((await world.manager())?.status?.state).toBe('Running')
  expect(await world.nodesOf()).toEqual(['n1'])
})

describe('a scheduled check', () => {
  const checked = async (worldOf: Promise<VolumeWorld>) => {
    const world = await worldOf
    world.settings = { ...world.settings, checks: { intervalSeconds: 3600, timeoutSeconds: 60 } }
    await world.settle()
    return world
  }
  const isCheck = (pod: { metadata: { labels?: Record<string, string> } }) =>
    pod.metadata.labels?.['lodestone.dev/mover'] === 'check'

  test('that finds lost data has it downloaded again on its node, with an Event', async () => {
    const world = await checked(worldWith([{ replicas: 2 }]))
    const [lost = ''] = await world.nodesOf()
    world.fate = (pod) =>
      isCheck(pod) && pod.spec.nodeName === lost ? failed('DataMissing', true, 'it is gone') : 'completes'
    world.disks.delete(`${lost}:${await directoryOf(world)}`)
    await world.pass(3600)
    world.fate = () => 'completes'
    await world.settle()

    expect(await world.nodesOf()).toHaveLength(2)
    expect(world.events).toContainEqual(
      expect.objectContaining({ reason: 'ReplicaLost', message: `vol1 on ${lost}: DataMissing: it is gone` }),
    )
    expect((await world.volume())?.replicas).toMatchObject([{ state: 'Ready' }, { state: 'Ready' }])
    // Until the check.
    expect(new Set(world.violations)).toEqual(new Set([`${lost} has a label and no data`]))
  })

  test('after a boot of its node finds data that was lost with the disk, within a minute', async () => {
    const boot = (bootID: string) =>
      world.store.patch(nodes, { name: 'n1' }, { status: { nodeInfo: { bootID } } }, { subresource: 'status' })
    const world = await worldWith([{}], ['n1'])
    await boot('first')
    await checked(Promise.resolve(world))
    const checks = async () => (await world.volume())?.replicas?.[0]?.maintenances ?? 0
    await boot('first')
    await world.pass(60)
    expect(await checks()).toBe(0)
    world.fate = (pod) => (isCheck(pod) ? failed('DataMissing', true, 'the disk was replaced') : 'completes')
    world.disks.clear()

    await world.setCondition('n1', 'Ready', 'False')
    await boot('second')
    await world.pass(60)
    expect(await checks()).toBe(0)
    await world.setCondition('n1', 'Ready', 'True')
    await world.pass(1)

    expect(await checks()).toBe(1)
    expect(world.events.map(({ reason }) => reason)).toContain('ReplicaLost')
    expect((await world.volume())?.replicas).toMatchObject([{ state: 'Ready', node: 'n1' }])
    expect([...world.downloads.values()]).toEqual([2])
  })

  test('that cannot run changes nothing, and does not start on a node that is not ready', async () => {
    const world = await checked(worldWith([{}]))
    const [node = ''] = await world.nodesOf()
    world.fate = () => failed('Unexpected', true, 'i/o timeout')
    await world.pass(3600)
    const { maintenances = 0, ...replica } = (await world.volume())?.replicas?.[0] ?? {}
    await world.setCondition(node, 'Ready', 'Unknown')
    for (let i = 0; i < 4; i++) await world.pass(60)

    expect(replica).toMatchObject({ state: 'Ready', maintenance: { state: 'Failed', reason: 'Unexpected' } })
    expect(maintenances).toBeGreaterThan(0)
    expect((await world.volume())?.replicas?.[0]?.maintenances).toBe(maintenances)
    expect([...world.downloads.values()]).toEqual([1])
  })

  test('does not delay the deletion of its VolumeManager', async () => {
    const world = await checked(worldWith([{}]))
    world.fate = (pod) => (isCheck(pod) ? 'goes on' : 'completes')
    await world.pass(3600)
    expect(world.movers().filter(isCheck)).toHaveLength(1)

    await world.deleteManager()
    await world.settle()
    await world.pass(60)

    expect([await world.manager(), world.movers().length, world.disks.size]).toEqual([undefined, 0, 0])
  })
})

test('Local data is used on nodes on which a mover found it, and nothing is changed', async () => {
  const nodeAffinity = {
    requiredDuringSchedulingIgnoredDuringExecution: {
      nodeSelectorTerms: [{ matchExpressions: [{ key: 'imagenet', operator: 'Exists' }] }],
    },
  }
  const options = { path: '/mnt/local/imagenet' }
  const world = await worldWith([{ sourceType: 'Local', options, nodeAffinity }])
  await world.settle()
  expect((await world.manager())?.status?.state).toBe('Failed')

  await world.addNode('n4', { labels: { imagenet: 'yes' } })
  await world.settle()

  expect(await world.volume()).toMatchObject({
    message: 'success',
    volumeSource: { hostPath: { path: '/mnt/local/imagenet' } },
    replicas: [{ state: 'Ready', node: 'n4' }],
  })
  await world.addNode('n5', { labels: { imagenet: 'yes' } })
  world.fate = () =>
    ended('Failed', { message: moverSays({ code: 'Unexpected', message: 'EIO: i/o error', retry: false }) })
  await world.settle()
  expect(await world.volume()).toMatchObject({
    message: 'success',
    replicas: [{ state: 'Ready' }, { state: 'Failed', node: 'n5', message: 'EIO: i/o error' }],
  })
  expect(await world.nodesOf()).toEqual(['n4'])

  await world.deleteManager()
  await world.settle()
  expect(await world.manager()).toBeUndefined()
  expect([...world.disks.keys()]).toEqual(['n4:/mnt/local/imagenet'])
})

test('a Local directory that becomes a symbolic link has no pods after the next check', async () => {
  const options = { path: '/mnt/local/imagenet' }
  const world = await worldWith([{ sourceType: 'Local', options, nodeAffinity: ON_N1 }])
  world.settings = { ...world.settings, checks: { intervalSeconds: 86_400, timeoutSeconds: 60 } }
  await world.settle()
  expect(await world.nodesOf()).toEqual(['n1'])

  world.fate = () =>
    ended('Failed', {
      message: moverSays({ code: 'LinkInPath', message: 'imagenet is a symbolic link', retry: false }),
    })
  await world.pass(86_400)
  expect(await world.nodesOf()).toEqual([])
  expect((await world.volume())?.replicas).toMatchObject([{ state: 'Failed', reason: 'LinkInPath', node: 'n1' }])
  expect((await world.manager())?.status?.state).toBe('Failed')
  expect(world.events.map(({ reason }) => reason)).toContain('ReplicaLost')

  world.fate = () => 'completes'
  await world.pass(600)
  expect(await world.nodesOf()).toEqual(['n1'])
})
