/** Tests the parser of responses of an Iceberg catalog. */
import { describe, expect, test } from 'vitest'
import { defined } from '../../base/json.ts'
import { hasOwnLocationProvider, hasRef, parseCatalogConfig, parseTable } from './iceberg.ts'

function table(properties: Record<string, unknown>, more: object = {}): unknown {
  return { metadata: { location: 's3://root/t', properties, ...more } }
}

describe('the location of the data', () => {
  test.each([
    { name: 'the root', body: table({}), want: 's3://root/t' },
    { name: 'I: write.data.path elsewhere', body: table({ 'write.data.path': 's3://data/t' }), want: 's3://data/t' },
    {
      name: 'the object-storage path is ignored if it is not enabled',
      body: table({ 'write.object-storage.path': 's3://os/t' }),
      want: 's3://root/t',
    },
    {
      name: 'the object-storage path',
      body: table({ 'write.object-storage.enabled': 'true', 'write.object-storage.path': 's3://os/t' }),
      want: 's3://os/t',
    },
    {
      name: 'the object-storage path, enabled in capitals as Java accepts it',
      body: table({ 'write.object-storage.enabled': 'TRUE', 'write.object-storage.path': 's3://os/t' }),
      want: 's3://os/t',
    },
    { name: 'the folder-storage path', body: table({ 'write.folder-storage.path': 's3://fs/t' }), want: 's3://fs/t' },
    { name: 'an empty property is ignored', body: table({ 'write.data.path': '' }), want: 's3://root/t' },
    {
      name: 'the location beside the metadata',
      body: { metadata: {}, 'table-location': 's3://v2/t' },
      want: 's3://v2/t',
    },
  ])('$name', ({ body, want }) => {
    expect(parseTable(body)?.location).toBe(want)
  })

  test.each([null, [], 'x', {}, { metadata: {} }, { metadata: { location: 7 } }, { location: 's3://x' }])(
    '%j has no location',
    (body) => {
      expect(parseTable(body)).toBeUndefined()
    },
  )
})

describe('the size of the data', () => {
  const snapshots = (size: unknown) => [{ 'snapshot-id': 5, summary: { 'total-files-size': size } }]
  test.each([
    { name: 'the size in the summary', more: { 'current-snapshot-id': 5, snapshots: snapshots('123') }, want: 123 },
    { name: '0 without a snapshot', more: {}, want: 0 },
    { name: '0 with snapshot -1', more: { 'current-snapshot-id': -1 }, want: 0 },
    { name: '0 with snapshot null', more: { 'current-snapshot-id': null }, want: 0 },
    {
      name: 'unknown without a size',
      more: { 'current-snapshot-id': 5, snapshots: [{ 'snapshot-id': 5 }] },
      want: undefined,
    },
    {
      name: 'unknown without the snapshot',
      more: { 'current-snapshot-id': 6, snapshots: snapshots('1') },
      want: undefined,
    },
    {
      name: 'unknown if it is not a number',
      more: { 'current-snapshot-id': 5, snapshots: snapshots('a lot') },
      want: undefined,
    },
  ])('$name', ({ more, want }) => {
    expect(parseTable(table({}, more))?.bytes).toBe(want)
  })
})

describe('a branch or tag', () => {
  const snapshots = [5, 6].map((id) => ({ 'snapshot-id': id, summary: { 'total-files-size': String(id) } }))
  const withRefs = (refs?: object) => table({}, defined({ 'current-snapshot-id': 5, snapshots, refs }))
  const audit = { main: { 'snapshot-id': 5 }, audit: { 'snapshot-id': 6 } }

  test.each<{ name: string; body: unknown; ref: string; want: [exists: boolean, bytes: number | undefined] }>([
    { name: 'has its own size', body: withRefs(audit), ref: 'audit', want: [true, 6] },
    { name: 'main is listed', body: withRefs(audit), ref: 'main', want: [true, 5] },
    { name: 'main is not listed by format version 1', body: withRefs(), ref: 'main', want: [true, 5] },
    { name: 'main of a table without snapshots is empty', body: table({}), ref: 'main', want: [true, 0] },
    { name: 'does not exist', body: withRefs(audit), ref: 'dev', want: [false, undefined] },
    { name: 'does not exist without any', body: withRefs(), ref: 'dev', want: [false, undefined] },
    { name: 'is not a property of Object', body: withRefs({}), ref: 'toString', want: [false, undefined] },
  ])('$name', ({ body, ref, want }) => {
    expect([hasRef(body, ref), parseTable(body, { ref })?.bytes]).toEqual(want)
  })
})

test.each([
  { body: { defaults: {}, overrides: {} }, want: { prefix: 'configured', separator: undefined } },
  { body: { defaults: { prefix: 'd' }, overrides: { prefix: 'o' } }, want: { prefix: 'o', separator: undefined } },
  { body: { defaults: { 'namespace-separator': '.' } }, want: { prefix: 'configured', separator: '.' } },
  { body: { message: 'hello' }, want: undefined },
  { body: null, want: undefined },
])('paths of $body', ({ body, want }) => {
  expect(parseCatalogConfig(body, { prefix: 'configured' })).toEqual(want && { ...want, hasViews: false })
})

test.each([
  { endpoints: ['GET /v1/{prefix}/namespaces', 'GET /v1/{prefix}/namespaces/{namespace}/views/{view}'], want: true },
  { endpoints: ['GET /v1/{prefix}/namespaces/{namespace}/tables/{table}'], want: false },
  { endpoints: 'GET /v1/{prefix}/namespaces/{namespace}/views/{view}', want: false },
  { endpoints: undefined, want: false },
])('a catalog with the requests $endpoints loads views: $want', ({ endpoints, want }) => {
  expect(parseCatalogConfig({ overrides: {}, endpoints })?.hasViews).toBe(want)
})

test.each([
  { properties: { 'write.location-provider.impl': 'org.example.Provider' }, want: true },
  { properties: { 'write.location-provider.impl': '' }, want: false },
  { properties: { 'write.data.path': 's3://data' }, want: false },
])('$properties choose the places of files by a class: $want', ({ properties, want }) => {
  expect(hasOwnLocationProvider(properties)).toBe(want)
})

test.each([
  { name: 'a prefix that is too long for a URL', overrides: { prefix: 'a'.repeat(1_025) } },
  { name: 'a prefix with half of a surrogate pair', overrides: { prefix: 'a\ud800' } },
  { name: 'a separator with a line break', overrides: { 'namespace-separator': '\r\n' } },
])('$name is an invalid configuration', ({ overrides }) => {
  expect(parseCatalogConfig({ overrides })).toBeUndefined()
})
