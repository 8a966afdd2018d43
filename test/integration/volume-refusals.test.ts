/** Movers that the API server rejects, on a store in memory. */
import { describe, expect, test } from 'vitest'
import { secrets, serviceAccounts } from '../../src/api/dependencies.ts'
import type { K8sObject, ResourceType } from '../../src/api/meta.ts'
import { pods } from '../../src/api/pod.ts'
import { volumeManagers } from '../../src/api/volume-manager.ts'
import type { Secret } from '../../src/core/volume-manager/mover/credentials.ts'
import { ApiError } from '../../src/store/cluster/api-error.ts'
import { ConflictError, MissingPrerequisiteError } from '../../src/store/store.ts'
import { makeVolume, makeVolumeManager } from '../builders.ts'
import { forbidden, VOLUME_SETTINGS, VolumeWorld } from '../volume-world.ts'

type Refusal = (type: ResourceType, object: K8sObject) => Error | undefined

/** Each attempt has another Pod, and each answer another use of the quota. */
let asked = 0
const byQuota: Refusal = (type, { metadata }) =>
  type.kind === pods.kind
    ? forbidden(`pods "${metadata.name}" is forbidden: exceeded quota: few, requested: pods=1, used: pods=${asked++}`)
    : undefined
const forPods =
  (error: (name: string) => Error): Refusal =>
  (type, { metadata }) =>
    type.kind === pods.kind ? error(metadata.name ?? '') : undefined
const withStatus = (status: number, message: string) => new ApiError({ status, reason: '', message })

const REFUSALS: { name: string; refuse: Refusal; says: string }[] = [
  { name: 'a ResourceQuota', refuse: byQuota, says: 'exceeded quota: few' },
  {
    name: 'a ResourceQuota for ServiceAccounts',
    refuse: (type) => (type === serviceAccounts ? forbidden('exceeded quota: accounts') : undefined),
    says: 'exceeded quota: accounts',
  },
  {
    name: 'a LimitRange',
    refuse: forPods((name) => forbidden(`pods "${name}" is forbidden: maximum memory usage per Container is 64Mi`)),
    says: 'maximum memory usage per Container is 64Mi',
  },
  {
    name: 'Pod Security',
    refuse: forPods((name) => forbidden(`pods "${name}" is forbidden: violates PodSecurity "restricted:latest"`)),
    says: 'violates PodSecurity',
  },
  {
    name: 'an admission policy with the reason RequestEntityTooLarge',
    refuse: forPods((name) =>
      withStatus(413, `pods "${name}" is forbidden: ValidatingAdmissionPolicy 'p' denied request: no`),
    ),
    says: "ValidatingAdmissionPolicy 'p' denied request: no",
  },
  {
    name: 'a webhook with a status of its own',
    refuse: forPods(() => new ConflictError('admission webhook "policy.example.org" denied the request: no root')),
    says: 'denied the request: no root',
  },
  {
    name: 'a webhook that cannot be called',
    refuse: forPods(() => withStatus(500, 'Internal error occurred: failed calling webhook "p": no endpoints')),
    says: 'failed calling webhook',
  },
  {
    name: 'the patch of a webhook that does not apply',
    refuse: forPods(() =>
      withStatus(
        500,
        'Internal error occurred: add operation does not apply: doc is missing path: "/spec/initContainers/-": missing value',
      ),
    ),
    says: 'doc is missing path: "/spec/initContainers/-"',
  },
  {
    name: 'the patch of a webhook that makes no Pod',
    refuse: forPods(() =>
      withStatus(500, 'Internal error occurred: json: cannot unmarshal string into Go struct field Container.env'),
    ),
    says: 'cannot unmarshal string into Go struct field Container.env',
  },
  {
    name: 'a namespace of movers that does not exist',
    refuse: forPods(() => new MissingPrerequisiteError('namespace "movers" does not exist; create it')),
    says: 'namespace "movers" does not exist; create it',
  },
]

async function open(volume: object = {}, refuse?: Refusal): Promise<VolumeWorld> {
  const world = await new VolumeWorld().start('n1')
  world.refuse = refuse
  await world.store.create(volumeManagers, makeVolumeManager([{ replicas: 1, ...volume }]))
  await world.settle()
  return world
}

async function pass(world: VolumeWorld, minutes: number): Promise<void> {
  for (let i = 0; i < minutes; i++) await world.pass(60)
}

const eventsOf = (world: VolumeWorld, reason: string) => world.events.filter((event) => event.reason === reason)

describe.each(REFUSALS)('by $name', ({ refuse, says }) => {
  test('a download is Failed with the reason, has one Event, and is retried', async () => {
    const world = await open({}, refuse)
    await pass(world, 30)

    const { status } = (await world.manager()) ?? {}
    expect(status?.state).toBe('Failed')
    expect(status?.volumes?.[0]?.message).toContain('CreateRefused: ')
    expect(status?.volumes?.[0]?.message).toContain(says)
    expect(status?.volumes?.[0]?.replicas?.[0]?.failures).toBeGreaterThan(3)
    expect(eventsOf(world, 'MoverFailed')).toMatchObject([{ message: expect.stringContaining(says) }])

    world.refuse = undefined
    await pass(world, 10)
    expect((await world.manager())?.status?.state).toBe('Running')
  })

  test('an upload is Failed with the reason, has one Event, and is retried', async () => {
    const world = await open({ options: { ...makeVolume().options, resync: 'true' } })
    const path = (await world.volume())?.volumeSource?.hostPath?.path ?? ''
    await world.use('trainer', path, 'n1')
    await pass(world, 1)
    world.refuse = refuse
    world.restart()
    await world.unuse('trainer')
    await dropAccounts(world)
    await pass(world, 30)

    const { status } = (await world.manager()) ?? {}
    expect(status?.state).toBe('Failed')
    expect(status?.message).toContain(says)
    expect(eventsOf(world, 'WriteBackFailed')).toMatchObject([{ message: expect.stringContaining(says) }])

    world.refuse = undefined
    await pass(world, 10)
    expect((await world.manager())?.status?.state).toBe('Running')
  })

  test('a deletion shows the reason, has one Event, and is retried', async () => {
    const world = await open()
    world.refuse = refuse
    world.restart()
    await dropAccounts(world)
    await world.deleteManager()
    await pass(world, 30)

    const { status } = (await world.manager()) ?? {}
    expect(status?.message).toContain('the data is being deleted: vol1: deleting: n1: CreateRefused: ')
    expect(status?.message).toContain(says)
    expect(status?.conditions?.[0]).toMatchObject({ type: 'Ready', reason: 'CreateRefused' })
    expect(eventsOf(world, 'DeletionFailed')).toMatchObject([{ message: expect.stringContaining(says) }])

    world.refuse = undefined
    await pass(world, 10)
    expect(await world.manager()).toBeUndefined()
    expect(world.disks.size).toBe(0)
  })
})

/** Without the ServiceAccount of an earlier mover, the next one needs it again. */
async function dropAccounts(world: VolumeWorld): Promise<void> {
  for (const { object } of world.store.objects()) {
    if (object.kind === serviceAccounts.kind) await world.store.delete(serviceAccounts, object)
  }
}

test('a ResourceQuota for Secrets leaves no mover that cannot start', async () => {
  const world = await new VolumeWorld().start('n1')
  world.settings = { ...VOLUME_SETTINGS, movers: { ...VOLUME_SETTINGS.movers, namespace: 'movers' } }
  const data = { awsAccessKeyID: 'aWQ=', awsSecretAccessKey: 'a2V5' }
  const metadata = { name: 'aws-creds', namespace: 'default' }
  const credentials: Secret = { apiVersion: 'v1', kind: 'Secret', metadata, data }
  await world.store.create(secrets, credentials)
  const made: string[] = []
  world.refuse = (type, { metadata }) => {
    if (type.kind === pods.kind) made.push(metadata.name ?? '')
    return type.kind === secrets.kind ? forbidden('exceeded quota: few, requested: secrets=1') : undefined
  }
  await world.store.create(volumeManagers, makeVolumeManager([{ replicas: 1 }]))
  await world.settle()
  await pass(world, 10)

  const { status } = (await world.manager()) ?? {}
  expect(status?.state).toBe('Failed')
  expect(status?.volumes?.[0]?.message).toContain('CreateRefused: exceeded quota: few, requested: secrets=1')
  expect(eventsOf(world, 'MoverFailed')).toHaveLength(1)
  expect(made).toEqual([])

  world.refuse = undefined
  await pass(world, 10)
  expect((await world.manager())?.status?.state).toBe('Running')
})

test('a reason is bounded, and has no control characters', async () => {
  const world = await open(
    {},
    forPods(() => forbidden(`denied by \u001b[31mpolicy ${'x'.repeat(10_000)}`)),
  )

  const { status } = (await world.manager()) ?? {}
  const { message = '' } = status?.volumes?.[0]?.replicas?.[0] ?? {}
  expect(message).toMatch(/^denied by {1,2}\[31mpolicy x+…$/)
  expect(message).toHaveLength(512)
})

test('another reason is another Event', async () => {
  const world = await open({}, byQuota)
  await pass(world, 5)
  world.refuse = forPods(() => forbidden('violates PodSecurity'))
  await pass(world, 20)

  expect(eventsOf(world, 'MoverFailed')).toHaveLength(2)
})

test('one rejected mover does not hide those that were created', async () => {
  const world = await new VolumeWorld().start('n1', 'n2', 'n3')
  let created = 0
  world.refuse = (type, object) => (type.kind === pods.kind && created++ >= 1 ? byQuota(type, object) : undefined)
  const volumes = [
    { id: 'vol1', replicas: 1 },
    { id: 'vol2', replicas: 1 },
  ]
  await world.store.create(volumeManagers, makeVolumeManager(volumes))
  await world.settle()

  const states = (await world.manager())?.status?.volumes?.map(({ replicas }) => replicas?.[0]?.state)
  expect(states).toEqual(['Ready', 'Failed'])
  expect(world.violations).toEqual([])
  expect(world.movers()).toEqual([])
})

describe('an object beside the movers that the API server rejects', () => {
  const QUOTA = 'exceeded quota: few, requested: persistentvolumeclaims=1'
  const POLICY = "ValidatingAdmissionPolicy 'nodes' denied request: no labels"
  const forNodes = (type: ResourceType) => (type.kind === 'Node' ? forbidden(POLICY) : undefined)
  const readyMessage = async (world: VolumeWorld) =>
    (await world.manager())?.status?.conditions?.find(({ type }) => type === 'Ready')?.message

  test('is named in the status, in one Event, and retried: a claim', async () => {
    const refuse: Refusal = (type) => (type.kind === 'PersistentVolumeClaim' ? forbidden(QUOTA) : undefined)
    const options = { server: 'nfs.example.org', path: '/exports' }
    const world = await open({ sourceType: 'NFS', accessMode: 'ReadWriteMany', capacity: '5Gi', options }, refuse)
    await pass(world, 30)

    expect((await world.manager())?.status?.state).toBe('Failed')
    expect(await readyMessage(world)).toMatch(/^vol1: PersistentVolumeClaim vck-resource-\S+: .*exceeded quota: few/)
    expect(eventsOf(world, 'Failed')).toMatchObject([{ message: expect.stringContaining(QUOTA) }])

    world.refuse = undefined
    await pass(world, 5)
    expect((await world.manager())?.status?.state).toBe('Running')
  })

  test('is named in the status, in one Event, and retried: the claim of a replica', async () => {
    const refuse: Refusal = (type) => (type.kind === 'PersistentVolumeClaim' ? forbidden(QUOTA) : undefined)
    const world = await open({ volumeType: 'persistentVolumeClaim' }, refuse)
    await pass(world, 30)

    expect((await world.manager())?.status?.state).toBe('Failed')
    expect(eventsOf(world, 'Failed')).toMatchObject([{ message: expect.stringContaining(QUOTA) }])

    world.refuse = undefined
    await pass(world, 5)
    expect((await world.manager())?.status?.state).toBe('Running')
  })

  test('is named in the status, in one Event, and retried: the label of a node with data', async () => {
    const world = await new VolumeWorld().start('n1')
    world.refuseChange = forNodes
    await world.store.create(volumeManagers, makeVolumeManager([{ replicas: 1 }]))
    await pass(world, 30)

    expect((await world.manager())?.status?.state).toBe('Failed')
    expect(await readyMessage(world)).toBe(`Node n1: CreateRefused: ${POLICY}`)
    expect(eventsOf(world, 'Failed')).toMatchObject([{ message: expect.stringContaining(POLICY) }])

    world.refuseChange = undefined
    await pass(world, 5)
    expect((await world.manager())?.status?.state).toBe('Running')
  })

  test('does not hide data on other nodes: the label of one node', async () => {
    const world = await new VolumeWorld().start('n1', 'n2')
    world.refuseChange = (type, name) => (name === 'n2' ? forNodes(type) : undefined)
    await world.store.create(volumeManagers, makeVolumeManager([{ replicas: 2 }]))
    await pass(world, 5)

    const { state, conditions = [] } = (await world.manager())?.status ?? {}
    expect(state).toBe('Running')
    const complete = conditions.find(({ type }) => type === 'ReplicasReady')
    expect(complete).toMatchObject({
      status: 'False',
      message: expect.stringContaining(`Node n2: CreateRefused: ${POLICY}`),
    })
  })

  test.each([
    { name: 'a VolumeManager', remove: (world: VolumeWorld) => world.deleteManager() },
    { name: 'a namespace', remove: (world: VolumeWorld) => world.deleteNamespace() },
  ])('delays the deletion of $name visibly: the label of a node', async ({ remove }) => {
    const world = await open()
    world.refuseChange = forNodes
    await remove(world)
    await pass(world, 30)

    expect((await world.manager())?.status?.message).toBe(`the data is not deleted: Node n1: CreateRefused: ${POLICY}`)
    expect(eventsOf(world, 'Failed')).toMatchObject([{ message: expect.stringContaining(POLICY) }])

    world.refuseChange = undefined
    await pass(world, 5)
    expect(await world.manager()).toBeUndefined()
  })
})
