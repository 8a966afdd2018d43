/**
 * `npm run bench:volumes`: how long replicas take to be created, refreshed, replaced after a loss of nodes, and evicted; and the requests to
 * the API server. The scheduler is real. kwok runs the nodes, and movers succeed as soon as they are scheduled.
 */
import { REFRESH_ANNOTATION } from '../src/api/lodestone.ts'
import type { VolumeManagerStatus } from '../src/api/volume-manager.ts'
import { endProcess } from '../src/cli/end-process.ts'
import { makeVolumeManager } from '../test/builders.ts'
import type { KubeObject } from '../test/e2e/api-client.ts'
import { type GatedRequest, startApiGate } from '../test/e2e/api-gate.ts'
import type { ControlPlane } from '../test/e2e/control-plane.ts'
import { lodestoneUser } from '../test/e2e/lodestone.ts'
import { type Installed, withPlane } from './harness/plane.ts'
import { cpuSeconds, memoryMiB } from './harness/process.ts'
import { log, options, print, quantile, table } from './harness/report.ts'
import { reached, Tally, watch } from './harness/watch.ts'

/**
 * `movers`: how many may run at once, in all and on a node. `writes`: the limit of writes a second. `lost`: how many nodes are deleted, and how
 * many others are then short of disk.
 */
const values = options({ managers: 1000, replicas: 3, nodes: 500, movers: 200, writes: 250, lost: 10 })
const { managers, replicas, movers, writes } = values
const REQUESTS_AT_ONCE = 8

const nodes = { names: Array.from({ length: values.nodes }, (_, i) => `node-${i}`), movers: 'succeed' } as const
await withPlane({ karmada: false, nodes }, measure)
await endProcess()

async function measure({ plane, start }: Installed): Promise<void> {
  // All requests of Lodestone pass the gate, which counts them.
  const gate = await startApiGate(plane, lodestoneUser)
  const limits = { maxInAll: movers, maxPerNode: movers }
  const volumes = { enabled: true, movers: limits, eviction: { pauseSeconds: 1 } }
  const config = { volumes, loops: { writesPerSecond: writes } }
  const { pid } = await start({ kubeconfig: gate.kubeconfig, config })

  const [ready, refreshed] = [new Tally(isReady), new Tally(isRefreshed)]
  await watch(plane, 'volumemanagers', ready, refreshed)
  log(`${managers} VolumeManagers of ${replicas} replicas on ${values.nodes} nodes`)
  const created = new Map<string, number>()
  const path = await plane.api.collection('volumemanagers', 'default')
  const begun = performance.now()
  const create = async () => {
    while (created.size < managers) {
      const name = `data-${created.size}`
      created.set(name, performance.now())
      const options = { awsCredentialsSecretName: '', sourceURL: `s3://bench/${name}/` }
      const config = { replicas, options, readOnly: true, evictionPolicy: 'LeastRecentlyUsed' } as const
      const manager = makeVolumeManager([config], { name, state: 'Running' })
      await plane.api.expect('POST', path, manager)
    }
  }
  await Promise.all(Array.from({ length: REQUESTS_AT_ONCE }, create))
  await reached(managers, ready)

  const seconds = ready.secondsSince(begun)
  const each = [...ready.reachedAt].map(([name, at]) => (at - (created.get(name) ?? begun)) / 1000)
  const forDownloads = requestsOf(gate.requests, 'all (goal: ≤ 12 for each replica)', managers * replicas)
  // A run with failures measures something else.
  const events = (await plane.listJson('events', 'default')).filter(({ type }) => type === 'Warning')
  for (const reason of new Set(events.map((event) => String(event['reason'])))) log(`Warning: ${reason}`)
  print(
    `${managers} VolumeManagers of ${replicas} replicas on ${values.nodes} nodes; ${movers} movers at once, ${writes} writes/s`,
    `All replicas ready after ${seconds.toFixed(1)} s; one VolumeManager after ${quantile(each, 0.5).toFixed(1)} s (p99 ${quantile(each, 0.99).toFixed(1)} s). Lodestone: ${cpuSeconds(pid).toFixed(1)} s of CPU, ${memoryMiB(pid).peak.toFixed(0)} MiB.\n`,
    forDownloads,
  )

  const change = async (
    title: string,
    tally: Tally,
    count: number,
    make: (name: string) => Promise<unknown>,
    of: string[],
  ) => {
    const before = { requests: gate.requests.length, cpu: cpuSeconds(pid) }
    const changed = performance.now()
    const left = [...of]
    const work = async () => {
      for (let name = left.pop(); name !== undefined; name = left.pop()) await make(name)
    }
    await Promise.all(Array.from({ length: REQUESTS_AT_ONCE }, work))
    await reached(managers, tally)
    print(
      title,
      `${count} replicas after ${tally.secondsSince(changed).toFixed(1)} s. Lodestone: ${(cpuSeconds(pid) - before.cpu).toFixed(1)} s of CPU.\n`,
      requestsOf(gate.requests.slice(before.requests), 'all', count),
    )
  }

  await change(
    'Refresh of all replicas, on request; a quarter of the movers at once',
    refreshed,
    managers * replicas,
    (name) => {
      const patch = { metadata: { annotations: { [REFRESH_ANNOTATION]: '1' } } }
      return plane.api.expect('PATCH', `${path}/${name}`, patch, 'application/merge-patch+json')
    },
    [...created.keys()],
  )

  for (const { title, names, make, isOver } of [
    { title: 'Loss of nodes', names: nodes.names.slice(0, values.lost), make: deleteNode, isOver: isReady },
    {
      title: 'Eviction from nodes',
      names: nodes.names.slice(values.lost, 2 * values.lost),
      make: pressNode,
      isOver: () => true,
    },
  ]) {
    const count = (await plane.listJson('volumemanagers', 'default')).reduce((sum, one) => sum + readyOn(names, one), 0)
    const over = new Tally((object) => isOver(object) && readyOn(names, object) === 0)
    await watch(plane, 'volumemanagers', over)
    await change(`${title}: ${names.length} of ${values.nodes}`, over, count, (name) => make(plane, name), names)
  }
}

/** The requests of Lodestone by kind, in all and for each replica. */
function requestsOf(requests: readonly GatedRequest[], sum: string, ofReplicas: number): string {
  const kinds = requests.flatMap(kindOf)
  const counts = [...Map.groupBy(kinds, (kind) => kind)].map(([kind, { length }]) => [kind, length] as const)
  const rows = [...counts.toSorted(([, one], [, other]) => other - one), [sum, kinds.length] as const]
  return table(
    ['requests of Lodestone', 'in all', 'for each replica'],
    rows.map(([kind, count]) => [kind, count, (count / ofReplicas).toFixed(2)]),
  )
}

function isRefreshed({ status }: KubeObject): boolean {
  const { volumes = [] } = (status ?? {}) as VolumeManagerStatus
  const all = volumes.flatMap((volume) => volume.replicas ?? [])
  return all.length === replicas && all.every(({ handledRefresh }) => handledRefresh !== undefined)
}

function isReady({ status }: KubeObject): boolean {
  const { state, volumes = [] } = (status ?? {}) as { state?: string; volumes?: { readyReplicas?: number }[] }
  return state === 'Running' && volumes.every(({ readyReplicas }) => readyReplicas === replicas)
}

/** How many replicas are ready on these nodes. */
function readyOn(names: readonly string[], { status }: KubeObject): number {
  const { volumes = [] } = (status ?? {}) as VolumeManagerStatus
  const all = volumes.flatMap((volume) => volume.replicas ?? [])
  return all.filter(({ state, node = '' }) => state === 'Ready' && names.includes(node)).length
}

function deleteNode(plane: ControlPlane, name: string): Promise<unknown> {
  return plane.api.expect('DELETE', `/api/v1/nodes/${name}`)
}

/** Reports a shortage of disk, as a kubelet does. */
function pressNode(plane: ControlPlane, name: string): Promise<unknown> {
  const now = new Date().toISOString()
  const reason = 'KubeletHasDiskPressure'
  const condition = { type: 'DiskPressure', status: 'True', reason, lastHeartbeatTime: now, lastTransitionTime: now }
  const type = 'application/strategic-merge-patch+json'
  return plane.api.expect('PATCH', `/api/v1/nodes/${name}/status`, { status: { conditions: [condition] } }, type)
}

/** Verb and resource. The first lists and the watches are not a cost of a replica. */
function kindOf({ method, path }: GatedRequest): string[] {
  const { pathname, searchParams } = new URL(path, 'http://gate')
  const [, resource = '', name, subresource] =
    /^\/(?:api|apis\/[^/]+)\/[^/]+\/(?:namespaces\/[^/]+\/)?([a-z]+)(?:\/([^/]+))?(?:\/(.+))?$/.exec(pathname) ?? []
  const isList = method === 'GET' && name === undefined
  if (isList || searchParams.get('watch') === 'true' || resource === '') return []
  return [`${method} ${resource}${subresource ? `/${subresource}` : ''}`]
}
