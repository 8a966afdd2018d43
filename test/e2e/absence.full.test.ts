// Ten minutes without any replica of Lodestone, under load, with the policies of the API server. `npm run e2e:full` runs it.
import { setTimeout as sleep } from 'node:timers/promises'
import { afterAll, beforeAll, expect, test } from 'vitest'
import { randomFrom } from '../random.ts'
import type { KubeObject, Watch } from './api-client.ts'
import { type ControlPlane, startControlPlane } from './control-plane.ts'
import { type BindingObject, bindings } from './hub.ts'
import { installLodestone, type Lodestone, startLodestone } from './lodestone.ts'
import { logToStderr } from './log.ts'
import { claim, deployment, policy, source } from './manifests.ts'
import { stopAndCheckRights } from './rights.ts'

const seed = 1
const absenceMs = 10 * 60_000
const writesPerSecond = 20
/** Of the writes, one in ten creates a workload; half of them have a claim. */
const createEvery = 10
const namespaces = Array.from({ length: 10 }, (_, i) => `team-${i}`)
const members = ['member1', 'member2', 'member3']
/** Karmada retries after at most 1000 s. */
const settledMs = 1_200_000

let plane: ControlPlane
let lodestone: Lodestone
let watch: Watch

interface Workload {
  name: string
  namespace: string
  /** The member with its data; absent without a claim. */
  data: string | undefined
  replicas: number
  /** The members that its policy allows. */
  allowed: string[]
}

const workloads = new Map<string, Workload>()
/** The members to which each workload was ever scheduled, and its present ones. */
const ever = new Map<string, Set<string>>()
const present = new Map<string, BindingObject['spec']>()

beforeAll(async () => {
  // By default it makes ten bindings a second.
  const flags = { 'karmada-controller-manager': ['--rate-limiter-qps=1000', '--rate-limiter-bucket-size=1000'] }
  plane = await startControlPlane({ flags })
  lodestone = await startLodestone(plane, { kubeconfig: await installLodestone(plane), readyTimeoutMs: 300_000 })
  watch = await plane.api.watch(bindings, ({ object }) => observe(object as BindingObject))
  for (const member of members) await plane.api.apply(source(`data-in-${member}`, [member]))
  for (const name of namespaces) await plane.api.apply({ apiVersion: 'v1', kind: 'Namespace', metadata: { name } })
})

afterAll(async () => {
  await watch?.stop()
  await stopAndCheckRights({ plane, lodestones: [lodestone] })
})

test('ten minutes without Lodestone move no workload from its data, and need no repair', async () => {
  const random = randomFrom(seed)
  const { pick } = random
  for (let i = 0; i < 40; i++) await create(i % 2 === 0 ? pick(members) : undefined, pick(namespaces))
  await plane.eventually('the first workloads are where they should be', () => allAreRight())
  await lodestone.kill()

  const failed: string[] = []
  const counts = { creates: 0, scales: 0, edits: 0 }
  const begin = performance.now()
  for (let i = 0; performance.now() - begin < absenceMs; i++) {
    const workload = pick([...workloads.values()])
    const write = i % createEvery === 0 ? 'creates' : i % 3 === 0 ? 'edits' : 'scales'
    counts[write]++
    await change(write).catch((error: unknown) => failed.push(`${write}: ${error}`))
    await sleep(Math.max(0, begin + (i + 1) * (1000 / writesPerSecond) - performance.now()))

    function change(kind: typeof write): Promise<unknown> {
      if (kind === 'creates') return create(counts.creates % 2 === 0 ? pick(members) : undefined, pick(namespaces))
      return kind === 'scales' ? scale(workload, 1 + random.below(9)) : edit(workload, pick(members))
    }
  }
  const claimed = [...workloads.values()].filter(({ data }) => data !== undefined)
  logToStderr(
    `${JSON.stringify(counts)}; ${failed.length} failed; ${workloads.size} workloads, ${claimed.length} with a claim`,
  )
  expect(failed).toEqual([])

  // Without a claim, everything works as ever.
  await plane.eventually(
    'the workloads without a claim are right',
    () => areRight(({ data }) => data === undefined),
    300_000,
  )
  await lodestone.restart()
  const restarted = performance.now()
  await plane.eventually('all workloads are right', () => allAreRight(), settledMs, 1000)
  logToStderr(`all workloads are right ${((performance.now() - restarted) / 1000).toFixed(0)} s after the start`)
  const strayed = claimed.flatMap(({ name, namespace, data }) =>
    [...(ever.get(`${namespace}/${name}`) ?? [])]
      .filter((member) => member !== data)
      .map((member) => `${name} in ${member}`),
  )
  expect(strayed).toEqual([])
}, 3_000_000)

function observe({ metadata, spec }: BindingObject): void {
  const key = `${metadata.namespace}/${metadata.name.replace(/-deployment$/, '')}`
  present.set(key, spec)
  const seen = ever.get(key) ?? new Set()
  for (const { name } of spec.clusters ?? []) seen.add(name)
  ever.set(key, seen)
}

async function create(data: string | undefined, namespace: string): Promise<void> {
  const name = `w${workloads.size}`
  const workload: Workload = { name, namespace, data, replicas: 2, allowed: members }
  workloads.set(name, workload)
  if (data) await plane.api.apply(claim(name, { data: `data-in-${data}`, namespace }))
  await plane.api.apply(policyOf(workload))
  await plane.api.apply(deployment(name, { namespace }))
}

async function scale(workload: Workload, replicas: number): Promise<void> {
  workload.replicas = replicas
  await patch(deployment(workload.name, { namespace: workload.namespace }), { spec: { replicas } })
}

/** Forbids one cluster, but never that of the data: the workload would be on hold. */
async function edit(workload: Workload, forbidden: string): Promise<void> {
  workload.allowed = members.filter((member) => member !== forbidden || member === workload.data)
  await patch(policyOf(workload), { spec: { placement: placementOf(workload) } })
}

async function patch(object: KubeObject, body: object): Promise<void> {
  const { namespace, name } = object.metadata
  const resource = object.kind === 'Deployment' ? 'deployments.apps' : 'propagationpolicies.policy.karmada.io'
  const path = `${await plane.api.collection(resource, namespace)}/${name}`
  await plane.api.expect('PATCH', path, body, 'application/merge-patch+json')
}

const placementOf = ({ allowed }: Workload) => ({ clusterAffinity: { clusterNames: allowed } })
const policyOf = (workload: Workload) => {
  const { spec, ...rest } = policy(workload.name, { placement: placementOf(workload) })
  return { ...rest, metadata: { ...rest.metadata, namespace: workload.namespace }, spec }
}

async function allAreRight(): Promise<true> {
  return areRight(() => true)
}

/** Whether each of these workloads has its replicas, in the clusters that its policy and its data allow. */
async function areRight(which: (workload: Workload) => boolean): Promise<true> {
  const wrong = [...workloads.values()].filter(which).filter((workload) => {
    const { name, namespace, data, replicas, allowed } = workload
    const { clusters = [], replicas: wanted } = present.get(`${namespace}/${name}`) ?? {}
    const where = clusters.map((one) => `${one.name}=${one.replicas}`).sort()
    const expected = (data ? [data] : allowed).map((member) => `${member}=${replicas}`)
    return wanted !== replicas || where.join() !== expected.join()
  })
  if (wrong.length > 0) throw new Error(`${wrong.length} are wrong, such as ${JSON.stringify(wrong.slice(0, 3))}`)
  return true
}
