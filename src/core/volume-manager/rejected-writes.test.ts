import { describe, expect, test } from 'vitest'
import { makeNode, makeReplica } from '../../../test/volume-builders.ts'
import { nodes } from '../../api/node.ts'
import { persistentVolumeClaims } from '../../api/persistent-volume.ts'
import { pods } from '../../api/pod.ts'
import { volumeManagers } from '../../api/volume-manager.ts'
import type { Action } from '../plan.ts'
import { areBlocking, rejectableObject, rejectedAmong } from './rejected-writes.ts'

const label = (name: string): Action => ({ kind: 'patch', of: { type: nodes, name }, patch: {} })
const claim: Action = {
  kind: 'create',
  type: persistentVolumeClaims,
  object: { apiVersion: 'v1', kind: 'PersistentVolumeClaim', metadata: { name: 'c', namespace: 'default' } },
}

test.each<[string, Action, string | undefined]>([
  ['the label of a node', label('n1'), 'Node n1'],
  ['a claim', claim, 'PersistentVolumeClaim c'],
  ['the deletion of a claim', { ...claim, kind: 'delete' } as Action, 'PersistentVolumeClaim c'],
  ['a mover', { ...claim, type: pods } as Action, undefined],
  ['the status', { kind: 'patch', of: { type: volumeManagers, name: 'sales' }, patch: {} }, undefined],
  ['an Event', { kind: 'event', about: makeNode('n1'), type: 'Normal', reason: 'Failed', message: '' }, undefined],
])('%s is of the object %3$s', (_, action, object) => {
  expect(rejectableObject(action)).toBe(object)
})

test('only writes that are planned again are rejected, each object once', () => {
  const rejections = new Map([
    ['Node n1', 'no labels'],
    ['Node n2', 'no labels'],
  ])
  expect(rejectedAmong([label('n1'), label('n1'), claim], rejections)).toEqual([
    { object: 'Node n1', message: 'Node n1: CreateRefused: no labels' },
  ])
  expect(rejectedAmong([label('n1')])).toEqual([])
})

test('a long reason is cut', () => {
  const [rejected] = rejectedAmong([claim], new Map([['PersistentVolumeClaim c', 'x'.repeat(9999)]]))
  expect(rejected?.message.length).toBeLessThan(600)
})

describe('rejected labels of nodes', () => {
  const rejected = [{ object: 'Node n1', message: '' }]
  test.each([
    { name: 'block data that is on no other node', replicas: [makeReplica()], want: true },
    { name: 'do not block data on another node', replicas: [makeReplica(), makeReplica({ node: 'n2' })], want: false },
    { name: 'do not block data that is nowhere yet', replicas: [makeReplica({ state: 'Queued' })], want: false },
  ])('$name', ({ replicas, want }) => {
    expect(areBlocking(rejected, replicas)).toBe(want)
    expect(areBlocking([], replicas)).toBe(false)
  })
})
