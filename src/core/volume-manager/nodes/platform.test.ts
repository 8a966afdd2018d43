import { expect, test } from 'vitest'
import { allowsNode } from './node-affinity.ts'
import { platformRequirements, runsMovers } from './platform.ts'

test.each([
  ['Linux on a listed architecture', { 'kubernetes.io/os': 'linux', 'kubernetes.io/arch': 'arm64' }, true],
  ['Linux on another architecture', { 'kubernetes.io/os': 'linux', 'kubernetes.io/arch': 's390x' }, false],
  ['Windows', { 'kubernetes.io/os': 'windows', 'kubernetes.io/arch': 'amd64' }, false],
  ['no labels', undefined, false],
])('a node with %s: decision and scheduler agree on whether it runs movers', (_name, labels, want) => {
  const node = { metadata: { name: 'n1', ...(labels && { labels }) } }
  const architectures = ['amd64', 'arm64']
  const nodeSelectorTerms = [{ matchExpressions: platformRequirements(architectures) }]
  expect(runsMovers(node, architectures)).toBe(want)
  expect(allowsNode({ requiredDuringSchedulingIgnoredDuringExecution: { nodeSelectorTerms } }, node)).toBe(want)
})
