/** The values of the chart: each one is in the table of its README, with its default, and in the schema. */
import { readFileSync } from 'node:fs'
import { expect, test } from 'vitest'
import { DEFAULT_CONFIG } from '../src/app/config/config.ts'
import { DEFAULT_LIMITS } from '../src/server/limits.ts'
import { chartValues } from './chart-values.ts'

const folder = 'charts/lodestone'
const values = chartValues()

test('the README has each value with its default, and no other', () => {
  const rows = readFileSync(`${folder}/README.md`, 'utf8').matchAll(/^\| `([\w.]+)` \| `([^`]+)` \|/gm)
  const documented = [...rows].map(([, value, text]) => `${value}: ${text}`)

  expect(documented.sort()).toEqual(values.map(([value, text]) => `${value}: ${JSON.stringify(text)}`).sort())
})

test('the schema describes each value', () => {
  const schema = JSON.parse(readFileSync(`${folder}/values.schema.json`, 'utf8'))
  const without = values.filter(([value]) => {
    const steps = value.split('.')
    return steps.reduce((at, key) => at?.properties?.[key] ?? at?.additionalProperties, schema) === undefined
  })

  expect(without).toEqual([])
})

test('the checks of the chart know the defaults of the process', () => {
  const checks = readFileSync(`${folder}/templates/checks.yaml`, 'utf8')
  const { movers, eviction, allowedRoots } = DEFAULT_CONFIG.volumes
  const quoted = (texts: readonly string[]) => texts.map((text) => JSON.stringify(text)).join(' ')
  const dict = (values: object | undefined) => `(dict ${quoted(Object.entries(values ?? {}).flat())})`
  const { requests, limits } = movers.resources

  expect(checks).toContain(`(dict "requests" ${dict(requests)} "limits" ${dict(limits)})`)
  expect(checks).toContain(`lowWatermarkPercent | default ${eviction.lowWatermarkPercent} `)
  expect(checks).toContain(`"allowedRoots" (list ${quoted(allowedRoots)}) `)
  expect(checks).toContain(` ${DEFAULT_LIMITS.bodyBytes}.0 `)
})
