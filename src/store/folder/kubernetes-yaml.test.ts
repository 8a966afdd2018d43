/** Reads odd YAML and compares the values with those of kubectl, which test/e2e/yaml.e2e.test.ts records. */
import { isDeepStrictEqual } from 'node:util'
import { describe, expect, test } from 'vitest'
import { LineCounter } from 'yaml'
import { recorded } from '../../../test/data/yaml/recorded.ts'
import { readYaml } from './kubernetes-yaml.ts'

/** What Lodestone reads otherwise than kubectl, with the reason. docs/guides/check.md has the same list. */
const DIFFERENCES: Readonly<Record<string, { ours: unknown[] | 'rejected'; why: string }>> = {
  'a next-line character': { ours: [{ a: 'b\u0085c' }], why: 'YAML 1.2 does not end lines there' },
  'a line separator in a text': { ours: [{ a: 'b\u2028c' }], why: 'YAML 1.2 does not end lines there' },
  'an anchor with a colon': { ours: [{ a: 1 }], why: 'the name of an anchor may have a colon in YAML 1.2' },
  'a large number with a fraction as a key': {
    ours: [{ '1000000.5': 'a' }],
    why: 'the key is written in another form',
  },
  'a large number as a key': { ours: [{ '9007199254740992': 'a' }], why: 'numbers have 53 bits' },
  'an alias before a colon without a space': { ours: 'rejected', why: 'the colon is part of the name in YAML 1.2' },
  'a block text as a key': { ours: 'rejected', why: 'kubectl ignores what follows a complete document' },
  'a quoted key without a space': { ours: 'rejected', why: 'kubectl ignores what follows a complete document' },
  'a colon at the end of a text in brackets': {
    ours: [{ a: [{ b: null }, 'c'] }],
    why: 'a colon ends a key in YAML 1.2',
  },
  'JSON and a comment and JSON': { ours: 'rejected', why: 'comments are no JSON' },
  'a JSON text with a brace': { ours: 'rejected', why: 'objects without a separator, with braces in a text' },
  'a block text with a number sign behind a longer line of spaces': {
    ours: 'rejected',
    why: 'kubectl reads an empty text, and a comment',
  },
  'an explicit key and a pair in a line': { ours: [{ a: null }], why: 'the parser ignores the pair' },
}

function read(text: string): unknown[] | 'rejected' {
  const documents = readYaml(text, new LineCounter())
  if (documents.some(({ mistakes }) => mistakes.length > 0)) return 'rejected'
  return documents.map(({ value }) => value).filter((value) => value !== null)
}

describe('YAML is read as by kubectl', () => {
  test.each(recorded)('$name', ({ name, text, documents = 'rejected' }) => {
    const difference = DIFFERENCES[name]
    const found = JSON.parse(JSON.stringify(read(text)))

    expect(found).toEqual(difference ? difference.ours : documents)
  })

  test('each entry of the table is a difference', () => {
    const differing = recorded.filter(({ text, documents = 'rejected' }) => !isDeepStrictEqual(read(text), documents))

    expect(differing.map(({ name }) => name).filter((name) => DIFFERENCES[name])).toHaveLength(
      Object.keys(DIFFERENCES).length,
    )
  })
})

describe('a text that kubectl rejects', () => {
  const rejected = recorded.filter((each) => each.rejected && !DIFFERENCES[each.name])

  test.each(rejected)('has a place in the text: $name', ({ text }) => {
    const lines = new LineCounter()

    const [mistake] = readYaml(text, lines).flatMap(({ mistakes }) => mistakes)

    expect(mistake?.offset).toBeGreaterThanOrEqual(0)
    expect(mistake?.offset).toBeLessThanOrEqual(text.length)
  })

  test('has the place also behind other documents', () => {
    const lines = new LineCounter()

    const [mistake] = readYaml('a: 1\n---\nb: 2\nc: .inf\n', lines).flatMap(({ mistakes }) => mistakes)

    expect(lines.linePos(mistake?.offset ?? 0)).toEqual({ line: 4, col: 4 })
  })
})

test('many JSON objects one after the other are read', () => {
  const documents = readYaml('{}'.repeat(20_000), new LineCounter())

  expect(documents).toHaveLength(20_000)
})

test('a block text with many empty lines at its beginning is read', () => {
  const documents = readYaml(`a: |\n${' \n'.repeat(200_000)}  b\n`, new LineCounter())

  expect(documents.flatMap(({ mistakes }) => mistakes)).toEqual([])
})

describe('a text with lists and maps that are nested too deeply is rejected unparsed', () => {
  test.each([
    ['dashes in a line', '- '.repeat(20_000)],
    ['question marks in a line', '? '.repeat(20_000)],
    [
      'dashes in several lines',
      Array.from({ length: 3 }, (_, i) => `${' '.repeat(1000 * i)}${'- '.repeat(500)}`).join('\n'),
    ],
    ['keys', Array.from({ length: 1200 }, (_, i) => `${' '.repeat(i)}a:`).join('\n')],
  ])('%s', (_, text) => {
    expect(() => readYaml(text, new LineCounter())).toThrow('more than 1000 lists and maps are open at once')
  })

  test.each([
    ['a list with many items', '- a\n'.repeat(1500)],
    ['a list of lists', '- - a\n'.repeat(1500)],
    ['a map with many keys', Array.from({ length: 1500 }, (_, i) => `a${i}: b\n`).join('')],
    ['lists below many keys', Array.from({ length: 1500 }, (_, i) => `a${i}:\n- b: 1\n  c:\n  - d\n`).join('')],
    ['a block text with dashes', `a: |\n  ${'- '.repeat(5000)}\n`],
    ['a folded text with dashes', `a: "x\n  ${'- '.repeat(5000)}"\n`],
  ])('but not %s', (_, text) => {
    const [document] = readYaml(text, new LineCounter())
    expect(document?.mistakes).toEqual([])
  })
})
