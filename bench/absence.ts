/**
 * `npm run bench:absence`: what the policies of the API server cost (webhooks/absence.ts). The API server evaluates one of them for each claim of
 * the namespace, so the namespace has many. Each write is a dry run, without Lodestone. So no namespace is exempt.
 */
import { endProcess } from '../src/cli/end-process.ts'
import { absencePolicyBindings } from '../src/webhooks/absence.ts'
import type { KubeObject } from '../test/e2e/api-client.ts'
import type { ControlPlane } from '../test/e2e/control-plane.ts'
import { claim, deployment } from '../test/e2e/manifests.ts'
import { stopControllers, withPlane } from './harness/plane.ts'
import { log, median, options, print, ratio, table } from './harness/report.ts'

const { claims, writes, rounds } = options({ claims: 10_000, writes: 40, rounds: 5 })
const AT_ONCE = 16
const KIND = 'validatingadmissionpolicybindings.admissionregistration.k8s.io'
const PLACED = { clusterAffinity: { clusterNames: ['member2'] } }
const LOCALITY = { state: 'Narrowed', message: 'default/c is in member2', claims: ['default/c'], required: ['member2'] }

interface Write {
  name: string
  binding: KubeObject
  patch: object
  /** Whether the policies reject it. */
  isRejected: boolean
}

const replicas = { spec: { replicas: 3 } }
const schedule = { spec: { clusters: [{ name: 'member1' }] } }
const WRITES: Write[] = [
  {
    name: 'replicas of a scheduled workload',
    binding: bindingOf('plain', [{ name: 'member1' }]),
    patch: replicas,
    isRejected: false,
  },
  {
    name: 'replicas of a narrowed workload',
    binding: narrowed(bindingOf('narrowed', [{ name: 'member2' }])),
    patch: replicas,
    isRejected: false,
  },
  {
    name: 'first clusters of a workload without a claim',
    binding: bindingOf('free'),
    patch: schedule,
    isRejected: false,
  },
  { name: 'first clusters of a workload with a claim', binding: bindingOf('app-1'), patch: schedule, isRejected: true },
]

await withPlane({}, async ({ plane }) => {
  await stopControllers(plane)
  log(`creating ${claims} claims`)
  const all = Array.from({ length: claims }, (_, i) => claim(`app-${i}`, { data: `data-${i}` }))
  await inTurns(all, (object) => create(plane, 'datasourceclaims', object))
  for (const { binding } of WRITES) await create(plane, 'resourcebindings.work.karmada.io', binding)
  const times = new Map(WRITES.map(({ name }) => [name, { without: [] as number[], with: [] as number[] }]))
  for (let round = 0; round < rounds; round++) {
    for (const policies of ['without', 'with'] as const) {
      await switchPolicies(plane, policies === 'with')
      for (const write of WRITES) times.get(write.name)?.[policies].push(await measure(plane, write))
    }
  }
  const ms = (values: number[]) => median(values).toFixed(1)
  print(
    `CPU time of kube-apiserver: ${claims} claims in one namespace, ${rounds} rounds of ${writes} writes one after another`,
    table(
      ['Write of a binding', 'without the policies, ms', 'with them, ms', 'ratio'],
      [...times].map(([name, time]) => [name, ms(time.without), ms(time.with), ratio(time.with, time.without)]),
    ),
  )
})
await endProcess()

function bindingOf(name: string, clusters?: { name: string }[]): KubeObject {
  const { apiVersion, kind, metadata } = deployment(name)
  return {
    apiVersion: 'work.karmada.io/v1alpha2',
    kind: 'ResourceBinding',
    metadata: { name: `${name}-deployment`, namespace: 'default' },
    spec: {
      resource: { apiVersion, kind, ...metadata, labels: undefined },
      replicas: 2,
      placement: PLACED,
      ...(clusters && { clusters }),
    },
  }
}

function narrowed({ metadata, ...rest }: KubeObject): KubeObject {
  return { ...rest, metadata: { ...metadata, annotations: { 'lodestone.dev/locality': JSON.stringify(LOCALITY) } } }
}

async function create(plane: ControlPlane, resource: string, object: KubeObject): Promise<void> {
  await plane.api.expect('POST', await plane.api.collection(resource, 'default'), object)
}

async function inTurns<T>(items: readonly T[], work: (item: T) => Promise<void>): Promise<void> {
  const left = items.values()
  await Promise.all(
    Array.from({ length: AT_ONCE }, async () => {
      for (const item of left) await work(item)
    }),
  )
}

/** Puts the policies into effect, or takes them out of it, and waits until a write shows that. */
async function switchPolicies(plane: ControlPlane, isOn: boolean): Promise<void> {
  if (isOn) await plane.apply(absencePolicyBindings() as unknown as KubeObject[])
  else await plane.kubectl(['delete', KIND, '--all', '--ignore-not-found'])
  const [probe] = WRITES.filter(({ isRejected }) => isRejected)
  const wanted = isOn ? 403 : 200
  await plane.eventually(`the answer is ${wanted}`, async () => {
    const status = await send(plane, probe as Write)
    if (status !== wanted) throw new Error(`it is ${status}`)
    return true
  })
}

/** Milliseconds of CPU per write, which other processes of the machine hardly change. */
async function measure(plane: ControlPlane, write: Write): Promise<number> {
  const before = await cpuSeconds(plane)
  for (let i = 0; i < writes; i++) await send(plane, write)
  return ((await cpuSeconds(plane)) - before) * (1000 / writes)
}

/** The CPU time of kube-apiserver since its start. */
async function cpuSeconds(plane: ControlPlane): Promise<number> {
  const { body } = await plane.api.request('GET', '/metrics')
  return Number(/^process_cpu_seconds_total (\S+)$/m.exec(String(body))?.[1])
}

async function send(plane: ControlPlane, { binding, patch }: Write): Promise<number> {
  const path = await plane.api.collection('resourcebindings.work.karmada.io', 'default')
  const url = `${path}/${binding.metadata.name}?dryRun=All`
  return (await plane.api.request('PATCH', url, patch, 'application/merge-patch+json')).status
}
