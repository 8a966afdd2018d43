/** Tests the CEL expressions as text. The scenarios of injection and of workload kinds evaluate them in a real API server. */
import { expect, test } from 'vitest'
import { SHIPPED_KINDS } from '../core/workload-kinds/kinds.ts'
import { hasOurKey } from './annotation-condition.ts'
import { workloadWebhook } from './workload.ts'

const ours = (value: string) =>
  ['annotations', 'labels']
    .map((name) => `${value}.${name}`)
    .map((map) => `has(${map}) && type(${map}) == map && ${map}.exists(k, k.contains('lodestone'))`)
    .join(' || ')
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
])('an annotation or a label at $name', ({ paths, want }) => {
  expect(hasOurKey(paths)).toBe(want)
})

test('an API server compiles the condition of all kinds quickly: it has few operators', () => {
  const { expression } = workloadWebhook(SHIPPED_KINDS).matchCondition ?? { expression: '' }
  const generic = expression.match(/ in |\[| == /g) ?? []

  expect(expression.length).toBeGreaterThan(10_000)
  expect(generic.length).toBeLessThan(450)
})
