import { describe, expect, test } from 'vitest'
import { makeVolume, makeVolumeManager, NOW } from '../../../../test/builders.ts'
import {
  asTask,
  at,
  makeDeletion,
  makeMover,
  makeNode,
  makeReplica,
  makeVolumeInput,
  observeVolume,
  PATH,
} from '../../../../test/volume-builders.ts'
import { ended, moverSays, VOLUME_SETTINGS } from '../../../../test/volume-world.ts'
import type { Node } from '../../../api/node.ts'
import type { Pod } from '../../../api/pod.ts'
import type { DeletionStatus, ReplicaStatus } from '../../../api/volume-status.ts'
import type { FailureCode } from '../../mover-contract/contract.ts'
import { deletionMover, uploadMover } from '../mover/build.ts'
import { moverName, nodeLabelsFor, nodeLabelsOf } from '../rules/names.ts'
import { isDeletedInUse } from './deletion.ts'
import { divideReplica, evictReplica, stepDeletions, stepReplicas } from './replica.ts'

const config = makeVolume()

/** Steps the replicas of vol1. */
function step(replicas: ReplicaStatus[], parts: Parameters<typeof makeVolumeInput>[0] = {}, volume = config) {
  const volumes = [{ id: 'vol1', nodeAffinity: {}, replicas, nextIndex: 5 }]
  const input = makeVolumeInput({ manager: makeVolumeManager([{}], { status: { volumes } }), ...parts })
  return stepReplicas(observeVolume(input), volume, { isValid: true, evenChanged: false })
}
const stateOf =
  (parts?: Parameters<typeof makeVolumeInput>[0]) =>
  (replicas = [makeReplica()]) =>
    step(replicas, parts).replicas

describe('a replica is observed', () => {
  test('by its mover and the node of its mover', () => {
    const moving = makeReplica({ state: 'Starting', node: undefined as never })
    const movers = [makeMover({}, { phase: 'Succeeded' }, 'n2')]

    expect(stateOf({ movers })([moving])).toMatchObject([{ state: 'Ready', node: 'n2', nodeUID: 'uid-n2' }])
  })

  test('by other replicas on that node: the same data counts once', () => {
    const moving = makeReplica({ state: 'Starting', node: undefined as never })
    const movers = [makeMover({}, { phase: 'Succeeded' }, 'n2')]

    expect(stateOf({ movers })([moving, makeReplica({ index: 1, node: 'n2' })])).toMatchObject([
      { state: 'Queued', reason: 'NodeTaken' },
      { state: 'Ready' },
    ])
  })

  test('by the creation of its node: a mover of an earlier one left no data there', () => {
    const moving = makeReplica({ state: 'Starting', node: undefined as never })
    const conditions = [{ type: 'PodScheduled', status: 'True', lastTransitionTime: at(-60) }]
    const movers = [makeMover({}, { phase: 'Succeeded', conditions }, 'n2')]
    const node = (seconds: number): Node => ({
      ...makeNode('n2'),
      metadata: { name: 'n2', creationTimestamp: at(seconds) },
    })

    expect(stateOf({ movers, nodes: [node(-90)] })([moving])).toMatchObject([{ state: 'Ready', node: 'n2' }])
    expect(stateOf({ movers, nodes: [node(-30)] })([moving])).toMatchObject([
      { state: 'Queued', node: 'n2', reason: 'NodeReplaced' },
    ])
  })

  test('by a rejection of the API server', () => {
    const moving = makeReplica({ state: 'Starting' })
    const refusals = new Map([[makeMover().metadata.name ?? '', 'quota exceeded']])

    expect(stateOf({ refusals })([moving])).toMatchObject([
      { state: 'Failed', reason: 'CreateRefused', message: 'quota exceeded', isPermanent: true },
    ])
  })

  test('by the health of its node', () => {
    const nodes = [makeNode('n1', { unreadySince: at(-301) })]

    expect(stateOf({ nodes })()).toMatchObject([{ state: 'Unreachable' }])
    expect(stateOf({ nodes: [] })()).toMatchObject([{ state: 'Queued', reason: 'NodeGone' }])
  })

  test('by replicas that became ready in the same plan: the same data counts once', () => {
    const moving = [0, 1].map((index) => makeReplica({ index, state: 'Starting', node: undefined as never }))
    const movers = moving.map(({ index }) => makeMover({ index }, { phase: 'Succeeded' }, 'n2'))

    expect(stateOf({ movers })(moving)).toMatchObject([{ state: 'Ready' }, { state: 'Queued', reason: 'NodeTaken' }])
  })

  test.each<{ name: string; other: Partial<ReplicaStatus> }>([
    { name: 'that is not complete', other: { node: 'n2', state: 'Downloading' } },
    { name: 'on another node', other: { node: 'n3' } },
    { name: 'in another directory', other: { node: 'n2', path: '/old' } },
  ])('without the data of another replica $name', ({ other }) => {
    const moving = makeReplica({ index: 1, state: 'Starting', node: undefined as never })
    const movers = [
      makeMover({ index: 1 }, { phase: 'Succeeded' }, 'n2'),
      makeMover({ index: 0 }, { phase: 'Running' }, 'n2'),
    ]

    expect(stateOf({ movers })([makeReplica(other), moving])[1]).toMatchObject({ state: 'Ready', node: 'n2' })
  })

  test('without other replicas, for data on no node', () => {
    const moving = makeReplica({ state: 'Starting', node: undefined as never, path: undefined as never })
    const movers = [makeMover({}, { phase: 'Succeeded' }, 'n2')]

    expect(stateOf({ movers })([moving])).toMatchObject([{ state: 'Ready' }])
  })

  test.each<{ name: string; on: (string | undefined)[]; state: string }>([
    { name: 'a pod that waits for a node', on: [undefined], state: 'Queued' },
    { name: 'a pod that waits for a node beside one on a node', on: ['n2', undefined], state: 'Queued' },
    { name: 'a pod on a node', on: ['n2'], state: 'Evicted' },
  ])('by $name, when it was evicted', ({ on, state }) => {
    const users = (path: string) =>
      path === PATH ? on.map((node) => ({ pod: 'default/p', ...(node && { node }) })) : []

    expect(stateOf({ users })([makeReplica({ state: 'Evicted', node: undefined as never })])).toMatchObject([{ state }])
  })

  test('by the pods on its node that use it', () => {
    const users = () => [{ pod: 'default/p', node: 'n1' }]

    expect(stateOf({ users })()).toMatchObject([{ inUse: true, lastUsedTime: at(0) }])
  })

  test('without the pods on another node', () => {
    const users = () => [{ pod: 'default/p', node: 'n2' }, { pod: 'default/q' }]

    expect(stateOf({ users })()).toEqual([makeReplica()])
  })

  test.each<{ name: string; nodes: Node[]; want: Partial<ReplicaStatus> }>([
    { name: 'gone', nodes: [], want: { lastUsedTime: at(-60) } },
    { name: 'replaced', nodes: [makeNode('n1', { uid: 'new' })], want: { lastUsedTime: at(0) } },
    { name: 'lost', nodes: [makeNode('n1', { unreadySince: at(-301) })], want: { lastUsedTime: at(0) } },
  ])('as unused when its node is $name', ({ nodes, want }) => {
    const used = makeReplica({ nodeUID: 'old', inUse: true, lastUsedTime: at(-60) })
    const [next] = stateOf({ nodes })([used])

    expect([next?.inUse, next?.lastUsedTime]).toEqual([undefined, want.lastUsedTime])
  })

  test('as new data: the ends of pods, the trees and the requests before it are handled', () => {
    const moving = makeReplica({ state: 'Downloading', lastEndTime: at(3600), oldTrees: 2, replacedTime: at(-99) })
    const message = moverSays({ outcome: 'completed', bytes: 9 })
    const movers = [makeMover({}, ended('Succeeded', { message, finishedAt: at(-60) }), 'n1')]
    const volumes = [{ id: 'vol1', nodeAffinity: {}, replicas: [moving] }]
    const annotations = { 'lodestone.dev/check': 'now' }
    const manager = makeVolumeManager([{}], { annotations, status: { volumes } })

    expect(stateOf({ manager, movers })()).toEqual([
      makeReplica({ nodeUID: 'uid-n1', bytes: 9, lastEndTime: at(-61), handledCheck: expect.any(String) }),
    ])
  })

  test('as old data when its node is ready again: requests stay open', () => {
    const volumes = [{ id: 'vol1', nodeAffinity: {}, replicas: [makeReplica({ state: 'Unreachable' })] }]
    const manager = makeVolumeManager([{}], { annotations: { 'lodestone.dev/check': 'now' }, status: { volumes } })
    const [next] = step(volumes[0]?.replicas ?? [], { manager }, makeVolume({ readOnly: true })).replicas

    expect(next).toMatchObject({ state: 'Ready' })
    expect(next?.handledCheck).toBeUndefined()
  })

  test('as lost when a check finds that its data is missing', () => {
    const maintenance = { kind: 'Check', state: 'Running', attempt: 1, since: at(-9) } as const
    const message = moverSays({ outcome: 'failed', code: 'DataMissing', message: 'why' })
    const pod = makeMover({}, ended('Failed', { message }), 'n1')
    const name = moverName(makeVolumeManager(), { id: 'vol1', role: 'maintenance', index: 0, attempt: 1 })
    const mover = asTask({ role: 'maintenance' }, { ...pod, metadata: { ...pod.metadata, name } })
    const users = () => [{ pod: 'default/p', node: 'n1' }]

    const [next] = stateOf({ movers: [mover], users })([makeReplica({ maintenance, inUse: true })])

    expect(next).toMatchObject({ state: 'Queued', node: 'n1', attempt: 2, isDamaged: true, reason: 'DataMissing' })
    expect([next?.inUse, next?.maintenance]).toEqual([undefined, undefined])
  })
})

test('an evicted replica is on no node, and no pod uses it', () => {
  const replica = makeReplica({ inUse: true, lastUsedTime: at(-9), bytes: 9, uploads: 2, checkedTime: at(-99) })

  expect(evictReplica(replica, 'HighWatermark', NOW)).toEqual({
    index: 0,
    revision: 'r',
    path: PATH,
    state: 'Evicted',
    attempt: 1,
    since: at(0),
    reason: 'HighWatermark',
    message: expect.stringContaining('n1'),
    lastUsedTime: at(-9),
    uploads: 2,
    checkedTime: at(-99),
  })
})

test('the fields of a replica are divided between its machines', () => {
  const replica = { ...makeReplica({ inUse: true, uploads: 1, oldTrees: 2 }), later: 'x' }
  const { identity, download, use, upload, maintenance } = divideReplica(replica)

  expect([identity, use, upload, maintenance]).toEqual([
    ...[{ index: 0, revision: 'r', path: PATH, later: 'x' }, { inUse: true }, { uploads: 1 }, { oldTrees: 2 }],
  ])
  expect({ ...identity, ...download, ...use, ...upload, ...maintenance }).toEqual(replica)
})

describe('a node that a failed mover left', () => {
  const moving = makeReplica({ state: 'Downloading', node: 'n1' })
  const failedWith = (code: FailureCode, nodeName = 'n2') =>
    makeMover({}, ended('Failed', { message: moverSays({ outcome: 'failed', code }) }), nodeName)
  const setOf = (input: Parameters<typeof makeVolumeInput>[0], replica = moving) => step([replica], input)

  test('because its disk is full is cleaned up with that cause', () => {
    const { deletions, nextIndex } = setOf({ movers: [failedWith('NoSpace')] })

    expect(deletions).toEqual([makeDeletion({ index: 5, node: 'n2', nodeLabels: [], cause: 'NoSpace' })])
    expect(nextIndex).toBe(6)
  })

  test.each<{ name: string; input: () => Parameters<typeof makeVolumeInput>[0] }>([
    { name: 'when the next mover continues there', input: () => ({ movers: [failedWith('SourceChanged')] }) },
    { name: 'that is gone', input: () => ({ movers: [failedWith('NoSpace', 'n9')] }) },
    { name: 'with complete data', input: () => ({ movers: [makeMover({}, { phase: 'Succeeded' }, 'n2')] }) },
  ])('is not cleaned up $name', ({ input }) => {
    expect(setOf(input()).deletions).toEqual([])
  })

  test('is not cleaned up for data on no node', () => {
    const { path: _, ...mounted } = moving

    expect(setOf({ movers: [failedWith('NoSpace')] }, mounted).deletions).toEqual([])
  })
})

describe('an upload is observed', () => {
  const resync = makeVolume({ options: { ...config.options, resync: 'true' } })
  const replica = makeReplica({
    lastUsedTime: at(-60),
    uploads: 4,
    upload: { state: 'Uploading', attempt: 4, since: at(-30) },
  })
  const moverOfAttempt = (attempt: number) => {
    const upload = { state: 'Uploading', attempt, since: at(-30) } as const
    const { movers: settings } = VOLUME_SETTINGS
    const pod = uploadMover({
      manager: makeVolumeManager(),
      config: resync,
      replica: { ...replica, upload },
      slot: 0,
      settings,
      networks: [],
      localRoots: [],
    })
    return { ...pod, status: { phase: 'Succeeded' } }
  }
  const stateWith = (attempt: number) => step([replica], { movers: [moverOfAttempt(attempt)] }, resync).replicas

  test('by its mover', () => {
    expect(stateWith(4)).toEqual([makeReplica({ lastUsedTime: at(-60), uploads: 4, uploadedTime: at(-30) })])
  })

  test('not by the mover of another attempt', () => {
    expect(stateWith(3)).toMatchObject([{ upload: { state: 'Failed', reason: 'PodDeleted' } }])
  })
})

describe('a deletion is observed', () => {
  const manager = makeVolumeManager()
  const [LABEL = ''] = nodeLabelsOf(manager, 'vol1', 'r')
  const old = makeDeletion({ since: at(-60), nodeLabels: [LABEL] })
  const labelled = [makeNode('n1', { labels: { [LABEL]: 'true' } })]
  const moverOf = (deletion = old): Pod => {
    const { movers: settings } = VOLUME_SETTINGS
    const pod = deletionMover({ manager, id: 'vol1', config, deletion, slot: 0, settings })
    return { ...pod, spec: { ...pod.spec, nodeName: 'n1' }, status: { phase: 'Succeeded' } }
  }

  test.each<{
    name: string
    input: () => Parameters<typeof makeVolumeInput>[0]
    replicas?: ReplicaStatus[]
    of?: Partial<DeletionStatus>
    want: string[]
  }>([
    { name: 'by the label of its node', input: () => ({ nodes: labelled }), want: ['NodeLabel'] },
    {
      name: 'without a label that another replica on the node needs',
      input: () => ({ nodes: labelled }),
      replicas: [makeReplica({ index: 3 })],
      want: ['Queued'],
    },
    {
      name: 'by the label of its node, which only a replica on another node needs',
      input: () => ({ nodes: labelled }),
      replicas: [makeReplica({ index: 3, node: 'n2' })],
      want: ['NodeLabel'],
    },
    {
      name: 'by a mover that writes its directory',
      input: () => ({ movers: [makeMover({}, {}, 'n1')] }),
      want: ['MoverRunning'],
    },
    { name: 'without a mover on another node', input: () => ({ movers: [makeMover({}, {}, 'n2')] }), want: ['Queued'] },
    {
      name: 'without a mover in another directory',
      input: () => ({ movers: [makeMover({ path: '/other' }, {}, 'n1')] }),
      want: ['Queued'],
    },
    {
      name: 'without the mover of an earlier attempt, which writes nothing',
      input: () => ({ movers: [moverOf()] }),
      of: { attempt: 2 },
      want: ['Queued'],
    },
    { name: 'by its mover', input: () => ({ movers: [moverOf()] }), of: { state: 'Deleting' }, want: [] },
    { name: 'by its node', input: () => ({ nodes: [] }), want: [] },
  ])('$name', ({ input, replicas = [], of = {}, want }) => {
    const set = { replicas, deletions: [{ ...old, ...of }], nextIndex: 5 }
    const gathered = makeVolumeInput(input())
    const { deletions } = stepDeletions(observeVolume(gathered), set)

    expect(deletions.map(({ reason, state }) => reason ?? state)).toEqual(want)
  })
})

test.each([
  { value: 'true', want: true },
  { value: 'false', want: false },
  { value: undefined, want: false },
])('the annotation $value deletes data in use: $want', ({ value, want }) => {
  const annotations = value === undefined ? {} : { 'lodestone.dev/delete-in-use': value }

  expect(isDeletedInUse(makeVolumeManager([{}], { annotations }))).toBe(want)
})

test('a replica on no node has no labels', () => {
  expect(nodeLabelsFor(makeVolumeManager(), 'vol1')(makeReplica({ path: undefined as never }))).toEqual([])
})

test('a VolumeManager with very many replicas records few node failures of each', () => {
  const nodeFailures = Array.from({ length: 16 }, (_, i) => ({
    node: `n${i}`,
    reason: 'Unreachable',
    failures: 1,
    retryTime: at(60),
  }))
  const failed = makeReplica({ state: 'Failed', retryTime: at(60), nodeFailures })
  const recorded = (...counts: number[]) => {
    const volumes = counts.map((count, i) => ({
      id: `vol${i + 1}`,
      nodeAffinity: {},
      replicas: Array.from({ length: count }, (_, index) => ({ ...failed, index })),
    }))
    const manager = { ...makeVolumeManager(), status: { volumes } }
    return stateOf({ manager })(volumes[0]?.replicas)[0]?.nodeFailures
  }

  expect(recorded(1000)?.map(({ node }) => node)).toEqual(['n14', 'n15'])
  expect(recorded(100, 900)).toHaveLength(2)
  expect(recorded(100)).toHaveLength(16)
})
