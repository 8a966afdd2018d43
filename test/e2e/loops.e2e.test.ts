// Claims resolve themselves, in any order, on a real Karmada with a server that speaks like Amoro.
import { afterAll, beforeAll, describe, expect, test } from 'vitest'
import { stringify } from 'yaml'
import { type AmoroServer, startAmoroServer, writeAmoroSystem } from './amoro-server.ts'
import type { KubeObject } from './api-client.ts'
import { type ControlPlane, startControlPlane } from './control-plane.ts'
import { installLodestone, type Lodestone, startLodestone } from './lodestone.ts'
import { deployment, job, policy, type SpecObject, tableClaim } from './manifests.ts'
import { settled } from './poll.ts'
import { stopAndCheckRights } from './rights.ts'

let plane: ControlPlane
let amoro: AmoroServer
let lodestone: Lodestone

beforeAll(async () => {
  plane = await startControlPlane()
  amoro = await startAmoroServer({
    'dc1.db.user': 's3://your-warehouse-dc1/db/user',
    'dc1.db.order': 's3://your-warehouse-dc1/db/order',
    'dc2.analytics.metrics': 's3://your-warehouse-dc2/analytics/metrics',
  })
  // Those of volcano-global's deploy guide, with cluster names of this fleet.
  const warehouses = { 's3://your-warehouse-dc1/': ['member1', 'member2'], 's3://your-warehouse-dc2/': ['member3'] }
  const directory = await writeAmoroSystem(plane.dir, amoro, '1s', warehouses)
  const kubeconfig = await installLodestone(plane)
  const config = { systems: { directory }, placement: { releaseDelaySeconds: 1 } }
  lodestone = await startLodestone(plane, { kubeconfig, config })
})

afterAll(async () => {
  await amoro?.stop()
  await stopAndCheckRights({ plane, lodestones: [lodestone] })
})

describe('1. in every order of claim, workload and policy', () => {
  type Order = readonly ('claim' | 'workload' | 'policy')[]
  const claimBeforeLast: Order[] = [
    ['claim', 'workload', 'policy'],
    ['claim', 'policy', 'workload'],
    ['workload', 'claim', 'policy'],
    ['policy', 'claim', 'workload'],
  ]
  const claimLast: Order[] = [
    ['workload', 'policy', 'claim'],
    ['policy', 'workload', 'claim'],
  ]

  /** Creates a workload with its claim and its policy, and waits until it is scheduled to its data. */
  async function place(order: Order, name: string, ofWorkload = policy(name)): Promise<void> {
    const claim = claimOf(name, 'dc2.analytics.metrics')
    const objects = { claim, workload: deployment(name), policy: ofWorkload }
    for (const part of order) await plane.create(objects[part])
    await plane.eventually('it is where its data is', async () => (await clustersOf(name)).join() === 'member3', 30_000)
  }

  const nameOf = (prefix: string, order: Order) => `${prefix}-${order.map((part) => part[0]).join('')}`

  test.each(claimLast)('%s, %s, %s: the workload moves to its data', async (...order) => {
    await place(order, nameOf('order', order))
  })

  test.each(claimBeforeLast)('%s, %s, %s: the workload never has a Work elsewhere', async (...order) => {
    const name = nameOf('order', order)
    await place(order, name)
    expect(await membersWithWorks(name)).toEqual(['member3'])
  })

  test.each([...claimBeforeLast, ...claimLast])(
    '%s, %s, %s with requires-claim: the workload never has a Work elsewhere',
    async (...order) => {
      const name = nameOf('strict', order)
      const strict = policy(name)
      strict.metadata.annotations = { 'lodestone.dev/requires-claim': 'true' }
      await place(order, name, strict)
      expect(await membersWithWorks(name)).toEqual(['member3'])
    },
  )
})

test('2. a catalog that is down holds the workload, and its return releases it', async () => {
  await amoro.stop()
  amoro.tables.set('dc1.db.late', 's3://your-warehouse-dc1/db/late')
  await plane.create(claimOf('late', 'dc1.db.late'), policy('late'), deployment('late'))
  const held = await plane.eventually('it is held', async () => {
    const found = await bindingOf('late')
    return found?.spec.suspension?.scheduling && found
  })
  expect(held.metadata.annotations?.['lodestone.dev/hold']).toContain('default/late')

  await amoro.start()
  await plane.eventually(
    'it is released and scheduled',
    async () => (await clustersOf('late')).join() === 'member1,member2',
    60_000,
  )
})

test('3. the data moves: a Deployment moves with it', async () => {
  amoro.tables.set('dc1.db.moving', 's3://your-warehouse-dc1/db/moving')
  await plane.create(claimOf('moving', 'dc1.db.moving'), policy('moving'), deployment('moving'))
  await plane.eventually(
    'it is where its data is',
    async () => (await clustersOf('moving')).join() === 'member1,member2',
  )

  amoro.tables.set('dc1.db.moving', 's3://your-warehouse-dc2/db/moving')

  await plane.eventually('it moves', async () => (await clustersOf('moving')).join() === 'member3')
})

test('3. the data moves: a Job stays where it began', async () => {
  amoro.tables.set('dc1.db.batch', 's3://your-warehouse-dc1/db/batch')
  const batch = job('batch')
  await plane.create(
    tableClaim('batch', { data: 'dc1.db.batch', workload: batch }),
    policy('batch', { workload: batch }),
    batch,
  )
  const clusters = async () =>
    (
      (await plane.getJson('resourcebindings.work.karmada.io', 'batch-job', 'default')) as BindingObject | undefined
    )?.spec.clusters
      ?.map(({ name }) => name)
      .sort()
      .join()
  await plane.eventually('it is where its data is', async () => (await clusters()) === 'member1,member2')

  amoro.tables.set('dc1.db.batch', 's3://your-warehouse-dc2/db/batch')

  await plane.eventually('the move is recorded', async () => {
    const found = await plane.getJson('resourcebindings.work.karmada.io', 'batch-job', 'default')
    return found?.metadata.annotations?.['lodestone.dev/locality']?.includes('"Kept"')
  })
  expect(await clusters()).toBe('member1,member2')
})

test('2. a hold that lasts longer than the claim allows is released, with an Event', async () => {
  amoro.fault = (response) => response.writeHead(503).end()
  const impatient = claimOf('impatient', 'dc1.db.never')
  impatient.spec['policy'] = { holdTimeoutSeconds: 10 }
  await plane.create(impatient, policy('impatient'), deployment('impatient'))
  await plane.eventually('it is held', async () => (await bindingOf('impatient'))?.spec.suspension?.scheduling)

  await plane.eventually('it goes without', async () => (await clustersOf('impatient')).length === 3)
  amoro.fault = undefined
  await plane.eventually('kubectl describe tells it', async () => {
    const { stdout } = await plane.kubectl(['describe', 'rb', 'impatient-deployment'])
    return stdout.includes('LocalityHoldReleased')
  })
})

test('4. no answer of the catalog moves the workload; the third "no such table" counts', async () => {
  amoro.tables.set('dc1.db.steady', 's3://your-warehouse-dc1/db/steady')
  await plane.create(claimOf('steady', 'dc1.db.steady'), policy('steady'), deployment('steady'))
  await plane.eventually(
    'it is where its data is',
    async () => (await clustersOf('steady')).join() === 'member1,member2',
  )
  const before = (await settled('its binding', () => bindingOf('steady'))).metadata['generation']
  const sourceIs = (phase: string) => async () => (await sourceOf('dc1.db.steady'))?.status?.['phase'] === phase

  let once = 1
  amoro.fault = (response) => {
    if (once-- > 0)
      response
        .writeHead(404, { 'content-type': 'application/json' })
        .end('{"error":{"message":"gone","type":"NoSuchTableException","code":404}}')
    else if (once > -4) response.writeHead(500).end('oops')
    else response.writeHead(200, { 'content-type': 'text/html' }).end('<html>a proxy</html>')
  }
  await plane.eventually('faults were answered', async () => once < -8)
  await plane.eventually('the fault is recorded', async () => (await sourceOf('dc1.db.steady'))?.status?.['lastError'])
  expect(await sourceIs('Available')()).toBe(true)
  amoro.fault = undefined
  await plane.eventually('it recovers', async () => !(await sourceOf('dc1.db.steady'))?.status?.['lastError'])

  amoro.tables.delete('dc1.db.steady')
  await plane.eventually('it is unavailable', sourceIs('Unavailable'), 30_000)
  expect(await clustersOf('steady')).toEqual(['member1', 'member2'])
  expect((await bindingOf('steady'))?.metadata['generation']).toBe(before)
})

test('5. a deleted claim gives the base back; a source deleted by hand is made again', async () => {
  await plane.create(claimOf('leaving', 'dc1.db.user'), policy('leaving'), deployment('leaving'))
  await plane.eventually(
    'it is where its data is',
    async () => (await clustersOf('leaving')).join() === 'member1,member2',
  )

  const [{ metadata }] = (await plane.listJson('datasources')).filter(
    ({ spec }) => (spec as { name: string }).name === 'dc1.db.user',
  ) as [KubeObject]
  await plane.kubectl(['delete', 'datasource', metadata.name])
  await plane.eventually('it is made again', async () => {
    const again = await plane.getJson('datasources', metadata.name)
    return (
      again &&
      again.metadata['uid'] !== metadata['uid'] &&
      (again['status'] as { phase?: string })?.phase === 'Available'
    )
  })

  await plane.kubectl(['delete', 'dsc', 'leaving'])
  await plane.eventually(
    'the base is back',
    async () => (await clustersOf('leaving')).join() === 'member1,member2,member3',
  )
})

test('8. workloads are placed as in the table of the deploy guide', async () => {
  await plane.create(
    claimOf('guide-user', 'dc1.db.user'),
    claimOf('guide-order', 'dc1.db.order'),
    claimOf('guide-metrics', 'dc2.analytics.metrics'),
  )

  const rows = await plane.eventually('all are bound', async () => {
    const claims = ((await plane.listJson('datasourceclaims', 'default')) as ClaimObject[]).filter(({ metadata }) =>
      metadata.name.startsWith('guide-'),
    )
    return claims.length === 3 && claims.every(({ status }) => status?.phase === 'Bound')
  })
  expect(rows).toBe(true)
  const table = await Promise.all(
    ['dc1.db.user', 'dc1.db.order', 'dc2.analytics.metrics'].map(
      async (data) => (await sourceOf(data))?.spec['locality'],
    ),
  )
  expect(table).toMatchObject([
    { location: 's3://your-warehouse-dc1/db/user', clusterNames: ['member1', 'member2'] },
    { location: 's3://your-warehouse-dc1/db/order', clusterNames: ['member1', 'member2'] },
    { location: 's3://your-warehouse-dc2/analytics/metrics', clusterNames: ['member3'] },
  ])
})

test('9. admission adds the finalizer of a new claim, and server-side apply keeps it', async () => {
  const claim = claimOf('applied', 'dc1.db.user')
  const input = (...finalizers: string[]) => stringify({ ...claim, metadata: { ...claim.metadata, finalizers } })
  const finalizersOf = ({ stdout }: { stdout: string }) => (JSON.parse(stdout) as KubeObject).metadata['finalizers']
  const create = ['create', '--dry-run=server', '-o', 'json', '-f', '-']
  // No loop sees a dry run.
  const tried = [input(), input('example.com/x'), input('lodestone.dev/claim')]
  const answers = await Promise.all(tried.map((text) => plane.kubectl(create, { input: text })))
  expect(answers.map(finalizersOf)).toEqual([
    ['lodestone.dev/claim'],
    ['example.com/x', 'lodestone.dev/claim'],
    ['lodestone.dev/claim'],
  ])

  const apply = ['apply', '--server-side', '--field-manager=gitops', '--show-managed-fields', '-o', 'json', '-f', '-']
  const manifest = { input: stringify(claim) }
  const first = await plane.kubectl(apply, manifest)
  const { managedFields } = (JSON.parse(first.stdout) as KubeObject).metadata as { managedFields?: object[] }
  expect(managedFields).toHaveLength(1)
  expect(JSON.stringify(managedFields)).not.toContain('f:finalizers')
  expect(finalizersOf(await plane.kubectl(apply, manifest))).toEqual(['lodestone.dev/claim'])
})

interface BindingObject extends KubeObject {
  spec: { clusters?: { name: string }[]; suspension?: { scheduling?: boolean } }
}

interface ClaimObject extends KubeObject {
  status?: { phase?: string }
}

type SourceObject = SpecObject & { status?: Record<string, unknown> }

const claimOf = (name: string, data: string) => tableClaim(name, { data })

async function bindingOf(name: string): Promise<BindingObject | undefined> {
  return (await plane.getJson('resourcebindings.work.karmada.io', `${name}-deployment`, 'default')) as
    | BindingObject
    | undefined
}

async function clustersOf(name: string): Promise<string[]> {
  return ((await bindingOf(name))?.spec.clusters ?? []).map((cluster) => cluster.name).sort()
}

async function sourceOf(data: string): Promise<SourceObject | undefined> {
  const sources = (await plane.listJson('datasources')) as SourceObject[]
  return sources.find(({ spec }) => spec['name'] === data)
}

// The members that ever had a Work for it, after the first Work exists.
async function membersWithWorks(name: string): Promise<string[]> {
  return plane.eventually('it has a Work', async () => {
    const members = await everIn(name)
    return members.length > 0 && members
  })
}

// Without an execution controller, a deleted Work remains, marked as deleted.
async function everIn(name: string): Promise<string[]> {
  const members = ['member1', 'member2', 'member3']
  const found = await Promise.all(
    members.map(async (member) => {
      const works = (await plane.listJson('works.work.karmada.io', `karmada-es-${member}`)) as (KubeObject & {
        spec: { workload: { manifests: KubeObject[] } }
      })[]
      return works.some(({ spec }) => spec.workload.manifests.some(({ metadata }) => metadata.name === name))
        ? [member]
        : []
    }),
  )
  return found.flat()
}
