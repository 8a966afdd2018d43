import { describe, expect, test } from 'vitest'
import { makeVolumeManager, NOW } from '../../../../test/builders.ts'
import type { VolumeManagerStatus } from '../../../api/volume-manager.ts'
import type { ReplicaStatus, UploadStatus, VolumeStatus } from '../../../api/volume-status.ts'
import type { VolumeManagerInput } from '../input.ts'
import type { Waiting } from '../persistent-volumes.ts'
import { buildManagerStatus, statusEvents } from './conditions.ts'
import type { VolumeSummary } from './summary.ts'

function summary(
  state: VolumeSummary['state'],
  replicas: Partial<ReplicaStatus>[],
  status: Partial<VolumeStatus> = {},
): VolumeSummary {
  const whole = replicas.map((replica, index) => ({ index, revision: 'r', attempt: 1, state: 'Ready', ...replica }))
  const readyReplicas = whole.filter(({ state }) => state === 'Ready').length
  return {
    state,
    wanted: whole.length,
    isComplete: readyReplicas === whole.length,
    remarks: [],
    status: {
      id: 'vol1',
      message: 'success',
      nodeAffinity: {},
      readyReplicas,
      replicas: whole as ReplicaStatus[],
      ...status,
    },
  }
}

const of = (...summaries: VolumeSummary[]) =>
  buildManagerStatus({ manager: makeVolumeManager(), now: NOW } as VolumeManagerInput, summaries, [])
const ready = (status: ReturnType<typeof of>) => status.conditions?.find(({ type }) => type === 'Ready')?.message

test('the status of 1,000 failed replicas with Chinese messages fits into an object', () => {
  const failing = Array.from({ length: 1000 }, () => ({ state: 'Failed' as const, message: '无'.repeat(512) }))
  expect(Buffer.byteLength(JSON.stringify(of(summary('failed', failing))))).toBeLessThan(1024 * 1024)
})

describe('the status for kubectl get', () => {
  test('has the ready and the wanted replicas, and the size, of all volumes', () => {
    const GI = 1024 ** 3
    const status = of(
      summary('pending', [{ node: 'node-1' }, { state: 'Queued' }], { bytes: 4 * GI }),
      summary('usable', [{ node: 'node-2' }], { id: 'vol2', bytes: GI }),
    )

    expect(status).toMatchObject({ replicas: '2/3', size: '5.0Gi' })
  })

  test('has the nodes with complete data, sorted and without duplicates', () => {
    const { nodes } = of(
      summary('usable', [{ node: 'node-2' }, { node: 'node-1' }, { node: 'node-3', state: 'Downloading' }]),
      summary('usable', [{ node: 'node-2' }], { id: 'vol2' }),
    )

    expect(nodes).toBe('node-1,node-2')
  })

  test('has all of eight nodes', () => {
    const names = Array.from({ length: 8 }, (_, i) => `node-${i}`)

    expect(
      of(
        summary(
          'usable',
          names.map((node) => ({ node })),
        ),
      ).nodes,
    ).toBe(names.join(','))
  })

  test('has at most eight nodes', () => {
    const { nodes } = of(
      summary(
        'usable',
        Array.from({ length: 12 }, (_, i) => ({ node: `node-${i + 10}` })),
      ),
    )

    expect(nodes).toBe('node-10,node-11,node-12,node-13,node-14,node-15,node-16,node-17,…')
  })

  test('has the reason of a failure in the condition, and the message of VCK', () => {
    const status = of(
      summary('failed', [{ state: 'Failed' }], { message: 'AccessDenied: the bucket lake may not be read' }),
      summary('usable', [{ node: 'node-1' }], { id: 'vol2' }),
    )

    expect(status.message).toBe('failed to deploy all the sub-resources')
    expect(ready(status)).toBe('vol1: AccessDenied: the bucket lake may not be read')
  })

  test('has the reason of a wait in the condition', () => {
    const status = of(
      summary('pending', [{ node: 'node-1' }, { state: 'Starting', reason: 'Unschedulable', message: '0/5 nodes' }]),
    )

    expect(status.message).toBe('Beginning sub-resource deployment')
    expect(ready(status)).toBe('vol1: 1 ready (Unschedulable: 0/5 nodes)')
  })
})

describe('the whole status', () => {
  const condition = (type: string, status: 'True' | 'False', reason: string, message: string) => ({
    type,
    status,
    reason,
    message,
    observedGeneration: 3,
    lastTransitionTime: new Date(NOW).toISOString(),
  })
  const statusWith = (summaries: VolumeSummary[]) =>
    buildManagerStatus(
      { manager: makeVolumeManager([{}], { generation: 3 }), now: NOW } as VolumeManagerInput,
      summaries,
      [],
    )

  test('of complete volumes', () => {
    const summaries = [summary('usable', [{ node: 'n1' }]), summary('usable', [{ node: 'n2' }], { id: 'vol2' })]
    const done = 'successfully deployed all sub-resources'

    expect(statusWith(summaries)).toEqual({
      state: 'Running',
      message: done,
      observedGeneration: 3,
      ready: '2/2',
      nodes: 'n1,n2',
      replicas: '2/2',
      volumes: summaries.map(({ status }) => status),
      conditions: [
        condition('Ready', 'True', 'Deployed', done),
        condition('ReplicasReady', 'True', 'Complete', 'vol1: 1 ready; vol2: 1 ready'),
      ],
    })
  })

  test('of usable volumes, one of them incomplete', () => {
    const summaries = [
      summary('usable', [{ node: 'n1' }]),
      summary('usable', [{ node: 'n1' }, { state: 'Queued' }], { id: 'vol2' }),
    ]
    const done = 'successfully deployed all sub-resources'

    expect(statusWith(summaries)).toMatchObject({
      state: 'Running',
      ready: '2/2',
      nodes: 'n1',
      conditions: [
        condition('Ready', 'True', 'Deployed', done),
        condition('ReplicasReady', 'False', 'Deployed', 'vol1: 1 ready; vol2: 1 ready (Queued)'),
      ],
    })
  })

  test('of a waiting volume and a complete one', () => {
    const summaries = [
      summary('usable', [{ node: 'n1' }]),
      { ...summary('pending', []), status: { id: 'vol2', nodeAffinity: {} } },
    ]
    const text = 'vol1: 1 ready; vol2: 0 ready'

    expect(statusWith(summaries)).toMatchObject({
      state: 'Pending',
      ready: '1/2',
      conditions: [
        condition('Ready', 'False', 'Deploying', text),
        condition('ReplicasReady', 'False', 'Deploying', text),
      ],
    })
  })

  test('of failed volumes is stalled until they are tried again', () => {
    const stalledIn = ({ conditions = [] }: VolumeManagerStatus) =>
      conditions.filter(({ type }) => type === 'Stalled').map(({ status, reason }) => `${status} ${reason}`)
    const failed = statusWith([summary('failed', [], { message: 'AccessDenied' })])
    const manager = makeVolumeManager([{}], { status: failed })
    const retried = buildManagerStatus({ manager, now: NOW } as VolumeManagerInput, [summary('pending', [])], [])

    expect(stalledIn(failed)).toEqual(['True DeploymentFailed'])
    expect(stalledIn(retried)).toEqual([])
  })

  test.each([1016, 1017, 1018])(
    'has no half of a character after %d others, which the API server would change',
    (length) => {
      const message = `${'x'.repeat(length)}😀 lake`
      const { conditions = [] } = statusWith([summary('failed', [{ state: 'Failed', message }], { message })])

      expect(conditions.filter((one) => !one.message.isWellFormed())).toEqual([])
    },
  )

  test('of failed volumes has all reasons, up to 1024 characters', () => {
    const short = [summary('failed', [], { message: 'a' }), summary('failed', [], { id: 'vol2', message: 'b' })]
    const long = [summary('failed', [{ state: 'Failed', message: 'y'.repeat(2000) }], { message: 'x'.repeat(2000) })]
    const messages = [short, long].map((summaries) => statusWith(summaries).conditions?.map(({ message }) => message))

    expect(messages).toEqual([
      ['vol1: a; vol2: b', 'vol1: 0 ready; vol2: 0 ready', 'vol1: a; vol2: b'],
      [
        `${'vol1: '.padEnd(1023, 'x')}…`,
        `${'vol1: 0 ready (Failed: '.padEnd(1023, 'y')}…`,
        `${'vol1: '.padEnd(1023, 'x')}…`,
      ],
    ])
  })
})

describe('the state of a VolumeManager', () => {
  const deleting = () => summary('deleting', [], { message: 'deleting: n1: text' })
  const withReason = (reason: string) => ({ ...deleting(), reason })
  const claim: Waiting = { reason: 'InUse', message: 'claim a is in use by default/p' }
  const gone = { deletionTimestamp: '2026-01-01T00:00:00Z' }

  test.each<{
    name: string
    metadata?: object
    wanted?: 'Completed' | 'Failed'
    summaries: VolumeSummary[]
    waiting?: Waiting[]
    want: [state: string, reason: string, message: string]
  }>([
    {
      name: 'is Running when all volumes can be used',
      summaries: [summary('usable', [{}])],
      want: ['Running', 'Deployed', 'successfully deployed all sub-resources'],
    },
    {
      name: 'is Running without volumes',
      summaries: [],
      want: ['Running', 'Deployed', 'successfully deployed all sub-resources'],
    },
    {
      name: 'is Pending when one waits',
      summaries: [summary('usable', [{}]), summary('pending', [])],
      want: ['Pending', 'Deploying', 'Beginning sub-resource deployment'],
    },
    {
      name: 'is Failed when one failed, although another one waits',
      summaries: [summary('pending', []), summary('failed', [])],
      want: ['Failed', 'DeploymentFailed', 'failed to deploy all the sub-resources'],
    },
    {
      name: 'is Running although data of a removed volume is being deleted',
      summaries: [summary('usable', [{}]), deleting()],
      want: ['Running', 'Deployed', 'successfully deployed all sub-resources'],
    },
    {
      name: 'is Failed when that is the wanted state',
      wanted: 'Failed',
      summaries: [deleting()],
      want: [
        'Failed',
        'WantedFailed',
        'Added with desired state as failed and controller marked volume manager as Failed',
      ],
    },
    {
      name: 'is Pending while data is deleted',
      wanted: 'Completed',
      summaries: [withReason('NodeLabel')],
      want: ['Pending', 'Deleting', 'the data is being deleted: vol1: deleting: n1: text'],
    },
    {
      name: 'names the annotation for data in use',
      wanted: 'Completed',
      summaries: [withReason('InUse')],
      want: [
        ...(['Pending', 'InUse'] as const),
        'the data is being deleted: vol1: deleting: n1: text; annotate lodestone.dev/delete-in-use=true to delete it although it is used',
      ],
    },
    {
      name: 'names no annotation for a claim in use, on which it has no effect',
      metadata: gone,
      summaries: [summary('deleted', [])],
      waiting: [claim],
      want: ['Pending', 'InUse', 'the data is being deleted: claim a is in use by default/p'],
    },
    {
      name: 'names the first volume whose data is not deleted yet',
      wanted: 'Completed',
      summaries: [summary('deleted', [], { id: 'vol0' }), withReason('NodeLabel')],
      want: ['Pending', 'Deleting', 'the data is being deleted: vol1: deleting: n1: text'],
    },
    {
      name: 'is Pending while both data and a claim are being deleted',
      metadata: gone,
      summaries: [deleting()],
      waiting: [claim],
      want: ['Pending', 'Deleting', 'the data is being deleted: vol1: deleting: n1: text'],
    },
    {
      name: 'is Running when the data of a removed volume is deleted',
      summaries: [summary('usable', [{}]), summary('deleted', [])],
      want: ['Running', 'Deployed', 'successfully deployed all sub-resources'],
    },
    {
      name: 'is Pending while a claim is being deleted',
      metadata: gone,
      summaries: [],
      waiting: [{ reason: 'Terminating', message: 'claim a is being deleted' }],
      want: ['Pending', 'Deleting', 'the data is being deleted: claim a is being deleted'],
    },
    {
      name: 'is Completed when all data is deleted',
      wanted: 'Completed',
      summaries: [summary('deleted', [])],
      want: ['Completed', 'Deleted', 'the data is deleted'],
    },
    {
      name: 'is Completed in a deletion, for any wanted state',
      metadata: gone,
      wanted: 'Failed',
      summaries: [],
      want: ['Completed', 'Deleted', 'the data is deleted'],
    },
  ])('$name', ({ metadata = {}, wanted, summaries, waiting = [], want }) => {
    const manager = makeVolumeManager([{}], { ...metadata, ...(wanted && { state: wanted }) })

    const status = buildManagerStatus({ manager, now: NOW } as VolumeManagerInput, summaries, waiting)

    const reason = status.conditions?.find(({ type }) => type === 'Ready')?.reason
    expect([status.state, reason, status.message]).toEqual(want)
  })
})

describe('the Events about a new status', () => {
  const eventsOf = (before: VolumeSummary[], after: VolumeSummary[]) => {
    const manager = makeVolumeManager([{}], { status: of(...before) })
    return statusEvents(manager, of(...after), after).map(
      ({ type, reason, message }) => `${type} ${reason}: ${message}`,
    )
  }
  const replica = (state: ReplicaStatus['state'], more: Partial<ReplicaStatus> = {}) =>
    summary(state === 'Ready' ? 'usable' : 'pending', [{ state, node: 'n1', ...more }])

  const lost = (node: string) => summary('usable', [{ node, state: 'Unreachable' }])

  test.each<{ name: string; before: VolumeSummary[]; after: VolumeSummary[]; want: string[] }>([
    { name: 'are none without a change', before: [replica('Ready')], after: [replica('Ready')], want: [] },
    {
      name: 'are about a new state',
      before: [replica('Downloading')],
      after: [replica('Ready')],
      want: ['Normal Running: successfully deployed all sub-resources'],
    },
    {
      name: 'are about a failed volume, with its message',
      before: [summary('pending', [])],
      after: [summary('usable', [], { id: 'vol0' }), summary('failed', [], { message: 'AccessDenied: no' })],
      want: ['Warning Failed: failed to deploy all the sub-resources: vol1: AccessDenied: no'],
    },
    {
      name: 'are about a mover that failed',
      before: [replica('Downloading')],
      after: [replica('Failed', { reason: 'NoSpace', message: 'full' })],
      want: ['Warning MoverFailed: vol1 on n1: NoSpace: full'],
    },
    {
      name: 'are about a replica that is lost, and the state that changes with it',
      before: [replica('Ready')],
      after: [replica('Queued', { reason: 'NodeGone', message: 'gone', node: undefined as never })],
      want: ['Normal Pending: Beginning sub-resource deployment', 'Warning ReplicaLost: vol1 on n1: NodeGone: gone'],
    },
    {
      name: 'are about a node that is not ready',
      before: [replica('Ready')],
      after: [{ ...replica('Unreachable', { reason: 'NodeNotReady' }), state: 'usable' }],
      want: ['Warning ReplicaUnreachable: vol1 on n1: NodeNotReady'],
    },
    {
      name: 'are about evicted data, with its node',
      before: [replica('Ready')],
      after: [{ ...replica('Evicted', { node: undefined as never }), state: 'usable' }],
      want: ['Warning ReplicaEvicted: vol1 on n1: Evicted'],
    },
    {
      name: 'are about a mover that never had a node',
      before: [replica('Starting', { node: undefined as never })],
      after: [replica('Failed', { node: undefined as never, reason: 'PrepareTimeout' })],
      want: ['Warning MoverFailed: vol1: PrepareTimeout'],
    },
    {
      name: 'are about the replica that changed, of the volume that changed',
      before: [lost('n1'), summary('usable', [{ node: 'n3', state: 'Unreachable' }, { node: 'n4' }], { id: 'vol2' })],
      after: [
        lost('n1'),
        summary(
          'usable',
          ['n3', 'n4'].map((node) => ({ node, state: 'Unreachable' })),
          { id: 'vol2' },
        ),
      ],
      want: ['Warning ReplicaUnreachable: vol2 on n4: Unreachable'],
    },
    {
      name: 'do not repeat a failure',
      before: [replica('Failed')],
      after: [replica('Failed')],
      want: [],
    },
    {
      name: 'omit a replica that the last status does not have',
      before: [summary('pending', [])],
      after: [replica('Failed'), { ...replica('Failed'), status: { ...replica('Failed').status, id: 'vol2' } }],
      want: [],
    },
    {
      name: 'omit a volume without replicas',
      before: [summary('pending', [])],
      after: [{ ...summary('pending', []), status: { id: 'vol1', nodeAffinity: {} } }],
      want: [],
    },
    { name: 'omit a retry', before: [replica('Failed')], after: [replica('Queued')], want: [] },
  ])('$name', ({ before, after, want }) => {
    expect(eventsOf(before, after)).toEqual(want)
  })

  test('include the first state of a new VolumeManager', () => {
    const manager = makeVolumeManager()

    expect(statusEvents(manager, of(summary('pending', [])), [])).toEqual([
      {
        kind: 'event',
        about: manager,
        type: 'Normal',
        reason: 'Pending',
        message: 'Beginning sub-resource deployment',
      },
    ])
  })
})

describe('a write-back that keeps failing', () => {
  const FAILING = 'node-1: changes are not written back: AccessDenied: no'
  const status = of({ ...summary('usable', [{ node: 'node-1' }]), writeBack: FAILING })

  test('is in the state, the message and a condition, and the data stays ready', () => {
    expect(status).toMatchObject({
      state: 'Failed',
      message: `failed to write back changes: vol1: ${FAILING}`,
    })
    expect(status.conditions?.map(({ type, status, reason }) => [type, status, reason])).toEqual([
      ['Ready', 'True', 'WriteBackFailed'],
      ['ReplicasReady', 'True', 'Complete'],
      ['WrittenBack', 'False', 'WriteBackFailed'],
    ])
  })

  test('is a Warning with the reason', () => {
    expect(statusEvents(makeVolumeManager([{}], { status: { state: 'Running' } }), status, [])).toMatchObject([
      { type: 'Warning', reason: 'Failed', message: expect.stringContaining(FAILING) },
    ])
  })

  test('is an Event of its own, once for each attempt', () => {
    const eventsOf = (state: UploadStatus['state'], next: UploadStatus) => {
      const before = of(summary('usable', [{ node: 'n1', upload: { state, attempt: 1 } }]))
      const after = of(summary('usable', [{ node: 'n1', upload: next }]))
      return statusEvents(makeVolumeManager([{}], { status: before }), after, []).map(
        ({ reason, message }) => `${reason}: ${message}`,
      )
    }
    const failed = { state: 'Failed', attempt: 1, reason: 'WriteConflict', message: 's3://lake/a' } as const

    expect(eventsOf('Uploading', failed)).toEqual(['WriteBackFailed: vol1 on n1: WriteConflict: s3://lake/a'])
    expect(eventsOf('Failed', failed)).toEqual([])
  })

  test('of data that is to be deleted is a failure, with the way out', () => {
    const manager = makeVolumeManager([{}], { deletionTimestamp: '2024-01-01T00:00:00Z' })
    const input = { manager, now: NOW } as VolumeManagerInput
    const { state, message, conditions } = buildManagerStatus(
      input,
      [{ ...summary('deleting', [{}]), writeBack: FAILING }],
      [],
    )

    expect(state).toBe('Failed')
    expect(message).toBe(
      `the data is not deleted: vol1: ${FAILING}; annotate lodestone.dev/delete-in-use=true to delete the data without its changes`,
    )
    expect(conditions?.map(({ type, status }) => `${type} ${status}`)).toEqual([
      'Ready False',
      'ReplicasReady False',
      'Stalled True',
      'WrittenBack False',
    ])
  })

  test('of many volumes keeps the way out in the length of an Event', () => {
    const manager = makeVolumeManager([{}], { deletionTimestamp: '2024-01-01T00:00:00Z' })
    const many = Array.from({ length: 40 }, () => ({ ...summary('deleting', [{}]), writeBack: FAILING }))
    const { message = '' } = buildManagerStatus({ manager, now: NOW } as VolumeManagerInput, many, [])

    expect(message.length).toBeLessThan(1024 - 'VolumeManager : '.length - 253)
    expect(message).toMatch(/; annotate lodestone.dev\/delete-in-use=true to delete the data without its changes$/)
  })

  test('ends with a condition that is true', () => {
    const manager = makeVolumeManager([{ options: { resync: 'true' } }])
    const { conditions } = buildManagerStatus(
      { manager, now: NOW } as VolumeManagerInput,
      [summary('usable', [{}])],
      [],
    )
    expect(conditions?.find(({ type }) => type === 'WrittenBack')?.status).toBe('True')
  })
})
