import { describe, expect, test } from 'vitest'
import { ANY_NODE, makePod, makeUsable, managers, nodesWith } from '../../../../test/builders.ts'
import type { Pod, PodSpec } from '../../../api/pod.ts'
import { defined } from '../../../base/json.ts'
import { podDecisionId } from '../../decision-id.ts'
import { decidePod } from '../decide-pod.ts'
import type { UsableVolume } from '../injection/mountable-volumes.ts'
import { gateStateOf, isGated, planGate } from './gate-state.ts'

const lookup = (volume: Partial<UsableVolume> = {}, refusal?: string) =>
  managers(defined({ name: 'mnist', volumes: [makeUsable('vol1', volume)], refusal: refusal || undefined }))

const OWNER = { apiVersion: 'apps/v1', kind: 'ReplicaSet', name: 'train', uid: 'u', controller: true }
const JOB = { ...OWNER, apiVersion: 'batch/v1', kind: 'Job' }
const COUNTED = 'batch.kubernetes.io/job-tracking'

/** A stored pod that was created before its data was ready. */
function gated(spec: Partial<PodSpec> = {}, metadata: Pod['metadata'] = {}): Pod {
  const pod = makePod({ name: 'mnist' }, spec)
  const input = {
    pod,
    managers: lookup({ state: 'Waiting' }),
    ...ANY_NODE,
    whenNotReady: 'gate' as const,
    isHub: false,
  }
  const outcome = decidePod(input)
  if (outcome.kind !== 'patch') throw new Error(JSON.stringify(outcome))
  return { ...(outcome.object as Pod), metadata: { ...pod.metadata, resourceVersion: '7', ...metadata } }
}

const moved = lookup({ source: { hostPath: { path: '/var/datasets/new' } } })

describe('a pod with our gate', () => {
  test.each([
    [
      'its data is not ready',
      gated(),
      lookup({ state: 'Waiting' }),
      'VolumesNotReady',
      'waits for VolumeManager mnist/vol1',
    ],
    ['its data is ready', gated(), lookup(), 'VolumesReady', 'the data of all required volumes is ready'],
    [
      'its VolumeManager failed',
      gated(),
      lookup({}, 'no such bucket'),
      'VolumesUnusable',
      'cannot be used: no such bucket',
    ],
    [
      'its VolumeManager does not exist',
      gated(),
      managers(),
      'VolumesUnusable',
      'there is no VolumeManager mnist in this namespace',
    ],
    ['it requests no volumes', gated({}, { annotations: {} }), lookup(), 'VolumesUnusable', 'is not JSON'],
    ['its data changed', gated(), moved, 'VolumesUnusable', 'changed after the pod was created; recreate the pod'],
    [
      'its data changed, and a controller owns it',
      gated({}, { ownerReferences: [OWNER] }),
      moved,
      'VolumesReplaced',
      '; its controller replaces it',
    ],
  ])('is on hold because %s', (_name, pod, volumes, reason, message) => {
    expect(gateStateOf(pod, volumes)).toMatchObject({ reason, message: expect.stringContaining(message) })
  })
})

test.each([
  ['is being deleted', gated({}, { deletionTimestamp: '2026-01-01T00:00:00Z' }), false],
  ['has no gate', { ...gated(), spec: { containers: [] } }, false],
  [
    'has the gate of another controller',
    { ...gated(), spec: { containers: [], schedulingGates: [{ name: 'quota' }] } },
    false,
  ],
  ['has our gate', gated(), true],
])('a pod that %s: on hold %#', (_name, pod, isOnHold) => {
  expect(isGated(pod)).toBe(isOnHold)
  expect(gateStateOf(pod, lookup({ state: 'Waiting' })) !== undefined).toBe(isOnHold)
})

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
  test('is removed when the data is ready, for the resourceVersion that was read', () => {
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
        message: 'the data of all required volumes is ready',
        decisionId: podDecisionId(gated()),
      },
    ])
  })

  test('is removed, and the gates of other controllers stay', () => {
    const [action] = planGate(gated({ schedulingGates: [{ name: 'quota' }] }), lookup()).actions
    expect(action).toMatchObject({ patch: { spec: { schedulingGates: [{ name: 'quota' }] } } })
  })

  test('stays while the data is not ready', () => {
    expect(planGate(gated(), lookup({ state: 'Waiting' }))).toEqual({ actions: [] })
  })

  test('stays while one of two volumes is not ready', () => {
    const asks = ['vol1', 'vol2'].map((id) => ({ name: 'mnist', id, 'mount-path': `/${id}` }))
    const both = (state: UsableVolume['state']) =>
      managers({ name: 'mnist', volumes: [makeUsable('vol1'), makeUsable('vol2', { state })] })
    const pod = makePod(asks)
    const outcome = decidePod({ pod, managers: both('Waiting'), ...ANY_NODE, whenNotReady: 'gate', isHub: false })
    const waiting = outcome.kind === 'patch' ? (outcome.object as Pod) : pod
    expect(planGate(waiting, both('Waiting')).actions).toEqual([])
    expect(kinds(waiting, both('Ready'))).toEqual(['patch', 'event'])
  })

  test('of a pod that could run on any node is removed when its data is on some nodes', () => {
    const anywhere = lookup({ state: 'Waiting', nodeAffinity: {} })
    const outcome = decidePod({
      pod: makePod({ name: 'mnist' }),
      managers: anywhere,
      ...ANY_NODE,
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
    ['its VolumeManager was deleted', gated(), managers(), /there is no VolumeManager mnist/],
    ['its annotation became invalid', gated({}, makePod('x').metadata), lookup(), /is not JSON/],
    ['its annotation was removed', gated({}, { annotations: {} }), lookup(), /is not JSON/],
    ['all of its annotations were removed', withoutAnnotations(gated()), lookup(), /is not JSON/],
  ])('stays, and an Event has the reason, if %s', (_name, pod, volumes, message) => {
    expect(complaints(pod, volumes)).toEqual([['Warning', 'VolumesUnusable', expect.stringMatching(message)]])
  })

  test('is ignored on a pod that is being deleted; a pod without the gate is ignored', () => {
    expect(kinds(gated({}, { deletionTimestamp: '2026-01-01T00:00:00Z' }))).toEqual([])
    expect(kinds({ ...gated(), spec: { containers: [] } })).toEqual([])
    expect(kinds({ ...gated(), spec: { containers: [], schedulingGates: [{ name: 'quota' }] } })).toEqual([])
  })
})

describe('a pod whose volume is on other nodes than at its creation', () => {
  const alsoOn = (...labels: string[]) => lookup({ nodeAffinity: nodesWith(...labels) })

  test('is narrowed to fewer nodes, in the only way that an API server allows', () => {
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

  test('is replaced by its controller if more node selector terms are needed', () => {
    expect(kinds(gated({}, { ownerReferences: [OWNER] }), alsoOn('one', 'other'))).toEqual(['event', 'delete'])
  })
})

describe('a pod whose volume has another directory than at its creation', () => {
  const moved = lookup({ source: { hostPath: { path: '/var/datasets/new' } } })

  test('is replaced by its controller', () => {
    const pod = gated({}, { ownerReferences: [OWNER] })
    expect(planGate(pod, moved).actions).toEqual([
      {
        kind: 'event',
        about: pod,
        type: 'Warning',
        reason: 'VolumesReplaced',
        message: 'the data of its volumes changed after the pod was created; its controller replaces it',
        decisionId: podDecisionId(pod),
      },
      { kind: 'delete', type: expect.objectContaining({ kind: 'Pod' }), object: pod },
    ])
  })

  test('is replaced as well if its user added the volume', () => {
    const pasted = {
      containers: [{ name: 'main', volumeMounts: [{ name: 'dataset', mountPath: '/d' }] }],
      volumes: [{ name: 'dataset', hostPath: { path: '/var/datasets/vol1' } }],
    }
    expect(kinds(gated(pasted, { ownerReferences: [OWNER] }), moved)).toEqual(['event', 'delete'])
  })

  test('is replaced by its controller if it has another owner as well', () => {
    const pod = gated({}, { ownerReferences: [{ ...OWNER, controller: false }, OWNER] })
    expect(kinds(pod, moved)).toEqual(['event', 'delete'])
  })

  test('is not deleted without an owner', () => {
    expect(kinds(gated(), moved)).toEqual(['event'])
  })

  test('is not deleted without a controller; an Event asks the user', () => {
    const notes = { ...OWNER, controller: false }
    expect(complaints(gated({}, { ownerReferences: [notes] }), moved)).toEqual([
      ['Warning', 'VolumesUnusable', expect.stringMatching(/; recreate the pod$/)],
    ])
  })
})

describe('a pod of a Job, which counts a deleted pod as failed', () => {
  const ofJob = (finalizers?: string[]) => gated({}, defined({ ownerReferences: [JOB], finalizers }))

  test('is not counted any more before it is replaced', () => {
    expect(planGate(ofJob([COUNTED, 'example.org/other']), moved).actions).toEqual([
      {
        kind: 'patch',
        of: { type: expect.objectContaining({ kind: 'Pod' }), namespace: 'default', name: 'trainer' },
        patch: { metadata: { resourceVersion: '7', finalizers: ['example.org/other'] } },
      },
    ])
  })

  test.each([
    { data: 'changed', of: moved },
    { data: 'is as before again', of: lookup() },
  ])('is deleted when it is not counted, also if the data $data', ({ of }) => {
    expect(kinds(ofJob(), of)).toEqual(['event', 'delete'])
    expect(kinds(ofJob(['example.org/other']), of)).toEqual(['event', 'delete'])
  })

  test('keeps the finalizer of its Job when it may run', () => {
    const [release] = planGate(ofJob([COUNTED]), lookup()).actions
    expect(release).toMatchObject({ kind: 'patch', patch: { spec: { schedulingGates: null } } })
    expect(release).not.toHaveProperty('patch.metadata.finalizers')
  })

  test('of another kind with this name is replaced as other pods are', () => {
    const volcano = { ...JOB, apiVersion: 'batch.volcano.sh/v1alpha1' }
    expect(kinds(gated({}, { ownerReferences: [volcano] }), lookup())).toEqual(['patch', 'event'])
  })
})

describe('a pod with the claim of a replica', () => {
  const PLANNED = [{ claimName: 'c0' }, { claimName: 'c1' }]
  const waiting = { claims: PLANNED, source: { persistentVolumeClaim: { claimName: 'c0' } }, state: 'Waiting' as const }
  const lookupOf = (claims: UsableVolume['claims'], state: UsableVolume['state'] = 'Ready') =>
    lookup({ ...waiting, state, ...defined({ claims }) })
  /** A pod that waits for the replica with the claim c1. */
  function claiming(metadata: Pod['metadata'] = {}): Pod {
    const labels = { ...makePod('').metadata.labels, 'apps.kubernetes.io/pod-index': '1' }
    const pod = makePod({ name: 'mnist' }, {}, { labels })
    const outcome = decidePod({ pod, managers: lookup(waiting), ...ANY_NODE, whenNotReady: 'gate', isHub: false })
    if (outcome.kind !== 'patch') throw new Error(JSON.stringify(outcome))
    return { ...(outcome.object as Pod), metadata: { ...pod.metadata, ...metadata } }
  }
  const owned = { ownerReferences: [OWNER] }

  test('mounts that claim, without a node affinity, and waits', () => {
    const { spec } = claiming()
    expect(spec.volumes).toEqual([{ name: 'mnist--vol1', persistentVolumeClaim: { claimName: 'c1' } }])
    expect(spec.affinity).toBeUndefined()
    expect(kinds(claiming(), lookupOf(PLANNED, 'Waiting'))).toEqual([])
  })

  test('may go when its replica is ready', () => {
    const claims = [{ claimName: 'c0' }, { claimName: 'c1', node: 'n2' }]
    expect(kinds(claiming(), lookupOf(claims))).toEqual(['patch', 'event'])
  })

  const other = [{ claimName: 'c0', node: 'n1' }, { claimName: 'c1' }]
  test.each<[string, UsableVolume['claims'], Pod['metadata'], string[]]>([
    ['waits for its replica while another is ready', other, {}, []],
    ['is replaced by its controller, which gets the ready replica', other, owned, ['event', 'delete']],
    ['has to be recreated when its replica is gone', [{ claimName: 'c2', node: 'n1' }], {}, ['event']],
    ['is replaced when its replica is gone', [{ claimName: 'c2', node: 'n1' }], owned, ['event', 'delete']],
  ])('%s', (_name, claims, metadata, want) => {
    expect(kinds(claiming(metadata), lookupOf(claims))).toEqual(want)
  })
})
