// Data systems in check: their files, and the location of data that they give.
import { createServer } from 'node:http'
import type { AddressInfo } from 'node:net'
import { join } from 'node:path'
import { describe, expect, onTestFinished, test } from 'vitest'
import { makeClaim, makeCluster, makeObject, makePolicy, makeSource } from '../../../../test/builders.ts'
import { makeFolder, runWords } from '../../cli.fake.ts'

const workload = makeObject('apps/v1', 'Deployment', 'app', { spec: { replicas: 2 } })
const { system, dataSourceType, dataSourceName } = makeClaim().spec
const listed = { type: dataSourceType, name: dataSourceName, location: 's3://bucket/sales', clusters: ['member2'] }

const regional = (name: string, region: string) => makeCluster(name, { region })

/** Checks the workload on a hub without DataSources. */
async function checkWith(
  systems: Record<string, unknown>,
  words: string[] = [],
  hub: unknown[] = [makeClaim(), makePolicy()],
) {
  const files = Object.entries(systems).map(([name, content]) => [`systems/${name}`, content])
  const folder = makeFolder({
    'app.yaml': workload,
    'hub/hub.yaml': hub,
    'systems/.keep': '',
    ...Object.fromEntries(files),
  })
  const config = join(makeFolder({ 'c.yaml': { systems: { directory: join(folder, 'systems') } } }), 'c.yaml')
  const given = ['check', '-f', join(folder, 'app.yaml'), '--folder', join(folder, 'hub'), '-c', config, '-o', 'json']
  const { status, stdout, stderr } = await runWords([...given, ...words])
  return { status, stderr, report: JSON.parse(stdout) }
}

describe('a data system of the configuration', () => {
  test('that needs no network narrows the workload as on the server', async () => {
    const { status, report } = await checkWith({ lake: { system, plugin: 'static', extra: { sources: [listed] } } })

    expect(status).toBe(0)
    expect(report.objects).toMatchObject([{ decision: 'Narrowed', reason: 'default/sales is in member2' }])
  })

  test('that does not list the data holds the workload, with the answer of the system', async () => {
    const { report } = await checkWith({ lake: { system, plugin: 'static', extra: { sources: [] } } })
    const reason = 'is Unavailable: the configuration lists no table lake.shop.sales'
    expect(report.objects).toMatchObject([{ decision: 'OnHold', reason: expect.stringContaining(reason) }])
  })

  test('that has the data in no cluster holds the workload, and names the missing key', async () => {
    const { clusters: _unknown, ...source } = listed
    const locationMapping = { 's3://other/': ['member2'] }
    const { report } = await checkWith({
      lake: { system, plugin: 'static', locationMapping, extra: { sources: [source] } },
    })
    const reason = `is in none of the clusters: location s3://bucket/sales matches no key of locationMapping of system ${system}; add one`
    expect(report.objects).toMatchObject([{ decision: 'OnHold', reason: expect.stringContaining(reason) }])
  })

  test.each([
    { name: 'given', given: [regional('member2', 'eu')], stored: [] },
    { name: 'of the folder', given: [], stored: [regional('member2', 'eu')] },
    {
      name: 'given, and replaces that of the folder',
      given: [regional('member2', 'eu')],
      stored: [regional('member2', 'us')],
    },
  ])('maps a region to a Cluster that is $name', async ({ given, stored }) => {
    const { clusters: _unknown, ...source } = listed
    const lake = { system, plugin: 'static', extra: { sources: [source], region: 'eu' } }
    const folder = makeFolder({ 'clusters.yaml': given.length > 0 ? given : '# none' })

    const words = ['-f', join(folder, 'clusters.yaml')]
    const { report } = await checkWith({ lake }, words, [makeClaim(), makePolicy(), ...stored])

    expect(JSON.stringify(report.objects)).toContain('default/sales is in member2')
  })

  test('does not replace an answer that the hub has', async () => {
    const other = { ...listed, clusters: ['member3'] }
    const hub = [makeClaim(), makePolicy(), makeSource()]
    const { report } = await checkWith({ lake: { system, plugin: 'static', extra: { sources: [other] } } }, [], hub)
    expect(report.objects).toMatchObject([{ reason: 'default/sales is in member2' }])
  })

  test('locates the data of a given claim too', async () => {
    const folder = makeFolder({ 'claim.yaml': makeClaim() })
    const systems = { lake: { system, plugin: 'static', extra: { sources: [listed] } } }
    const { report } = await checkWith(systems, ['-f', join(folder, 'claim.yaml')], [makePolicy()])
    expect(JSON.stringify(report.objects)).toContain('default/sales is in member2')
  })

  test('of the folder in PLUGIN_CONFIG_PATH is used, as by the server', async () => {
    const folder = makeFolder({
      'hub.yaml': [workload, makeClaim(), makePolicy()],
      'systems/lake': { system, plugin: 'static', extra: { sources: [listed] } },
    })
    const env = { PLUGIN_CONFIG_PATH: join(folder, 'systems') }

    const { stdout } = await runWords(['check', '-f', join(folder, 'hub.yaml')], { env })

    expect(stdout).toContain('narrowed\n    default/sales is in member2\n')
  })
})

test('a file of volcano-global is a finding, with its line, for each ignored field', async () => {
  const text = '{\n  "Endpoint": {"url": "http://ams"},\n  "note": 1,\n  "locationMapping": {"s3://wh-": ["m1"]}\n}\n'
  const file = join(makeFolder({ amoro: text }), 'amoro')
  const { status, stdout } = await runWords(['check', '-f', file, '-o', 'json'])
  const found = JSON.parse(stdout).findings.map(({ id, line, message }: Record<string, unknown>) => [id, line, message])
  expect([status, found]).toEqual([
    0,
    [
      ['system-warning', 2, 'Endpoint: read as endpoint, as in volcano-global; write endpoint'],
      ['system-warning', 3, 'note: unknown field; ignored, as in volcano-global'],
      ['valid-system', 1, 'data system amoro, plugin amoro'],
    ],
  ])
})

describe('--query-systems', () => {
  async function startServer(answer: (path: string) => { status: number; body: unknown }) {
    const requests: string[] = []
    const server = createServer((request, response) => {
      requests.push(request.url ?? '')
      const { status, body } = answer(request.url ?? '')
      response.writeHead(status, { 'content-type': 'application/json' }).end(JSON.stringify(body))
    })
    await new Promise<void>((resolve) => void server.listen(0, '127.0.0.1', resolve))
    onTestFinished(() => void server.close())
    return { url: `http://127.0.0.1:${(server.address() as AddressInfo).port}`, requests }
  }
  const rest = (url: string) => ({
    system,
    plugin: 'iceberg-rest',
    endpoint: { url },
    locationMapping: { 's3://bucket/': ['member2'] },
    retryConfig: { maxRetries: 0, timeout: '20s' },
  })
  const table = makeClaim({ dataSourceType: 'table', dataSourceName: 'db.sales' })

  test('queries the other systems; without it, none is contacted', async () => {
    const server = await startServer((path) =>
      path.includes('/config')
        ? { status: 200, body: { defaults: {}, overrides: {} } }
        : { status: 200, body: { metadata: { location: 's3://bucket/db/sales' } } },
    )
    const hub = [table, makePolicy()]
    const without = await checkWith({ lake: rest(server.url) }, [], hub)
    expect(server.requests).toEqual([])
    expect(without.report.objects).toMatchObject([{ decision: 'OnHold' }])

    const { report } = await checkWith({ lake: rest(server.url) }, ['--query-systems'], hub)
    expect(server.requests.length).toBeGreaterThan(0)
    expect(report.objects).toMatchObject([{ decision: 'Narrowed', reason: 'default/sales is in member2' }])
  })

  test('ends with Ctrl-C while a system does not answer', async () => {
    const ending = new AbortController()
    const server = createServer(() => ending.abort())
    await new Promise<void>((resolve) => void server.listen(0, '127.0.0.1', resolve))
    onTestFinished(() => void server.close())
    const url = `http://127.0.0.1:${(server.address() as AddressInfo).port}`
    const folder = makeFolder({ 'hub.yaml': [workload, table, makePolicy()], 'systems/lake': rest(url) })
    const config = join(makeFolder({ 'c.yaml': { systems: { directory: join(folder, 'systems') } } }), 'c.yaml')

    const words = ['check', '-f', join(folder, 'hub.yaml'), '-c', config, '--query-systems']
    expect(await runWords(words, { signal: ending.signal })).toEqual({ status: 130, stdout: '', stderr: '' })
  })

  test('reports a system that does not answer, and holds the workload', async () => {
    const server = await startServer(() => ({ status: 403, body: {} }))
    const { report } = await checkWith({ lake: rest(server.url) }, ['--query-systems'], [table, makePolicy()])
    expect(report.findings).toContainEqual(
      expect.objectContaining({ id: 'unanswered-query', message: expect.stringContaining('table db.sales: ') }),
    )
    expect(report.objects).toMatchObject([{ decision: 'OnHold' }])
  })
})

describe('a file of a data system', () => {
  const check = async (content: string) => {
    const folder = makeFolder({ lake: content })
    const { status, stdout, stderr } = await runWords(['check', '-f', join(folder, 'lake')])
    return { status, stderr, stdout: stdout.replaceAll(`${folder}/`, '') }
  }

  test.each([
    { name: 'YAML', content: 'system: static\n' },
    { name: 'JSON with tabs', content: '{\n\t"system": "static"\n}' },
  ])('that is valid $name is reported as such', async ({ content }) => {
    const { status, stdout, stderr } = await check(content)
    expect({ status, stderr }).toEqual({ status: 0, stderr: '' })
    expect(stdout).toContain('data system static, plugin static')
  })
})
