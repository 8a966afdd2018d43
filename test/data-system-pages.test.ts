/** The pages of data systems: each plugin has one, and its configurations are valid. End-to-end tests run those of real systems. */
import { globSync, readFileSync } from 'node:fs'
import { basename } from 'node:path'
import { afterEach, beforeEach, describe, expect, test } from 'vitest'
import { parseSystemConfig } from '../src/locality/config/config.ts'
import { DataServer } from '../src/locality/http/data-server.fake.ts'
import { locate, openPlugin } from '../src/locality/locality.suite.ts'
import { plugins } from '../src/locality/plugins/index.ts'
import { documentedSystems } from './e2e/documented-systems.ts'

const pages = globSync('docs/guides/data-systems/*.md').map((path) => basename(path, '.md'))

test('each plugin has a page, and docs/guides/data-systems.md leads to it', () => {
  expect(pages.sort()).toEqual(Object.keys(plugins).sort())
  const overview = readFileSync('docs/guides/data-systems.md', 'utf8')
  for (const page of pages) expect(overview).toContain(`[\`${page}\`](data-systems/${page}.md)`)
})

describe.each(pages)('the configurations of the page %s', (page) => {
  const documented = documentedSystems(page)

  test('are valid, and are of its plugin', () => {
    const parsed = documented.map((one) => parseSystemConfig('page', JSON.stringify(one), plugins).plugin)
    expect(parsed).toEqual(documented.map(() => page))
    expect(parsed).not.toEqual([])
  })

  test('are followed by the responses that an answer needs, and those that may fail', () => {
    expect(readFileSync(`docs/guides/data-systems/${page}.md`, 'utf8')).toMatch(
      /^## Required and optional responses\n\n\|/m,
    )
  })

  test('take credentials from files', () => {
    const secret = /^(?:username|password|token|apiKey|secret|clientId|clientSecret|accessKeyId|secretAccessKey)$/
    const fields = documented.flatMap(({ endpoint }) => Object.keys(endpoint?.auth ?? {}))
    expect(fields.filter((field) => secret.test(field))).toEqual([])
  })
})

describe('without a real system', () => {
  let server: DataServer
  beforeEach(async () => {
    server = await new DataServer(() => ({ body: { metadata: { location: 's3://lake-eu/orders' } } })).listen()
  })
  afterEach(async () => {
    await server.close()
  })

  test('the configuration of Amoro locates a table', async () => {
    const { endpoint, ...documented } = documentedSystems('amoro')[0] ?? { system: '' }
    const plugin = openPlugin({
      ...documented,
      endpoint: { url: server.url, auth: { type: 'apikey', apiKey: 'k', secret: 's' } },
    })
    const answer = await locate(plugin, { type: 'table', name: 'lake.sales.orders', attributes: {} })
    await plugin.close()
    expect(endpoint?.auth).toMatchObject({ type: 'apikey' })
    expect(answer).toMatchObject({ kind: 'located', location: 's3://lake-eu/orders' })
  })

  test('the static list locates its sources', async () => {
    const plugin = openPlugin(documentedSystems('static')[0] ?? { system: '' })
    expect(await locate(plugin, { type: 'table', name: 'sales.orders', attributes: {} })).toEqual({
      kind: 'located',
      location: 's3://lake-eu/orders',
      bytes: 4096,
    })
    expect(await locate(plugin, { type: 'any', name: 'models', attributes: {} })).toMatchObject({
      clusters: ['member3'],
    })
    expect(await locate(plugin, { type: 'path', name: 'sales.orders', attributes: {} })).toMatchObject({
      kind: 'nowhere',
    })
  })
})
