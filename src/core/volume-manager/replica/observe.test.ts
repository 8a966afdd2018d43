import { describe, expect, test } from 'vitest'
import { makeVolume, makeVolumeManager } from '../../../../test/builders.ts'
import {
  at,
  makeDeletion,
  makeMover,
  makeNode,
  makeReplica,
  makeVolumeInput,
  PATH,
} from '../../../../test/volume-builders.ts'
import { nodeLabelsOf } from '../spec/names.ts'
import { isDeletedInUse, nodeLabelsFor, stepDeletions, stepReplicas } from './observe.ts'

const config = makeVolume()
const stateOf =
  (...parts: Parameters<typeof makeVolumeInput>) =>
  (replicas = [makeReplica()]) =>
    stepReplicas(makeVolumeInput(...parts), 'vol1', config, { id: 'vol1', nodeAffinity: {}, replicas }).replicas

describe('a replica is observed', () => {
  test('by its mover, and by the node of that', () => {
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

  test('by a refusal of the API server', () => {
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

  test.each([
    { name: 'a pod that waits for a node', node: undefined, state: 'Queued' },
    { name: 'a pod on a node', node: 'n2', state: 'Evicted' },
  ])('by $name, when it was evicted', ({ node, state }) => {
    const users = (path: string) => (path === PATH ? [{ pod: 'default/p', ...(node && { node }) }] : [])

    expect(stateOf({ users })([makeReplica({ state: 'Evicted', node: undefined as never })])).toMatchObject([{ state }])
  })

  test('by the pods on its node that use it', () => {
    const users = () => [{ pod: 'default/p', node: 'n1' }]

    expect(stateOf({ users })()).toMatchObject([{ inUse: true, lastUsedTime: at(0) }])
  })
})

describe('a deletion is observed', () => {
  const manager = makeVolumeManager()
  const [LABEL = ''] = nodeLabelsOf(manager, 'vol1', 'r')
  const old = makeDeletion({ since: at(-60), nodeLabels: [LABEL] })
  const labelled = [makeNode('n1', { labels: { [LABEL]: 'true' } })]
  const reasonOf = (input: Parameters<typeof makeVolumeInput>[0], replicas = [] as ReturnType<typeof makeReplica>[]) =>
    stepDeletions(makeVolumeInput(input), 'vol1', { replicas, deletions: [old], nextIndex: 5 }).deletions.map(
      ({ reason, state }) => reason ?? state,
    )

  test.each<{ name: string; reasons: string[]; want: string[] }>([
    { name: 'by the label of its node', reasons: reasonOf({ nodes: labelled }), want: ['NodeLabel'] },
    {
      name: 'without a label that another replica on the node needs',
      reasons: reasonOf({ nodes: labelled }, [makeReplica({ index: 3 })]),
      want: ['Queued'],
    },
    {
      name: 'by a mover that writes its directory',
      reasons: reasonOf({ movers: [makeMover({}, {}, 'n1')] }),
      want: ['MoverRunning'],
    },
    {
      name: 'without a mover on another node',
      reasons: reasonOf({ movers: [makeMover({}, {}, 'n2')] }),
      want: ['Queued'],
    },
    {
      name: 'without a mover in another directory',
      reasons: reasonOf({ movers: [makeMover({ path: '/other' }, {}, 'n1')] }),
      want: ['Queued'],
    },
    { name: 'by its node', reasons: reasonOf({ nodes: [] }), want: [] },
  ])('$name', ({ reasons, want }) => {
    expect(reasons).toEqual(want)
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
