// The data of running workloads moves, on a real Karmada: which workloads move with it, which stay, and how many move at once.
import { afterAll, beforeAll, expect, test } from 'vitest'
import { type AmoroServer, startAmoroServer, writeAmoroSystem } from './amoro-server.ts'
import type { KubeObject } from './api-client.ts'
import { type ControlPlane, startControlPlane } from './control-plane.ts'
import { clusterNames } from './hub.ts'
import { installLodestone, type Lodestone, startLodestone } from './lodestone.ts'
import {
  deployment,
  job,
  persistentVolumeClaim,
  policy,
  type SpecObject,
  statefulSet,
  tableClaim,
} from './manifests.ts'
import { stopAndCheckRights } from './rights.ts'

// So few that three turns take longer than a restart of Karmada's controllers.
const movesPerMinute = 12
const refillMs = 60_000 / movesPerMinute

let plane: ControlPlane
let amoro: AmoroServer
let lodestone: Lodestone

beforeAll(async () => {
  plane = await startControlPlane()
  amoro = await startAmoroServer({})
  const directory = await writeAmoroSystem(plane.dir, amoro, '1s')
  const kubeconfig = await installLodestone(plane)
  lodestone = await startLodestone(plane, {
    kubeconfig,
    config: { systems: { directory }, loops: { maxMovesPerMinute: movesPerMinute } },
  })
})

afterAll(async () => {
  await amoro?.stop()
  await stopAndCheckRights({ plane, lodestones: [lodestone] })
})

test('when the data moves, a Deployment goes with it and a Job stays where it began', async () => {
  await runsByItsData(deployment('follows'), job('finishes'))

  moveData('follows', 'finishes')

  await plane.eventually('the Deployment moves', async () => (await clustersOf(deployment('follows'))) === 'member3')
  await staysAndSaysSo(job('finishes'))
})

test('rebalance Never keeps a Deployment where it is', async () => {
  await runsByItsData({ ...deployment('anchored'), rebalance: 'Never' })

  moveData('anchored')

  await staysAndSaysSo(deployment('anchored'))
})

test('a Deployment follows its data when its policy no longer preserves its copies', async () => {
  const preserved: Workload = { ...deployment('preserved'), preserves: true }
  await runsByItsData(preserved)

  moveData('preserved')

  await staysAndSaysSo(preserved)
  await plane.apply([policy('preserved', { preserveResourcesOnDeletion: false })])
  await plane.eventually('the Deployment moves', async () => (await clustersOf(preserved)) === 'member3')
})

test('a Deployment follows its data when its policy no longer preserves its state', async () => {
  const rules = [{ aliasLabelName: 'ready', jsonPath: '{.readyReplicas}' }]
  const failover = { application: { decisionConditions: { tolerationSeconds: 300 }, statePreservation: { rules } } }
  const withState: Workload = { ...deployment('with-state'), failover }
  await runsByItsData(withState)

  moveData('with-state')

  await staysAndSaysSo(withState)
  await plane.kubectl([
    'patch',
    'propagationpolicy',
    'with-state',
    '--type=merge',
    '--patch={"spec":{"failover":null}}',
  ])
  await plane.eventually('the Deployment moves', async () => (await clustersOf(withState)) === 'member3')
})

test('a Deployment follows its data only without a PersistentVolumeClaim', async () => {
  const disk = persistentVolumeClaim('stateful-disk')
  const stateful = deployment('stateful', { needs: [disk] })
  await plane.apply([disk])
  await runsByItsData(stateful)
  await plane.eventually('the disk follows', async () => (await bindingOf(disk)).spec.requiredBy?.length === 1)

  moveData('stateful')

  await staysAndSaysSo(stateful)
  expect((await bindingOf(disk)).spec.requiredBy).toMatchObject([
    { clusters: [{ name: 'member1' }, { name: 'member2' }] },
  ])
  const withoutDisk = '[{"op":"remove","path":"/spec/template/spec/volumes"}]'
  await plane.kubectl(['patch', 'deployment', 'stateful', '--type=json', `--patch=${withoutDisk}`])
  await plane.eventually('the Deployment moves', async () => (await clustersOf(stateful)) === 'member3')
})

test('a StatefulSet follows its data only without templates of PersistentVolumeClaims', async () => {
  const [database, cache] = [statefulSet('database', ['data']), statefulSet('cache', [])]
  await runsByItsData(database, cache)

  moveData('database', 'cache')

  await plane.eventually('the one without moves', async () => (await clustersOf(cache)) === 'member3')
  await staysAndSaysSo(database)
})

test('a Deployment follows its data when its policy no longer suspends dispatching', async () => {
  const paused: Workload = { ...deployment('paused'), rebalance: 'Always' }
  await runsByItsData(paused)
  const suspend = (dispatching: boolean) =>
    plane.apply([{ ...policy('paused'), spec: { ...policy('paused').spec, suspension: { dispatching } } }])
  await suspend(true)
  await plane.eventually('it is suspended', async () => (await bindingOf(paused)).spec.suspension?.dispatching)

  moveData('paused')

  await staysAndSaysSo(paused)
  await suspend(false)
  await plane.eventually('the Deployment moves', async () => (await clustersOf(paused)) === 'member3')
})

test('rebalance Always moves even a Job', async () => {
  await runsByItsData({ ...job('restartable'), rebalance: 'Always' })

  moveData('restartable')

  await plane.eventually('the Job moves', async () => (await clustersOf(job('restartable'))) === 'member3')
})

test('when the data of many moves at once, the budget limits the moves, until the end', async () => {
  const names = Array.from({ length: movesPerMinute + 3 }, (_, i) => `fleet-${i}`)
  const fleet = names.map((name) => deployment(name))
  await runsByItsData(...fleet)
  // The moves of other tests are not to count: the budget of a new process is full.
  await lodestone.restart()
  // Lodestone first corrects the writes of Karmada during the restart; a workload that the scheduler placed by them has to move.
  await runWhereTheirDataIs(fleet)
  const madeGood = await lodestone.metric('lodestone_moves_total')

  const started = Date.now()
  moveData(...names)

  const seen: { moved: number; budget: number }[] = []
  const waiting = new Set<string>()
  let restarted: Promise<void> | undefined
  await plane.eventually(
    'all have moved',
    async () => {
      const moved = (await Promise.all(fleet.map(allowedOf))).filter((allowed) => allowed === 'member3').length
      // Taken after the answer: by then the budget was at least as large as when the last of them moved.
      seen.push({ moved, budget: Math.floor(movesPerMinute + (Date.now() - started) / refillMs) })
      // It writes every binding again at its start: no write of another's is an opportunity to move.
      if (moved === movesPerMinute) restarted ??= plane.restart('karmada-controller-manager')
      for (const workload of fleet) if (await saysKept(workload)) waiting.add(workload.metadata.name)
      return moved === fleet.length
    },
    150_000,
  )
  await restarted
  expect(seen.filter(({ moved, budget }) => moved > budget)).toEqual([])
  const counts = seen.map(({ moved }) => moved)
  const oneByOne = [0, 1, 2, 3].map((more) => movesPerMinute + more)
  expect(counts, 'a full budget at once, then one by one').toEqual(expect.arrayContaining(oneByOne))
  expect(waiting.size, 'Karmada wrote bindings whose turn had not come').toBeGreaterThan(0)
  expect(await lodestone.metric('lodestone_moves_total')).toBe(madeGood + fleet.length)
  await plane.eventually('all run where their data is now', async () => {
    const clusters = await Promise.all(fleet.map(clustersOf))
    return clusters.every((names) => names === 'member3')
  })
})

interface BindingObject extends KubeObject {
  spec: {
    clusters?: { name: string }[]
    placement: { clusterAffinity?: { clusterNames?: string[] } }
    suspension?: { dispatching?: boolean }
    requiredBy?: { clusters?: { name: string }[] }[]
  }
}

type Workload = SpecObject & { rebalance?: 'Always' | 'Never'; preserves?: boolean; failover?: object }

// Returns when every workload is scheduled to the two clusters of warehouse 1.
async function runsByItsData(...workloads: Workload[]): Promise<void> {
  const objects = workloads.flatMap(({ rebalance, preserves, failover, ...workload }) => {
    const { name } = workload.metadata
    amoro.tables.set(tableOf(name), `s3://warehouse-1/${name}`)
    const needs = tableClaim(name, { data: tableOf(name), workload, ...(rebalance && { policy: { rebalance } }) })
    const fields = { ...(preserves && { preserveResourcesOnDeletion: true }), ...(failover && { failover }) }
    return [needs, policy(name, { workload, ...fields }), workload]
  })
  await plane.create(...objects)
  await runWhereTheirDataIs(workloads)
}

async function runWhereTheirDataIs(workloads: Workload[]): Promise<void> {
  await plane.eventually('all run where their data is', async () => {
    const clusters = await Promise.all([...workloads.map(clustersOf), ...workloads.map(allowedOf)])
    return clusters.every((names) => names === 'member1,member2')
  })
}

function moveData(...names: string[]): void {
  for (const name of names) amoro.tables.set(tableOf(name), `s3://warehouse-2/${name}`)
}

function tableOf(name: string): string {
  return `catalog.database.${name}`
}

async function staysAndSaysSo(workload: KubeObject): Promise<void> {
  await plane.eventually('the move is recorded', () => saysKept(workload))
  expect(await allowedOf(workload)).toBe('member1,member2')
  expect(await clustersOf(workload)).toBe('member1,member2')
}

async function saysKept(workload: KubeObject): Promise<boolean> {
  const { annotations } = (await bindingOf(workload)).metadata
  return annotations?.['lodestone.dev/locality']?.includes('"Kept"') ?? false
}

async function bindingOf({ kind, metadata }: KubeObject): Promise<BindingObject> {
  const name = `${metadata.name}-${kind.toLowerCase()}`
  const found = await plane.getJson('resourcebindings.work.karmada.io', name, 'default')
  if (!found) throw new Error(`there is no binding ${name}`)
  return found as BindingObject
}

async function clustersOf(workload: KubeObject): Promise<string> {
  return clusterNames(await bindingOf(workload))
}

async function allowedOf(workload: KubeObject): Promise<string> {
  const { clusterAffinity } = (await bindingOf(workload)).spec.placement
  return (clusterAffinity?.clusterNames ?? []).toSorted().join()
}
