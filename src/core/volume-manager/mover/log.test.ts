import { describe, expect, test } from 'vitest'
import type { Pod, PodStatus } from '../../../api/pod.ts'
import { lastLines, moverLogHead } from './log.ts'

describe('the last lines of a log', () => {
  test.each([
    { name: 'are as many as wanted', text: 'a\nb\nc\n', count: 2, want: ['b', 'c'] },
    { name: 'are all lines when there are fewer', text: 'a\r\nb', count: 9, want: ['a', 'b'] },
    { name: 'have no empty lines', text: '\n\na\n \n', count: 2, want: ['a'] },
    { name: 'have no control characters', text: '\u001b[2Ja\tb\u0007', count: 1, want: [' [2Ja b'] },
    { name: 'are none for an empty log', text: '', count: 5, want: [] },
  ])('$name', ({ text, count, want }) => {
    expect(lastLines(text, count)).toEqual(want)
  })

  test('have at most 64 Ki characters, and long lines are cut at their end', () => {
    const text = `first\n${`${'x'.repeat(5000)}\n`.repeat(100)}last`
    const lines = lastLines(text, 1000)

    expect(lines).toHaveLength(32)
    expect(lines.at(-1)).toBe('last')
    expect(lines[0]).toBe(`${'x'.repeat(2047)}…`)
  })
})

test('the head of a log has the task of the mover, and how it ended', () => {
  const task = { manager: 'default/sales', id: 'vol1', role: 'replica', index: 0, attempt: 2 }
  const pod: Pod = {
    apiVersion: 'v1',
    kind: 'Pod',
    metadata: {
      name: 'm',
      namespace: 'default',
      annotations: { 'lodestone.dev/mover-task': JSON.stringify(task) },
    },
    spec: { containers: [], nodeName: 'n1' },
    status: { phase: 'Failed', containerStatuses: [{ name: 'mover', state: { terminated: { exitCode: 3 } } }] },
  }
  expect(moverLogHead(pod)).toEqual({ pod: 'default/m', ...task, node: 'n1', phase: 'Failed', exitCode: 3 })
  const head = { pod: 'm', node: 'n1' }
  const statuses: PodStatus[] = [
    {},
    { containerStatuses: [] },
    { containerStatuses: [{ name: 'mover' }] },
    { containerStatuses: [{ name: 'mover', state: {} }] },
  ]
  for (const status of statuses) {
    expect(moverLogHead({ ...pod, metadata: { name: 'm' }, status })).toStrictEqual(head)
  }
  const { status: _, ...unobserved } = pod
  expect(moverLogHead({ ...unobserved, metadata: { name: 'm' } })).toStrictEqual(head)
})
