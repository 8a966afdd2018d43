/** Tests the CEL expressions as text. The scenarios of injection and of workload kinds evaluate them in a real API server. */
import { expect, test } from 'vitest'
import { SHIPPED_KINDS } from '../core/workload-kinds/kinds.ts'
import { hasOurAnnotation } from './annotation-condition.ts'
import { workloadWebhook } from './workload.ts'

const ours = (value: string) =>
  `has(${value}.annotations) && type(${value}.annotations) == map && ${value}.annotations.exists(k, k.contains('lodestone'))`
const ofObject = `has(object.metadata) && (type(object.metadata) == map && (${ours('object.metadata')}))`

test.each([
  { name: 'no path: the object itself', paths: [], want: `type(object) == map && (${ofObject})` },
  {
    name: 'a member',
    paths: ['spec'],
    want: `type(object) == map && (${ofObject} || has(object.spec) && (type(object.spec) == map && (${ours('object.spec')})))`,
  },
  {
    name: 'a keyword of CEL, which a dot cannot select',
    paths: ['in'],
    want:
      `type(object) == map && (${ofObject} || 'in' in object && (type(object['in']) == map && ` +
      `(${ours("object['in']")})))`,
  },
])('an annotation at $name', ({ paths, want }) => {
  expect(hasOurAnnotation(paths)).toBe(want)
})

test('an API server compiles the condition of all kinds quickly, since it has few generic operators', () => {
  const { expression } = workloadWebhook(SHIPPED_KINDS).matchCondition ?? { expression: '' }
  const generic = expression.match(/ in |\[| == /g) ?? []

  expect(expression.length).toBeGreaterThan(10_000)
  expect(generic.length).toBeLessThan(400)
})
