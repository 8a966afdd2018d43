import { describe, expect, test } from 'vitest'
import { makePod, makeVolumeManager, NOW } from '../../../test/builders.ts'
import {
  asTask,
  at,
  makeDeletion,
  makeMover,
  makeNode,
  makeReplica,
  makeVolumeInput,
  moversOf,
  nodeWithDisk,
} from '../../../test/volume-builders.ts'
import { VOLUME_FINALIZER } from '../../api/lodestone.ts'
import type { Pod } from '../../api/pod.ts'
import { type VolumeManager, volumeManagers } from '../../api/volume-manager.ts'
import type { VolumeStatus } from '../../api/volume-status.ts'
import type { Action } from '../plan.ts'
import type { VolumeManagerInput } from './input.ts'
import { planVolumeManager } from './plan.ts'
import { directoryOf, nodeLabelOf } from './rules/names.ts'
import { revisionOf } from './rules/source-types.ts'

const FINALIZERS = [VOLUME_FINALIZER]
const bare = makeVolumeManager()
const [config] = bare.spec.volumeConfigs
if (!config) throw new Error('the builder gives a volume')
const revision = revisionOf(config)
const path = directoryOf(bare, config)
const LABEL = nodeLabelOf(bare, 'vol1', revision)

function managerWith(
  volume: Partial<VolumeStatus> | undefined,
  metadata: object = {},
  state?: 'Completed' | 'Failed',
): VolumeManager {
  const status = volume && { volumes: [{ id: 'vol1', nodeAffinity: {}, nextIndex: 5, ...volume }] }
  return makeVolumeManager([{}], {
    finalizers: FINALIZERS,
    ...(status && { status }),
    ...(state && { state }),
    ...metadata,
  })
}

/** A short description of an action. */
const short = (action: Action): string => {
  if (action.kind === 'event') return `event ${action.reason}`
  if (action.kind !== 'patch') return `${action.kind} ${action.type.kind}`
  const what = action.subresource ?? ('finalizers' in (action.patch['metadata'] as object) ? 'finalizers' : 'labels')
  return `patch ${what} of ${action.of.name}`
}

interface Case {
  name: string
  input: Partial<VolumeManagerInput>
  want: string[]
  due?: number
}

const beingDeleted = (pod: Pod): Pod => ({ ...pod, metadata: { ...pod.metadata, deletionTimestamp: at(0) } })
const nodesWithData = [makeNode('n1', { labels: { [LABEL]: 'true' } })]
const nodesOf = (nodes: ReturnType<typeof makeNode>[]) => makeVolumeInput({ nodes }).nodes
const ready = makeReplica({ revision, path })

test.each<Case>([
  { name: 'gets its finalizer first', input: { manager: bare }, want: ['patch finalizers of sales'] },
  {
    name: 'has no actions while it is being deleted without the finalizer',
    input: { manager: makeVolumeManager([{}], { deletionTimestamp: at(0) }) },
    want: [],
  },
  {
    name: 'records queued work before a mover starts',
    input: { manager: managerWith(undefined) },
    want: ['patch status of sales', 'event Pending'],
    due: 60,
  },
  {
    name: 'starts movers for recorded work, and then writes the status',
    input: {
      manager: managerWith({ replicas: [makeReplica({ revision, path, state: 'Queued', node: undefined as never })] }),
    },
    want: ['create Pod', 'patch status of sales', 'event Pending'],
    due: 30,
  },
  {
    name: 'labels the node before the status, and deletes the mover after it',
    input: {
      manager: managerWith({ replicas: [makeReplica({ revision, path, state: 'Starting' })] }),
      movers: moversOf(makeMover({ revision, path }, { phase: 'Succeeded' }, 'n1')),
    },
    want: ['patch labels of n1', 'patch status of sales', 'delete Pod', 'event Running'],
  },
  {
    name: 'removes the label before it deletes the data',
    input: { manager: managerWith({ replicas: [ready] }, {}, 'Completed'), nodes: nodesOf(nodesWithData) },
    want: ['patch labels of n1', 'patch status of sales', 'event Pending'],
    due: 3,
  },
  {
    name: 'with the wanted state Failed deletes its data too',
    input: { manager: managerWith({ replicas: [ready] }, {}, 'Failed'), nodes: nodesOf(nodesWithData) },
    want: ['patch labels of n1', 'patch status of sales', 'event Failed'],
    due: 3,
  },
  {
    name: 'does not delete a mover twice',
    input: { manager: managerWith(undefined), movers: moversOf(beingDeleted(makeMover({ index: 9 }, {}, 'n1'))) },
    want: ['patch status of sales', 'event Pending'],
    due: 3,
  },
  {
    name: 'deletes the mover of an earlier VolumeManager of its name',
    input: { manager: managerWith(undefined), movers: moversOf(asTask({ id: 'old' }, makeMover({}, {}, 'n1'))) },
    want: ['patch status of sales', 'delete Pod', 'event Pending'],
    due: 3,
  },
  {
    name: 'ignores pods that are not movers',
    input: { manager: managerWith(undefined), movers: moversOf(makePod([])) },
    want: ['patch status of sales', 'event Pending'],
    due: 60,
  },
  {
    name: 'that is being deleted keeps its finalizer while a claim of it exists',
    input: {
      manager: managerWith(undefined, { deletionTimestamp: at(0) }),
      persistentVolumeClaims: [{ apiVersion: 'v1', kind: 'PersistentVolumeClaim', metadata: { name: 'a' } }],
    },
    want: ['delete PersistentVolumeClaim', 'patch status of sales', 'event Pending'],
  },
  {
    name: 'that is being deleted waits for its data',
    input: {
      manager: managerWith({ deletions: [makeDeletion({ path })] }, { deletionTimestamp: at(0) }),
      users: () => [{ pod: 'default/reader', node: 'n1' }],
    },
    want: ['patch status of sales', 'event Pending'],
    due: 3,
  },
  {
    name: 'that is being deleted loses its finalizer when its data is deleted',
    input: { manager: managerWith(undefined, { deletionTimestamp: at(0), finalizers: [...FINALIZERS, 'other'] }) },
    want: ['patch finalizers of sales'],
  },
  {
    name: 'that is the last one removes the reports about disks from nodes before its finalizer',
    input: {
      manager: managerWith(undefined, { deletionTimestamp: at(0) }),
      nodes: nodesOf([nodeWithDisk({ root: '/var/datasets', freeBytes: 1, totalBytes: 9, time: at(1) })]),
      isLast: true,
    },
    want: ['patch labels of n1', 'patch finalizers of sales'],
  },
  {
    name: 'that is being deleted keeps its finalizer while a node has its label',
    input: { manager: managerWith(undefined, { deletionTimestamp: at(0) }), nodes: nodesOf(nodesWithData) },
    want: ['patch labels of n1', 'patch status of sales', 'event Completed'],
  },
])('a VolumeManager $name', ({ input, want, due }) => {
  const plan = planVolumeManager({ ...makeVolumeInput(), ...input })

  expect(plan.actions.map(short)).toEqual(want)
  expect(plan.requeueAfterMs).toBe(due === undefined ? undefined : due * 1000)
})

describe('a plan', () => {
  const of = { type: volumeManagers, namespace: 'default', name: 'sales' }
  const actionsFor = (metadata: object, status?: VolumeManager['status']) =>
    planVolumeManager({
      ...makeVolumeInput(),
      manager: makeVolumeManager([{}], { ...metadata, ...(status && { status }) }),
    }).actions

  test('adds its finalizer to the others, and removes only this one', () => {
    const deletionTimestamp = at(0)
    const added = actionsFor({ resourceVersion: '7', finalizers: ['other'] })
    const removed = actionsFor({ resourceVersion: '8', finalizers: ['other', VOLUME_FINALIZER], deletionTimestamp })

    expect([...added, ...removed]).toEqual([
      { kind: 'patch', of, patch: { metadata: { resourceVersion: '7', finalizers: ['other', VOLUME_FINALIZER] } } },
      { kind: 'patch', of, patch: { metadata: { resourceVersion: '8', finalizers: ['other'] } } },
    ])
  })

  test('patches the changed status, with the resource version that was read', () => {
    const [patch] = actionsFor({ resourceVersion: '7', finalizers: FINALIZERS }, { state: 'Pending', nodes: '' })

    expect(patch).toMatchObject({
      kind: 'patch',
      of,
      subresource: 'status',
      patch: { metadata: { resourceVersion: '7' } },
    })
    expect(Object.keys((patch?.kind === 'patch' && (patch.patch['status'] as object)) || {})).toEqual([
      ...['message', 'ready', 'replicas', 'volumes', 'conditions'],
    ])
  })

  test('that was applied has no writes again', () => {
    const manager = managerWith({ replicas: [ready] })
    const input = { ...makeVolumeInput({ nodes: nodesWithData }), manager }
    const [patch] = planVolumeManager(input).actions
    const status = patch?.kind === 'patch' ? patch.patch['status'] : undefined
    const applied = { ...manager, status: { ...manager.status, ...(status as object) } }

    expect(planVolumeManager({ ...input, manager: applied }).actions).toEqual([])
  })

  test('requeues after a second at the earliest', () => {
    const manager = managerWith({ replicas: [makeReplica({ revision, path, state: 'Failed', retryTime: at(1) })] })

    const { requeueAfterMs } = planVolumeManager({ ...makeVolumeInput(), manager, now: NOW + 900 })

    expect(requeueAfterMs).toBe(1000)
  })

  test('removes the status of a volume that is no longer in the spec after its data', () => {
    const volumes = ['vol1', 'old'].map((id) => ({ id, nodeAffinity: {}, nextIndex: 0 }))
    const manager = { ...managerWith(undefined), status: { volumes } }

    const [patch] = planVolumeManager({ ...makeVolumeInput(), manager }).actions

    expect(patch).toMatchObject({ patch: { status: { volumes: [{ id: 'vol1' }] } } })
  })
})

describe('a spec with volumes that cannot be read, as the CRD of VCK allows', () => {
  const withSpec = (volumeConfigs: unknown, metadata: object = {}): VolumeManager => {
    const manager = managerWith({ replicas: [ready] }, metadata)
    return { ...manager, spec: { volumeConfigs } as never }
  }
  const input = { nodes: nodesWithData, movers: [makeMover({ index: 9 }, { phase: 'Running' }, 'n1')] }

  test.each<{ volumes: unknown; at: string }>([
    ...[null, 'x', 1, [], {}, { id: 1 }].map((one) => ({ volumes: [config, one], at: 'spec.volumeConfigs[1]' })),
    { volumes: [null], at: 'spec.volumeConfigs[0]' },
    { volumes: 'x', at: 'spec.volumeConfigs' },
    { volumes: {}, at: 'spec.volumeConfigs' },
  ])('names $at for $volumes, and touches no data', ({ volumes, at }) => {
    const plan = planVolumeManager(makeVolumeInput({ ...input, manager: withSpec(volumes) }))

    expect(plan.actions.map(short)).toEqual(['patch status of sales', 'event Failed'])
    const [action] = plan.actions
    const { conditions, ...status } = (action?.kind === 'patch' && action.patch['status']) as Record<string, unknown>
    expect(status).toEqual({ state: 'Failed', message: 'failed to deploy all the sub-resources' })
    const message = expect.stringContaining(`${at}: must be`)
    expect(conditions).toContainEqual(expect.objectContaining({ type: 'Stalled', reason: 'InvalidSpec', message }))
  })

  test('is deleted with its data', () => {
    const manager = withSpec([null], { deletionTimestamp: at(0) })
    const plan = planVolumeManager(makeVolumeInput({ ...input, movers: [], manager }))
    expect(plan.actions.map(short)).toEqual(['patch labels of n1', 'patch status of sales', 'event Pending'])
  })
})
