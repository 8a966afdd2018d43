/**
 * `npm run bench:volumes`: how long VolumeManagers take until their data is said to be on the nodes, and how many requests to the API
 * server that costs. The scheduler is real; nodes are kwok's, and movers succeed as soon as they are placed. Prints Markdown.
 */
import { writeFile } from 'node:fs/promises'
import { join } from 'node:path'
import { parseArgs } from 'node:util'
import type { KubeObject } from '../test/e2e/api-client.ts'
import { type ApiGate, startApiGate } from '../test/e2e/api-gate.ts'
import { type ControlPlane, startControlPlane } from '../test/e2e/control-plane.ts'
import { installLodestone, type Lodestone, lodestoneUser, startLodestone } from '../test/e2e/lodestone.ts'
import { BUILT } from './built.ts'
import { log } from './log.ts'
import { machine } from './machine.ts'
import { cpuSeconds, memoryMiB } from './process-stats.ts'
import { type RequestCount, report } from './volumes-report.ts'
import { watch } from './watch.ts'

const { values } = parseArgs({
  options: {
    managers: { type: 'string', default: '1000' },
    replicas: { type: 'string', default: '3' },
    nodes: { type: 'string', default: '500' },
    /** Movers at once, in all; on a node as many as come. */
    movers: { type: 'string', default: '200' },
    /** Writes a second that the loops are allowed. */
    writes: { type: 'string', default: '250' },
  },
})
const managers = Number(values.managers)
const replicas = Number(values.replicas)
const nodes = Array.from({ length: Number(values.nodes) }, (_, i) => `node-${i}`)
const allowed = { movers: Number(values.movers), writes: Number(values.writes) }
const CREATED_AT_ONCE = 8
const LOOK_MS = 200
const STALLED_MS = 120_000
const TELL_MS = 10_000

const plane = await startControlPlane({ karmada: false, nodes: { names: nodes, movers: 'succeed' }, log })
try {
  await installLodestone(plane)
  const gate = await openGate(plane)
  const lodestone = await start(plane, gate)
  log(`${managers} VolumeManagers of ${replicas} replicas on ${nodes.length} nodes`)
  const { times, seconds } = await run(lodestone)
  const requests = countRequests(gate)
  for (const warning of await warnings()) log(warning)
  const figures = { managers, replicas, nodes: nodes.length, ...allowed, times, seconds, requests }
  const process_ = { cpuSeconds: cpuSeconds(lodestone.pid), memoryMiB: memoryMiB(lodestone.pid).peak }
  process.stdout.write(report({ setting: machine(), ...figures, ...process_ }))
} finally {
  await plane.stopAll()
}
process.exit(0)

/** Everything that Lodestone asks of the API server passes here and is counted. */
async function openGate(on: ControlPlane): Promise<ApiGate> {
  const { certificate, key } = await on.pki.issueUser(lodestoneUser, [])
  const gate = await startApiGate({ server: on.server, ca: on.pki.caCertificate, certificate, key })
  on.onStop(() => gate.stop())
  return gate
}

async function start(on: ControlPlane, gate: ApiGate): Promise<Lodestone> {
  const kubeconfig = join(on.dir, 'gate.kubeconfig')
  await writeFile(kubeconfig, gate.kubeconfig)
  const movers = { maxInAll: allowed.movers, maxPerNode: allowed.movers }
  return startLodestone(on, {
    entry: BUILT,
    kubeconfig,
    config: { volumes: { enabled: true, movers }, loops: { writesPerSecond: allowed.writes } },
  })
}

/** Creates all VolumeManagers and follows them until every replica of every one is ready. */
async function run({ pid }: Lodestone): Promise<{ times: number[]; seconds: number }> {
  const created = new Map<string, number>()
  const done = new Map<string, number>()
  await watch(plane, 'volumemanagers', (object, at) => {
    if (isDone(object) && !done.has(object.metadata.name)) done.set(object.metadata.name, at)
  })
  const begun = performance.now()
  const queue = Array.from({ length: managers }, (_, i) => `data-${i}`)
  await Promise.all(
    Array.from({ length: CREATED_AT_ONCE }, async () => {
      for (let name = queue.pop(); name !== undefined; name = queue.pop()) {
        created.set(name, performance.now())
        await plane.api.expect('POST', await plane.api.collection('volumemanagers', 'default'), managerOf(name))
      }
    }),
  )
  log(`created in ${((performance.now() - begun) / 1000).toFixed(1)} s`)
  let told = performance.now()
  let last = { count: 0, at: performance.now() }
  await plane.eventually(
    'all are Running',
    async () => {
      const now = performance.now()
      if (done.size > last.count) last = { count: done.size, at: now }
      if (now - last.at > STALLED_MS) return true
      if (now - told > TELL_MS) {
        log(`${done.size} of ${managers} are Running; ${cpuSeconds(pid).toFixed(0)} s of CPU`)
        told = now
      }
      return done.size === managers
    },
    24 * 3_600_000,
    LOOK_MS,
  )
  if (done.size < managers)
    throw new Error(`${managers - done.size} VolumeManagers are not Running, and nothing happens`)
  return {
    times: [...done].map(([name, at]) => (at - (created.get(name) ?? begun)) / 1000),
    seconds: (Math.max(...done.values()) - begun) / 1000,
  }
}

/** What went wrong on the way, once for each reason: such a run measures something else. */
async function warnings(): Promise<string[]> {
  const events = (await plane.listJson('events', 'default')).filter(({ type }) => type === 'Warning')
  const byReason = Map.groupBy(events, ({ reason }) => String(reason))
  return [...byReason].map(([reason, all]) => `${all.length} × ${reason}, such as: ${String(all[0]?.['message'])}`)
}

function isDone({ status }: KubeObject): boolean {
  const { state, volumes = [] } = (status ?? {}) as { state?: string; volumes?: { readyReplicas?: number }[] }
  return state === 'Running' && volumes.every(({ readyReplicas }) => readyReplicas === replicas)
}

function managerOf(name: string): KubeObject {
  const volume = {
    id: 'vol1',
    replicas,
    sourceType: 'S3',
    accessMode: 'ReadWriteOnce',
    capacity: '5Gi',
    labels: { app: 'bench' },
    options: { awsCredentialsSecretName: '', sourceURL: `s3://bench/${name}/` },
  }
  return {
    apiVersion: 'vck.intelai.org/v1alpha1',
    kind: 'VolumeManager',
    metadata: { name, namespace: 'default' },
    spec: { state: 'Running', volumeConfigs: [volume] },
  }
}

/** By verb and resource; the first lists and the watches are not what a replica costs. */
function countRequests({ requests }: ApiGate): RequestCount[] {
  const kinds = requests.flatMap(({ method, path }) => {
    const { pathname, searchParams } = new URL(path, 'http://gate')
    const [, resource = '', name, subresource] =
      /^\/(?:api|apis\/[^/]+)\/[^/]+\/(?:namespaces\/[^/]+\/)?([a-z]+)(?:\/([^/]+))?(?:\/(.+))?$/.exec(pathname) ?? []
    const isList = method === 'GET' && name === undefined
    if (isList || searchParams.get('watch') === 'true' || resource === '') return []
    return [`${method} ${resource}${subresource ? `/${subresource}` : ''}`]
  })
  return [...Map.groupBy(kinds, (kind) => kind)]
    .map(([kind, all]) => ({ kind, count: all.length }))
    .sort((one, other) => other.count - one.count)
}
