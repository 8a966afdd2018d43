import { expect, test } from 'vitest'
import { buildRelatedKinds } from '../workload-kinds/related-kinds.ts'
import { relationsOf, selectsAny, targets } from './relations.ts'

const [route] = buildRelatedKinds({ related: ['HTTPRoute'], relatedKinds: [] })
const [policy] = buildRelatedKinds({ related: ['NetworkPolicy'], relatedKinds: [] })
const object = (spec: unknown) => ({
  apiVersion: 'v1',
  kind: 'K',
  metadata: { name: 'k', namespace: 'shop' },
  spec,
})

test('an object names targets; the table has the kind of a reference without one', () => {
  const backendRefs = [{ name: 'a' }, { name: 'b', kind: 'Backend' }, { name: '' }, 'x', null]
  expect(route && relationsOf(object({ rules: [{ backendRefs }] }), route)).toEqual({
    targets: [
      { kind: 'Service', name: 'a' },
      { kind: 'Backend', name: 'b' },
    ],
    podSelectors: [],
    serviceSelectors: [],
  })
})

test('the number of targets is limited', () => {
  const backendRefs = Array.from({ length: 500 }, (_, i) => ({ name: `s${i}` }))
  expect(route && relationsOf(object({ rules: [{ backendRefs }] }), route).targets).toHaveLength(200)
})

test.each([
  null,
  'x',
  [],
  { matchLabels: 'x' },
  { matchLabels: { a: 1 } },
  { matchExpressions: [{ key: 1 }] },
  { matchExpressions: 'x' },
])('the selector %j has another shape and selects nothing', (podSelector) => {
  expect(policy && relationsOf(object({ podSelector }), policy).podSelectors).toEqual([])
})

test('a selector of one pod of a StatefulSet selects its pods in each member', () => {
  const matchLabels = { app: 'a', 'statefulset.kubernetes.io/pod-name': 'db-0' }
  expect(policy && relationsOf(object({ podSelector: { matchLabels } }), policy).podSelectors).toEqual([
    { matchLabels: { app: 'a', 'statefulset.kubernetes.io/pod-name': 'db-N' } },
  ])
})

test('a target with a group is of that group only', () => {
  const relations = {
    targets: [{ group: 'apps', kind: 'Deployment', name: 'a' }],
    podSelectors: [],
    serviceSelectors: [],
  }
  const named = (apiVersion: string, name: string) => ({ apiVersion, kind: 'Deployment', metadata: { name } })
  expect(
    [named('apps/v1', 'a'), named('x/v1', 'a'), named('apps/v1', 'b')].map((one) => targets(relations, one)),
  ).toEqual([true, false, false])
})

test('a selector selects pods if it matches any of their labels', () => {
  expect(selectsAny([{ matchLabels: { a: '1' } }], [{ a: '0' }, { a: '1' }])).toBe(true)
  expect(selectsAny([{}], [])).toBe(false)
})
