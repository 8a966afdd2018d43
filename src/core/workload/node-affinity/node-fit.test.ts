import { expect, test } from 'vitest'
import { nodesWith } from '../../../../test/builders.ts'
import { makeNode } from '../../../../test/volume-builders.ts'
import type { PodSpec } from '../../../api/pod.ts'
import { fitsNode } from './node-fit.ts'

const node = makeNode('n1', { labels: { gpu: 'a100' } })
const tainted = { ...node, spec: { taints: [{ key: 'gpu', effect: 'NoSchedule' }] } }

test.each<[string, Partial<PodSpec>, typeof node, boolean]>([
  ['without constraints', {}, node, true],
  ['that selects its label', { nodeSelector: { gpu: 'a100' } }, node, true],
  ['that selects another value', { nodeSelector: { gpu: 'h100' } }, node, false],
  ['whose affinity matches', { affinity: { nodeAffinity: nodesWith('gpu') } }, node, true],
  ['whose affinity does not match', { affinity: { nodeAffinity: nodesWith('tpu') } }, node, false],
  ['that does not tolerate its taint', {}, tainted, false],
  ['that tolerates its taint', { tolerations: [{ key: 'gpu', operator: 'Exists' }] }, tainted, true],
  ['if it is not ready', {}, makeNode('n1', { unreadySince: '2026-01-01T00:00:00Z' }), false],
])('a pod %s', (_name, spec, on, want) => {
  expect(fitsNode({ containers: [{ name: 'main' }], ...spec }, on)).toBe(want)
})
