// A real Iceberg REST catalog: the server that the Apache Iceberg project tests its own clients with, on 127.0.0.1.
// Tables may be anywhere (s3://…, hdfs://…): their metadata is kept in a local folder, and no program reads their data.
import { join } from 'node:path'
import { request } from 'undici'
import { freePorts } from '../processes.ts'
import { builtOnce } from './built-once.ts'
import { javaArgs, launchPeer, mavenArgs, type Peer, type PeerOptions } from './peer-process.ts'
import { requireRuntime } from './runtimes.ts'

const schema = {
  type: 'struct',
  'schema-id': 0,
  fields: [{ id: 1, name: 'id', type: 'long', required: false }],
}

export interface IcebergOptions extends PeerOptions {
  // Where tables are that are created without a location.
  warehouse?: string
}

export interface IcebergTable {
  location?: string
  properties?: Record<string, string>
}

// The part of a LoadTableResult that tests look at.
export interface LoadedTable {
  'metadata-location': string
  metadata: {
    location: string
    'table-uuid': string
    'current-snapshot-id'?: number
    properties: Record<string, string>
    snapshots?: { 'snapshot-id': number; summary: Record<string, string> }[]
  }
}

export interface Iceberg extends Peer {
  // Without /v1, as the configuration of a client wants it.
  readonly url: string
  createNamespace(parts: string[]): Promise<void>
  createTable(parts: string[], name: string, table?: IcebergTable): Promise<LoadedTable>
  loadTable(parts: string[], name: string): Promise<LoadedTable>
  moveTable(parts: string[], name: string, location: string): Promise<LoadedTable>
  // A snapshot with that total size, as an engine commits it after a write; the files themselves are not there.
  addSnapshot(parts: string[], name: string, bytes: number): Promise<LoadedTable>
  dropTable(parts: string[], name: string): Promise<void>
}

export async function startIceberg(dir: string, options: IcebergOptions = {}): Promise<Iceberg> {
  const name = options.name ?? 'iceberg'
  await requireRuntime('iceberg', 'java')
  const program = await ensureIceberg()
  const [port = 0] = await freePorts(1)
  const url = `http://127.0.0.1:${port}`
  const home = join(dir, name)
  const peer = await launchPeer({
    name,
    dir,
    command: 'java',
    args: [
      ...javaArgs(program, 'IcebergServer', home, 256),
      ...[home, String(port), options.warehouse ?? 's3://warehouse'],
    ],
    ready: async () => (await send('GET', `${url}/v1/config`)) !== undefined,
  })
  const separator = await namespaceSeparator(url)
  const namespaces = `${url}/v1/namespaces`
  const tables = (parts: string[]) => `${namespaces}/${parts.map(encodeURIComponent).join(separator)}/tables`
  const table = (parts: string[], tableName: string) => `${tables(parts)}/${encodeURIComponent(tableName)}`
  const loadTable = async (parts: string[], tableName: string) =>
    (await send('GET', table(parts, tableName))) as LoadedTable
  const commit = async (parts: string[], tableName: string, updates: object[]) =>
    (await send('POST', table(parts, tableName), { requirements: [], updates })) as LoadedTable
  return Object.assign(peer, {
    url,
    loadTable,
    createNamespace: async (parts: string[]) => void (await send('POST', namespaces, { namespace: parts })),
    createTable: async (parts: string[], tableName: string, { location, properties = {} }: IcebergTable = {}) =>
      (await send('POST', tables(parts), { name: tableName, location, schema, properties })) as LoadedTable,
    moveTable: (parts: string[], tableName: string, location: string) =>
      commit(parts, tableName, [{ action: 'set-location', location }]),
    addSnapshot: async (parts: string[], tableName: string, bytes: number) =>
      commit(parts, tableName, snapshotUpdates(await loadTable(parts, tableName), bytes)),
    dropTable: async (parts: string[], tableName: string) => void (await send('DELETE', table(parts, tableName))),
  })
}

function ensureIceberg(): Promise<string> {
  return builtOnce({
    peer: 'iceberg',
    what: 'the Iceberg REST catalog (35 MB of libraries)',
    runtime: 'mvn',
    args: mavenArgs,
  })
}

// The server says in its configuration how it wants the parts of a namespace to be joined, already encoded for a URL.
async function namespaceSeparator(url: string): Promise<string> {
  const { defaults, overrides } = (await send('GET', `${url}/v1/config`)) as Record<string, Record<string, string>>
  return { ...defaults, ...overrides }['namespace-separator'] ?? '%1F'
}

function snapshotUpdates({ metadata }: LoadedTable, bytes: number): object[] {
  const number = (metadata.snapshots ?? []).length + 1
  const snapshot = {
    'snapshot-id': number,
    'sequence-number': number,
    'timestamp-ms': Date.now(),
    'manifest-list': `${metadata.location}/metadata/snap-${number}.avro`,
    'schema-id': 0,
    summary: { operation: 'append', 'total-files-size': String(bytes) },
    ...(number > 1 && { 'parent-snapshot-id': number - 1 }),
  }
  return [
    { action: 'add-snapshot', snapshot },
    { action: 'set-snapshot-ref', 'ref-name': 'main', type: 'branch', 'snapshot-id': number },
  ]
}

async function send(method: 'GET' | 'POST' | 'DELETE', url: string, body?: object): Promise<unknown> {
  const json = body && { body: JSON.stringify(body), headers: { 'content-type': 'application/json' } }
  const answer = await request(url, { method, ...json })
  const text = await answer.body.text()
  if (answer.statusCode >= 300) throw new Error(`Iceberg ${method} ${url} answers ${answer.statusCode}: ${text}`)
  return text ? JSON.parse(text) : undefined
}

// `node test/e2e/peers/iceberg.ts` builds ahead, for instance as a step of its own in CI.
if (import.meta.main) console.log(await ensureIceberg())
