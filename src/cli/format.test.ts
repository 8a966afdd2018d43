import { describe, expect, test } from 'vitest'
import { formatColumns } from './format.ts'

describe('columns', () => {
  test.each([
    ['long names', 'a'.repeat(253), 253],
    ['wide characters', '数据源', 6],
    ['full-width forms', 'ＡＢ', 4],
    ['emoji', '🚀', 2],
    ['combining characters', 'e\u0301e\u0301', 2],
    ['accents', 'größe', 5],
  ])('are aligned with %s', (_what, name, width) => {
    const lines = formatColumns([
      ['NAME', 'STATE'],
      [name, 'Ready'],
      ['b', 'Ready'],
    ]).split('\n')

    const column = Math.max(width, 'NAME'.length)
    expect(lines).toEqual([
      `NAME${' '.repeat(column - 4)}   STATE`,
      `${name}${' '.repeat(column - width)}   Ready`,
      `b${' '.repeat(column - 1)}   Ready`,
      '',
    ])
  })

  test('have no line breaks and escape sequences of their cells', () => {
    expect(formatColumns([['A'], ['x\n\u001b[31my\u009b0m']])).toBe('A\nx [31my 0m\n')
  })
})
