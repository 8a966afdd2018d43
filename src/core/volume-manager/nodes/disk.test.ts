import { describe, expect, test } from 'vitest'
import { NOW } from '../../../../test/builders.ts'
import { at, makeNode, nodeWithDisk } from '../../../../test/volume-builders.ts'
import { fnv1a } from '../../../base/hash.ts'
import { type DiskReport, findRoot, readDiskReport, recordDisk, usedPercent } from './disk.ts'

const ROOT = '/var/datasets'
const REPORT: DiskReport = { root: ROOT, freeBytes: 500, totalBytes: 1000, time: at(0) }

test('a report that was recorded is read again, for its root only', () => {
  expect(recordDisk(makeNode('n1'), REPORT, { isAwaited: false, now: NOW })).toMatchObject({
    of: { name: 'n1' },
    patch: {
      metadata: { uid: 'uid-n1', annotations: { [`disk.lodestone.dev/${fnv1a(ROOT)}`]: JSON.stringify(REPORT) } },
    },
  })
  const node = nodeWithDisk(REPORT)
  expect(readDiskReport(node, ROOT)).toEqual(REPORT)
  expect([
    readDiskReport(node, '/other'),
    readDiskReport(node, undefined),
    readDiskReport(makeNode('n1'), ROOT),
  ]).toEqual([...[undefined, undefined, undefined]])
})

test.each([
  'x',
  '1',
  '{}',
  JSON.stringify({ ...REPORT, freeBytes: '1' }),
  JSON.stringify({ ...REPORT, root: '/other' }),
])('the annotation %s is no report', (text) => {
  expect(readDiskReport(nodeWithDisk(text), ROOT)).toBeUndefined()
})

describe('a report', () => {
  test.each<{ name: string; known: Partial<DiskReport>; isAwaited?: true; isRecorded: boolean }>([
    { name: 'with another use of the disk is recorded', known: { freeBytes: 490, time: at(-1) }, isRecorded: true },
    { name: 'that hardly differs is not recorded', known: { freeBytes: 491, time: at(-1) }, isRecorded: false },
    { name: 'of a deletion is recorded', known: { time: at(-1) }, isAwaited: true, isRecorded: true },
    { name: 'of a disk with another size is recorded', known: { totalBytes: 1001, time: at(-1) }, isRecorded: true },
    { name: 'that hardly differs is recorded after ten minutes', known: { time: at(-600) }, isRecorded: true },
    { name: 'that is older is not recorded', known: { freeBytes: 1, time: at(1) }, isRecorded: false },
    { name: 'of a clock that was set back is recorded', known: { freeBytes: 1, time: at(3600) }, isRecorded: true },
    { name: 'of the same second and a fuller disk is recorded', known: { freeBytes: 700 }, isRecorded: true },
    { name: 'of the same second and an emptier disk is not recorded', known: { freeBytes: 1 }, isRecorded: false },
    { name: 'that is recorded already is not recorded again', known: {}, isAwaited: true, isRecorded: false },
  ])('$name', ({ known, isAwaited = false, isRecorded }) => {
    expect(recordDisk(nodeWithDisk({ ...REPORT, ...known }), REPORT, { isAwaited, now: NOW }) !== undefined).toBe(
      isRecorded,
    )
  })
})

test.each([
  ['/var/datasets/a', '/var/datasets'],
  ['/var/datasets/fast/a', '/var/datasets/fast'],
  ['/other/a', undefined],
])('the root of %s is %s', (path, want) => {
  expect(findRoot(path, ['/var/datasets', '/var/datasets/fast'])).toBe(want)
})

test.each([
  [250, 1000, 75],
  [0, 0, 0],
  [2000, 1000, 0],
])('with %i of %i bytes free, %i percent are used', (freeBytes, totalBytes, want) => {
  expect(usedPercent({ freeBytes, totalBytes })).toBe(want)
})
