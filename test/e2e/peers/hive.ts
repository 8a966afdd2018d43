// A real Hive Metastore on 127.0.0.1: Hive's standalone metastore with an embedded Derby database.
import { mkdir, writeFile } from 'node:fs/promises'
import { join } from 'node:path'
import forge from 'node-forge'
import { request } from 'undici'
import { selfSigned } from '../../../src/locality/http/self-signed.fake.ts'
import { freePorts } from '../processes.ts'
import { builtOnce } from './built-once.ts'
import { javaArgs, launchPeer, mavenArgs, type Peer, type PeerOptions } from './peer-process.ts'
import { requireJava } from './runtimes.ts'

export interface HiveOptions extends PeerOptions {
  // With TLS and SASL PLAIN for this one user.
  login?: { username: string; password: string }
}

export interface HiveTable {
  database: string
  table: string
  // None for a view.
  location?: string
  type?: 'EXTERNAL_TABLE' | 'MANAGED_TABLE' | 'VIRTUAL_VIEW'
  // Makes a partitioned table.
  partitionKey?: string
  parameters?: Record<string, string>
}

export interface Hive extends Peer {
  // thrift://127.0.0.1:port
  readonly url: string
  // The CA of a metastore with a login.
  readonly ca: string
  createDatabase(database: string): Promise<void>
  // As an engine registers it; no folder is made.
  createTable(table: HiveTable): Promise<void>
  moveTable(database: string, table: string, location: string): Promise<void>
  addPartition(partition: HiveTable & { value: string }): Promise<void>
  dropTable(database: string, table: string): Promise<void>
}

export async function startHive(dir: string, options: HiveOptions = {}): Promise<Hive> {
  const name = options.name ?? 'hive'
  // Its Hadoop uses a part of the security manager that Java 24 removed.
  const command = await requireJava('hive', { least: 17, most: 23 })
  const program = await ensureHive()
  const [port = 0, controlPort = 0] = await freePorts(2)
  const control = `http://127.0.0.1:${controlPort}`
  const home = join(dir, name)
  await mkdir(home, { recursive: true })
  const { settings, ca } = options.login === undefined ? { settings: {}, ca: '' } : await secured(home, options.login)
  const properties = Object.entries(settings).map(([key, value]) => `-Dmetastore.${key}=${value}`)
  const peer = await launchPeer({
    name,
    dir,
    command,
    args: [...properties, ...javaArgs(program, 'HiveServer', home, 384), home, String(port), String(controlPort)],
    // The control port is the last to open.
    ready: async () => (await request(control)).statusCode === 500,
  })
  const send = async (what: string, { parameters = {}, ...given }: Partial<HiveTable> & { value?: string }) => {
    const query = new URLSearchParams(given as Record<string, string>)
    for (const [key, value] of Object.entries(parameters)) query.set(`p.${key}`, value)
    const { statusCode, body } = await request(`${control}/${what}?${query}`, { method: 'POST' })
    if (statusCode !== 200) throw new Error(`hive: ${what} answers ${statusCode}: ${await body.text()}`)
    await body.dump()
  }
  return Object.assign(peer, {
    url: `thrift://127.0.0.1:${port}`,
    ca,
    createDatabase: (database: string) => send('database', { database }),
    createTable: (table: HiveTable) => send('table', table),
    moveTable: (database: string, table: string, location: string) => send('move', { database, table, location }),
    addPartition: (partition: HiveTable & { value: string }) => send('partition', partition),
    dropTable: (database: string, table: string) => send('drop', { database, table }),
  })
}

// Creates a certificate. Java reads it with its key from one file.
async function secured(home: string, { username, password }: NonNullable<HiveOptions['login']>) {
  const { cert, key } = selfSigned('127.0.0.1')
  const entry = [forge.pki.certificateFromPem(cert)]
  const store = forge.pkcs12.toPkcs12Asn1(forge.pki.privateKeyFromPem(key), entry, password)
  const file = join(home, 'keystore.p12')
  await writeFile(file, Buffer.from(forge.asn1.toDer(store).getBytes(), 'latin1'))
  const settings = {
    'use.SSL': 'true',
    'keystore.path': file,
    'keystore.password': password,
    'keystore.type': 'pkcs12',
    authentication: 'CONFIG',
    'authentication.config.username': username,
    'authentication.config.password': password,
    'execute.setugi': 'false',
  }
  return { settings, ca: cert }
}

function ensureHive(): Promise<string> {
  return builtOnce({
    peer: 'hive',
    what: 'the Hive Metastore (114 MB of libraries)',
    runtime: 'mvn',
    args: mavenArgs,
  })
}

// `node test/e2e/peers/hive.ts` builds ahead, for instance as a step of its own in CI.
if (import.meta.main) console.log(await ensureHive())
