import { describe, expect, test } from 'vitest'
import { parse } from 'yaml'
import { type Command, readArguments } from './command.ts'
import { OUTPUT_API_VERSION, OUTPUT_FORMATS, OUTPUT_OPTION, readFormat, renderData } from './output.ts'

const command: Command = {
  name: 'show',
  summary: '',
  usage: '',
  options: OUTPUT_OPTION,
  examples: [],
  run: async () => 0,
}

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
    { given: '', want: '-o takes one of text, wide, json, yaml, not an empty value' },
    { given: 'name', want: '-o takes one of text, wide, json, yaml, not name' },
  ])('rejects "$given"', ({ given, want }) => {
    const args = readArguments(command, [`--output=${given}`])
    expect(() => readFormat(args, OUTPUT_FORMATS)).toThrow(want)
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
