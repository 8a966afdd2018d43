import { describe, expect, test } from 'vitest'
import { readArguments } from './command.ts'
import { loadCommands } from './index.ts'

const commands = await loadCommands()
const shortOptions = commands.flatMap((command) =>
  Object.entries(command.options)
    .filter(([, { type, short }]) => type === 'string' && short !== undefined)
    .map(([option, { short }]) => ({ command, name: command.name, option, short })),
)

describe.each(shortOptions)('-$short of $name', ({ command, option, short }) => {
  test.each([
    { form: 'a word', words: [`-${short}`, 'a=b'] },
    { form: 'attached', words: [`-${short}a=b`] },
    { form: 'an equals sign', words: [`-${short}=a=b`] },
    { form: 'the long name', words: [`--${option}=a=b`] },
  ])('has the same value with $form', ({ words }) => {
    expect(readArguments(command, words).text(option)).toBe('a=b')
  })
})

describe('an equals sign after a short option', () => {
  const [check] = commands.filter(({ name }) => name === 'check')
  const read = (...words: string[]) => readArguments(check as (typeof commands)[0], words)

  test('keeps values of several lines, and its empty value is an error', () => {
    expect(() => read('-o=')).toThrow('--output has an empty value')
    expect(read('-f=a\nb').texts('file')).toEqual(['a\nb'])
  })

  test('stays part of an argument after --', () => {
    expect(read('--', '-f=x').positionals).toEqual(['-f=x'])
  })

  test('does not give a value to an option without one', () => {
    expect(() => read('-h=x')).toThrow('--help takes no value')
  })

  test('of an unknown option is an error', () => {
    expect(() => read('-x=y')).toThrow('unknown option -x')
  })
})
