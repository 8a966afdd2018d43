import { describe, expect, test } from 'vitest'
import { NOW } from '../../../test/builders.ts'
import { at, makeMover, makeNode, PATH } from '../../../test/volume-builders.ts'
import { ended, moverSays, VOLUME_SETTINGS } from '../../../test/volume-world.ts'
import type { Pod, PodStatus } from '../../api/pod.ts'
import { fnv1a } from '../../base/hash.ts'
import { readTask } from './mover/task.ts'
import type { Leftover } from './nodes/leftovers.ts'
import { type LeftoverInput, planLeftover, planRefusal } from './plan-leftover.ts'

const LEFTOVER: Leftover = { namespace: 'shop', name: 'sales', uid: '4b1d', id: 'vol1', index: 3, path: PATH }
const DIGEST = fnv1a(PATH)
const KEY = `n1:${DIGEST}`

function makeInput({ unreadySince = '', ...more }: Partial<LeftoverInput> & { unreadySince?: string } = {}) {
  const node = makeNode('n1', { unreadySince })
  const annotations = { [`leftover.lodestone.dev/${DIGEST}`]: JSON.stringify(LEFTOVER) }
  return {
    node: { ...node, metadata: { ...node.metadata, annotations } },
    digest: DIGEST,
    movers: [],
    active: [],
    users: () => [],
    isManaged: () => false,
    namespace: 'lodestone-system',
    settings: VOLUME_SETTINGS,
    now: NOW,
    ...more,
  } satisfies LeftoverInput
}

/** The mover that is planned, with a status. */
function moverWith(status: PodStatus): Pod {
  const [action] = planLeftover(makeInput()).actions
  if (action?.kind !== 'create') throw new Error('no mover was planned')
  return { ...(action.object as Pod), status }
}

test('a mover deletes the leftover on its node', () => {
  const mover = moverWith({})

  expect(mover.metadata).toMatchObject({ namespace: 'lodestone-system', labels: { vckname: 'sales' } })
  // A VolumeManager of the same name would delete a mover of its own.
  expect(mover.metadata).not.toHaveProperty('ownerReferences')
  expect(readTask(mover)).toEqual({ manager: KEY, id: 'vol1', role: 'leftover', index: 3, attempt: 1 })
  expect(mover.spec.containers[0]?.args?.slice(0, 6)).toEqual([
    ...['mover', 'delete', '--root', '/volume', '--target', '/volume/data'],
  ])
  expect(mover.spec.volumes?.[0]).toEqual({ name: 'volume', hostPath: { path: PATH, type: 'DirectoryOrCreate' } })
  expect(JSON.stringify(mover.spec.affinity?.nodeAffinity)).toContain('"values":["n1"]')
  expect(mover.spec.tolerations).toEqual([{ operator: 'Exists' }])
})

test('a leftover that was written by the kubelet chooses no metadata of its mover', () => {
  const { node, ...input } = makeInput()
  const forged = {
    ...LEFTOVER,
    labels: { app: 'shop' },
    tolerations: [{ key: 'dedicated' }],
    mover: { priorityClassName: 'system-node-critical', resources: { limits: { cpu: '64' } } },
    priorityClassName: 'system-node-critical',
    resources: { limits: { cpu: '64' } },
  }
  const annotations = { [`leftover.lodestone.dev/${DIGEST}`]: JSON.stringify(forged) }
  const forgedNode = { ...node, metadata: { ...node.metadata, annotations } }

  expect(planLeftover({ ...input, node: forgedNode })).toEqual(planLeftover(makeInput()))
})

test('a leftover is deleted by a critical mover on a node with disk pressure', () => {
  const { node, ...input } = makeInput()
  const conditions = [...(node.status?.conditions ?? []), { type: 'DiskPressure', status: 'True' }]
  const plan = planLeftover({ ...input, node: { ...node, status: { conditions } } })

  expect(plan.actions).toMatchObject([{ object: { spec: { priorityClassName: 'system-node-critical' } } }])
})

const writer = makeMover({}, { phase: 'Running' }, 'n1')

describe('no mover is created', () => {
  test.each<{ name: string; input: Parameters<typeof makeInput>[0]; requeueAfterMs?: number }>([
    { name: 'while the node is not ready', input: { unreadySince: at(-9) } },
    { name: 'while the VolumeManager exists', input: { isManaged: (uid) => uid === '4b1d' } },
    { name: 'for another annotation', input: { digest: 'other' } },
    {
      name: 'while a pod of the node uses the data',
      input: { users: () => [{ pod: 'a/b', node: 'n1' }] },
      requeueAfterMs: 60_000,
    },
    { name: 'while another mover writes the data', input: { active: [writer] }, requeueAfterMs: 60_000 },
    {
      name: 'without a free slot on the node',
      input: { settings: { ...VOLUME_SETTINGS, movers: { ...VOLUME_SETTINGS.movers, maxPerNode: 0 } } },
      requeueAfterMs: 60_000,
    },
    {
      name: 'beyond the number of movers in the cluster',
      input: { settings: { ...VOLUME_SETTINGS, movers: { ...VOLUME_SETTINGS.movers, maxInAll: 0 } } },
      requeueAfterMs: 60_000,
    },
  ])('$name', ({ input, requeueAfterMs }) => {
    expect(planLeftover(makeInput(input))).toEqual({ actions: [], ...(requeueAfterMs && { requeueAfterMs }) })
  })
})

test('a pod of another node does not use the data', () => {
  const plan = planLeftover(makeInput({ users: () => [{ pod: 'a/b', node: 'n2' }] }))
  expect(plan.actions).toMatchObject([{ kind: 'create' }])
})

test.each([
  { name: 'of another node', active: makeMover({}, { phase: 'Running' }, 'n2') },
  { name: 'of other data', active: JSON.parse(JSON.stringify(writer).replaceAll(PATH, `${PATH}-2`)) },
])('a mover $name does not hold the deletion', ({ active }) => {
  expect(planLeftover(makeInput({ active: [active] })).actions).toMatchObject([{ kind: 'create' }])
})

const completed = moverSays({ outcome: 'completed', verb: 'delete' })

test('a mover that succeeded ends the leftover, with an Event about the node', () => {
  const mover = moverWith(ended('Succeeded', { exitCode: 0, message: completed }))

  expect(planLeftover(makeInput({ movers: [mover] })).actions).toMatchObject([
    { kind: 'patch', patch: { metadata: { annotations: { [`leftover.lodestone.dev/${DIGEST}`]: null } } } },
    {
      reason: 'LeftoverDeleted',
      message: 'vol1 of shop/sales: data that was left on n1 is deleted',
      about: { kind: 'Node' },
    },
    { kind: 'delete', object: mover },
  ])
})

const failedAt = (seconds: number) =>
  moverWith(ended('Failed', { exitCode: 1, message: moverSays({ code: 'Unexpected' }), finishedAt: at(seconds) }))

test('a mover that failed is replaced after a pause, with an Event', () => {
  expect(planLeftover(makeInput({ movers: [failedAt(-299)] }))).toEqual({ actions: [], requeueAfterMs: 1000 })
  expect(planLeftover(makeInput({ movers: [failedAt(-300)] }))).toMatchObject({
    actions: [
      { reason: 'LeftoverFailed', message: 'vol1 of shop/sales: Unexpected: Unexpected; it is retried' },
      { kind: 'delete' },
    ],
    requeueAfterMs: 60_000,
  })
})

test('a mover that the API server rejects is an Event about the node, with the remedy', () => {
  expect(planRefusal(makeInput(), 'x'.repeat(2000)).actions).toMatchObject([
    {
      kind: 'event',
      about: { kind: 'Node' },
      type: 'Warning',
      reason: 'LeftoverFailed',
      message: expect.stringMatching(
        /^vol1 of shop\/sales: CreateRefused: x{511}…; it is retried; allow the mover in namespace lodestone-system, or set volumes.movers.namespace$/,
      ),
    },
  ])
})

test('a rejected mover is retried with backoff, with an Event only for a new reason', () => {
  const first = planRefusal(makeInput(), 'no quota')
  const { refused } = first
  expect({ refused, requeueAfterMs: first.requeueAfterMs }).toEqual({
    refused: { failures: 1, retryAt: NOW + 60_000, message: 'no quota' },
    requeueAfterMs: 60_000,
  })
  expect(planLeftover(makeInput({ refused, now: NOW + 59_000 }))).toEqual({ actions: [], requeueAfterMs: 1000 })
  expect(planLeftover(makeInput({ refused, now: NOW + 60_000 })).actions).toMatchObject([{ kind: 'create' }])
  // The clock was set back.
  expect(planLeftover(makeInput({ refused, now: NOW - 3_600_000 })).actions).toMatchObject([{ kind: 'create' }])

  const second = planRefusal(makeInput({ refused, now: NOW + 60_000 }), 'no quota')
  expect(second).toEqual({
    actions: [],
    requeueAfterMs: 120_000,
    refused: { failures: 2, retryAt: NOW + 180_000, message: 'no quota' },
  })
  expect(planRefusal(makeInput({ refused }), 'denied by a policy').actions).toHaveLength(1)
})

test('a mover whose clock was ahead is replaced after a pause since it was scheduled', () => {
  const ahead = (scheduled: number) => {
    const mover = failedAt(86_400)
    const placed = { type: 'PodScheduled', status: 'True', lastTransitionTime: at(scheduled) }
    return { ...mover, status: { ...mover.status, conditions: [placed] } }
  }
  expect(planLeftover(makeInput({ movers: [ahead(-299)] }))).toEqual({ actions: [], requeueAfterMs: 1000 })
  expect(planLeftover(makeInput({ movers: [ahead(-300)] })).actions).toMatchObject([
    { reason: 'LeftoverFailed' },
    { kind: 'delete' },
  ])
})

describe('a mover that does not start', () => {
  const placed = (status: 'True' | 'False', seconds: number) => ({
    conditions: [{ type: 'PodScheduled', status, message: 'Too many pods', lastTransitionTime: at(-seconds) }],
  })
  const pulling = { name: 'mover', state: { waiting: { reason: 'ErrImagePull', message: 'no such host' } } }
  const failed = 'vol1 of shop/sales: ErrImagePull: no such host; it is retried'

  test.each<{ name: string; status: PodStatus; want: string | undefined }>([
    { name: 'has half an hour to find room on its node', status: placed('False', 1800), want: undefined },
    {
      name: 'gives its slot back then',
      status: placed('False', 1801),
      want: 'vol1 of shop/sales: PrepareTimeout: did not start in time: Too many pods; it is retried',
    },
    { name: 'has as much time for its start on the node', status: placed('True', 1800), want: undefined },
    {
      name: 'gives its slot back if the kubelet does not start it',
      status: placed('True', 1801),
      want: expect.stringContaining('PrepareTimeout: did not start in time: its container was not created'),
    },
    { name: 'is not stopped by a time in the future', status: placed('False', -9), want: undefined },
    { name: 'is not stopped without a scheduler', status: {}, want: undefined },
    {
      name: 'gives its slot back at once if its image cannot be pulled',
      status: { ...placed('True', 1), containerStatuses: [pulling] },
      want: failed,
    },
  ])('$name', ({ status, want }) => {
    const { spec, ...planned } = moverWith({ phase: 'Pending', ...status })
    const isPlaced = status.conditions?.some((one) => one.status === 'True') ?? false
    const mover = { ...planned, spec: isPlaced ? { ...spec, nodeName: 'n1' } : spec }
    const { actions } = planLeftover(makeInput({ movers: [mover] }))
    expect(actions.map((action) => (action.kind === 'event' ? action.message : action.kind))).toEqual(
      want === undefined ? [] : [want, 'delete'],
    )
  })

  test('is tried again after 5 minutes, later each time up to an hour, with one Event', () => {
    const mover = moverWith({ phase: 'Pending', containerStatuses: [pulling] })
    const plans = [planLeftover(makeInput({ movers: [mover] }))]
    for (let i = 0; i < 5; i++) plans.push(planLeftover(makeInput({ movers: [mover], refused: plans.at(-1)?.refused })))

    expect(plans.map(({ requeueAfterMs = 0 }) => requeueAfterMs / 60_000)).toEqual([5, 10, 20, 40, 60, 60])
    expect(plans.map(({ actions }) => actions.length)).toEqual([2, 1, 1, 1, 1, 1])
    const { refused } = plans.at(-1) ?? {}
    expect(planLeftover(makeInput({ refused, now: NOW + 3_599_000 }))).toEqual({ actions: [], requeueAfterMs: 1000 })
    expect(planLeftover(makeInput({ refused, now: NOW + 3_600_000 })).actions).toMatchObject([{ kind: 'create' }])
  })
})

test('a mover that is being deleted is waited for', () => {
  const mover = failedAt(-300)
  const deleted = { ...mover, metadata: { ...mover.metadata, deletionTimestamp: at(0) } }
  expect(planLeftover(makeInput({ movers: [deleted] }))).toEqual({ actions: [], requeueAfterMs: 60_000 })
})

test('a mover that runs is left alone, unless its node is not ready', () => {
  const mover = moverWith({ phase: 'Running' })
  expect(planLeftover(makeInput({ movers: [mover] }))).toEqual({ actions: [], requeueAfterMs: 60_000 })
  expect(planLeftover(makeInput({ movers: [mover], unreadySince: at(-1) })).actions).toEqual([
    { kind: 'delete', type: expect.anything(), object: mover },
  ])
})
