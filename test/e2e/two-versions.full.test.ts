// This version and the one before it, side by side and one after the other, while workloads are created. `npm run e2e:full` runs it.
import { setTimeout as sleep } from 'node:timers/promises'
import { afterAll, beforeAll, expect, test } from 'vitest'
import { resolvedFleet } from '../../bench/harness/fleet.ts'
import { seed } from '../../bench/harness/seed.ts'
import type { KubeObject } from './api-client.ts'
import { type ControlPlane, startControlPlane } from './control-plane.ts'
import { installLodestone } from './lodestone.ts'
import { logToStderr } from './log.ts'
import { binding, deployment } from './manifests.ts'
import { isNarrowed, policyForAll } from './replicas.ts'
import { describeStep, startTwoVersions } from './two-versions.ts'

const sources = 100
const claims = 6000
const besideMs = 3 * 60_000
const createEveryMs = 100
const namespace = 'default'

let plane: ControlPlane
let kubeconfig: string
let created = 0
const failures: string[] = []

beforeAll(async () => {
  // By default it makes ten bindings a second.
  const flags = { 'karmada-controller-manager': ['--rate-limiter-qps=1000', '--rate-limiter-bucket-size=1000'] }
  plane = await startControlPlane({ flags })
  await plane.stop('karmada-scheduler')
  kubeconfig = await installLodestone(plane)
  await seed(plane.url('etcd'), resolvedFleet(binding('first'), { claims, sources, bindings: 0 }))
  await plane.kubectl(['label', 'namespace', namespace, 'lodestone.dev/enforce=true'])
})

afterAll(async () => {
  await plane?.stopAll()
})

test('an upgrade, a downgrade and both versions together lose no request', async () => {
  const versions = await startTwoVersions({
    plane,
    kubeconfig,
    besideMs,
    afterStep: (name, result) =>
      logToStderr(`${name}: ${describeStep(result)}; ${created} workloads, ${failures.length} failed`),
  })
  await plane.apply([policyForAll()])
  const loading = new AbortController()
  const load = createWorkloads(loading.signal)
  const steps = await versions.play()
  // What the older version makes of the last workloads counts too.
  await sleep(30_000)
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
  expect(steps['a new replica beside two old ones']?.changes).toBe(0)
  // The old version writes what it misses every 10 s; the new one pauses for 2 minutes.
  expect(steps['the upgrade']?.changes).toBeLessThanOrEqual(2)
  expect(steps['a rolling restart of the new version']?.changes).toBe(0)
  expect(steps['an old replica beside two new ones']?.changes).toBeLessThanOrEqual(6)
}, 1_800_000)

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
