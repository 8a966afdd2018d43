// A real Nessie on 127.0.0.1: a catalog with the Iceberg REST protocol, with branches, and with one warehouse for each bucket of an S3 peer.
// It keeps its tables in memory, and writes their metadata into the warehouses.
import { join } from 'node:path'
import { request } from 'undici'
import { freePorts } from '../processes.ts'
import { builtOnce } from './built-once.ts'
import { launchPeer, mavenArgs, type Peer, type PeerOptions, serverArgs } from './peer-process.ts'
import { requireJava } from './runtimes.ts'
import type { S3 } from './s3.ts'

const schema = { type: 'struct', 'schema-id': 0, fields: [{ id: 1, name: 'id', type: 'long', required: false }] }

export interface NessieOptions extends PeerOptions {
  s3: S3
  // Warehouse → bucket. The first one is the default.
  warehouses: Record<string, string>
}

export interface Nessie extends Peer {
  // Without /v1, as the configuration of a client wants it.
  readonly url: string
  createNamespace(parts: string[]): Promise<void>
  // The table is somewhere in its warehouse.
  createTable(warehouse: string, parts: string[], name: string): Promise<void>
  dropTable(warehouse: string, parts: string[], name: string): Promise<void>
}

export async function startNessie(dir: string, options: NessieOptions): Promise<Nessie> {
  const { name = 'nessie', s3, warehouses } = options
  const command = await requireJava('nessie', { least: 21 })
  const program = await ensureNessie()
  const [port = 0, managementPort = 0] = await freePorts(2)
  const url = `http://127.0.0.1:${port}/iceberg`
  const storage = 'nessie.catalog.service.s3.default-options'
  const settings = {
    'quarkus.http.host': '127.0.0.1',
    'quarkus.http.port': port,
    'quarkus.management.host': '127.0.0.1',
    'quarkus.management.port': managementPort,
    'nessie.version.store.type': 'IN_MEMORY',
    'nessie.catalog.default-warehouse': Object.keys(warehouses)[0],
    ...Object.fromEntries(
      Object.entries(warehouses).map(([one, bucket]) => [
        `nessie.catalog.warehouses.${one}.location`,
        `s3://${bucket}/`,
      ]),
    ),
    [`${storage}.endpoint`]: s3.url,
    [`${storage}.path-style-access`]: true,
    [`${storage}.region`]: s3.region,
    [`${storage}.access-key`]: 'urn:nessie-secret:quarkus:nessie.keys',
    'nessie.keys.name': s3.accessKey,
    'nessie.keys.secret': s3.secretKey,
  }
  const properties = Object.entries(settings).map(([key, value]) => `-D${key}=${value}`)
  const archive = join(program, 'lib', 'nessie-quarkus-0.99.0-runner.jar')
  const peer = await launchPeer({
    name,
    dir,
    command,
    args: [...serverArgs(join(dir, name), 384), ...properties, '-jar', archive],
    ready: async () => (await send('GET', `${url}/v1/config`)) === undefined,
  })
  const namespaces = (warehouse: string) => `${url}/v1/main%7C${warehouse}/namespaces`
  const tables = (warehouse: string, parts: string[]) => `${namespaces(warehouse)}/${parts.join('%1F')}/tables`
  return Object.assign(peer, {
    url,
    createNamespace: (parts: string[]) =>
      send('POST', namespaces(Object.keys(warehouses)[0] ?? ''), { namespace: parts }),
    createTable: (warehouse: string, parts: string[], table: string) =>
      send('POST', tables(warehouse, parts), { name: table, schema, 'stage-create': false }),
    dropTable: (warehouse: string, parts: string[], table: string) =>
      send('DELETE', `${tables(warehouse, parts)}/${table}`),
  })
}

function ensureNessie(): Promise<string> {
  return builtOnce({ peer: 'nessie', what: 'Nessie (245 MB)', runtime: 'mvn', args: mavenArgs })
}

async function send(method: 'GET' | 'POST' | 'DELETE', url: string, body?: object): Promise<void> {
  const headers = { 'content-type': 'application/json' }
  const answer = await request(url, { method, headers, body: body === undefined ? null : JSON.stringify(body) })
  const text = await answer.body.text()
  if (answer.statusCode >= 300) throw new Error(`nessie: ${method} ${url} answers ${answer.statusCode}: ${text}`)
}

// `node test/e2e/peers/nessie.ts` builds ahead, for instance as a step of its own in CI.
if (import.meta.main) console.log(await ensureNessie())
