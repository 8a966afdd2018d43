/** Tests plugin files of volcano-global: their values, and a warning with a path for all that volcano-global ignores or replaces. */
import { describe, expect, test } from 'vitest'
import { plugins } from '../plugins/index.ts'
import { parseSystemConfig } from './config.ts'

const KEY = '/etc/volcano-global/amoro'
const read = (text: string, file = KEY) => parseSystemConfig(file, text, plugins)

/** The example of the deploy guide of volcano-global, comments included. */
const EXAMPLE = `{
  "system": "amoro",
  "endpoint": {
    "url": "http://your-amoro-server.com",  # Replace with your Amoro server URL
    "port": 1630
  },
  "locationMapping": {
    "s3://your-warehouse-dc1/": ["cluster1", "cluster2"],  # Map data locations to clusters
    "s3://your-warehouse-dc2/": ["cluster3"]
  },
  "retryConfig": {
    "maxRetries": 3,
    "initialBackoff": "1s",
    "maxBackoff": "30s",
    "backoffMultiplier": 2.0,
    "timeout": "30s"
  }
}
`
const endpoint = { url: 'http://ams' }
const retryConfig = { maxRetries: 3, initialBackoff: '1s', maxBackoff: '30s', backoffMultiplier: 2, timeout: '30s' }
const base = { system: 'amoro', endpoint, locationMapping: { 's3://wh/': ['m1'] }, retryConfig }
const file = (more: object) => JSON.stringify({ ...base, ...more })
const warningsOf = (text: string) => read(text).warnings.map(({ path, message }) => `${path}: ${message}`)

test('a file of volcano-global works unchanged', () => {
  expect(read(EXAMPLE)).toEqual({
    system: 'amoro',
    plugin: 'amoro',
    endpoint: {
      urls: ['http://your-amoro-server.com:1630'],
      auth: { type: 'none', secrets: {} },
      tls: { insecureSkipVerify: false },
      usesTls: false,
    },
    locationMapping: {
      's3://your-warehouse-dc1/': ['cluster1', 'cluster2'],
      's3://your-warehouse-dc2/': ['cluster3'],
    },
    locationMatching: 'prefix',
    regionMapping: {},
    retry: { maxRetries: 3, initialBackoffMs: 1000, maxBackoffMs: 30_000, backoffMultiplier: 2, timeoutMs: 30_000 },
    refreshIntervalMs: 300_000,
    maxConcurrent: 16,
    maxRequestsPerSecond: 50,
    extra: {},
    warnings: [],
  })
})

describe('the format of a file decides the meaning of locationMapping', () => {
  const native = { system: 'amoro', endpoint, locationMapping: { 's3://wh/': ['m1'] } }
  test.each([
    { name: 'JSON with the key amoro', text: file({}), want: 'prefix' },
    { name: 'JSON with comments', text: `# a comment with "quotes\n${EXAMPLE}`, want: 'prefix' },
    { name: 'JSON with tabs', text: JSON.stringify(base, null, '\t'), want: 'prefix' },
    { name: 'JSON about amoro in a file of another name', text: file({}), from: '/etc/lake.json', want: 'prefix' },
    { name: 'a key of a ConfigMap', text: file({ system: '' }), from: 'ConfigMap a/b/amoro', want: 'prefix' },
    { name: 'YAML', text: 'system: amoro\nendpoint: {url: http://ams}\n', want: 'segments' },
    { name: 'YAML with braces', text: '{system: amoro, endpoint: {url: "http://ams"}}', want: 'segments' },
    { name: 'the plugin', text: JSON.stringify({ ...native, plugin: 'amoro' }), want: 'segments' },
    { name: 'a field of Lodestone', text: JSON.stringify({ ...native, refreshInterval: '1m' }), want: 'segments' },
    {
      name: 'a nested field of Lodestone',
      text: JSON.stringify({ ...native, endpoint: { ...endpoint, auth: { type: 'bearer', tokenFile: 'f' } } }),
      want: 'segments',
    },
    { name: 'another system', text: '{"system": "static"}', from: '/etc/lake', want: 'segments' },
    { name: 'another system in a file named amoro', text: JSON.stringify({ system: 'static' }), want: 'segments' },
  ])('$name: $want', ({ text, from, want }) => {
    expect(read(text, from).locationMatching).toBe(want)
  })

  test('files of Lodestone stay strict', () => {
    expect(() => read(file({ plugin: 'amoro', description: 'x' }))).toThrow('description: unknown field')
    expect(() => read(file({ plugin: 'amoro', Endpoint: {} }))).toThrow('Endpoint: unknown field')
    expect(() => read('system: amoro\nendpoint: {url: http://a}\nextra: {a: 1}')).toThrow('extra.a: unknown field')
  })
})

describe('a field that volcano-global ignores is accepted with a warning', () => {
  const ignored = 'unknown field; ignored, as in volcano-global'
  test.each([
    { name: 'a field', more: { description: 'x' }, want: [`description: ${ignored}`] },
    {
      name: 'a mistyped field',
      more: { locationMap: {} },
      want: [`locationMap: ${ignored} (did you mean locationMapping?)`],
    },
    { name: 'a nested field', more: { endpoint: { ...endpoint, name: 'x' } }, want: [`endpoint.name: ${ignored}`] },
    {
      name: 'the content of extra, also fields that Lodestone has',
      more: { extra: { region: 'eu', any: { thing: null } } },
      want: ['extra: ignored, as in volcano-global'],
    },
    {
      name: 'a setting of the credentials',
      more: { endpoint: { ...endpoint, auth: { type: 'apikey', token: 't', extra: { header: 'X-Key', realm: 'r' } } } },
      want: ['endpoint.auth.extra[realm]: ignored, as in volcano-global'],
    },
    {
      name: 'a system other than the key',
      more: { system: 'lake' },
      want: ['system: ignored, as in volcano-global: the name of the file, amoro, is the name of the system'],
    },
    {
      name: 'a certificate without its key',
      more: { endpoint: { ...endpoint, tls: { enabled: true, certFile: '/c' } } },
      want: ['endpoint.tls.certFile: ignored without keyFile'],
    },
    {
      name: 'a port below 1',
      more: { endpoint: { ...endpoint, port: -1 } },
      want: ['endpoint.port: ignored, as in volcano-global: is below 1'],
    },
    { name: 'no system', more: { system: undefined }, want: [] },
    { name: 'null for any field', more: { system: null, extra: null, retryConfig: null }, want: [] },
    { name: 'no mapping', more: { locationMapping: null }, want: [] },
    {
      name: 'a name that no cluster can have',
      more: { locationMapping: { 's3://wh/': ['m1', 'Cluster 2'] } },
      want: ['locationMapping[s3://wh/]: "Cluster 2" is ignored: no cluster can have this name'],
    },
    { name: 'empty texts', more: { endpoint: { ...endpoint, auth: { type: '', token: '' } } }, want: [] },
  ])('$name', ({ more, want }) => {
    expect(warningsOf(file(more))).toEqual(want)
    expect(read(file(more))).toMatchObject({ system: 'amoro', plugin: 'amoro', extra: {} })
  })

  test('with at most 20 warnings, and their number', () => {
    const many = Object.fromEntries(Array.from({ length: 1000 }, (_, i) => [`field-${i}`, i]))
    const warnings = warningsOf(file(many))
    expect([warnings.length, warnings.at(-1)]).toEqual([21, '(root): and 980 more warnings'])
  })
})

describe('fields match without regard to case', () => {
  const text = '{"System":"amoro","ENDPOINT":{"Url":"http://ams","PORT":8},"locationmapping":{"s3://Wh/":["m1"]}}'
  test('and keys of the mapping stay as they are', () => {
    expect(read(text)).toMatchObject({
      endpoint: { urls: ['http://ams:8'] },
      locationMapping: { 's3://Wh/': ['m1'] },
    })
    expect(warningsOf(text)).toEqual([
      'System: read as system, as in volcano-global; write system',
      'ENDPOINT: read as endpoint, as in volcano-global; write endpoint',
      'endpoint.Url: read as url, as in volcano-global; write url',
      'endpoint.PORT: read as port, as in volcano-global; write port',
      'locationmapping: read as locationMapping, as in volcano-global; write locationMapping',
    ])
  })

  test('also with the two letters that fold to ASCII', () => {
    expect(read('{"\u017fystem":"amoro","endpoint":{"url":"http://ams"}}', '/etc/x').system).toBe('amoro')
  })
})

describe('a field that is given twice', () => {
  test.each([
    { name: 'replaces a value', text: '"endpoint":{"url":"http://a","url":"http://b"}', want: { urls: ['http://b'] } },
    {
      name: 'adds to an object, whatever its case',
      text: '"endpoint":{"url":"http://a","port":1},"Endpoint":{"port":2}',
      want: { urls: ['http://a:2'] },
    },
    {
      name: 'stays if null follows',
      text: '"endpoint":{"url":"http://a"},"endpoint":null',
      want: { urls: ['http://a'] },
    },
  ])('$name', ({ text, want }) => {
    const config = read(`{"system":"amoro",${text}}`)
    expect(config.endpoint).toMatchObject(want)
    expect(config.warnings).toContainEqual({
      path: expect.stringMatching(/^endpoint|^Endpoint/),
      message: 'given twice; the last one applies, as in volcano-global',
    })
  })

  test.each([
    {
      text: '"locationMapping":{"s3://a":["x"]},"locationMapping":{"s3://b":["y"]}',
      want: { 's3://a': ['x'], 's3://b': ['y'] },
    },
    { text: '"locationMapping":{"s3://a":["x"]},"locationMapping":null', want: {} },
    { text: '"locationMapping":{"s3://a":["x"],"s3://a":["y"]}', want: { 's3://a': ['y'] } },
    {
      text: '"locationMapping":{"s3://a":null,"__proto__":["x"]}',
      want: Object.fromEntries([
        ['s3://a', []],
        ['__proto__', ['x']],
      ]),
    },
    { text: '"locationMapping":{"s3://a":[null,"","x"],"":["y"]}', want: { 's3://a': ['x'], '': ['y'] } },
  ])('in locationMapping: $text', ({ text, want }) => {
    const { locationMapping, warnings } = read(`{"system":"amoro","endpoint":{"url":"http://a"},${text}}`)
    expect(Object.entries(locationMapping)).toEqual(Object.entries(want))
    expect(warnings[0]?.path).toMatch(/^locationMapping/)
  })

  test('does not keep the number of retries of the first one', () => {
    const text = '{"system":"amoro","endpoint":{"url":"http://a"},"retryConfig":{"maxRetries":9},"retryConfig":{}}'
    expect(read(text).retry.maxRetries).toBe(3)
  })
})

describe('zero values of retryConfig', () => {
  const defaults = {
    maxRetries: 3,
    initialBackoffMs: 1000,
    maxBackoffMs: 30_000,
    backoffMultiplier: 2,
    timeoutMs: 30_000,
  }
  const all = 'maxRetries 3, initialBackoff 1s, maxBackoff 30s, backoffMultiplier 2, timeout 30s'
  const instead = `retryConfig: ignored, as in volcano-global, because maxRetries is 0 or absent: ${all} apply`
  test.each([
    { name: 'no retryConfig', given: undefined, want: {}, warnings: [] },
    { name: '0 retries', given: { ...retryConfig, maxRetries: 0, timeout: '1s' }, want: {}, warnings: [instead] },
    { name: 'no retries', given: { timeout: '1s' }, want: {}, warnings: [instead] },
    {
      name: 'a multiplier of 0',
      given: { ...retryConfig, backoffMultiplier: 0 },
      want: {},
      warnings: ['retryConfig.backoffMultiplier: is not above 0, or absent; 2 is used'],
    },
    {
      name: 'a multiplier below 1',
      given: { ...retryConfig, backoffMultiplier: 0.5 },
      want: { backoffMultiplier: 1 },
      warnings: ['retryConfig.backoffMultiplier: is outside of 1 to 100; 1 is used'],
    },
    {
      name: 'too many retries',
      given: { ...retryConfig, maxRetries: 50 },
      want: { maxRetries: 20 },
      warnings: ['retryConfig.maxRetries: is outside of -1 to 20; 20 is used'],
    },
    {
      name: 'empty durations',
      given: { ...retryConfig, timeout: '', maxBackoff: '', initialBackoff: '' },
      want: {},
      warnings: [],
    },
    {
      name: 'durations of 0 and below',
      given: { ...retryConfig, timeout: '0', maxBackoff: '-5s', initialBackoff: '0s' },
      want: {},
      warnings: [
        'retryConfig.initialBackoff: is not above 0; 1s is used',
        'retryConfig.maxBackoff: is not above 0; 30s is used',
        'retryConfig.timeout: is not above 0; 30s is used',
      ],
    },
    {
      name: 'durations in each notation of Go',
      given: { ...retryConfig, timeout: '+1m30.5s', maxBackoff: '.5h', initialBackoff: '100\u00b5s' },
      want: { timeoutMs: 90_500, maxBackoffMs: 1_800_000, initialBackoffMs: 0.1 },
      warnings: [],
    },
    {
      name: 'a duration that no timer has',
      given: { ...retryConfig, timeout: '10000h' },
      want: { timeoutMs: 2_073_600_000 },
      warnings: ['retryConfig.timeout: is longer than 576h, which is used'],
    },
  ])('$name', ({ given, want, warnings }) => {
    const text = file({ retryConfig: given })
    expect(read(text).retry).toEqual({ ...defaults, ...want })
    expect(warningsOf(text)).toEqual(warnings)
  })
})

describe('a value that volcano-global rejects is an error', () => {
  test.each([
    {
      name: 'a number for a duration',
      more: { retryConfig: { ...retryConfig, timeout: 30 } },
      want: 'retryConfig.timeout: must be of type string',
    },
    {
      name: 'no duration',
      more: { retryConfig: { ...retryConfig, timeout: '30' } },
      want: 'retryConfig.timeout: must be a duration',
    },
    {
      name: 'a text for a port',
      more: { endpoint: { url: 'http://a', port: '1630' } },
      want: 'endpoint.port: must be of type integer',
    },
    {
      name: 'a text for clusters',
      more: { locationMapping: { 's3://a': 'm1' } },
      want: 'locationMapping[s3://a]: must be of type array',
    },
    { name: 'a list for extra', more: { extra: [] }, want: 'extra: must be of type object' },
    { name: 'no URL', more: { endpoint: {} }, want: 'endpoint.url: is required' },
    {
      name: 'an unknown type of credentials',
      more: { endpoint: { ...endpoint, auth: { type: 'oauth' } } },
      want: 'endpoint.auth.type: must be one of',
    },
    {
      name: 'retries below 0, which send no query',
      more: { retryConfig: { ...retryConfig, maxRetries: -1 } },
      want: 'retryConfig.maxRetries: must be greater',
    },
  ])('$name', ({ more, want }) => {
    expect(() => read(file(more))).toThrow(want)
  })

  test('without a value of the file', () => {
    const auth = { type: 'bearer', token: ['hunter2'] }
    expect(() => read(file({ endpoint: { ...endpoint, auth } }))).toThrow(/^((?!hunter2).)*$/)
  })
})
