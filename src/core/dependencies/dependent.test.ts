import { expect, test } from 'vitest'
import type { ObjectMeta } from '../../api/meta.ts'
import { defined } from '../../base/json.ts'
import { type Dependent, isContentUnchanged } from './dependent.ts'

const dependent = (metadata: ObjectMeta, content?: string): Dependent =>
  defined({ apiVersion: 'v1', kind: 'Service', metadata: { name: 'web', uid: 'u1', ...metadata }, content })

test.each<{ name: string; before?: Dependent; after?: Dependent; want: boolean }>([
  { name: 'equal content', before: dependent({}, 'a'), after: dependent({}, 'a'), want: true },
  { name: 'other content', before: dependent({}, 'a'), after: dependent({}, 'b'), want: false },
  { name: 'content that was removed', before: dependent({}, 'a'), after: dependent({}), want: false },
  {
    name: 'equal content of another object',
    before: dependent({}, 'a'),
    after: dependent({ uid: 'u2' }, 'a'),
    want: false,
  },
  {
    name: 'an equal generation',
    before: dependent({ generation: 2 }),
    after: dependent({ generation: 2 }),
    want: true,
  },
  {
    name: 'another generation',
    before: dependent({ generation: 2 }),
    after: dependent({ generation: 3 }),
    want: false,
  },
  { name: 'neither content nor generation', before: dependent({}), after: dependent({}), want: false },
  { name: 'a new object', after: dependent({}, 'a'), want: false },
  { name: 'a deleted object', before: dependent({}, 'a'), want: false },
])('$name: unchanged is $want', ({ before, after, want }) => {
  expect(isContentUnchanged(before, after)).toBe(want)
})
