import { describe, expect, test } from 'vitest'
import { makeVolumeManager, NOW } from '../../../../test/builders.ts'
import type { ReplicaStatus, VolumeStatus } from '../../../api/volume-manager.ts'
import type { VolumeManagerInput } from '../input.ts'
import { statusOf } from './conditions.ts'
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
    isComplete: readyReplicas === whole.length,
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
  statusOf({ manager: makeVolumeManager(), now: NOW } as VolumeManagerInput, summaries, [])
const ready = (status: ReturnType<typeof of>) => status.conditions?.find(({ type }) => type === 'Ready')?.message

describe('what kubectl get shows', () => {
  test('are the nodes that have all of the data, each once and in order', () => {
    const { nodes } = of(
      summary('usable', [{ node: 'node-2' }, { node: 'node-1' }, { node: 'node-3', state: 'Downloading' }]),
      summary('usable', [{ node: 'node-2' }], { id: 'vol2' }),
    )

    expect(nodes).toBe('node-1,node-2')
  })

  test('are not more nodes than a line has room for', () => {
    const { nodes } = of(
      summary(
        'usable',
        Array.from({ length: 12 }, (_, i) => ({ node: `node-${i + 10}` })),
      ),
    )

    expect(nodes).toBe('node-10,node-11,node-12,node-13,node-14,node-15,node-16,node-17,…')
  })

  test('is why it failed, beside the words of VCK', () => {
    const status = of(
      summary('failed', [{ state: 'Failed' }], { message: 'AccessDenied: the bucket lake may not be read' }),
      summary('usable', [{ node: 'node-1' }], { id: 'vol2' }),
    )

    expect(status.message).toBe('failed to deploy all the sub-resources')
    expect(ready(status)).toBe('vol1: AccessDenied: the bucket lake may not be read')
  })

  test('is what it waits for', () => {
    const status = of(
      summary('pending', [{ node: 'node-1' }, { state: 'Starting', reason: 'Unschedulable', message: '0/5 nodes' }]),
    )

    expect(status.message).toBe('Beginning sub-resource deployment')
    expect(ready(status)).toBe('vol1: 1 ready (Unschedulable: 0/5 nodes)')
  })
})
