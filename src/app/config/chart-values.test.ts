import { readFileSync } from 'node:fs'
import { join } from 'node:path'
import { Ajv } from 'ajv'
import { expect, test } from 'vitest'
import { parse } from 'yaml'
import { chartValuesSchema } from './chart-values.ts'
import { DEFAULT_CONFIG } from './config.ts'

const schema = chartValuesSchema() as { properties: Record<string, object> }
const isValid = new Ajv({ strict: false }).compile(schema)
const defaults = parse(readFileSync(join('charts', 'lodestone', 'values.yaml'), 'utf8')) as Record<string, object>

test('every value of the chart has a schema, and no other', () => {
  expect(Object.keys(schema.properties).sort()).toEqual([...Object.keys(defaults), 'enabled', 'global'].sort())
  expect(isValid(defaults)).toBe(true)
})

test('the default configuration is a valid value', () => {
  expect(isValid({ ...defaults, config: DEFAULT_CONFIG })).toBe(true)
})

test('sections of the configuration may be empty', () => {
  expect(isValid({ ...defaults, config: { server: null, log: { level: null }, volumes: { movers: null } } })).toBe(true)
})

test('the patterns are valid in Go, which has no lookahead and no lookbehind', () => {
  expect(JSON.stringify(schema)).not.toMatch(/\(\?[=!<]/)
})

test.each([
  {
    what: 'null fields, which Lodestone ignores',
    system: { regionMapping: null, endpoint: { url: null, auth: null } },
    want: true,
  },
  { what: 'no plugin, where the name is one', system: {}, want: true },
  { what: 'an unknown plugin', system: { plugin: 'iceburg' }, want: false },
  { what: 'an unknown field', system: { refreshIntervall: '5m' }, want: false },
  { what: 'a location without clusters', system: { locationMapping: { 's3://a/': null } }, want: false },
])('a data system with $what: $want', ({ system, want }) => {
  expect(isValid({ ...defaults, systems: { file: { system: 's3', ...system } } })).toBe(want)
})

test.each([
  { path: '/a/b/', want: true },
  { path: '/a/.b/..c/...', want: true },
  { path: '/a/./b', want: false },
  { path: '/a/..', want: false },
  { path: '/a//b', want: false },
  { path: 'a', want: false },
  { path: '/', want: false },
])('the directory $path of volumes: $want', ({ path, want }) => {
  expect(isValid({ ...defaults, config: { volumes: { allowedRoots: [path] } } })).toBe(want)
})

test.each([
  { host: 'lodestone.Example.org.', want: true },
  { host: '*.example.org', want: true },
  { host: '2001:db8::1', want: true },
  { host: 'https://lodestone.example.org', want: false },
  { host: 'lode_stone', want: false },
])('the host $host of certificates: $want', ({ host, want }) => {
  expect(isValid({ ...defaults, config: { certificates: { hosts: [host] } } })).toBe(want)
})

test.each([
  { network: '127.0.0.0/8', want: true },
  { network: 'fe80::/10', want: true },
  { network: '::1', want: true },
  { network: 'localhost', want: false },
  { network: '127.0.0.0-127.0.0.9', want: false },
])('the local network $network of volumes: $want', ({ network, want }) => {
  expect(isValid({ ...defaults, config: { volumes: { allowedLocalNetworks: [network] } } })).toBe(want)
})
