// A replica that is suspended while the API server answers its request for the Lease. Another one takes over, and the first one writes
// nothing when it continues. `npm run e2e:full` runs it.
import { afterAll, beforeAll, beforeEach, expect, test } from 'vitest'
import { type AmoroServer, startAmoroServer, writeAmoroSystem } from './amoro-server.ts'
import type { KubeObject } from './api-client.ts'
import { type ApiGate, type GatedRequest, startApiGate } from './api-gate.ts'
import { type ControlPlane, startControlPlane } from './control-plane.ts'
import { installLodestone, type Lodestone, leaseRights, lodestoneUser, startLodestone } from './lodestone.ts'
import { tableClaim } from './manifests.ts'
import { stopAndCheckRights } from './rights.ts'

const table = 'catalog.database.events'

let plane: ControlPlane
let amoro: AmoroServer
let gate: ApiGate
// The replica that is suspended.
let first: Lodestone
let second: Lodestone

beforeAll(async () => {
  plane = await startControlPlane()
  amoro = await startAmoroServer({ [table]: 's3://warehouse-1/events' })
  const directory = await writeAmoroSystem(plane.dir, amoro, '1h')
  const kubeconfig = await installLodestone(plane)
  await plane.apply(leaseRights())
  gate = await startApiGate(plane, lodestoneUser)
  const config = { systems: { directory }, leaderElection: { enabled: true }, registration: { mode: 'none' } }
  // Its writes wait for each other, so that there are some when it is suspended.
  const slow = { ...config, loops: { writesPerSecond: 1 } }
  first = await startLodestone(plane, { name: 'first', kubeconfig: gate.kubeconfig, config: slow })
  second = await startLodestone(plane, { name: 'second', kubeconfig, config })
})

afterAll(async () => {
  await stopAndCheckRights({ plane, lodestones: [first, second] })
  await amoro?.stop()
})

beforeEach(async () => {
  await second.stop()
  await plane.eventually('the first replica leads', () => leads(first))
})

test('a leader that is suspended while its Lease is renewed writes nothing afterwards', async () => {
  await second.restart()
  await createClaims('waiting', 30)
  const answer = await gate.holdAnswer(isLeaseWrite)
  process.kill(first.pid, 'SIGSTOP')
  const waiting = await unbound('waiting')
  answer()
  await plane.eventually('the second replica leads', () => leads(second))
  await plane.eventually('it does the work', async () => (await unbound('waiting')) === 0)
  expect(waiting, 'claims whose writes waited in the first replica').toBeGreaterThan(0)
  await createClaims('meanwhile', 10)
  await plane.eventually('it does new work', async () => (await unbound('meanwhile')) === 0)

  await continueWithoutWrites()
  await second.stop()
  await plane.eventually('the first replica leads again', () => leads(first))
  await createClaims('later', 1)
  await plane.eventually('it does the work', async () => (await unbound('later')) === 0)
})

test('a candidate that is suspended while it acquires the Lease starts no work late', async () => {
  await first.stop()
  const earlier = (await first.readLog()).length
  const held = gate.holdAnswer(isLeaseWrite)
  await first.restart()
  const answer = await held
  process.kill(first.pid, 'SIGSTOP')
  answer()
  await second.restart()
  await plane.eventually('the second replica leads', () => leads(second))
  await createClaims('acquired', 10)
  await plane.eventually('it does the work', async () => (await unbound('acquired')) === 0)

  await continueWithoutWrites()
  expect((await first.readLog()).slice(earlier)).not.toContain('this replica is no longer the leader')
})

// Continues the first replica. Until it has asked for the Lease again, and been refused, it writes nothing.
async function continueWithoutWrites(): Promise<void> {
  const holder = await leaseHolder()
  const before = gate.requests.length
  process.kill(first.pid, 'SIGCONT')
  const since = () => gate.requests.slice(before)
  await plane.eventually(
    'the first replica reads the Lease twice',
    async () => since().filter(({ method, path }) => method === 'GET' && isOfLease(path)).length >= 2,
  )
  expect(await first.metric('leader_election_master_status')).toBe(0)
  expect(await second.metric('leader_election_master_status')).toBe(1)
  expect(await leaseHolder()).toBe(holder)
  // The probe of the webhooks stores nothing.
  const writes = since().filter(({ method, path }) => method !== 'GET' && !path.includes('dryRun=All'))
  expect(writes.filter(({ path }) => !isOfLease(path)).map(({ method, path }) => `${method} ${path}`)).toEqual([])
}

interface ClaimObject extends KubeObject {
  status?: { phase?: string }
}

interface LeaseObject extends KubeObject {
  spec: { holderIdentity: string }
}

async function createClaims(prefix: string, count: number): Promise<void> {
  const claims = Array.from({ length: count }, (_, i) => tableClaim(`${prefix}-${i}`, { data: table }))
  await plane.apply(claims)
}

async function unbound(prefix: string): Promise<number> {
  const claims = (await plane.listJson('datasourceclaims', 'default')) as ClaimObject[]
  return claims.filter(({ metadata, status }) => metadata.name.startsWith(prefix) && status?.phase !== 'Bound').length
}

async function leads(lodestone: Lodestone): Promise<boolean> {
  return (await lodestone.metric('leader_election_master_status')) === 1
}

async function leaseHolder(): Promise<unknown> {
  const lease = await plane.getJson('leases', 'lodestone', 'lodestone-system')
  return (lease as LeaseObject | undefined)?.spec.holderIdentity
}

function isLeaseWrite({ method, path }: GatedRequest): boolean {
  return method !== 'GET' && isOfLease(path)
}

function isOfLease(path: string): boolean {
  return path.includes('/leases')
}
