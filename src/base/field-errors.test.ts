import { describe, expect, test } from 'vitest'
import { describeErrors, ErrorList, type FieldError, MAX_LISTED_ERRORS } from './field-errors.ts'

const error = (i: number): FieldError => ({ path: `spec.list[${i}]`, code: 'Invalid', message: `m${i}` })
const errors = (count: number) => Array.from({ length: count }, (_, i) => error(i))
const remaining = (count: number): FieldError => ({
  path: '(root)',
  code: 'TooMany',
  message: `and ${count} more errors`,
  count,
})

describe('a list of errors', () => {
  const fill = (count: number) => {
    const list = new ErrorList()
    let described = 0
    for (const one of errors(count))
      list.add(() => {
        described++
        return one
      })
    return { list, described }
  }

  test('has all errors up to its limit', () => {
    const { list } = fill(MAX_LISTED_ERRORS)
    expect(list.errors()).toEqual(errors(MAX_LISTED_ERRORS))
    expect(list.isFull).toBe(true)
    expect(fill(MAX_LISTED_ERRORS - 1).list.isFull).toBe(false)
  })

  test('counts the others without describing them', () => {
    const { list, described } = fill(MAX_LISTED_ERRORS + 5)
    expect(list.errors()).toEqual([...errors(MAX_LISTED_ERRORS), remaining(5)])
    expect(described).toBe(MAX_LISTED_ERRORS)
  })
})

describe('the description of errors', () => {
  test.each([
    { name: 'has each path and message', given: errors(2), want: 'spec.list[0]: m0; spec.list[1]: m1' },
    {
      name: 'has a count without a path',
      given: [error(0), remaining(3)],
      want: 'spec.list[0]: m0; and 3 more errors',
    },
    { name: 'is empty without errors', given: [], want: '' },
  ])('$name', ({ given, want }) => {
    expect(describeErrors(given)).toBe(want)
  })

  test('adds the errors that are not listed', () => {
    const text = describeErrors([...errors(MAX_LISTED_ERRORS), remaining(5)])
    expect(text.endsWith('; and 5 more errors')).toBe(true)
    expect(describeErrors(errors(MAX_LISTED_ERRORS + 2)).endsWith('; and 2 more errors')).toBe(true)
  })

  test('cuts a long message', () => {
    expect(describeErrors([{ ...error(0), message: 'x'.repeat(5000) }])).toHaveLength(1025)
  })

  test.each([0, 1])('does not cut inside of a character, after %i others', (before) => {
    const message = 'x'.repeat(before) + '\u{1F40B}'.repeat(1000)
    expect(describeErrors([{ ...error(0), message }]).isWellFormed()).toBe(true)
  })
})
