import { describe, expect, test } from 'vitest'
import { makePod, makeUsable, managers, nodesWith } from '../../../test/builders.ts'
import type { Pod, PodSpec } from '../../api/pod.ts'
import { decidePod } from './decide-pod.ts'
import type { UsableVolume } from './mountable-volumes.ts'
import { isGated, planGate } from './plan-gate.ts'

const OWNER = { apiVersion: 'batch/v1', kind: 'Job', name: 'train', uid: 'u', controller: true }
const lookup = (volume: Partial<UsableVolume> = {}, refusal?: string) =>
  managers({ name: 'mnist', volumes: [makeUsable('vol1', volume)], ...(refusal && { refusal }) })

/** A pod that was created while its data was on the way, as it is stored. */
function gated(spec: Partial<PodSpec> = {}, metadata: Pod['metadata'] = {}): Pod {
  const pod = makePod({ name: 'mnist' }, spec)
  const input = { pod, managers: lookup({ state: 'Waiting' }), whenNotReady: 'gate' as const, isHub: false }
  const outcome = decidePod(input)
  if (outcome.kind !== 'patch') throw new Error(JSON.stringify(outcome))
  return { ...(outcome.object as Pod), metadata: { ...pod.metadata, resourceVersion: '7', ...metadata } }
}

const withoutAnnotations = ({ metadata: { annotations: _all, ...metadata }, ...pod }: Pod): Pod => ({
  ...pod,
  metadata,
})

const kinds = (pod: Pod, volumes = lookup()) => planGate(pod, volumes).actions.map((action) => action.kind)
const complaints = (pod: Pod, volumes = lookup()) =>
  planGate(pod, volumes).actions.map(
    (action) => action.kind === 'event' && [action.type, action.reason, action.message],
  )

describe('the gate of a pod', () => {
  test('is removed when the data is there, for the version of the pod that was read', () => {
    expect(planGate(gated(), lookup()).actions).toEqual([
      {
        kind: 'patch',
        of: { type: expect.objectContaining({ kind: 'Pod' }), namespace: 'default', name: 'trainer' },
        patch: { metadata: { resourceVersion: '7' }, spec: { schedulingGates: null } },
      },
      {
        kind: 'event',
        about: gated(),
        type: 'Normal',
        reason: 'VolumesReady',
        message: 'the data of its volumes is there',
      },
    ])
  })

  test('leaves the gates of other controllers', () => {
    const [action] = planGate(gated({ schedulingGates: [{ name: 'quota' }] }), lookup()).actions
    expect(action).toMatchObject({ patch: { spec: { schedulingGates: [{ name: 'quota' }] } } })
  })

  test('stays while the data is on the way', () => {
    expect(planGate(gated(), lookup({ state: 'Waiting' }))).toEqual({ actions: [] })
  })

  test('stays while one of two volumes is on the way', () => {
    const asks = ['vol1', 'vol2'].map((id) => ({ name: 'mnist', id, 'mount-path': `/${id}` }))
    const both = (state: UsableVolume['state']) =>
      managers({ name: 'mnist', volumes: [makeUsable('vol1'), makeUsable('vol2', { state })] })
    const pod = makePod(asks)
    const outcome = decidePod({ pod, managers: both('Waiting'), whenNotReady: 'gate', isHub: false })
    const waiting = outcome.kind === 'patch' ? (outcome.object as Pod) : pod
    expect(planGate(waiting, both('Waiting')).actions).toEqual([])
    expect(kinds(waiting, both('Ready'))).toEqual(['patch', 'event'])
  })

  test('of a pod that could run anywhere is removed when its data is on some nodes', () => {
    const anywhere = lookup({ state: 'Waiting', nodeAffinity: {} })
    const outcome = decidePod({
      pod: makePod({ name: 'mnist' }),
      managers: anywhere,
      whenNotReady: 'gate',
      isHub: false,
    })
    const pod = outcome.kind === 'patch' ? (outcome.object as Pod) : makePod('')
    expect(planGate(pod, lookup()).actions[0]).toMatchObject({
      patch: { spec: { affinity: { nodeAffinity: nodesWith('data/vol1') } } },
    })
  })

  test.each([
    ['its VolumeManager failed', gated(), lookup({}, 'no such bucket'), /cannot be used: no such bucket/],
    ['its VolumeManager is gone', gated(), managers(), /there is no VolumeManager mnist/],
    ['its annotation is wrong now', gated({}, makePod('x').metadata), lookup(), /is not JSON/],
    ['its annotation is gone', gated({}, { annotations: {} }), lookup(), /is not JSON/],
    ['all of its annotations are gone', withoutAnnotations(gated()), lookup(), /is not JSON/],
  ])('stays, and an Event says why, when %s', (_name, pod, volumes, message) => {
    expect(complaints(pod, volumes)).toEqual([['Warning', 'VolumesUnusable', expect.stringMatching(message)]])
  })

  test('is ignored on a pod that is being deleted, or that has none', () => {
    expect(kinds(gated({}, { deletionTimestamp: '2026-01-01T00:00:00Z' }))).toEqual([])
    expect(kinds({ ...gated(), spec: { containers: [] } })).toEqual([])
    expect(kinds({ ...gated(), spec: { containers: [], schedulingGates: [{ name: 'quota' }] } })).toEqual([])
    expect(isGated(gated())).toBe(true)
  })
})

describe('a pod whose volume is on other nodes than when it was created', () => {
  const alsoOn = (...labels: string[]) => lookup({ nodeAffinity: nodesWith(...labels) })

  test('is narrowed to them if they are fewer, in the only way that an API server allows', () => {
    const [action] = planGate(gated(), alsoOn('other')).actions
    expect(action).toMatchObject({
      patch: {
        spec: {
          schedulingGates: null,
          affinity: {
            nodeAffinity: {
              requiredDuringSchedulingIgnoredDuringExecution: {
                nodeSelectorTerms: [
                  {
                    matchExpressions: [
                      { key: 'data/vol1', operator: 'Exists' },
                      { key: 'other', operator: 'Exists' },
                    ],
                  },
                ],
              },
            },
          },
        },
      },
    })
  })

  test('is replaced by its controller where that would need another alternative', () => {
    expect(kinds(gated({}, { ownerReferences: [OWNER] }), alsoOn('one', 'other'))).toEqual(['event', 'delete'])
  })
})

describe('a pod whose volume has another directory now', () => {
  const moved = lookup({ source: { hostPath: { path: '/var/datasets/new' } } })

  test('is replaced by its controller', () => {
    const pod = gated({}, { ownerReferences: [OWNER] })
    expect(planGate(pod, moved).actions).toEqual([
      {
        kind: 'event',
        about: pod,
        type: 'Warning',
        reason: 'VolumesReplaced',
        message: 'its volumes have other data now than when the pod was created: it is replaced',
      },
      { kind: 'delete', type: expect.objectContaining({ kind: 'Pod' }), object: pod },
    ])
  })

  test('is replaced as well where its user pasted the volume by hand', () => {
    const pasted = {
      containers: [{ name: 'main', volumeMounts: [{ name: 'dataset', mountPath: '/d' }] }],
      volumes: [{ name: 'dataset', hostPath: { path: '/var/datasets/vol1' } }],
    }
    expect(kinds(gated(pasted, { ownerReferences: [OWNER] }), moved)).toEqual(['event', 'delete'])
  })

  test('is replaced by its controller when it has another owner as well', () => {
    const pod = gated({}, { ownerReferences: [{ ...OWNER, controller: false }, OWNER] })
    expect(kinds(pod, moved)).toEqual(['event', 'delete'])
  })

  test('is left to its user when it has no owner', () => {
    expect(kinds(gated(), moved)).toEqual(['event'])
  })

  test('is left to its user without a controller, with an Event', () => {
    const notes = { ...OWNER, controller: false }
    expect(complaints(gated({}, { ownerReferences: [notes] }), moved)).toEqual([
      ['Warning', 'VolumesUnusable', expect.stringMatching(/; create it again$/)],
    ])
  })
})
