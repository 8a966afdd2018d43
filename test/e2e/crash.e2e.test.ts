// Leaders that are killed at any moment: what they leave behind is finished by the next one, and nothing is done twice.
import { setTimeout as sleep } from 'node:timers/promises'
import { afterAll, beforeAll, expect, test } from 'vitest'
import { randomFrom } from '../random.ts'
import { type AmoroServer, startAmoroServer, writeAmoroSystem } from './amoro-server.ts'
import type { KubeObject } from './api-client.ts'
import { type ControlPlane, startControlPlane } from './control-plane.ts'
import { isFull } from './full.ts'
import { installLodestone, type Lodestone, leaseRights, startLodestone } from './lodestone.ts'
import { logToStderr } from './log.ts'
import { binding, type SpecObject, tableClaim } from './manifests.ts'
import { stopAndCheckRights } from './rights.ts'

const kills = isFull ? 50 : 5
const claimsPerLife = 10
const claimCount = kills * claimsPerLife
// Some claims share a table.
const tableCount = kills * 4
// The claims of the second test.
const [orphan, late] = [claimCount, claimCount + 1]
const base = '{"clusterAffinity":{"clusterNames":["member1","member2","member3"]}}'
const leasePath = '/apis/coordination.k8s.io/v1/namespaces/lodestone-system/leases'
const seed = Number(process.env['LODESTONE_E2E_SEED'] ?? 20)

let plane: ControlPlane
let amoro: AmoroServer
let replicas: Lodestone[]

beforeAll(async () => {
  plane = await startControlPlane()
  // The bindings are written by the tests, and it would look for their workloads. The scheduler stays.
  await plane.stop('karmada-controller-manager')
  const tables = Array.from({ length: claimCount + 2 }, (_, i) => tableOf(i))
  amoro = await startAmoroServer(Object.fromEntries(tables.map((table) => [tableName(table), location(table)])))
  // No query is due again, so every write has another reason.
  const directory = await writeAmoroSystem(plane.dir, amoro, '1h')
  const kubeconfig = await installLodestone(plane)
  await plane.apply(leaseRights())
  const config = {
    systems: { directory },
    // Slow, so that there is always unfinished work when the leader dies; moves are no subject here.
    loops: { writesPerSecond: 25, maxMovesPerMinute: 10_000 },
    leaderElection: { enabled: true },
  }
  replicas = [
    await startLodestone(plane, { name: 'first', kubeconfig, config }),
    // Only one address can be registered. While the first is dead no replica answers reviews: one more thing to repair.
    await startLodestone(plane, { name: 'second', kubeconfig, config: { ...config, registration: { mode: 'none' } } }),
  ]
})

afterAll(async () => {
  await amoro?.stop()
  await stopAndCheckRights({ plane, lodestones: replicas ?? [] })
})

test(`${claimCount} claims become Bound although the leader is killed ${kills} times`, async () => {
  const random = randomFrom(seed)
  const ids = random.shuffled(Array.from({ length: claimCount }, (_, i) => i))
  const restarts = new Map<Lodestone, Promise<void>>()
  const unfinished: number[] = []
  try {
    for (let life = 0; life < kills; life++) {
      const leader = await plane.eventually('one leads', leading, 60_000, 20)
      await restarts.get(leader)
      const moment = sleep(random.next() * 1000)
      const batch = ids.slice(life * claimsPerLife, (life + 1) * claimsPerLife)
      await createAll(random.shuffled(batch.flatMap(claimAndBinding)))
      await moment
      await leader.kill()
      unfinished.push((await mistakes(ids.slice(0, (life + 1) * claimsPerLife))).length)
      // Its Lease would be taken for 15 s more, which another test waits for.
      await plane.api.request('DELETE', `${leasePath}/lodestone`)
      restarts.set(leader, leader.restart())
    }
  } finally {
    await Promise.allSettled(restarts.values())
  }
  logToStderr(`seed ${seed}; mistakes left to repair at each kill: ${unfinished.join(' ')}`)

  await plane.eventually(
    'everything is right',
    async () => {
      expect(await mistakes(ids)).toEqual([])
      return true
    },
    180_000,
  )
  const sources = (await plane.listJson('datasources')) as SourceObject[]
  const ofOtherTest = [orphan, late].map((id) => tableName(tableOf(id)))
  const left = sources.filter(({ spec }) => !ofOtherTest.includes(spec.name))
  expect(left, 'no source is left over').toHaveLength(tableCount)
  expect(unfinished.filter((count) => count > 0).length, 'leaders that died amid their work').toBeGreaterThan(kills / 2)
}, 600_000)

test('a second replica takes over after 15 s, and the first one does not disturb', async () => {
  const leader = await plane.eventually('one leads', leading)
  const successor = replicas.find((replica) => replica !== leader) as Lodestone
  expect(await successor.metric('leader_election_master_status')).toBe(0)

  const lease = await plane.getJson('lease', 'lodestone', 'lodestone-system')
  expect(lease).toMatchObject({ spec: { leaseDurationSeconds: 15 } })
  await leader.kill()
  await createAll(claimAndBinding(orphan))
  await plane.eventually(
    'the other one leads',
    async () => (await successor.metric('leader_election_master_status')) === 1,
  )
  await plane.eventually('the new claim is answered', async () => (await mistakesOfClaims([orphan])).length === 0)

  // The API server calls the first replica alone. Until it answers, the loops that make Karmada write do not begin.
  await leader.restart()
  await plane.eventually('all is quiet', async () => (await mistakes([orphan])).length === 0)
  const before = await versions()
  await createAll(claimAndBinding(late))
  await plane.eventually('the next claim is answered', async () => (await mistakes([late])).length === 0)
  expect(await successor.metric('leader_election_master_status')).toBe(1)
  expect(await leader.metric('leader_election_master_status')).toBe(0)
  expect(await leader.metric('controller_runtime_reconcile_total')).toBe(0)
  expect(await versions()).toMatchObject(before)
})

interface ClaimObject extends SpecObject {
  status?: {
    phase?: string
    boundDataSource?: string
    conditions?: { type: string; reason: string; message: string }[]
  }
}

interface SourceObject extends KubeObject {
  spec: { name: string; locality?: { clusterNames: string[] } }
  status?: { phase?: string; boundClaims?: number; claimRefs?: { name: string; uid: string }[] }
}

interface BindingObject extends KubeObject {
  spec: {
    clusters?: { name: string }[]
    suspension?: object
    placement: { clusterAffinity?: { clusterNames?: string[] } }
  }
}

async function leading(): Promise<Lodestone | undefined> {
  // One that is dead or still starting refuses the connection.
  const found = await Promise.all(
    replicas.map((replica) => replica.metric('leader_election_master_status').catch(() => 0)),
  )
  return replicas.find((_, i) => found[i] === 1)
}

function claimAndBinding(id: number): SpecObject[] {
  const bound = binding(workloadName(id))
  // By this label the scheduler knows bindings that come from a policy, and leaves others alone.
  bound.metadata.labels = { 'propagationpolicy.karmada.io/permanent-id': 'none' }
  return [tableClaim(workloadName(id), { data: tableName(tableOf(id)) }), bound]
}

async function createAll(objects: SpecObject[]): Promise<void> {
  await Promise.all(
    objects.map(async (object) =>
      plane.api.expect('POST', await plane.api.collection(object.kind, object.metadata.namespace), object),
    ),
  )
}

// Returns the differences from the expected end state of these claims, their sources and their bindings.
async function mistakes(ids: number[]): Promise<string[]> {
  const parts = [mistakesOfClaims(ids), mistakesOfSources(ids), mistakesOfBindings(ids), mistakesOfConditions(ids)]
  return (await Promise.all(parts)).flat()
}

async function mistakesOfClaims(ids: number[]): Promise<string[]> {
  const claims = byName((await plane.listJson('datasourceclaims', 'default')) as ClaimObject[])
  return ids.flatMap((id) => {
    const { metadata, status } = claims.get(workloadName(id)) ?? {}
    const isRight =
      status?.phase === 'Bound' &&
      status.boundDataSource === `amoro-table-${tableName(tableOf(id))}` &&
      String(metadata?.['finalizers']) === 'lodestone.dev/claim'
    return isRight ? [] : [`claim ${id}: ${JSON.stringify({ status, finalizers: metadata?.['finalizers'] })}`]
  })
}

async function mistakesOfSources(ids: number[]): Promise<string[]> {
  const claims = (await plane.listJson('datasourceclaims', 'default')) as ClaimObject[]
  const asking = Map.groupBy(claims, ({ spec }) => spec['dataSourceName'])
  const sources = (await plane.listJson('datasources')) as SourceObject[]
  const answering = Map.groupBy(sources, ({ spec }) => spec.name)
  return [...new Set(ids.map(tableOf))].flatMap((table) => {
    const found = answering.get(tableName(table)) ?? []
    const references = (asking.get(tableName(table)) ?? []).map(({ metadata }) => metadata['uid'])
    const [source] = found
    const isRight =
      found.length === 1 &&
      source?.status?.phase === 'Available' &&
      String(source.spec.locality?.clusterNames) === String(clustersOf(table)) &&
      source.status.boundClaims === references.length &&
      String(source.status.claimRefs?.map(({ uid }) => uid).sort()) === String(references.sort())
    return isRight ? [] : [`sources of table ${table}: ${JSON.stringify(found)}`]
  })
}

async function mistakesOfBindings(ids: number[]): Promise<string[]> {
  const bindings = byName((await plane.listJson('resourcebindings.work.karmada.io', 'default')) as BindingObject[])
  return ids.flatMap((id) => {
    const { metadata, spec } = bindings.get(`${workloadName(id)}-deployment`) ?? {}
    const expected = String(clustersOf(tableOf(id)))
    const isRight =
      String(spec?.placement.clusterAffinity?.clusterNames) === expected &&
      String(spec?.clusters?.map(({ name }) => name).sort()) === expected &&
      spec?.suspension === undefined &&
      metadata?.annotations?.['lodestone.dev/base-affinity'] === base &&
      metadata.annotations['lodestone.dev/locality']?.includes('"Narrowed"') &&
      metadata.annotations['lodestone.dev/hold'] === undefined
    return isRight ? [] : [`binding ${id}: ${JSON.stringify({ annotations: metadata?.annotations, spec })}`]
  })
}

// The last write for a binding: its claims say where the workload is placed, a moment after the scheduler chose.
async function mistakesOfConditions(ids: number[]): Promise<string[]> {
  const claims = byName((await plane.listJson('datasourceclaims', 'default')) as ClaimObject[])
  return ids.flatMap((id) => {
    const conditions = claims.get(workloadName(id))?.status?.conditions
    const placed = conditions?.find(({ type }) => type === 'WorkloadPlaced')
    const expected = clustersOf(tableOf(id)).join(', ')
    const isRight = placed?.reason === 'Placed' && placed.message === `the workload is scheduled to ${expected}`
    return isRight ? [] : [`condition of claim ${id}: ${JSON.stringify(placed)}`]
  })
}

// Returns versions that change with every relevant write; the scheduler's status writes to bindings are not relevant.
async function versions(): Promise<Record<string, unknown>> {
  const [claims, sources, bindings] = await Promise.all([
    plane.listJson('datasourceclaims', 'default'),
    plane.listJson('datasources'),
    plane.listJson('resourcebindings.work.karmada.io', 'default'),
  ])
  return Object.fromEntries([
    ...claims.map(({ metadata }) => [`claim ${metadata.name}`, metadata['resourceVersion']]),
    ...sources.map(({ metadata }) => [`source ${metadata.name}`, metadata['resourceVersion']]),
    ...bindings.map(({ metadata }) => [`binding ${metadata.name}`, metadata['generation']]),
  ])
}

function byName<T extends KubeObject>(objects: T[]): Map<string, T> {
  return new Map(objects.map((object) => [object.metadata.name, object]))
}

function workloadName(id: number): string {
  return `workload-${id}`
}

function tableName(table: number): string {
  return `catalog.database.table-${table}`
}

// Claims share tables; each of those beyond the first test has one of its own.
function tableOf(id: number): number {
  return id < claimCount ? id % tableCount : id
}

function warehouseOf(table: number): 1 | 2 {
  return table % 2 === 0 ? 1 : 2
}

function location(table: number): string {
  return `s3://warehouse-${warehouseOf(table)}/table-${table}`
}

function clustersOf(table: number): string[] {
  return warehouseOf(table) === 1 ? ['member1', 'member2'] : ['member3']
}
