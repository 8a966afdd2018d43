/** Properties of any text of a manifest: it is parsed, or rejected with a line number. */
import fc from 'fast-check'
import { describe, expect, test } from 'vitest'
import { buildBinding } from '../objects.fake.ts'
import { parseManifests } from './manifests.ts'

const other = JSON.stringify(buildBinding('other'))
const manifest = 'apiVersion: v1\nkind: Pod\nmetadata: {name: a}\n'

/** Meaningful parts of YAML and JSON, in random order. */
const fragment = fc.constantFrom(
  ...[
    'a: ',
    '- ',
    '  ',
    '\n',
    '---\n',
    '...\n',
    '{',
    '}',
    '[',
    ']',
    '"',
    "'",
    '|',
    '>',
    '&a ',
    '*a',
    '<<: ',
    '!!',
    '!!binary ',
  ],
  ...[
    '? ',
    ': ',
    '# ',
    '%YAML 1.1\n',
    '\t',
    '\r\n',
    '\u0000',
    '\ufeff',
    '\ud800',
    '0777',
    'yes',
    '1e400',
    '-0',
    '~',
    'null',
  ],
  ...[
    'apiVersion: v1\n',
    'kind: List\n',
    'kind: PodList\n',
    'items: ',
    'metadata: ',
    'name: a\n',
    '__proto__: ',
    'constructor: ',
  ],
  manifest,
)
const text = fc.oneof(
  fc.array(fragment, { maxLength: 40 }).map((parts) => parts.join('')),
  fc.string({ unit: 'binary' }),
)
/** A valid manifest with random text in one place. */
const edited = fc
  .tuple(fc.nat({ max: other.length }), fc.nat({ max: 20 }), fc.oneof(fragment, fc.string({ unit: 'binary' })))
  .map(([at, length, inserted]) => other.slice(0, at) + inserted + other.slice(at + length))

describe('the text of a file', () => {
  test('is parsed to objects with names, or rejected with a line of the file', () => {
    fc.assert(
      fc.property(fc.oneof(text, edited), (content) => {
        const { manifests, errors } = parseManifests(content, 'file.yaml')
        const lines = content.split('\n').length
        expect(errors.filter(({ file, line }) => file !== 'file.yaml' || line < 1 || line > lines)).toEqual([])
        for (const { object } of manifests) expect(typeof object.metadata.name).toBe('string')
      }),
      { numRuns: 500 },
    )
  })

  test.each([
    { name: 'lists of aliases of lists of aliases', content: bomb(9) },
    { name: 'nesting beyond the stack', content: '['.repeat(200_000) },
    { name: 'nesting of maps beyond the stack', content: '{"a":'.repeat(100_000) },
    {
      name: 'nesting by indentation',
      content: Array.from({ length: 2_000 }, (_, i) => `${' '.repeat(i)}a:`).join('\n'),
    },
    { name: 'an alias of itself', content: `${manifest}spec: &a [*a]\n` },
  ])('$name is rejected as a whole', ({ content }) => {
    const { manifests, errors } = parseManifests(content, 'file.yaml')
    expect(manifests).toEqual([])
    expect(errors.length).toBeGreaterThan(0)
  })
})

/** Nine lists, each with nine aliases of the previous one: a billion strings. */
function bomb(depth: number): string {
  const lists = Array.from({ length: depth }, (_, i) => `  l${i + 1}: &l${i + 1} [${Array(9).fill(`*l${i}`).join()}]`)
  return `${manifest}spec:\n  l0: &l0 [lol]\n${lists.join('\n')}\n`
}
