import { expect, test } from 'vitest'
import { newestRules, rulesOfSchemas, rulesOfVersion, strictestRules } from './karmada-rules.ts'

const old = { zoneInMatchesAny: false, overflowAffinities: false }
const recent = { zoneInMatchesAny: true, overflowAffinities: true }

test.each([
  { version: '1.16', want: old },
  { version: 'v1.17.5', want: old },
  { version: '1.18', want: recent },
  { version: 'v1.18.0-rc.0', want: recent },
  { version: '1.18.2+build', want: recent },
  { version: '1.19.0', want: recent },
  { version: '1.100', want: recent },
])('Karmada $version has its own rules', ({ version, want }) => {
  expect(rulesOfVersion(version)).toEqual(want)
})

test.each(['', 'latest', '1', '2.0', '1.', '1.x', '1.17.', 'v', '1.17 '])('%j is no version of Karmada', (version) => {
  expect(rulesOfVersion(version)).toBeUndefined()
})

test('an unknown version has the strictest rules, with no cluster that any refuses', () => {
  expect([strictestRules, newestRules]).toEqual([old, recent])
})

/** The schema of a binding whose groups have these fields. */
const binding = (group: object) => {
  const properties = (fields: object) => ({ properties: fields })
  const clusterAffinities = { type: 'array', items: properties(group) }
  return properties({ spec: properties({ placement: properties({ clusterAffinities }) }) })
}

test.each<{ name: string; schemas: Record<string, unknown> | undefined; want: object }>([
  { name: 'with overflow tiers is 1.18', schemas: { a: {}, b: binding({ overflowAffinities: {} }) }, want: recent },
  { name: 'without overflow tiers is older', schemas: { a: binding({ affinityName: {} }) }, want: old },
  { name: 'without a schema is unknown', schemas: {}, want: old },
  { name: 'that shows no schemas is unknown', schemas: undefined, want: old },
  {
    name: 'with malformed schemas is unknown',
    schemas: { a: null, b: [], c: 'text', d: { properties: 1 }, e: { properties: { spec: null } } },
    want: old,
  },
])('an API server $name', ({ schemas, want }) => {
  expect(rulesOfSchemas(schemas)).toEqual(want)
})
