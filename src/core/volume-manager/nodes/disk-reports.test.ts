import { expect, test } from 'vitest'
import {
  asTask,
  at,
  makeMover,
  makeNode,
  makeVolumeInput,
  nodeWithDisk,
  observeVolume,
  PATH,
} from '../../../../test/volume-builders.ts'
import { ended, moverSays } from '../../../../test/volume-world.ts'
import type { Pod } from '../../../api/pod.ts'
import type { VolumeManagerInput } from '../input.ts'
import type { MoverTask } from '../mover/task.ts'
import { planDiskReports, removeDiskReports } from './disk.ts'

function mover(index: number, freeBytes: number | undefined, finishedAt: string, path = PATH): Pod {
  const disk = freeBytes === undefined ? {} : { disk: { freeBytes, totalBytes: 1000 } }
  const message = moverSays({ outcome: 'completed', ...disk })
  return makeMover({ index, path }, ended('Succeeded', { exitCode: 0, message, finishedAt }), 'n1')
}

const writesFor = (input: VolumeManagerInput) => planDiskReports(observeVolume(input).pods, input)
const plan = (...movers: Pod[]) =>
  writesFor(makeVolumeInput({ nodes: [makeNode('n1')], movers })).map((write) => JSON.stringify(write))

test('the report of the mover that ended last is recorded', () => {
  const writes = plan(mover(0, 10, at(5)), mover(1, 20, at(9)), mover(2, 30, at(7)))
  expect(writes).toHaveLength(1)
  expect(writes[0]).toContain('\\"freeBytes\\":20')
})

test('of movers that ended in the same second, the fuller disk is recorded', () => {
  const [full, empty] = [mover(0, 10, at(5)), mover(1, 600, at(5))]
  for (const writes of [plan(full, empty), plan(empty, full)]) {
    expect(writes).toHaveLength(1)
    expect(writes[0]).toContain('\\"freeBytes\\":10')
  }
})

test('a report that hardly differs is recorded after a deletion only', () => {
  const node = nodeWithDisk({ root: '/var/datasets', freeBytes: 10, totalBytes: 1000, time: at(1) })
  const writesAfter = (role: MoverTask['role']) =>
    writesFor(makeVolumeInput({ nodes: [node], movers: [asTask({ role }, mover(0, 10, at(5)))] }))
  expect([writesAfter('replica').length, writesAfter('deletion').length]).toEqual([0, 1])
})

test.each<{ name: string; pod: Pod }>([
  { name: 'without a report', pod: mover(0, undefined, at(5)) },
  { name: 'that runs', pod: makeMover({}, { phase: 'Running' }, 'n1') },
  { name: 'with a directory outside of the roots', pod: mover(0, 10, at(5), '/other/vck-resource-4b1d-0123456789abc') },
  { name: 'with a directory that is not one of a volume', pod: mover(0, 10, at(5), '/var/datasets/other') },
])('nothing is recorded for a mover $name', ({ pod }) => {
  expect(plan(pod)).toEqual([])
})

test('nothing is recorded for a node that does not exist', () => {
  expect(writesFor(makeVolumeInput({ nodes: [], movers: [mover(0, 10, at(5))] }))).toEqual([])
})

test('reports are removed from all nodes with the last VolumeManager', () => {
  const report = { root: '/var/datasets', freeBytes: 10, totalBytes: 1000, time: at(1) }
  const { nodes } = makeVolumeInput({ nodes: [nodeWithDisk(report), makeNode('n2')] })
  const [write, ...others] = removeDiskReports({ nodes })
  expect(others).toEqual([])
  expect(JSON.stringify(write)).toMatch(/"disk\.lodestone\.dev\/\w+":null/)
})
