import { expect, test } from 'vitest'
import { makePod, makeVolumeManager } from '../../../test/builders.ts'
import { asTask, makeDeletion, makeMover, makeReplica, makeVolumeInput } from '../../../test/volume-builders.ts'
import { keyOfObject } from '../../api/meta.ts'
import { observeVolumes } from './observe.ts'

const of = (id: string, replicas = [makeReplica()]) => ({ id, nodeAffinity: {}, replicas })

test('volumes are observed in the order of spec, status and movers', () => {
  const manager = makeVolumeManager([{ id: 'new' }, { id: 'both' }], { status: { volumes: [of('left'), of('both')] } })
  const movers = [asTask({ id: 'gone' }, makeMover()), makePod([])]

  const observed = observeVolumes(makeVolumeInput({ manager, movers }))

  expect(observed.map(({ id, replicas, pods }) => `${id} ${replicas.length} ${pods.length}`)).toEqual([
    'new 0 0',
    'both 1 0',
    'left 1 0',
    'gone 0 1',
  ])
})

test('each task of a replica is observed with its own mover, or without one', () => {
  const replica = makeReplica({ state: 'Starting', upload: { state: 'Queued', attempt: 1 } })
  const manager = makeVolumeManager([{}], { status: { volumes: [of('vol1', [replica])] } })
  const movers = [makeMover({}, { phase: 'Running' }, 'n2')]

  const [volume] = observeVolumes(makeVolumeInput({ manager, movers }))

  expect(volume?.replicas).toMatchObject([
    {
      download: { mover: { kind: 'running', node: 'n2' }, nodeName: 'n2', node: { kind: 'present', uid: 'uid-n2' } },
      upload: { mover: undefined },
      maintenance: { mover: undefined, isNodeReady: true },
    },
  ])
})

test('a Pod with the name of a mover and another task is not its mover', () => {
  const manager = makeVolumeManager([{}], { status: { volumes: [of('vol1')] } })
  const movers = [asTask({ index: 9 }, makeMover({}, { phase: 'Running' }, 'n1'))]
  const [volume] = observeVolumes(makeVolumeInput({ manager, movers }))

  expect(volume?.replicas[0]?.download.mover).toBeUndefined()
})

test('a deletion that the plan adds is observed too', () => {
  const manager = makeVolumeManager([{}], { status: { volumes: [of('vol1')] } })
  const [volume] = observeVolumes(makeVolumeInput({ manager, movers: [makeMover({}, {}, 'n1')] }))

  const writer = { pod: keyOfObject(makeMover()), hasEnded: false }
  expect(volume?.deletion(makeDeletion(), [])).toMatchObject({ mover: undefined, nodeReady: true, writer })
  expect(volume?.deletion(makeDeletion({ node: 'n9' }), [])).toMatchObject({ nodeGone: true, writer: undefined })
})

test.each([true, false])('a mover that runs is named before one that has ended, the first: %j', (isFirst) => {
  const manager = makeVolumeManager([{}], { status: { volumes: [of('vol1')] } })
  const ended = asTask({ attempt: 2 }, makeMover({}, { phase: 'Failed' }, 'n1'))
  const movers = [ended, makeMover({}, { phase: 'Running' }, 'n1')].map((pod, i) => ({
    ...pod,
    metadata: { ...pod.metadata, name: `mover-${i}` },
  }))
  const [volume] = observeVolumes(makeVolumeInput({ manager, movers: isFirst ? movers.reverse() : movers }))

  const writer = { pod: expect.stringContaining('mover-1'), hasEnded: false }
  expect(volume?.deletion(makeDeletion(), [])).toMatchObject({ writer })
})
