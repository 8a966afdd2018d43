/** The page on claims has the rules of a placement in their order, with the decisions of each. */
import { readFileSync } from 'node:fs'
import { expect, test } from 'vitest'
import { PLACEMENT_RULES } from '../src/core/resource-binding/decide-placement.ts'

test('docs/concepts/claims.md has the tables of rules in the order of the code', () => {
  const tables = Object.values(PLACEMENT_RULES).map((rules) =>
    rules.map(({ when, states }) => `| ${when} | ${states.map((state) => `\`${state}\``).join(', ')} |\n`).join(''),
  )
  const page = readFileSync('docs/concepts/claims.md', 'utf8')
  expect(tables.map((table) => page.includes(`| --- | --- |\n${table}\n`))).toEqual(tables.map(() => true))
})
