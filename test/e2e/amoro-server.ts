// A server that speaks like Amoro's Iceberg REST path, since a real Amoro is not available here. A test can make it fail in every way.
import { mkdir, writeFile } from 'node:fs/promises'
import { createServer, type ServerResponse } from 'node:http'
import type { AddressInfo } from 'node:net'
import { join } from 'node:path'

export interface AmoroServer {
  readonly port: number
  // `catalog.database.table` → location.
  readonly tables: Map<string, string>
  // What it answers instead, while it is set.
  fault: ((response: ServerResponse) => void) | undefined
  // How often a table was asked for.
  questions: number
  // How long it takes over an answer.
  delayMs: number
  start(): Promise<void>
  stop(): Promise<void>
}

const tablePath = /^\/api\/iceberg\/rest\/v1\/catalogs\/([^/]+)\/namespaces\/([^/]+)\/tables\/([^/?]+)/

export async function startAmoroServer(tables: Record<string, string>): Promise<AmoroServer> {
  const server = createServer(async (request, response) => {
    if (state.delayMs > 0) await new Promise((resolve) => setTimeout(resolve, state.delayMs))
    const [, ...parts] = tablePath.exec(request.url ?? '') ?? []
    if (parts.length > 0) state.questions++
    if (state.fault) {
      state.fault(response)
      return
    }
    if (parts.length === 0) {
      response.writeHead(200, { 'content-type': 'application/json' }).end('{"code":200,"message":"","result":{}}')
      return
    }
    const location = state.tables.get(parts.map(decodeURIComponent).join('.'))
    if (location === undefined) {
      const error = { message: 'Table does not exist', type: 'NoSuchTableException', code: 404 }
      response.writeHead(404, { 'content-type': 'application/json' }).end(JSON.stringify({ error }))
      return
    }
    const metadata = {
      'format-version': 2,
      'table-uuid': '762a7ea5-dea1-496a-8319-73e42c5921dc',
      location,
      properties: {},
    }
    const body = { 'metadata-location': `${location}/metadata/v1.metadata.json`, metadata, config: {} }
    response.writeHead(200, { 'content-type': 'application/json' }).end(JSON.stringify(body))
  })
  const listen = (port: number) =>
    new Promise<void>((resolve, reject) => {
      server.once('error', reject)
      server.listen(port, '127.0.0.1', () => {
        server.off('error', reject)
        resolve()
      })
    })
  await listen(0)
  const { port } = server.address() as AddressInfo
  const state: AmoroServer = {
    port,
    tables: new Map(Object.entries(tables)),
    fault: undefined,
    questions: 0,
    delayMs: 0,
    start: () => listen(port),
    stop: () =>
      new Promise((resolve) => {
        server.close(() => resolve())
        server.closeAllConnections()
      }),
  }
  return state
}

// Warehouse 1 is in two clusters, warehouse 2 in the third.
const twoWarehouses = { 's3://warehouse-1/': ['member1', 'member2'], 's3://warehouse-2/': ['member3'] }

// A folder of data systems below `dir` with this server in it.
export async function writeAmoroSystem(
  dir: string,
  { port }: AmoroServer,
  refreshInterval: string,
  locationMapping: Readonly<Record<string, readonly string[]>> = twoWarehouses,
): Promise<string> {
  const directory = join(dir, 'systems')
  await mkdir(directory)
  const system = {
    system: 'amoro',
    endpoint: { url: 'http://127.0.0.1', port },
    locationMapping,
    retryConfig: { maxRetries: 0, timeout: '2s' },
    refreshInterval,
  }
  await writeFile(join(directory, 'amoro'), JSON.stringify(system))
  return directory
}
