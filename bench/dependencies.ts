/**
 * `npm run bench:dependencies`: workloads are all scheduled at once, and then all moved at once. Measures the time and the requests until
 * each dependency is attached to the right member, for three distributors: Karmada, Karmada that queries Lodestone, and Lodestone.
 *
 * Everything is seeded and every process is at rest before the clock starts. The benchmark then writes the scheduler's result into all
 * bindings, past the API server, so that neither a scheduler nor a start is measured. No controller creates Works.
 */
import { configMaps, secrets, serviceAccounts } from '../src/api/dependencies.ts'
import { type ResourceBinding, resourceBindings } from '../src/api/karmada.ts'
import type { K8sObject } from '../src/api/meta.ts'
import { endProcess } from '../src/cli/end-process.ts'
import type { KubeObject } from '../test/e2e/api-client.ts'
import type { ControlPlane } from '../test/e2e/control-plane.ts'
import { configMap, secret, serviceAccount } from '../test/e2e/manifests.ts'
import { isAttachedTo, storedWorkload } from './harness/dependents.ts'
import { countRequests, requestsBetween, total, withPlane } from './harness/plane.ts'
import { cpuSeconds, untilIdle } from './harness/process.ts'
import { log, options, print, table } from './harness/report.ts'
import { overwrite, type Stored, seed } from './harness/seed.ts'
import { reached, Tally, watch } from './harness/watch.ts'

/** `limit`: requests a second of each client, twice as many at once after a rest. `runs`: the numbers of the distributors. */
const { workloads, limit, runs } = options({ workloads: 5000, limit: 250, runs: '0,1,2' })
const TYPES = [configMaps, secrets, serviceAccounts]
const dependencies = TYPES.length * workloads
const BINDINGS = 'resourcebindings.work.karmada.io'
const RESOURCES = ['resourcebindings', 'deployments', 'events', ...TYPES.map(({ plural }) => plural)]
const PHASES = { attach: 'member1', move: 'member2' }
const DISTRIBUTORS = [
  { name: 'Karmada', karmada: true, distribution: undefined },
  { name: 'Karmada that queries Lodestone', karmada: true, distribution: 'karmada' },
  { name: 'Lodestone', karmada: false, distribution: 'builtin' },
]
const chosen = DISTRIBUTORS.filter((_, i) => runs.split(',').includes(String(i)))

const results: string[][][] = []
for (const distributor of chosen) results.push(await measure(distributor))
print(
  `${limit} requests/s for each client; goal: Lodestone ≤ Karmada`,
  table(
    [`${workloads} workloads, ${dependencies} dependencies`, ...chosen.map(({ name }) => name)],
    Object.keys(PHASES).flatMap((phase, i) => [
      [`${phase}: time; requests without Events`, ...results.map((phases) => phases[i]?.[0] ?? '')],
      ['… CPU', ...results.map((phases) => phases[i]?.[1] ?? '')],
    ]),
  ),
)
await endProcess()

/** Returns the cells of each phase. */
async function measure({ name, karmada, distribution }: (typeof DISTRIBUTORS)[number]): Promise<string[][]> {
  const controllerManager = [
    ...[`--feature-gates=PropagateDeps=${karmada}`, '--controllers=cluster,namespace'],
    ...[`--kube-api-qps=${limit}`, `--kube-api-burst=${2 * limit}`],
  ]
  return withPlane({ flags: { 'karmada-controller-manager': controllerManager } }, async ({ plane, start }) => {
    await plane.stop('karmada-scheduler')
    log(`${name}: seeding ${workloads} workloads and ${dependencies} dependencies`)
    await seed(plane.url('etcd'), fleet())
    const config = { dependencies: { distribution }, loops: { writesPerSecond: limit } }
    const pids = {
      Karmada: plane.pidOf('karmada-controller-manager') ?? 0,
      ...(distribution && { Lodestone: (await start({ config })).pid }),
      'kube-apiserver': plane.pidOf('kube-apiserver') ?? 0,
    }
    for (const pid of Object.values(pids)) await untilIdle(pid)
    const phases: string[][] = []
    for (const member of Object.values(PHASES)) phases.push(await measurePhase(plane, member, pids))
    return phases
  })
}

async function measurePhase(plane: ControlPlane, member: string, pids: Record<string, number>): Promise<string[]> {
  const attached = new Tally((object) => isOwn(object, member))
  await watch(plane, BINDINGS, attached)
  const all = (await plane.listJson(BINDINGS, 'default')) as unknown as ResourceBinding[]
  const own = all.filter(({ metadata }) => metadata.name?.startsWith('workload-'))
  await untilIdle(pids['kube-apiserver'] ?? 0)
  const before = await countRequests(plane, RESOURCES)
  const cpuBefore = Object.entries(pids).map(([name, pid]) => [name, pid, cpuSeconds(pid)] as const)
  const begun = performance.now()
  await overwrite(
    plane.url('etcd'),
    own.map((binding) => scheduled(binding, member)),
  )
  await reached(dependencies, attached)
  const seconds = attached.secondsSince(begun).toFixed(1)
  await untilIdle(pids['kube-apiserver'] ?? 0)
  const requests = requestsBetween(before, await countRequests(plane, RESOURCES))
  log(`attached to ${member} after ${seconds} s: ${JSON.stringify(requests)}`)
  const cpu = cpuBefore.map(([name, pid, used]) => `${name} ${(cpuSeconds(pid) - used).toFixed(1)} s`)
  return [`${seconds} s; ${total(requests)}`, cpu.join('; ')]
}

/** Workloads with three objects of their own, whose bindings are not scheduled yet. */
function* fleet(): Generator<Stored> {
  for (let i = 0; i < workloads; i++) {
    const password = { ...secret(`password-${i}`), stringData: undefined, data: { key: 'dmFsdWU=' } }
    const needs = [configMap(`settings-${i}`), password, serviceAccount(`account-${i}`)]
    yield* TYPES.map((type, n) => ({ type, object: needs[n] as KubeObject }))
    yield* storedWorkload(`workload-${i}`, { needs })
  }
}

/** The next version of the binding, as the scheduler writes it. */
function scheduled(binding: ResourceBinding, member: string): Stored {
  // etcd sets the resource version.
  const { resourceVersion: _version, generation = 0, ...metadata } = binding.metadata
  const spec = { ...binding.spec, clusters: [{ name: member, replicas: 2 }] }
  return {
    type: resourceBindings,
    object: { ...binding, metadata: { ...metadata, generation: generation + 1 }, spec } as K8sObject,
  }
}

/** Whether a distributor attached the object to the workload of the same number, and to this member only. */
function isOwn(binding: KubeObject, member: string): boolean {
  const number = /^(?:settings|password|account)-(\d+)-/.exec(binding.metadata.name)?.[1]
  return isAttachedTo(binding, `workload-${number}`, member)
}
