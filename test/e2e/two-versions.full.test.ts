// This version and the one before it, side by side and one after the other, while workloads are created. `npm run e2e:full` runs it.
import { mkdir } from 'node:fs/promises'
import { join } from 'node:path'
import { setTimeout as sleep } from 'node:timers/promises'
import { afterAll, beforeAll, expect, test } from 'vitest'
import { resolvedFleet } from '../../bench/harness/fleet.ts'
import { seed } from '../../bench/harness/seed.ts'
import type { KubeObject } from './api-client.ts'
import { type Balancer, startBalancer } from './balancer.ts'
import { logToStderr } from './binaries.ts'
import { type ControlPlane, startControlPlane } from './control-plane.ts'
import { installLodestone, leaseRights } from './lodestone.ts'
import { binding, deployment } from './manifests.ts'
import { previousRelease } from './previous-release.ts'
import { isNarrowed, policyForAll, type Replica, startReplica } from './replicas.ts'

type Version = 'old' | 'new'

const sources = 100
const claims = 6000
const besideMs = 3 * 60_000
const createEveryMs = 100
const namespace = 'default'
const versionAnnotation = 'lodestone.dev/version'

let plane: ControlPlane
let balancer: Balancer
let kubeconfig: string
let oldEntry: string
let started = 0
let created = 0
const failures: string[] = []

beforeAll(async () => {
  oldEntry = await previousRelease()
  // By default it makes ten bindings a second.
  const flags = { 'karmada-controller-manager': ['--rate-limiter-qps=1000', '--rate-limiter-bucket-size=1000'] }
  plane = await startControlPlane({ flags })
  await plane.stop('karmada-scheduler')
  kubeconfig = await installLodestone(plane)
  await plane.apply(leaseRights())
  await seed(plane.url('etcd'), resolvedFleet(binding('first'), { claims, sources, bindings: 0 }))
  await plane.kubectl(['label', 'namespace', namespace, 'lodestone.dev/enforce=true'])
  await mkdir(join(plane.dir, 'certificates'))
  balancer = await startBalancer()
  plane.onStop(() => balancer.stop())
})

afterAll(async () => {
  await plane?.stopAll()
})

test('an upgrade, a downgrade and both versions together lose no request', async () => {
  const loading = new AbortController()
  const replicas: Replica[] = [await start('old'), await start('old')]
  await plane.apply([policyForAll()])
  const load = createWorkloads(loading.signal)
  const steps: Record<string, number> = {}
  const step = async (name: string, run: () => Promise<void>) => {
    const before = await generation()
    await run()
    steps[name] = (await generation()) - before
    logToStderr(`${name}: ${steps[name]} writes of the registration; ${created} workloads, ${failures.length} failed`)
  }

  await step('a new replica beside two old ones', async () => {
    replicas.push(await start('new'))
    await sleep(besideMs)
  })
  await step('the upgrade', async () => {
    await stop(replicas.shift())
    replicas.push(await start('new'))
    await stop(replicas.shift())
    await plane.eventually('the new version is registered', isNewRegistered, 120_000)
  })
  await step('an old replica beside two new ones', async () => {
    replicas.push(await start('old'))
    await sleep(besideMs)
  })
  await step('the downgrade', async () => {
    await stop(replicas.shift())
    replicas.push(await start('old'))
    await stop(replicas.shift())
    await sleep(30_000)
  })
  loading.abort()
  await load
  await plane.eventually('every workload has its binding', async () => (await bindings()).length >= created, 120_000)
  const wrong = (await bindings())
    .filter((one) => !isNarrowed(one.metadata.name, clusterNamesOf(one), sources))
    .map(({ metadata }) => metadata.name)

  logToStderr(`${created} workloads: ${failures.length} failed, ${wrong.length} bindings are not narrowed`)
  expect(created).toBeGreaterThan(1000)
  expect(failures).toEqual([])
  expect(wrong).toEqual([])
  expect(steps['a new replica beside two old ones']).toBe(0)
  // The old version writes what it misses every 10 s; the new one pauses for 2 minutes.
  expect(steps['the upgrade']).toBeLessThanOrEqual(2)
  expect(steps['an old replica beside two new ones']).toBeLessThanOrEqual(6)
}, 1_800_000)

function start(version: Version): Promise<Replica> {
  const entry = version === 'old' ? { entry: oldEntry } : {}
  return startReplica(plane, balancer, { name: `${version}-${++started}`, kubeconfig, ...entry })
}

async function stop(replica: Replica | undefined): Promise<void> {
  if (!replica) throw new Error('there is no replica to stop')
  await replica.lodestone.stop(60_000)
  balancer.remove(replica)
}

async function createWorkloads(signal: AbortSignal): Promise<void> {
  while (!signal.aborted && created < claims) {
    const name = `workload-${created + 1}`
    const { status, body } = await plane.api.request(
      'POST',
      `/apis/apps/v1/namespaces/${namespace}/deployments`,
      deployment(name),
    )
    if (status === 201) created++
    else failures.push(`${name}: ${status} ${JSON.stringify(body)}`)
    await sleep(createEveryMs)
  }
}

type Binding = KubeObject & { spec?: { placement?: { clusterAffinity?: { clusterNames?: string[] } } } }

async function bindings(): Promise<Binding[]> {
  const path = `/apis/work.karmada.io/v1alpha2/namespaces/${namespace}/resourcebindings`
  const { items } = (await plane.api.request('GET', path)).body as { items: Binding[] }
  return items.filter(({ metadata }) => metadata.name.startsWith('workload-'))
}

function clusterNamesOf({ spec }: Binding): string[] {
  return spec?.placement?.clusterAffinity?.clusterNames ?? []
}

async function registration(): Promise<KubeObject> {
  const object = await plane.getJson('mutatingwebhookconfiguration', 'lodestone')
  if (!object) throw new Error('there is no registration')
  return object
}

async function generation(): Promise<number> {
  return (await registration()).metadata['generation'] as number
}

async function isNewRegistered(): Promise<boolean> {
  return (await registration()).metadata.annotations?.[versionAnnotation] !== undefined
}
