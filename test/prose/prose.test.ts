/** Every rule finds its example, and every kind of file is read. */
import { expect, test } from 'vitest'
import { blocksOf } from './read.ts'
import { faultsIn, faultsOf, forms, phrases, subjectForms } from './rules.ts'

test.each([...phrases, ...forms, ...subjectForms])('%s is rejected: %s', (pattern, instead, example) => {
  const faults = subjectForms.some(([form]) => form === pattern) ? faultsIn(example, subjectForms) : faultsOf(example)
  expect(faults).toContain(`${instead}: ${example}`)
})

test('a sentence has at most 25 words, and a message joins sentences by semicolons', () => {
  const long = 'word '.repeat(25)
  expect([`${long}. ${long}`, `${long}more`, `${long}; ${long}`].map((text) => faultsOf(text).length)).toEqual([
    0, 1, 1,
  ])
  expect(faultsOf(`${long}; ${long}`, true)).toEqual([])
})

test.each([
  ['a.md', '# A\n\nb\n*c* [d](x) `e`\n\n```\nno\n```\n- f\n| g | h |', ['A', 'b c d CODE', 'f', 'g', 'h']],
  ['a.ts', "/** A\n * b. */\ntest('a title') // e\n// biome-ignore: no", ['A b.', 'e', 'a title']],
  ['a.yaml', 'description: A b\n# c\n# d\nkey: no # no', ['A b', 'c d']],
])('reads %s', (path, text, read) => {
  expect(blocksOf(path, text).flatMap((block) => (block.text === '' ? [] : [block.text]))).toEqual(read)
})
