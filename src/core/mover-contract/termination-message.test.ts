/** Tests the termination message of a mover. */
import { describe, expect, test } from 'vitest'
import type { MoverResult } from './contract.ts'
import { readTerminationMessage, terminationMessage } from './termination-message.ts'

const result: MoverResult = {
  v: 1,
  verb: 'download',
  outcome: 'failed',
  attempt: 3,
  code: 'NoSpace',
  retry: false,
  bytes: 10,
  files: 1,
  movedBytes: 5,
  totalBytes: 20,
  disk: { freeBytes: 1, totalBytes: 30 },
  message: 'no room',
}

describe('a termination message', () => {
  test('is read as it was written', () => {
    expect(readTerminationMessage(terminationMessage(result))).toEqual(result)
  })

  test('of another mover may have an unknown code', () => {
    expect(readTerminationMessage(JSON.stringify({ ...result, code: 'QuotaExceeded' }))?.code).toBe('QuotaExceeded')
  })

  test.each([
    { name: 'plain', char: 'x' },
    { name: 'of several bytes', char: 'é€' },
    { name: 'outside of the basic plane', char: '😀' },
    { name: 'that JSON escapes', char: '"\n' },
    { name: 'half a character', char: '\uD800' },
  ])('has at most 4096 bytes, and nearly as many, for a long text of characters $name', ({ char }) => {
    const text = terminationMessage({ ...result, message: char.repeat(5000) })
    const bytes = new TextEncoder().encode(text).length

    expect(bytes).toBeLessThanOrEqual(4096)
    expect(bytes).toBeGreaterThan(4080)
    expect(readTerminationMessage(text)).toMatchObject({ code: 'NoSpace', message: expect.stringMatching(/…$/) })
  })

  test.each([
    { name: 'nothing', text: '' },
    { name: 'the last lines of a crash', text: 'FATAL ERROR: Reached heap limit' },
    { name: 'other JSON', text: '{"message":"x"}' },
    { name: 'another version', text: JSON.stringify({ ...result, v: 2 }) },
    { name: 'an unknown outcome', text: JSON.stringify({ ...result, outcome: 'done' }) },
    { name: 'negative bytes', text: JSON.stringify({ ...result, bytes: -1 }) },
    { name: 'an invalid code', text: JSON.stringify({ ...result, code: 'no room' }) },
    { name: 'a retry that is not a boolean', text: JSON.stringify({ ...result, retry: 'no' }) },
    { name: 'old trees that are not a number', text: JSON.stringify({ ...result, oldTrees: 'all' }) },
    { name: 'bytes that are not a number', text: JSON.stringify({ ...result, bytes: '10' }) },
    { name: 'a list', text: '[]' },
  ])('of $name is undefined', ({ text }) => {
    expect(readTerminationMessage(text)).toBeUndefined()
  })
})
