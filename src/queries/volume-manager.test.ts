import { describe, expect, test } from 'vitest'
import {
  makeAdmissionCheck,
  makeDaemonSet,
  makeKueueWorkload,
  makeObject,
  makePod,
  makeVolumeManager,
  NOW,
  nodesWith,
} from '../../test/builders.ts'
import { makeChange, storeOf, typeOf } from '../../test/stores.ts'
import { at, makeDeletion, makeMover, makeNode, makeReplica } from '../../test/volume-builders.ts'
import { VOLUME_SETTINGS } from '../../test/volume-world.ts'
import { type AdmissionCheckState, admissionChecks, kueueWorkloads } from '../api/kueue.ts'
import { VOLUME_LABEL } from '../api/lodestone.ts'
import type { K8sObject } from '../api/meta.ts'
import type { PersistentVolume } from '../api/persistent-volume.ts'
import type { Pod } from '../api/pod.ts'
import type { VolumeManager } from '../api/volume-manager.ts'
import type { VolumeStatus } from '../api/volume-status.ts'
import { defined } from '../base/json.ts'
import { type MoverTask, readTask } from '../core/volume-manager/mover/task.ts'
import {
  claimNameOf,
  dataPathOf,
  directoryOf,
  moverName,
  nodeLabelOf,
  replicaClaimName,
  volumeKey,
} from '../core/volume-manager/rules/names.ts'
import { cachedKinds } from '../store/kinds/cached-kinds.ts'
import { kueueKinds } from '../store/kinds/kueue.ts'
import type { ObjectStore, StoreChange } from '../store/store.ts'
import type { KnownSlots } from './mover-slots.ts'
import { gatherVolumeManager, type KnownMovers } from './volume-manager.ts'
import { concernedManagers, managersToRetry } from './volume-manager-changes.ts'
import { directoryUsers, lastUseEnd } from './volume-users.ts'

const UID = '00000000-0000-0000-0000-00000000000a'
const sales = makeVolumeManager([{}], { uid: UID })
const [volume] = sales.spec.volumeConfigs
if (!volume) throw new Error('a VolumeManager has a volume')
const directory = directoryOf(sales, volume)
const label = nodeLabelOf(sales, 'vol1', 'r')
const claimName = claimNameOf(sales, volume)

/** A VolumeManager with another name, whose volume has these replicas and deletions. */
function managerWith(name: string, status: Partial<VolumeStatus>, config = {}): VolumeManager {
  const volumes = [{ id: 'vol1', nodeAffinity: {}, ...status }]
  return makeVolumeManager([config], { name, uid: name, status: { volumes } })
}

const waiting = managerWith('waiting', { replicas: [makeReplica({ state: 'Queued', node: undefined as never })] })

/** A pod that mounts the data of `sales`. */
function makeUser(spec: Partial<Pod['spec']> = {}, status?: Pod['status'], name = 'trainer'): Pod {
  const volumes = [{ name: 'data', hostPath: { path: dataPathOf(sales, volume as never) } }]
  return { ...makePod([], { volumes, ...spec }, { name }), ...defined({ status }) }
}

const NO_SLOTS: KnownSlots = { created: [], stopping: new Set(), served: new Map() }

const endedAt = (finishedAt: string): Pod['status'] => ({
  phase: 'Succeeded',
  containerStatuses: [{ name: 'main', state: { terminated: { finishedAt } } }],
})

/** PersistentVolume or claim of `sales`. */
function makeStorage(kind: 'PersistentVolume' | 'PersistentVolumeClaim'): K8sObject {
  const object = makeObject('v1', kind, claimName)
  const { namespace: _, ...metadata } = object.metadata
  const labels = { [VOLUME_LABEL]: volumeKey(sales, 'vol1') }
  return { ...object, metadata: { ...(kind === 'PersistentVolume' ? metadata : object.metadata), labels } }
}

describe('the input of a plan', () => {
  const mover = makeMover({}, { phase: 'Running' }, 'n1')
  const ended = makeMover({ index: 1 }, { phase: 'Succeeded' }, 'n2')
  const unread = makeMover({ index: 2 })
  const foreign = { ...makeMover({ index: 3 }), metadata: { name: 'foreign', namespace: 'shop' } }
  const memory: KnownMovers = {
    uncached: [unread],
    created: [unread, mover, foreign],
    stopping: new Set(),
    served: new Map(),
    progress: new Map(),
    refusals: new Map([['a', 'quota']]),
    retryTriggers: new Map(),
    isTerminating: false,
  }
  const gather = async (manager: VolumeManager, objects: K8sObject[], known: Partial<KnownMovers> = {}) =>
    gatherVolumeManager(
      manager,
      { ...memory, ...known },
      { store: await storeOf(objects), settings: VOLUME_SETTINGS, now: NOW },
    )

  test('has the movers of the VolumeManager, with those that are not cached', async () => {
    const { movers } = await gather(sales, [mover, ended, foreign])

    expect([...movers.keys()].sort()).toEqual([mover, ended, unread].map(({ metadata }) => metadata.name).sort())
  })

  test('counts each running mover of all VolumeManagers once', async () => {
    const volumes = [{ id: 'vol1', nodeAffinity: {}, replicas: [makeReplica(), makeReplica({ index: 1 })] }]
    const owner = makeVolumeManager([{}], { uid: UID, status: { volumes } })
    const ofOwner = (pod: Pod): Pod => {
      const name = moverName(owner, readTask(pod) as MoverTask)
      return { ...pod, metadata: { ...pod.metadata, name } }
    }
    const running = ofOwner(mover)
    const { allowance } = await gather(sales, [owner, running, ofOwner(ended)], { created: [unread, running, foreign] })
    const names = allowance.active.map(({ metadata }) => metadata.name)

    expect(names).toEqual([running, unread, foreign].map(({ metadata }) => metadata.name))
  })

  test('counts no Pod that only has the labels of a mover', async () => {
    const forged = Array.from({ length: 20 }, (_, i) => ({
      ...mover,
      metadata: { ...mover.metadata, namespace: 'shop', name: `forged-${i}` },
    }))
    const { allowance, movers } = await gather(waiting, [waiting, ...forged], { created: [], uncached: [] })

    expect([allowance.active.length, allowance.slots, movers.size]).toEqual([0, 1, 0])
  })

  test('allows the VolumeManager as many movers as it waits for', async () => {
    const { allowance } = await gather(waiting, [waiting, sales])

    expect(allowance.slots).toBe(1)
  })

  test.each([
    { name: 'a Pod that a finalizer keeps', pod: makeMover({}, { phase: 'Failed' }, 'n1') },
    { name: 'a mover that has no node yet', pod: makeMover({ index: 5 }) },
  ])('keeps no slot free for a download that waits for $name', async ({ pod }) => {
    const replicas = [makeReplica({ state: 'Queued', attempt: 2, node: undefined as never })]
    const blocked = managerWith('sales', { replicas })
    const settings = { ...VOLUME_SETTINGS, movers: { ...VOLUME_SETTINGS.movers, maxInAll: 1 } }
    const slotsOf = async (manager: VolumeManager, ...pods: Pod[]) => {
      const store = await storeOf([blocked, waiting, ...pods])
      return gatherVolumeManager(manager, { ...memory, created: [], uncached: [] }, { store, settings, now: NOW })
        .allowance.slots
    }

    expect([await slotsOf(blocked), await slotsOf(waiting)]).toEqual([1, 0])
    expect([await slotsOf(blocked, pod), await slotsOf(waiting, pod)]).toEqual([0, 1])
  })

  test('finds nodes by name, and by the label of the VolumeManager', async () => {
    const { nodes } = await gather(sales, [makeNode('n1', { labels: { [label]: '' } }), makeNode('n2')])
    const names = [nodes.get('n2'), nodes.get('n9'), ...nodes.all(), ...nodes.labelled()].map(
      (node) => node?.metadata.name,
    )

    expect(names).toEqual(['n2', undefined, 'n1', 'n2', 'n1'])
  })

  test('has the PersistentVolumes and claims of the VolumeManager only', async () => {
    const others = [makeObject('v1', 'PersistentVolume', 'pv'), makeObject('v1', 'PersistentVolumeClaim', 'pvc')]
    const own = [makeStorage('PersistentVolume'), makeStorage('PersistentVolumeClaim')]
    const { persistentVolumes, persistentVolumeClaims } = await gather(sales, [...own, ...others])

    expect(
      [...persistentVolumes, ...persistentVolumeClaims].map(({ kind, metadata }) => [kind, metadata.name]),
    ).toEqual([
      ['PersistentVolume', claimName],
      ['PersistentVolumeClaim', claimName],
    ])
  })

  test('finds PersistentVolumes and claims by name, also those of other clients', async () => {
    const { exists } = await gather(sales, [
      makeObject('v1', 'PersistentVolume', 'pv'),
      makeObject('v1', 'PersistentVolumeClaim', 'pvc'),
    ])
    const kinds = ['PersistentVolume', 'PersistentVolumeClaim'] as const

    expect(kinds.map((kind) => ['pv', 'pvc'].map((name) => exists(kind, name)))).toEqual([
      [true, false],
      [false, true],
    ])
  })

  test('finds the users of data, and the last end of a user', async () => {
    const { users, lastEnd } = await gather(sales, [
      makeUser({ nodeName: 'n1' }),
      makeUser({ nodeName: 'n2' }, endedAt(at(5)), 'b'),
    ])

    expect([users(directory), lastEnd('n2', directory)]).toEqual([[{ pod: 'default/trainer', node: 'n1' }], at(5)])
  })

  test('has the settings, the memory of the loop and the time', async () => {
    const { manager, settings, progress, refusals, retryTriggers, now } = await gather(sales, [])

    expect({ manager, settings, progress, refusals, retryTriggers, now }).toEqual({
      manager: sales,
      settings: VOLUME_SETTINGS,
      progress: memory.progress,
      refusals: memory.refusals,
      retryTriggers: memory.retryTriggers,
      now: NOW,
    })
  })
})

describe('the users of data are', () => {
  const claimPod = (name: string) =>
    makePod([], { volumes: [{ name: 'd', persistentVolumeClaim: { claimName: name } }], nodeName: 'n1' })

  test.each<{ name: string; pod: Pod; place?: string; want: object[] }>([
    { name: 'running pods', pod: makeUser({ nodeName: 'n1' }), want: [{ pod: 'default/trainer', node: 'n1' }] },
    { name: 'pods that are not scheduled yet', pod: makeUser(), want: [{ pod: 'default/trainer' }] },
    {
      name: 'pods of any namespace, for a directory',
      pod: { ...makeUser(), metadata: { name: 'spy', namespace: 'shop' } },
      want: [{ pod: 'shop/spy' }],
    },
    { name: 'no ended pods', pod: makeUser({ nodeName: 'n1' }, endedAt(at(0))), want: [] },
    { name: 'no pods with other directories', pod: makeUser({ volumes: [] }), want: [] },
    {
      name: 'pods of the namespace, for a PersistentVolumeClaim',
      pod: claimPod(claimName),
      place: claimName,
      want: [{ pod: 'default/trainer', node: 'n1' }],
    },
    {
      name: 'no pods of other namespaces, for a PersistentVolumeClaim',
      pod: { ...claimPod(claimName), metadata: { name: 'spy', namespace: 'shop' } },
      place: claimName,
      want: [],
    },
  ])('$name', async ({ pod, place = directory, want }) => {
    expect(directoryUsers(await storeOf([pod]), 'default', place)).toEqual(want)
  })
})

test.each([
  { name: 'is that of the last pod', node: 'n1', ends: [at(5), at(9), at(7)], want: at(9) },
  { name: 'is not that of a pod on another node', node: 'n2', ends: [at(5)], want: undefined },
  { name: 'is undefined without pods', node: 'n1', ends: [], want: undefined },
])('the last end of a user $name', async ({ node, ends, want }) => {
  const users = ends.map((end, i) => makeUser({ nodeName: 'n1' }, endedAt(end), `p${i}`))

  expect(lastUseEnd(await storeOf(users), node, directory)).toBe(want)
})

describe('a pod that claims the data of a node', () => {
  const persistent: PersistentVolume = {
    apiVersion: 'v1',
    kind: 'PersistentVolume',
    metadata: {
      name: replicaClaimName(sales, 'vol1', 'revision', 0),
      labels: { 'lodestone.dev/volume': volumeKey(sales, 'vol1') },
      annotations: { 'lodestone.dev/node': 'n2' },
    },
    spec: { local: { path: `${directory}/data` }, claimRef: { namespace: 'default', name: 'c0' } },
  }
  const claiming = { volumes: [{ name: 'data', persistentVolumeClaim: { claimName: 'c0' } }] }

  test('uses the directory there, even before it is scheduled', async () => {
    const store = await storeOf([persistent, makePod('', claiming)])

    expect(directoryUsers(store, 'default', directory)).toEqual([{ pod: 'default/trainer', node: 'n2' }])
    expect(directoryUsers(store, 'default', `${directory}x`)).toEqual([])
  })

  test('uses nothing by a claim of the same name in another namespace', async () => {
    const store = await storeOf([persistent, makePod('', claiming, { namespace: 'other' })])

    expect(directoryUsers(store, 'default', directory)).toEqual([])
  })

  test('has a last end on that node only', async () => {
    const ended = { ...makePod('', { ...claiming, nodeName: 'n2' }), status: endedAt(at(5)) as Pod['status'] }
    const store = await storeOf([persistent, ended as Pod])

    expect(['n1', 'n2'].map((node) => lastUseEnd(store, node, directory))).toEqual([undefined, at(5)])
  })
})

test('a pod of a third namespace is no mover, whatever it says', async () => {
  const settings = { ...VOLUME_SETTINGS, movers: { ...VOLUME_SETTINGS.movers, namespace: 'movers' } }
  const maps = { progress: new Map(), refusals: new Map(), retryTriggers: new Map() }
  const none = { ...NO_SLOTS, ...maps, uncached: [], isTerminating: false }
  const moverIn = (namespace: string): Pod => {
    const mover = makeMover()
    return { ...mover, metadata: { ...mover.metadata, namespace, name: `m-${namespace}` } }
  }
  const store = await storeOf(['default', 'movers', 'other'].map(moverIn))

  const { movers } = gatherVolumeManager(makeVolumeManager(), none, { store, settings, now: NOW })

  expect([...movers.keys()].sort()).toEqual(['m-default', 'm-movers'])
})

interface Change {
  name: string
  stored?: K8sObject[]
  before?: K8sObject
  after?: K8sObject
  want: string[]
}

describe('a change concerns', () => {
  const ready = managerWith('ready', { replicas: [makeReplica({ node: 'n9' })] })
  const onNode = managerWith('on-node', { replicas: [makeReplica({ node: 'n1' })] })
  const local = managerWith('local', {}, { sourceType: 'Local', options: { path: '/mnt/local/a' } })
  const queued = (name: string, seconds: number, config = {}) =>
    managerWith(
      name,
      { replicas: [makeReplica({ state: 'Queued', since: at(seconds), node: undefined as never })] },
      config,
    )
  const queue = ['q5', 'q4', 'q3', 'q2', 'q1'].map((name, i) => queued(name, -i))
  const next = ['default/q1', 'default/q2', 'default/q3', 'default/q4']
  const running = makeMover({}, { phase: 'Running' }, 'n1')

  test.each<Change>([
    { name: 'a VolumeManager itself', after: sales, want: ['default/sales'] },
    { name: 'a deleted VolumeManager', before: sales, want: ['default/sales'] },
    {
      name: 'the first VolumeManagers of the queue, if one leaves it',
      stored: queue,
      before: waiting,
      want: ['default/waiting', ...next],
    },
    {
      name: 'no other VolumeManager, if one joins the queue',
      stored: queue,
      after: waiting,
      want: ['default/waiting'],
    },
    { name: 'the VolumeManager of a mover', stored: queue, after: running, want: ['default/sales'] },
    {
      name: 'the first VolumeManagers of the queue, if a mover ends',
      stored: queue,
      after: makeMover({}, { phase: 'Succeeded' }, 'n1'),
      want: [...next, 'default/sales'],
    },
    {
      name: 'the first VolumeManagers of the queue, if a running mover is deleted',
      stored: queue,
      before: running,
      want: [...next, 'default/sales'],
    },
    {
      name: 'the first VolumeManager that may use the node of an ended mover, also behind many that may not',
      stored: [
        ...['q1', 'q2', 'q3', 'q4', 'q5'].map((name, i) => queued(name, i, { nodeAffinity: nodesWith('disk') })),
        ...[queued('waiting', 9), makeNode('n1')],
      ],
      after: makeMover({}, { phase: 'Succeeded' }, 'n1'),
      want: [...next, 'default/waiting', 'default/sales'],
    },
    {
      name: 'the VolumeManager whose data a pod uses',
      stored: [sales, onNode],
      after: makeUser(),
      want: ['default/sales'],
    },
    {
      name: 'the VolumeManager whose data a pod used',
      stored: [sales, onNode],
      after: makeUser({ nodeName: 'n1' }, endedAt(at(0))),
      want: ['default/sales'],
    },
    {
      name: 'the VolumeManager whose PersistentVolumeClaim a pod uses',
      stored: [sales, onNode],
      after: makePod([], { volumes: [{ name: 'd', persistentVolumeClaim: { claimName } }] }),
      want: ['default/sales'],
    },
    { name: 'none, if a pod has other mounts', stored: [sales], after: makePod([]), want: [] },
    {
      name: 'the VolumeManager of a PersistentVolume',
      stored: [sales, onNode],
      after: makeStorage('PersistentVolume'),
      want: ['default/sales'],
    },
    {
      name: 'the VolumeManager of a PersistentVolumeClaim',
      stored: [sales, onNode],
      before: makeStorage('PersistentVolumeClaim'),
      want: ['default/sales'],
    },
    {
      name: 'none, if the PersistentVolume is not of a volume',
      stored: [sales],
      after: makeObject('v1', 'PersistentVolume', 'pv'),
      want: [],
    },
    {
      name: 'those with data on a new node, with local data, and those that wait for a node',
      stored: [sales, onNode, waiting, local, ready],
      after: makeNode('n1'),
      want: ['default/on-node', 'default/waiting', 'default/local'],
    },
    {
      name: 'only the owner of a removed node label',
      stored: [sales, onNode, waiting, local],
      before: makeNode('n1', { labels: { [label]: '', zone: 'a' } }),
      after: makeNode('n1', { labels: { zone: 'a' } }),
      want: ['default/sales'],
    },
    {
      name: 'all that may use the node, if another label changes',
      stored: [sales, onNode, waiting, local],
      before: makeNode('n1', { labels: { zone: 'a' } }),
      after: makeNode('n1', { labels: { zone: 'b' } }),
      want: ['default/on-node', 'default/waiting', 'default/local'],
    },
    {
      name: 'those of a namespace that is being deleted',
      stored: [sales, onNode, { ...ready, metadata: { ...ready.metadata, namespace: 'shop' } }],
      after: { ...makeObject('v1', 'Namespace', 'default'), metadata: { name: 'default', deletionTimestamp: at(0) } },
      want: ['default/sales', 'default/on-node'],
    },
    {
      name: 'none of a namespace that stays',
      stored: [sales],
      after: makeObject('v1', 'Namespace', 'default'),
      want: [],
    },
    { name: 'none for another kind', stored: [sales], after: makeObject('v1', 'ConfigMap', 'sales'), want: [] },
  ])('$name', async ({ stored = [], want, ...change }) => {
    const store = await storeOf(stored)
    const found = concernedManagers(await makeChange(store, change), store, VOLUME_SETTINGS, NO_SLOTS)

    expect([...new Set(found)]).toEqual(want)
  })

  test('none, if a node does not change', async () => {
    const store = await storeOf([onNode, waiting])
    const node = makeNode('n1')

    expect(
      concernedManagers(
        { type: typeOf('v1', 'Node'), before: node, after: { ...node } },
        store,
        VOLUME_SETTINGS,
        NO_SLOTS,
      ),
    ).toEqual([])
  })
})

const evicted = managerWith('evicted', { replicas: [makeReplica({ state: 'Evicted', node: undefined as never })] })

/** The volumes of `evicted` for which work waits without pods. */
function awaitedOf(store: ObjectStore): string[] | undefined {
  const known: KnownMovers = {
    ...NO_SLOTS,
    uncached: [],
    progress: new Map(),
    refusals: new Map(),
    retryTriggers: new Map(),
    isTerminating: false,
  }
  const { awaited } = gatherVolumeManager(evicted, known, { store, settings: VOLUME_SETTINGS, now: NOW })
  return awaited && [...awaited]
}

describe('a Workload of Kueue', () => {
  const check = (state: AdmissionCheckState['state'], name = 'data'): AdmissionCheckState => ({
    name,
    state,
    message: '',
    lastTransitionTime: at(0),
  })
  const multiKueue = makeAdmissionCheck({ controllerName: 'kueue.x-k8s.io/multikueue' }, { name: 'workers' })

  /** The VolumeManagers that the Workload concerns, and the volumes of `evicted` that it awaits. */
  async function awaitedBy(volumes: string, checks: AdmissionCheckState[], kinds = [...cachedKinds, ...kueueKinds]) {
    const store = await storeOf([evicted, sales], kinds)
    if (kinds.length === cachedKinds.length) return { concerned: [], awaited: awaitedOf(store) }
    for (const one of [makeAdmissionCheck(), multiKueue]) await store.create(admissionChecks, one)
    const workload = makeKueueWorkload({ volumes, checks })
    const changes: StoreChange[] = []
    store.subscribe((change) => changes.push(change))
    await store.create(kueueWorkloads, workload)
    const of = { namespace: 'default', name: 'job-train' }
    await store.patch(kueueWorkloads, of, { status: workload.status }, { subresource: 'status' })
    const concerned = changes.flatMap((change) => concernedManagers(change, store, VOLUME_SETTINGS, NO_SLOTS))
    return { concerned: [...new Set(concerned)], awaited: awaitedOf(store) }
  }

  test.each<{ name: string; volumes: string; checks: AdmissionCheckState[] }>([
    { name: 'that waits', volumes: '{"name":"evicted"}', checks: [check('Pending')] },
    { name: 'that waits for its volume by id', volumes: '{"name":"evicted","id":"vol1"}', checks: [check('Pending')] },
  ])('$name awaits evicted data', async ({ volumes, checks }) => {
    expect(await awaitedBy(volumes, checks)).toEqual({ concerned: ['default/evicted'], awaited: ['vol1'] })
  })

  test.each<{ name: string; volumes: string; checks: AdmissionCheckState[] }>([
    { name: 'whose check is Ready', volumes: '{"name":"evicted"}', checks: [check('Ready')] },
    { name: 'without a check of Lodestone', volumes: '{"name":"evicted"}', checks: [check('Pending', 'other')] },
    {
      name: 'that MultiKueue runs in a worker',
      volumes: '{"name":"evicted"}',
      checks: [check('Pending'), check('Pending', 'workers')],
    },
    { name: 'that names another VolumeManager', volumes: '{"name":"sales"}', checks: [check('Pending')] },
    { name: 'with an annotation that is not JSON', volumes: '{', checks: [check('Pending')] },
  ])('$name awaits no evicted data', async ({ volumes, checks }) => {
    expect((await awaitedBy(volumes, checks)).awaited).toEqual([])
  })

  test('that only prefers the data does not await it', async () => {
    const asks = '{"name":"evicted","enforcement":"Preferred"}'
    expect((await awaitedBy(asks, [check('Pending')])).awaited).toEqual([])
  })

  test('concerns no VolumeManager without evicted data', async () => {
    expect((await awaitedBy('{"name":"sales"}', [check('Pending')])).concerned).toEqual([])
  })

  test('is not looked for while Lodestone answers no checks', async () => {
    expect((await awaitedBy('{"name":"evicted"}', [], [...cachedKinds])).awaited).toEqual([])
  })
})

test.each([
  { name: 'requires', asks: '{"name":"evicted"}', awaited: ['vol1'] },
  { name: 'prefers', asks: '{"name":"evicted","enforcement":"Preferred"}', awaited: [] },
])('a DaemonSet that $name evicted data concerns its VolumeManager', async ({ asks, awaited }) => {
  const store = await storeOf([evicted, sales])
  const change = await makeChange(store, { after: makeDaemonSet(asks) })

  expect(concernedManagers(change, store, VOLUME_SETTINGS, NO_SLOTS)).toEqual(['default/evicted'])
  expect(awaitedOf(store)).toEqual(awaited)
})

describe('the retry trigger of a change:', () => {
  const failedReplica = { replicas: [makeReplica({ state: 'Failed', node: undefined as never })] }
  const failed = managerWith('failed', failedReplica)
  const elsewhere = managerWith('elsewhere', failedReplica, { nodeAffinity: nodesWith('disk') })
  const deleting = managerWith(
    'deleting',
    { deletions: [makeDeletion({ state: 'Failed' })] },
    { nodeAffinity: nodesWith('disk') },
  )
  const evicted = managerWith('evicting', { deletions: [makeDeletion({ cause: 'Evicted', node: 'n1' })] })
  const pressed = (name: string) => {
    const node = makeNode(name)
    return {
      ...node,
      status: { conditions: [...(node.status?.conditions ?? []), { type: 'DiskPressure', status: 'True' }] },
    }
  }
  const tainted = (name: string) => ({ ...makeNode(name), spec: { taints: [{ key: 'gpu', effect: 'NoSchedule' }] } })
  const reading = managerWith('reading', {}, {})
  const secret = makeObject('v1', 'Secret', 'aws-creds')

  test.each<Omit<Change, 'want'> & { want: [string, string[]][] }>([
    {
      name: 'a Secret of a VolumeManager',
      stored: [reading, makeVolumeManager([{ options: {} }])],
      after: secret,
      want: [['secret', ['default/reading']]],
    },
    { name: 'not a deleted Secret', stored: [reading], before: secret, want: [] },
    {
      name: 'a new node that matches the failed volume',
      stored: [failed, elsewhere, waiting],
      after: makeNode('n1'),
      want: [['node', ['default/failed']]],
    },
    {
      name: 'a node that recovers with data to delete',
      stored: [failed, elsewhere, deleting],
      before: makeNode('n1', { unreadySince: at(-9) }),
      after: makeNode('n1'),
      want: [['node', ['default/failed', 'default/deleting']]],
    },
    {
      name: 'a node whose disk pressure ended',
      stored: [failed],
      before: pressed('n1'),
      after: makeNode('n1'),
      want: [['node', ['default/failed']]],
    },
    {
      name: 'a node whose labels changed',
      stored: [failed],
      before: makeNode('n1'),
      after: makeNode('n1', { labels: { a: '' } }),
      want: [['node', ['default/failed']]],
    },
    {
      name: 'a node that lost a taint',
      stored: [failed],
      before: tainted('n1'),
      after: makeNode('n1'),
      want: [['node', ['default/failed']]],
    },
    {
      name: 'not a node that is tainted, although its labels changed',
      stored: [failed],
      before: makeNode('n1'),
      after: tainted('n1'),
      want: [['node', []]],
    },
    {
      name: 'not a node with another label of a VolumeManager',
      stored: [failed],
      before: makeNode('n1'),
      after: makeNode('n1', { labels: { 'vck.intelai.org/4b1d-0123456789abc': 'true' } }),
      want: [],
    },
    { name: 'not a node with disk pressure', stored: [failed], after: pressed('n1'), want: [] },
    { name: 'not a deleted node', stored: [failed], before: makeNode('n1'), want: [] },
    {
      name: 'the end of an eviction on a node without disk pressure',
      stored: [failed, makeNode('n1')],
      before: evicted,
      want: [['node', ['default/failed']]],
    },
    {
      name: 'not the end of an eviction on a node with disk pressure',
      stored: [failed, pressed('n1')],
      before: evicted,
      want: [],
    },
    { name: 'not the end of an eviction on a deleted node', stored: [failed], before: evicted, want: [] },
    { name: 'not the start of an eviction', stored: [failed, makeNode('n1')], after: evicted, want: [] },
    {
      name: 'another spec of the VolumeManager',
      before: failed,
      after: managerWith('failed', failedReplica, { replicas: 2 }),
      want: [['spec', ['default/failed']]],
    },
    {
      name: 'not another status of the VolumeManager',
      before: failed,
      after: managerWith('failed', {}),
      want: [],
    },
    { name: 'no other change', stored: [failed], after: makeObject('v1', 'ConfigMap', 'a'), want: [] },
  ])('$name', async ({ stored = [], want, ...change }) => {
    const store = await storeOf(stored)

    expect(managersToRetry(await makeChange(store, change), store)).toEqual(want)
  })
})
