/** docs/reference/removal.md: each value names a test of its removal, and the page has every key that Lodestone writes into objects of users. */
import { readFileSync } from 'node:fs'
import { expect, test } from 'vitest'
import * as keys from '../src/api/lodestone.ts'
import { hasTest, itemsWithTests } from './named-tests.ts'

const page = 'docs/reference/removal.md'
const values = itemsWithTests(page)

test('the page has values', () => {
  expect(values.length).toBeGreaterThan(20)
})

test.each(values)('$first names tests that exist', ({ tests }) => {
  expect(tests).not.toEqual([])
  expect(tests.filter((one) => !hasTest(one))).toEqual([])
})

/** Keys that only users write, and keys of objects that Lodestone creates and deletes. */
const OTHERS: readonly string[] = [
  keys.ALLOW_CLAIMS_FROM_ANNOTATION,
  keys.CHECK_ANNOTATION,
  keys.CLUSTER_NAME_ANNOTATION,
  keys.CREDENTIALS_ANNOTATION,
  keys.DELETE_IN_USE_ANNOTATION,
  keys.DECISION_ID_LABEL,
  keys.DEPENDS_ON_ANNOTATION,
  keys.ENFORCE_LABEL,
  keys.LABELS_ANNOTATION,
  keys.MOVER_LABEL,
  keys.MOVER_SLOT_LABEL,
  keys.MOVER_TASK_ANNOTATION,
  keys.NODE_ANNOTATION,
  keys.REFRESH_ANNOTATION,
  keys.REQUIRES_CLAIM_ANNOTATION,
  keys.VOLUME_LABEL,
]

test('the page has each key that Lodestone writes', () => {
  const text = readFileSync(page, 'utf8')
  const written = Object.values(keys).filter((key) => !OTHERS.includes(key))
  expect(written.length).toBeGreaterThan(10)
  expect(written.filter((key) => !text.includes(key))).toEqual([])
})
