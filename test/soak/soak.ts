// `npm run soak -- --minutes N --seed S`: runs Lodestone on a real control plane with faults, and checks it with a second model.
import { mkdir } from 'node:fs/promises'
import { join } from 'node:path'
import { setTimeout as sleep } from 'node:timers/promises'
import { parseArgs } from 'node:util'
import { BUILT } from '../../bench/harness/process.ts'
import { endProcess } from '../../src/cli/end-process.ts'
import { type AmoroServer, startAmoroServer, writeAmoroSystem } from '../e2e/amoro-server.ts'
import { type Balancer, startBalancer } from '../e2e/balancer.ts'
import { startControlPlane } from '../e2e/control-plane.ts'
import { hubOn } from '../e2e/hub.ts'
import { installLodestone, leaseRights, startLodestone } from '../e2e/lodestone.ts'
import { randomFrom } from '../random.ts'
import { watchBindings } from './binding-watch.ts'
import { changeSomething } from './changes.ts'
import { type FaultsInput, heal, strike } from './faults.ts'
import { growthOf } from './growth.ts'
import { summaryOf, wrongAtRest, wrongVersion } from './model.ts'
import { Replicas } from './replicas.ts'
import { firstMembers, namespace, World, warehouses } from './world.ts'

const { values } = parseArgs({
  options: {
    minutes: { type: 'string', default: '5' },
    seed: { type: 'string', default: String(Date.now() % 1_000_000) },
    workloads: { type: 'string', default: '30' },
  },
})
const minutes = Number(values.minutes)
const random = randomFrom(Number(values.seed))
// After this time a process has compiled and cached what it will: only then growth counts.
const warmUpSeconds = Math.min(15, minutes / 4) * 60
const chaosMs = 45_000
const restTimeoutMs = 300_000

const problems: string[] = []
const struck = new Map<string, number>()
let checked = 0
let rests = 0
let outages = 0

function report(problem: string): void {
  problems.push(problem)
  console.log(`PROBLEM ${problem}`)
}

console.log(`soak: ${minutes} minutes, seed ${values.seed}`)
const plane = await startControlPlane({ garbageCollector: true, clusters: members() })
try {
  await soak()
} catch (error) {
  report(error instanceof Error ? `the test broke: ${error.stack}` : String(error))
} finally {
  await plane.stopAll()
}
const faults = [...struck.values()].reduce((sum, count) => sum + count, 0)
console.log(`faults: ${[...struck].map(([name, count]) => `${name} ${count}`).join(', ')}`)
console.log(
  `soak: ${minutes} minutes, seed ${values.seed}: ${checked} versions of bindings checked, ${rests} rests, ${faults} faults, ${problems.length} problems`,
)
await endProcess(problems.length === 0 ? 0 : 1)

async function soak(): Promise<void> {
  const catalog = await startAmoroServer({})
  const balancer = await startBalancer()
  plane.onStop(() => catalog.stop())
  plane.onStop(() => balancer.stop())
  const certificates = join(plane.dir, 'shared-certificates')
  await mkdir(certificates)
  const replicas = await startReplicas(balancer, catalog, certificates)
  const world = new World({ plane, catalog, random })
  const input: FaultsInput = {
    plane,
    catalog,
    replicas,
    certificates,
    entry: BUILT,
    random: randomFrom(random.below(2 ** 31)),
  }
  const scheduled = new Set<string>()
  const watch = await watchBindings(plane, (binding, before) => {
    checked++
    const { name, uid } = binding.metadata
    const wasScheduled = scheduled.has(uid)
    if (binding.spec.clusters?.length) scheduled.add(uid)
    const workload = world.ofBinding(name)
    if (!workload) return
    for (const wrong of wrongVersion(binding, before, workload, world.members, wasScheduled)) {
      report(
        `${name}: ${wrong}; ${JSON.stringify({ before: before && summaryOf(before), binding: summaryOf(binding) })}`,
      )
    }
  })
  plane.onStop(() => watch.stop())
  const started = Date.now()
  const sampler = setInterval(() => {
    replicas.sample()
    replicas.dead().forEach(report)
  }, 5_000)
  const reporter = setInterval(() => console.log(minuteLine(replicas, watch.current.size, started)), 60_000)
  plane.onStop(async () => {
    clearInterval(sampler)
    clearInterval(reporter)
  })

  while (Date.now() - started < minutes * 60_000) {
    await chaos(world, input)
    await heal(input)
    await rest(world, watch.current, scheduled)
    world.settle()
    rests++
    for (const line of await replicas.errors()) report(`error in a log: ${line}`)
    await hubOn(plane).executeDeletions()
  }
  for (const { name, samples } of replicas.all) {
    for (const own of Map.groupBy(samples, ({ pid }) => pid).values()) {
      for (const growth of growthOf(own, warmUpSeconds)) report(`${name}: ${growth}`)
    }
  }
  console.log(minuteLine(replicas, watch.current.size, started))
}

async function chaos(world: World, input: FaultsInput): Promise<void> {
  const end = Date.now() + chaosMs
  const striking = (async () => {
    while (Date.now() < end) {
      await sleep(1_000 + input.random.below(6_000))
      const name = await strike(input)
      struck.set(name, (struck.get(name) ?? 0) + 1)
    }
  })()
  while (Date.now() < end) {
    await changeSomething(world, random, Number(values.workloads))
    await sleep(random.below(600))
  }
  await striking
}

// Waits until every binding is what the model says, as long as a busy machine takes.
async function rest(
  world: World,
  current: Awaited<ReturnType<typeof watchBindings>>['current'],
  scheduled: ReadonlySet<string>,
): Promise<void> {
  const began = Date.now()
  await plane.eventually(
    'every binding is where its policy and its data are',
    async () => {
      const wrong = [...world.workloads.values()].flatMap((workload) => {
        if (!workload.isRunning) return []
        const name = `${workload.name}-${workload.kind.toLowerCase()}`
        const binding = current.get(name)
        if (!binding) return [`${name}: there is no binding`]
        const found = wrongAtRest(binding, workload, world.members.current, scheduled.has(binding.metadata.uid))
        return found.map((what) => `${name}: ${what}; ${JSON.stringify(summaryOf(binding))}`)
      })
      if (wrong.length > 0) throw new Error(`${wrong.length} bindings are wrong: ${wrong.slice(0, 3).join('\n')}`)
      return true
    },
    restTimeoutMs,
    500,
  )
  outages = Math.max(outages, Date.now() - began)
}

function minuteLine(replicas: Replicas, bindings: number, started: number): string {
  const processes = replicas.all.map(({ name, samples }) => {
    const { rssMiB = 0, descriptors = 0 } = samples.at(-1) ?? {}
    return `${name} ${rssMiB.toFixed()} MiB ${descriptors} fds`
  })
  const faults = [...struck.values()].reduce((sum, count) => sum + count, 0)
  const minute = Math.round((Date.now() - started) / 60_000)
  return `minute ${minute}: ${bindings} bindings, ${checked} versions checked, ${rests} rests (slowest ${Math.round(outages / 1000)} s), ${faults} faults, ${problems.length} problems; ${processes.join(', ')}`
}

async function startReplicas(balancer: Balancer, catalog: AmoroServer, certificates: string): Promise<Replicas> {
  const kubeconfig = await installLodestone(plane)
  const enforced = { name: namespace, labels: { 'lodestone.dev/enforce': 'true' } }
  await plane.apply([{ apiVersion: 'v1', kind: 'Namespace', metadata: enforced }, ...leaseRights()])
  const locations = Object.entries(warehouses).map(([name, clusters]) => [`s3://${name}/`, clusters])
  const directory = await writeAmoroSystem(plane.dir, catalog, '3s', Object.fromEntries(locations))
  const config = {
    systems: { directory },
    loops: { maxMovesPerMinute: 10_000 },
    leaderElection: { enabled: true },
    certificates: { directory: certificates },
    registration: { url: `https://127.0.0.1:${balancer.port}` },
  }
  const replicas = []
  for (const name of ['witness', 'first', 'second']) {
    const options = { name, kubeconfig, config, entry: BUILT, readyTimeoutMs: 180_000 }
    const starting = startLodestone(plane, options)
    const lodestone = await starting
    balancer.add({ port: Number(new URL(lodestone.url).port), healthUrl: lodestone.healthUrl })
    replicas.push({ name, lodestone })
  }
  return new Replicas(replicas)
}

function members() {
  return Object.fromEntries([...firstMembers].map(([name, labels]) => [name, { labels }]))
}
