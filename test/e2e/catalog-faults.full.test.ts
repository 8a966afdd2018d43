// Catalogs that flap, answer about something else, or refuse by the hundred: workloads stay where they are, and the load is bounded.
import type { ServerResponse } from 'node:http'
import { afterAll, beforeAll, beforeEach, expect, test } from 'vitest'
import { type AmoroServer, startAmoroServer, writeAmoroSystem } from './amoro-server.ts'
import type { KubeObject } from './api-client.ts'
import { type ControlPlane, startControlPlane } from './control-plane.ts'
import { clusterNames } from './hub.ts'
import { installLodestone, type Lodestone, startLodestone } from './lodestone.ts'
import { deployment, policy, tableClaim } from './manifests.ts'
import { settled } from './poll.ts'
import { stopAndCheckRights } from './rights.ts'

const tables = Array.from({ length: 40 }, (_, i) => `lake.db.t${i}`)
const missing = { message: 'Table does not exist', type: 'NoSuchTableException', code: 404 }
// A path or a warehouse that does not exist is answered with 404 as well.
const ofAnother = { message: 'Warehouse other does not exist', type: 'NotFoundException', code: 404 }

let plane: ControlPlane
let amoro: AmoroServer
let lodestone: Lodestone
let before: unknown

beforeAll(async () => {
  plane = await startControlPlane()
  amoro = await startAmoroServer(Object.fromEntries(tables.map((table) => [table, 's3://warehouse-1/t'])))
  const kubeconfig = await installLodestone(plane)
  const directory = await writeAmoroSystem(plane.dir, amoro, '1s')
  lodestone = await startLodestone(plane, { kubeconfig, config: { systems: { directory } } })
  const [first = ''] = tables
  await plane.apply([tableClaim('web', { data: first }), policy('web'), deployment('web')])
  const others = tables
    .slice(1)
    .map((table, i) => tableClaim(`other-${i}`, { data: table, workload: deployment('web') }))
  await plane.apply(others)
  await plane.eventually('all tables are located', async () => (await phases()).every((phase) => phase === 'Available'))
  await plane.eventually('the workload is with its data', async () => (await clusters()) === 'member1,member2')
  before = (await settled('its binding', binding)).metadata['generation']
})

beforeEach(async () => {
  amoro.fault = undefined
  await plane.eventually('no source has an error', async () => (await errors()).length === 0)
})

afterAll(async () => {
  await amoro?.stop()
  await stopAndCheckRights({ plane, lodestones: [lodestone] })
})

test('a catalog that flaps between 200 and 404 moves nothing, and no source is lost', async () => {
  const answers = new Map<string, number>()
  amoro.fault = (response) => {
    const table = response.req.url ?? ''
    const count = (answers.get(table) ?? 0) + 1
    answers.set(table, count)
    return count % 2 === 0 ? located(response) : refuse(response, 404, missing)
  }
  // Three answers in a row would be believed.
  await plane.eventually('each table was asked for often', async () => {
    return answers.size >= tables.length && Math.min(...answers.values()) >= 6
  })

  expect(await phases()).toEqual(tables.map(() => 'Available'))
  expect(await clusters()).toBe('member1,member2')
  expect((await binding())?.metadata['generation']).toBe(before)
})

test('a catalog that answers 404 about something else moves nothing and is reported', async () => {
  amoro.fault = (response) => refuse(response, 404, ofAnother)
  await plane.eventually('the errors are recorded', async () => (await errors()).length === tables.length)

  expect(await phases()).toEqual(tables.map(() => 'Available'))
  expect((await binding())?.metadata['generation']).toBe(before)
})

test('a catalog that answers 429 gets few queries, and everything recovers', async () => {
  const refusedAt: number[] = []
  amoro.fault = (response) => {
    refusedAt.push(performance.now())
    response.setHeader('retry-after', '3')
    return refuse(response, 429, { message: 'slow down', code: 429 })
  }
  // Without the pause, 40 sources would ask every second.
  const pauses = () => refusedAt.slice(-3).map((at, i, last) => at - (last[i - 1] ?? at - 3000))
  await plane.eventually('one query comes after each pause', async () => {
    return refusedAt.length > 3 && pauses().every((ms) => ms > 2900)
  })
  expect(refusedAt.length).toBeLessThan(3 * tables.length)

  expect((await binding())?.metadata['generation']).toBe(before)
  expect(await phases()).toEqual(tables.map(() => 'Available'))
})

interface SourceObject extends KubeObject {
  status?: { phase?: string; lastError?: string }
}

interface BindingObject extends KubeObject {
  spec: { clusters?: { name: string }[] }
}

function located(response: ServerResponse): void {
  const location = 's3://warehouse-1/t'
  const metadata = { 'format-version': 2, location, properties: {} }
  const body = { 'metadata-location': `${location}/metadata/v1.metadata.json`, metadata, config: {} }
  response.writeHead(200, { 'content-type': 'application/json' }).end(JSON.stringify(body))
}

function refuse(response: ServerResponse, status: number, error: object): void {
  response.writeHead(status, { 'content-type': 'application/json' }).end(JSON.stringify({ error }))
}

async function sources(): Promise<SourceObject[]> {
  return (await plane.listJson('datasources')) as SourceObject[]
}

async function phases(): Promise<(string | undefined)[]> {
  const found = await sources()
  return found.length === tables.length ? found.map(({ status }) => status?.phase) : [undefined]
}

async function errors(): Promise<string[]> {
  return (await sources()).flatMap(({ status }) => status?.lastError ?? [])
}

async function binding(): Promise<BindingObject | undefined> {
  return (await plane.getJson('resourcebindings.work.karmada.io', 'web-deployment', 'default')) as
    | BindingObject
    | undefined
}

async function clusters(): Promise<string> {
  return clusterNames(await binding())
}
