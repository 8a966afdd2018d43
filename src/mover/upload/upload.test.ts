import { expect, test } from 'vitest'
import { NameList } from './upload.ts'

test('a list of a million names shows the first ones and counts the others', () => {
  const names = new NameList()
  expect(names.isEmpty).toBe(true)
  for (let i = 0; i < 1_000_000; i++) names.add(`file-${i}`)
  expect(names.isEmpty).toBe(false)
  expect(names.join()).toBe(`${Array.from({ length: 20 }, (_, i) => `file-${i}`).join(', ')}, and 999980 more`)
})

test('a short list shows all names', () => {
  const names = new NameList()
  for (const name of ['a', 'b']) names.add(name)
  expect(names.join('; ')).toBe('a; b')
})
