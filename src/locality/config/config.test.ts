/** Tests the configuration of data systems: defaults, and the message of each error. */
import { describe, expect, test } from 'vitest'
import { plugins } from '../plugins/index.ts'
import { parseSystemConfig } from './config.ts'
import { SystemConfigError } from './system-config-error.ts'

const read = (text: string, file = '/etc/lodestone/systems/amoro') => parseSystemConfig(file, text, plugins)
/** A file of Lodestone: it has a field that volcano-global does not have. */
const amoro = (more: object = {}) =>
  JSON.stringify({ system: 'amoro', plugin: 'amoro', endpoint: { url: 'http://ams' }, ...more })

test('comments of JavaScript are rejected with their line', () => {
  expect(() => read('{\n  // the server\n  "system": "amoro"\n}')).toThrow(
    'line 2: is not valid JSON or YAML: comments begin with #, not with // or /*',
  )
})

test('a field that is null counts as absent, in JSON and YAML', () => {
  const auth = { type: null, token: null }
  const nulls = {
    plugin: null,
    locationMapping: null,
    retryConfig: { timeout: null },
    refreshInterval: null,
    extra: null,
  }
  expect(read(amoro({ ...nulls, endpoint: { url: 'http://ams', urls: null, auth, tls: null } }))).toEqual(read(amoro()))
  expect(read('system: s3\nendpoint:\nextra:\n  region:\n  maxPages: 2\n')).toEqual(
    read('{"system": "s3", "extra": {"maxPages": 2}}'),
  )
})

describe('the completion of the configuration', () => {
  test('completes retryConfig, and keeps 0 retries', () => {
    expect(read(amoro({ retryConfig: { maxRetries: 0 } })).retry).toMatchObject({ maxRetries: 0, timeoutMs: 10_000 })
    expect(read(amoro({ retryConfig: { timeout: '1m30s' } })).retry).toMatchObject({ maxRetries: 3, timeoutMs: 90_000 })
  })

  test.each([
    { url: 'http://h', port: 1630, want: 'http://h:1630' },
    { url: 'http://h/', port: 0, want: 'http://h' },
    { url: 'https://h/api/catalog/', port: 8443, want: 'https://h:8443/api/catalog' },
    { url: 'http://h:80/x', port: 1630, want: 'http://h/x' },
    { url: 'http://[::1]', port: 90, want: 'http://[::1]:90' },
  ])('$url and port $port', ({ url, port, want }) => {
    expect(read(amoro({ endpoint: { url, port } })).endpoint.urls).toEqual([want])
  })

  test('file names are relative to the folder of the document', () => {
    const tls = { caFile: '../ca.crt' }
    const auth = { type: 'bearer', tokenFile: 'token' }
    expect(read(amoro({ endpoint: { url: 'http://h', tls, auth } })).endpoint).toMatchObject({
      tls: { caFile: '/etc/lodestone/ca.crt' },
      auth: { type: 'bearer', secrets: { token: { file: '/etc/lodestone/systems/token' } } },
    })
  })

  test('a system may have another name than its plugin, and AWS needs no URL', () => {
    expect(read('system: lake\nplugin: s3\nextra: {maxPages: 2}\n')).toMatchObject({
      system: 'lake',
      plugin: 's3',
      endpoint: { urls: ['https://s3.amazonaws.com'] },
    })
  })

  test('JSON may have tabs', () => {
    expect(read('{\n\t"system": "static"\n}').system).toBe('static')
  })
})

describe('errors have the file, the key and the expected value', () => {
  test.each([
    { name: 'a system that is null', text: '{"system": null}', want: 'system: is required' },
    {
      name: 'a location without clusters',
      text: amoro({ locationMapping: { 's3://wh/': null } }),
      want: 'locationMapping[s3://wh/]: must be of type array',
    },
    { name: 'no system', text: '{}', want: 'system: is required' },
    { name: 'an empty file', text: '', want: '(root): must be of type object' },
    { name: 'a list', text: '[]', want: '(root): must be of type object' },
    {
      name: 'invalid JSON',
      text: '{"system": "a',
      want: 'line 1: is not valid JSON or YAML: a colon, comma, quote or bracket is missing',
    },
    {
      name: 'an unknown system',
      text: '{"system": "hive"}',
      want: 'system: must be one of amoro, hive-metastore, iceberg-rest, s3, static, webhdfs',
    },
    { name: 'a property of Object as system', text: '{"system": "toString"}', want: 'system: must be one of amoro' },
    {
      name: 'two mistyped words at once',
      text: '{"system": "lake", "plugin": "iceburg", "refreshIntervall": "5m"}',
      want: 'refreshIntervall: unknown field (did you mean refreshInterval?); plugin: must be one of amoro, hive-metastore, iceberg-rest, s3, static, webhdfs (did you mean iceberg-rest?)',
    },
    { name: 'an unknown plugin', text: '{"system": "x", "plugin": "y"}', want: 'plugin: must be one of amoro' },
    {
      name: 'an unknown key',
      text: amoro({ locationMap: {} }),
      want: 'locationMap: unknown field',
    },
    {
      name: 'an unknown nested key',
      text: amoro({ retryConfig: { retries: 1 } }),
      want: 'retryConfig.retries: unknown field',
    },
    { name: 'an unknown setting', text: amoro({ extra: { warehouse: 'w' } }), want: 'extra.warehouse: unknown field' },
    {
      name: 'an invalid setting',
      text: '{"system":"s3","extra":{"size":"big"}}',
      want: 'extra.size: must be one of list, none',
    },
    {
      name: 'an invalid duration',
      text: amoro({ refreshInterval: '5 minutes' }),
      want: 'refreshInterval: must be a duration such as 500ms',
    },
    {
      name: 'a refresh interval that is too short',
      text: amoro({ refreshInterval: '1ms' }),
      want: 'refreshInterval: must be at least 1000 ms',
    },
    {
      name: 'a timeout of 0',
      text: amoro({ retryConfig: { timeout: '0' } }),
      want: 'retryConfig.timeout: must be at least 1 ms',
    },
    {
      name: 'negative retries',
      text: amoro({ retryConfig: { maxRetries: -1 } }),
      want: 'retryConfig.maxRetries: must be greater than or equal to 0',
    },
    {
      name: 'a key that can never match',
      text: amoro({ locationMapping: { 's3://warehouse-': ['m1'] } }),
      want: 'locationMapping[s3://warehouse-]: can never match: no bucket has the name warehouse-; write whole names',
    },
    {
      name: 'a duration that no timer has',
      text: amoro({ refreshInterval: '1000h' }),
      want: 'refreshInterval: must be at most 576h',
    },
    {
      name: 'an invalid location',
      text: amoro({ locationMapping: { 'wh/': ['m1'] } }),
      want: 'locationMapping[wh/]: must be a location such as s3://',
    },
    {
      name: 'a name that no cluster can have',
      text: amoro({ locationMapping: { 's3://warehouse/': ['m1', 'Member 2'] } }),
      want: 'locationMapping[s3://warehouse/][1]: must be the name of a cluster',
    },
    {
      name: 'a longer name than those of clusters',
      text: amoro({ regionMapping: { 'eu-1': ['m'.repeat(49)] } }),
      want: 'regionMapping.eu-1[0]: must have at most 48 characters',
    },
    { name: 'no clusters', text: amoro({ locationMapping: { 's3://b': 'm1' } }), want: 'must be of type array' },
    { name: 'no URL', text: '{"system": "amoro"}', want: 'endpoint.url: is required' },
    {
      name: 'no scheme',
      text: amoro({ endpoint: { url: 'ams:1630' } }),
      want: 'endpoint.url: must be a URL such as https://',
    },
    {
      name: 'credentials in the URL',
      text: amoro({ endpoint: { url: 'http://u:hunter2@ams' } }),
      want: 'endpoint.url: must not have credentials; set endpoint.auth',
    },
    {
      name: 'a query',
      text: amoro({ endpoint: { url: 'http://ams?x=hunter2' } }),
      want: 'endpoint.url: must end with the path',
    },
    {
      name: 'several servers',
      text: amoro({ endpoint: { urls: ['http://a', 'http://b'] } }),
      want: 'endpoint.urls: is not allowed for this system; set endpoint.url',
    },
    {
      name: 'an unknown type',
      text: amoro({ endpoint: { url: 'http://a', auth: { type: 'kerberos' } } }),
      want: 'endpoint.auth.type: must be one of none, basic',
    },
    {
      name: 'a missing secret',
      text: amoro({ endpoint: { url: 'http://a', auth: { type: 'bearer' } } }),
      want: 'endpoint.auth.token: is required, or tokenFile, with type bearer',
    },
    {
      name: 'a secret as value and file',
      text: amoro({ endpoint: { url: 'http://a', auth: { type: 'bearer', token: 'hunter2', tokenFile: 'f' } } }),
      want: 'endpoint.auth.token: must not be given together with tokenFile',
    },
    {
      name: 'a certificate without a key',
      text: amoro({ endpoint: { url: 'http://a', tls: { certFile: 'c' } } }),
      want: 'endpoint.tls.keyFile: is required',
    },
    {
      name: 'no token URL',
      text: JSON.stringify({
        system: 'iceberg-rest',
        endpoint: { url: 'http://a', auth: { type: 'oauth2', clientSecret: 'hunter2' } },
      }),
      want: 'endpoint.auth.tokenUrl: is required with type oauth2',
    },
    {
      name: 'too many aliases',
      text: `a: &a [${'x,'.repeat(20)}]\nb: &b [${'*a,'.repeat(20)}]\nc: &c [${'*b,'.repeat(20)}]\nd: [${'*c,'.repeat(20)}]`,
      want: 'has too many aliases',
    },
    {
      name: 'invalid YAML with a secret',
      text: 'system: amoro\nendpoint: {auth: {token: "hunter2}',
      want: 'is not valid JSON or YAML',
    },
  ])('$name', ({ text, want }) => {
    const attempt = () => read(text, '/etc/systems/bad')
    expect(attempt).toThrow(SystemConfigError)
    expect(attempt).toThrow(`/etc/systems/bad: `)
    expect(attempt).toThrow(want)
    expect(attempt).not.toThrow('hunter2')
  })

  test.each([
    {
      name: 'a field that is given twice',
      text: 'system: static\nsystem: s3',
      want: 'line 2: is not valid JSON or YAML: the field is given twice',
    },
    {
      name: 'a second document',
      text: 'system: static\n---\nsystem: s3',
      want: 'line 2: is not valid JSON or YAML: a second document begins here',
    },
    {
      name: 'an alias without an anchor',
      text: 'system: *lake',
      want: 'has too many aliases, or an alias without an anchor',
    },
    {
      name: 'a mistyped type of credentials',
      text: amoro({ endpoint: { url: 'http://a', auth: { type: 'baerer' } } }),
      want: '(did you mean bearer?)',
    },
  ])('$name', ({ text, want }) => {
    expect(() => read(text, 'f')).toThrow(want)
  })

  test('an unknown field, an unknown plugin and a wrong type hide no other errors', () => {
    const text = 'plugin: amorro\nurl: x\nrefreshInterval: x\nmaxConcurrent: many\nlocationMapping: { wh/: [m1] }\n'
    expect(() => read(text, 'f')).toThrow(
      /^f: system: is required; url: unknown field; maxConcurrent: must be of type integer; plugin: must be .* amoro\?\); locationMapping\[wh\/\]: .*; refreshInterval: must be a duration such as 500ms, 10s or 1m30s$/,
    )
    const endpoint = amoro({
      maxConcurrent: 'many',
      endpoint: { url: 'ams:1630', urll: 'x', auth: { type: 'bearer' } },
    })
    expect(() => read(endpoint, 'f')).toThrow(
      /^f: endpoint\.urll: unknown field .*; maxConcurrent: .*; endpoint\.url: must be a URL .*; endpoint\.auth\.token: is required/,
    )
  })

  test('all errors are reported at once', () => {
    const text = amoro({ refreshInterval: 'x', endpoint: { url: 'x', auth: { type: 'x' } } })
    expect(() => read(text, 'f')).toThrow(/^f: endpoint\.url: .*; endpoint\.auth\.type: .*; refreshInterval: /)
  })
})
