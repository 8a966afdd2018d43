import { expect, test } from 'vitest'
import { divideEntry, keyOfKind } from './type-entry.ts'

const named = { group: 'example.com', kind: 'Gadget', plural: 'gadgets' }
const entry = { ...named, description: 'A gadget.', templates: ['spec.template'] }

test.each([
  { versions: ['v2'], want: { ...named, version: 'v2', namespaced: true } },
  { versions: ['v2', 'v1'], want: { ...named, version: 'v2', otherVersions: ['v1'], namespaced: true } },
])('an entry with the versions $versions is divided into its type and its paths', ({ versions, want }) => {
  expect(divideEntry({ ...entry, versions }, true)).toEqual({ type: want, rest: { templates: ['spec.template'] } })
})

test('a kind has the same key in each version', () => {
  expect(keyOfKind(named)).toBe('example.com/Gadget')
})
