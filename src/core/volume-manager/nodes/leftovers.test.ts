import { describe, expect, test } from 'vitest'
import { makeNode, PATH } from '../../../../test/volume-builders.ts'
import { VOLUME_SETTINGS } from '../../../../test/volume-world.ts'
import type { Node } from '../../../api/node.ts'
import { fnv1a } from '../../../base/hash.ts'
import {
  addLeftover,
  isLeftover,
  type Leftover,
  leftoverDigests,
  leftoverKey,
  MAX_LEFTOVERS,
  readLeftover,
  removeLeftover,
  splitLeftoverKey,
} from './leftovers.ts'

const LEFTOVER: Leftover = { namespace: 'default', name: 'sales', uid: '4b1d', id: 'vol1', index: 3, path: PATH }
const DIGEST = fnv1a(PATH)

/** The node with these texts as leftovers, by path. */
function nodeWith(texts: Record<string, string>): Node {
  const node = makeNode('n1')
  const annotations = Object.fromEntries(
    Object.entries(texts).map(([path, text]) => [`leftover.lodestone.dev/${fnv1a(path)}`, text]),
  )
  return { ...node, metadata: { ...node.metadata, annotations: { other: 'x', ...annotations } } }
}

test('a leftover that was added is read again, and removed', () => {
  const node = makeNode('n1')
  expect(addLeftover(node, LEFTOVER)).toEqual({
    kind: 'patch',
    of: { type: expect.objectContaining({ kind: 'Node' }), name: 'n1' },
    patch: {
      metadata: { uid: 'uid-n1', annotations: { [`leftover.lodestone.dev/${DIGEST}`]: JSON.stringify(LEFTOVER) } },
    },
  })
  const after = nodeWith({ [PATH]: JSON.stringify(LEFTOVER) })
  expect(leftoverDigests(after)).toEqual([DIGEST])
  expect([isLeftover(after, PATH), isLeftover(after, `${PATH}x`), isLeftover(node, PATH)]).toEqual([true, false, false])
  expect(readLeftover(after, DIGEST, VOLUME_SETTINGS)).toEqual(LEFTOVER)
  expect(removeLeftover(after, DIGEST)).toMatchObject({
    patch: { metadata: { uid: 'uid-n1', annotations: { [`leftover.lodestone.dev/${DIGEST}`]: null } } },
  })
})

test('a key has the node and the digest', () => {
  expect(splitLeftoverKey(leftoverKey('n1.example.org', DIGEST))).toEqual({ node: 'n1.example.org', digest: DIGEST })
})

test('a node has a limited number of leftovers', () => {
  const many = (count: number) => nodeWith(Object.fromEntries(Array.from({ length: count }, (_, i) => [`/${i}`, ''])))
  expect(addLeftover(many(MAX_LEFTOVERS), LEFTOVER)).toBeUndefined()
  expect(addLeftover(many(MAX_LEFTOVERS - 1), LEFTOVER)).toBeDefined()
})

test('the leftovers of a node have a limit together, and that of any valid volume fits', () => {
  const long: Leftover = {
    ...LEFTOVER,
    name: 'n'.repeat(253),
    id: '\u0001'.repeat(253),
    path: `/${'é'.repeat(4000)}${PATH}`,
  }
  const add = (...added: Leftover[]) => addLeftover(makeNode('n1'), long, added)
  expect([add() !== undefined, add(...Array(6).fill(long)) !== undefined, add(...Array(20).fill(long))]).toEqual([
    true,
    true,
    undefined,
  ])
})

describe('an annotation that Lodestone did not write is not a leftover', () => {
  const texts: [string, string, string][] = [
    ['no JSON', PATH, 'x'],
    ['no object', PATH, '[]'],
    ['a missing field', PATH, JSON.stringify({ ...LEFTOVER, uid: undefined })],
    ['a wrong type', PATH, JSON.stringify({ ...LEFTOVER, index: 'a' })],
    ['an image of a wrong type', PATH, JSON.stringify({ ...LEFTOVER, image: 1 })],
    ['another digest', `${PATH}x`, JSON.stringify(LEFTOVER)],
    ['another uid', PATH, JSON.stringify({ ...LEFTOVER, uid: '4b1e' })],
    ...['/etc', '/etc/vck-resource-4b1d-0123456789abc', '/var/datasets/../vck-resource-4b1d-0123456789abc'].map(
      (path): [string, string, string] => [path, path, JSON.stringify({ ...LEFTOVER, path })],
    ),
  ]

  test.each(texts)('%s', (_, path, text) => {
    expect(readLeftover(nodeWith({ [path]: text }), fnv1a(path), VOLUME_SETTINGS)).toBeUndefined()
  })
})

test('an image that is no longer allowed is replaced by that of the configuration', () => {
  const text = JSON.stringify({ ...LEFTOVER, image: 'evil' })
  expect(readLeftover(nodeWith({ [PATH]: text }), DIGEST, VOLUME_SETTINGS)).toEqual(LEFTOVER)
})

test('an image that the configuration allows is kept', () => {
  const leftover = { ...LEFTOVER, image: 'other:1' }
  const settings = { ...VOLUME_SETTINGS, allowedMoverImages: ['other:*'] }
  expect(readLeftover(nodeWith({ [PATH]: JSON.stringify(leftover) }), DIGEST, settings)).toEqual(leftover)
})
