import { describe, expect, test } from 'vitest'
import { parse } from 'yaml'
import { readArguments } from './command.ts'
import { OUTPUT_API_VERSION, OUTPUT_FORMATS, OUTPUT_OPTION, readFormat, renderData } from './output.ts'

const command = { name: 'show', summary: '', usage: '', options: OUTPUT_OPTION, examples: [], run: async () => 0 }

describe('readFormat', () => {
  test.each([
    { words: [], want: 'text' },
    { words: ['-o', 'wide'], want: 'wide' },
    { words: ['-ojson'], want: 'json' },
    { words: ['--output=yaml'], want: 'yaml' },
  ])('$words is $want', ({ words, want }) => {
    expect(readFormat(readArguments(command, words), OUTPUT_FORMATS)).toBe(want)
  })

  test.each([
    { given: 'jsno', want: '-o takes one of text, wide, json, yaml, not jsno (did you mean json?)' },
    { given: '', want: '--output has an empty value; write --output=FORMAT, or omit the option' },
    { given: 'name', want: '-o takes one of text, wide, json, yaml, not name' },
  ])('rejects "$given"', ({ given, want }) => {
    expect(() => readFormat(readArguments(command, [`--output=${given}`]), OUTPUT_FORMATS)).toThrow(want)
  })
})

describe('renderData', () => {
  const shared = { name: 'app', message: `${'long '.repeat(40)}end` }
  const data = { apiVersion: OUTPUT_API_VERSION, items: [shared, shared] }

  test('renders JSON and YAML with the same content', () => {
    expect(JSON.parse(renderData(data, 'json'))).toEqual(data)
    expect(parse(renderData(data, 'yaml'))).toEqual(data)
  })

  test('repeats shared values, and keeps a text on its line', () => {
    expect(renderData(data, 'yaml').split('\n')).toHaveLength(7)
  })
})

describe('texts of a cluster', () => {
  const texts = [
    'on',
    'y',
    'no',
    '1e3',
    '0123',
    '1_000',
    '12:30:45',
    '~',
    'null',
    '',
    '=',
    '<<',
    '2026-11-20T12:00:00Z',
  ]
  const hostile = ['\u001b[2J', '\u009b31m', '\u007f', 'two\nlines', '- item', 'a: b', '#', '{', '*a', '&a', '!!int 1']

  test.each(['1.1', '1.2'] as const)('are texts for a parser of YAML %s', (version) => {
    const data = [...texts, ...hostile]
    expect(parse(renderData(data, 'yaml'), { version })).toEqual(data)
  })

  test.each(['json', 'yaml'] as const)('do not steer a terminal, as %s', (format) => {
    const output = renderData({ hostile, [hostile[1] ?? '']: 1 }, format)

    expect(output.replaceAll('\n', '')).not.toMatch(/\p{Cc}/u)
    expect(parse(output)).toEqual({ hostile, [hostile[1] ?? '']: 1 })
  })
})
