import { expect, test } from 'vitest'
import { parseManifests } from './manifests.ts'

const text = `# a comment
---
apiVersion: v1
kind: ConfigMap
metadata:
  name: a
  annotations:
    example.org/key.of: '{"name":"a"}'
spec:
  list: [one, { name: two }]
  block:
    - first
    - name: second
  shared: &shared
    field: 1
  alias: *shared
`

test.each([
  { path: '', want: [3, 1] },
  { path: '(root)', want: [3, 1] },
  { path: 'kind', want: [4, 1] },
  { path: 'metadata.annotations[example.org/key.of].name', want: [8, 5] },
  { path: 'metadata.labels', want: [5, 1] },
  { path: 'spec.list[1].name', want: [10, 17] },
  { path: 'spec.list[7]', want: [10, 3] },
  { path: 'spec.block[1].name', want: [13, 7] },
  { path: 'spec.alias.field', want: [15, 5] },
  { path: 'spec.list[1].name.deeper.than.the.file', want: [10, 17] },
])('"$path" is at $want', ({ path, want: [line, column] }) => {
  const [manifest] = parseManifests(text, 'a.yaml', { positions: true }).manifests

  expect(manifest?.positionOf?.(path)).toEqual({ line, column })
})

test('items of a List, in YAML and JSON, have their own places', () => {
  const items = `{"kind":"List","apiVersion":"v1","items":[\n  {"apiVersion":"v1","kind":"Pod","metadata":{"name":"a"}},\n  {"apiVersion":"v1","kind":"Pod","metadata":{"name":"b"}}]}`
  const { manifests } = parseManifests(items, 'a.json', { positions: true })

  expect(manifests.map(({ line, column }) => ({ line, column }))).toEqual([
    { line: 2, column: 3 },
    { line: 3, column: 3 },
  ])
  expect(manifests[1]?.positionOf?.('metadata.name')).toEqual({ line: 3, column: 47 })
})

test('without the option, no manifest keeps its file in memory', () => {
  expect(parseManifests(text, 'a.yaml').manifests[0]).not.toHaveProperty('positionOf')
})
