import { describe, expect, test } from 'vitest'
import type { Node, Toleration } from '../../../api/node.ts'
import { isClosedTo, toleratesNode } from './taints.ts'

const gpu = { key: 'gpu', value: 'a100', effect: 'NoSchedule' }
const tainted = (...taints: { key: string; value?: string; effect: string }[]): Pick<Node, 'spec'> => ({
  spec: { taints },
})

describe('a mover can be scheduled', () => {
  test.each<{ name: string; node: Pick<Node, 'spec'>; tolerations?: Toleration[]; want: boolean }>([
    { name: 'to a node without taints', node: {}, want: true },
    { name: 'not to a tainted node', node: tainted(gpu), want: false },
    { name: 'not to a cordoned node', node: { spec: { unschedulable: true } }, want: false },
    { name: 'not to a node with NoExecute', node: tainted({ key: 'a', effect: 'NoExecute' }), want: false },
    { name: 'to a node with PreferNoSchedule', node: tainted({ key: 'a', effect: 'PreferNoSchedule' }), want: true },
    { name: 'with an equal toleration', node: tainted(gpu), tolerations: [{ key: 'gpu', value: 'a100' }], want: true },
    { name: 'not with another value', node: tainted(gpu), tolerations: [{ key: 'gpu', value: 'h100' }], want: false },
    {
      name: 'not with another effect',
      node: tainted(gpu),
      tolerations: [{ ...gpu, effect: 'NoExecute' }],
      want: false,
    },
    { name: 'with Exists', node: tainted(gpu), tolerations: [{ key: 'gpu', operator: 'Exists' }], want: true },
    { name: 'with Exists without a key', node: tainted(gpu), tolerations: [{ operator: 'Exists' }], want: true },
    {
      name: 'not with Equal without a key',
      node: tainted({ key: 'a', effect: 'NoSchedule' }),
      tolerations: [{}],
      want: false,
    },
    {
      name: 'not with an unknown operator',
      node: tainted(gpu),
      tolerations: [{ key: 'gpu', operator: 'Lt' }],
      want: false,
    },
    {
      name: 'to a node with an equal taint without a value',
      node: tainted({ key: 'a', effect: 'NoSchedule' }),
      tolerations: [{ key: 'a' }],
      want: true,
    },
    {
      name: 'not if one of two taints is not tolerated',
      node: tainted(gpu, { key: 'b', effect: 'NoSchedule' }),
      tolerations: [{ key: 'gpu', operator: 'Exists' }],
      want: false,
    },
  ])('$name', ({ node, tolerations, want }) => {
    expect(toleratesNode(tolerations, node)).toBe(want)
  })
})

describe('a node is closed', () => {
  test.each<{ name: string; node: Pick<Node, 'spec'>; want: boolean }>([
    { name: 'by a taint of an administrator', node: tainted(gpu), want: true },
    { name: 'when it is cordoned', node: { spec: { unschedulable: true } }, want: true },
    {
      name: 'not when it is not ready',
      node: tainted({ key: 'node.kubernetes.io/not-ready', effect: 'NoExecute' }),
      want: false,
    },
    { name: 'not without taints', node: {}, want: false },
  ])('$name', ({ node, want }) => {
    expect(isClosedTo(undefined, node)).toBe(want)
  })
})
