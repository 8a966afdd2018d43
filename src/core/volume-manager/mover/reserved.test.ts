import { describe, expect, test } from 'vitest'
import { MOVER_LABEL, MOVER_SLOT_LABEL, MOVER_TASK_ANNOTATION } from '../../../api/lodestone.ts'
import type { ObjectMeta } from '../../../api/meta.ts'
import { reservedErrors } from './reserved.ts'

const labelled = (labels: Record<string, string>): ObjectMeta => ({ name: 'p', labels })
const annotated = (task: string): ObjectMeta => ({ name: 'p', annotations: { [MOVER_TASK_ANNOTATION]: task } })
const plain: ObjectMeta = { name: 'p', labels: { app: 'shop', 'lodestone.dev/inject': 'true' } }

const paths = (metadata: ObjectMeta, stored?: ObjectMeta) =>
  reservedErrors({ metadata }, stored && { metadata: stored }).map(({ path }) => path)

describe('a user', () => {
  test.each<{ does: string; metadata: ObjectMeta; stored?: ObjectMeta; want: string[] }>([
    { does: 'may create a pod without them', metadata: plain, want: [] },
    { does: 'may not create a mover', metadata: labelled({ [MOVER_LABEL]: '' }), want: [MOVER_LABEL] },
    { does: 'may not block a slot', metadata: labelled({ [MOVER_SLOT_LABEL]: '0' }), want: [MOVER_SLOT_LABEL] },
    { does: 'may not forge a task', metadata: annotated('{}'), want: [MOVER_TASK_ANNOTATION] },
    {
      does: 'may not label a pod later',
      metadata: labelled({ [MOVER_LABEL]: 'x' }),
      stored: plain,
      want: [MOVER_LABEL],
    },
    {
      does: 'may not change a task',
      metadata: annotated('{}'),
      stored: annotated('[]'),
      want: [MOVER_TASK_ANNOTATION],
    },
    { does: 'may not hide a mover', metadata: plain, stored: labelled({ [MOVER_LABEL]: 'x' }), want: [MOVER_LABEL] },
    {
      does: 'may write other metadata of a mover',
      metadata: { ...annotated('{}'), finalizers: ['a/b'] },
      stored: annotated('{}'),
      want: [],
    },
  ])('$does', ({ metadata, stored, want }) => {
    expect(paths(metadata, stored)).toEqual(want.map((key) => expect.stringContaining(`[${key}]`)))
  })
})
