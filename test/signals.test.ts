/** The tables of Events, conditions and decisions have what the code says, and nothing else. */
import { globSync, readFileSync } from 'node:fs'
import { expect, test } from 'vitest'
import { CONDITIONS, DECISIONS, EVENTS } from '../src/core/signal-tables.ts'

const TABLE = 'src/core/signal-tables.ts'
const sources = globSync('src/**/*.ts')
  .filter((file) => file !== TABLE && !/\.(test|fake|suite)\.ts$/.test(file))
  .map((file) => readFileSync(file, 'utf8'))
const says = (word: string) => sources.some((text) => text.includes(`'${word}'`))

test.each(Object.keys(EVENTS))('the code has the reason %s of an Event', (reason) => {
  // The code adds these prefixes to states and to reasons of a condition.
  expect(says(reason) || says(reason.replace(/^(Locality|Workload)/, ''))).toBe(true)
})

test.each(Object.keys(DECISIONS))('the code has the decision %s', (decision) => {
  expect(says(decision)).toBe(true)
})

test('every condition that the code writes is in the table', () => {
  const written = sources.flatMap((text) => [...text.matchAll(/\bcondition\(\s*'(\w+)'/g)].map(([, type]) => type))
  const known: readonly string[] = CONDITIONS.map(({ type }) => type)

  expect(written.length).toBeGreaterThan(8)
  expect(written.filter((type) => type !== undefined && !known.includes(type))).toEqual([])
})

test.each(CONDITIONS.flatMap(({ type, reasons }) => reasons.map((reason) => ({ type, reason }))))(
  'the code has the reason $reason of the condition $type',
  ({ reason }) => {
    expect(reason === 'as Ready' || says(reason)).toBe(true)
  },
)
