// A real Prometheus scrapes Lodestone and evaluates the alerts of the chart: a healthy installation fires none, and each fault its own. Then
// each panel of the dashboard shows series. `npm run e2e:full` runs it.
import { mkdir, readFile, writeFile } from 'node:fs/promises'
import { connect, type Socket } from 'node:net'
import { join } from 'node:path'
import { monitorEventLoopDelay } from 'node:perf_hooks'
import { setTimeout as sleep } from 'node:timers/promises'
import { afterAll, beforeAll, expect, test } from 'vitest'
import { CAUSED_IN, CAUSED_WITHOUT_LOG } from '../alerts/caused.ts'
import { type Dashboard, panelQueries, withValues } from '../alerts/dashboard-queries.ts'
import { ALERT_MS, type Fault, runSection } from './alert-sections.ts'
import { type AmoroServer, startAmoroServer, writeAmoroSystem } from './amoro-server.ts'
import type { KubeObject } from './api-client.ts'
import { type Balancer, startBalancer } from './balancer.ts'
import { type ControlPlane, startControlPlane } from './control-plane.ts'
import { type FaultyNetwork, startFaultyNetwork } from './faulty-network.ts'
import { bindings, hubOn } from './hub.ts'
import { installLodestone, type Lodestone, leaseRights, lodestoneUser, startLodestone } from './lodestone.ts'
import { logToStderr } from './log.ts'
import { claim, deployment, policy, source, tableClaim } from './manifests.ts'
import { type PrometheusServer, startPrometheus } from './prometheus-server.ts'
import { stopAndCheckRights } from './rights.ts'

const table = 'catalog.database.events'
const namespace = 'lodestone-system'
/**
 * A second installation, which only serves admission. It has had no packet from its API server since the healthy run began, and credentials
 * that end within a week.
 */
const cutOff = 'lodestone-cut-off'
const maxConnections = 20
const healthyMs = 120_000
const dayMs = 86_400_000
/** Hub and host are one cluster here. */
const replaced = { ' --context hub': '', ' --context host': '' }

let plane: ControlPlane
let balancer: Balancer
let amoro: AmoroServer
/** Between the two replicas and their API server. */
let network: FaultyNetwork
let cutOffNetwork: FaultyNetwork
const replicas: Lodestone[] = []
let cutOffReplica: Lodestone
let prometheus: PrometheusServer
const begin = Date.now()

beforeAll(async () => {
  plane = await startControlPlane()
  amoro = await startAmoroServer({ [table]: 's3://warehouse-2/events' })
  const directory = await writeAmoroSystem(plane.dir, amoro, '5s')
  await installLodestone(plane)
  // Objects without a kubelet: the replicas are processes of this machine.
  const account = { apiVersion: 'v1', kind: 'ServiceAccount', metadata: { name: 'lodestone', namespace } }
  const named = { ...deployment('lodestone'), metadata: { name: 'lodestone', namespace } }
  const container = { name: 'lodestone', image: 'lodestone:1' }
  const spec = { serviceAccountName: 'lodestone', containers: [container] }
  const pod = { apiVersion: 'v1', kind: 'Pod', metadata: { name: 'lodestone', namespace }, spec }
  await plane.apply([...leaseRights(), account, named, pod])
  const port = Number(new URL(plane.server).port)
  network = await startFaultyNetwork(port)
  cutOffNetwork = await startFaultyNetwork(port)
  balancer = await startBalancer()
  await mkdir(certificateFolder())
  await issueServingCertificate()
  const config = {
    server: { maxConnections },
    registration: { url: `https://127.0.0.1:${balancer.port}` },
    certificates: { source: 'files', directory: certificateFolder() },
    systems: { directory },
    leaderElection: { enabled: true },
  }
  const kubeconfig = await issueCredentials()
  for (const name of ['first', 'second']) {
    const replica = await startLodestone(plane, { name, kubeconfig, config, readyTimeoutMs: ALERT_MS * 3 })
    replicas.push(replica)
    balancer.add({ port: Number(new URL(replica.url).port), healthUrl: replica.healthUrl })
  }
  const { certificate, key, ...files } = await plane.pki.issueUser(lodestoneUser, [], 5 * dayMs)
  cutOffReplica = await startLodestone(plane, {
    name: 'cut-off',
    kubeconfig: await plane.pki.writeKubeconfig(`https://${cutOffNetwork.host}`, 'cut-off', {
      certificate,
      key,
      ...files,
    }),
    config: { loops: { enabled: false }, registration: { mode: 'none' } },
    readyTimeoutMs: ALERT_MS,
  })
  prometheus = await startPrometheus(plane.dir, [
    ...replicas.map(({ healthUrl }) => ({ healthUrl, namespace })),
    { healthUrl: cutOffReplica.healthUrl, namespace: cutOff },
  ])
})

afterAll(async () => {
  await prometheus?.stop()
  await stopAndCheckRights({ plane, lodestones: [...replicas, cutOffReplica], expected: 'leases' })
  await Promise.all([amoro?.stop(), balancer?.stop(), network?.stop(), cutOffNetwork?.stop()])
})

const faults: Fault[] = [
  {
    name: 'no replica may write the Lease',
    plant: async () => {
      const [, , binding] = leaseRights()
      await plane.kubectl(['delete', 'rolebinding', 'lodestone', `--namespace=${namespace}`])
      return () => plane.apply(binding ? [binding] : [])
    },
    fires: ['LodestoneNoLeader'],
  },
  {
    name: 'all replicas start while their API server refuses connections',
    plant: async () => {
      network.refuse()
      const started: Promise<void>[] = []
      for (const replica of replicas) {
        started.push(replica.restart())
        // One of them is always scraped.
        await plane.eventually('the new replica is alive', () => isUnsynced(replica))
      }
      return async () => {
        network.repair()
        await Promise.all(started)
      }
    },
    fires: ['LodestoneNoLeader'],
  },
  {
    name: 'all replicas are down',
    plant: async () => {
      await Promise.all(replicas.map((replica) => replica.stop()))
      return () => Promise.all(replicas.map((replica) => replica.restart()))
    },
    fires: ['LodestoneAbsent'],
  },
  {
    name: 'another tool changes the registration after each write',
    plant: async () => {
      const stopping = new AbortController()
      const ended = revertRegistration(stopping.signal)
      return async () => {
        stopping.abort()
        await ended
      }
    },
    fires: ['LodestoneRegistrationFight'],
  },
  {
    name: 'the data system is down',
    plant: async () => {
      await amoro.stop()
      return () => amoro.start()
    },
    fires: ['LodestoneSystemDown'],
  },
  {
    name: 'the replicas get credentials that end within minutes',
    plant: async () => {
      await issueCredentials(4 * 60_000)
      return () => issueCredentials()
    },
    fires: ['LodestoneCredentialsExpired'],
  },
  {
    name: 'the serving certificate is not renewed',
    plant: async () => {
      await issueServingCertificate(3 * dayMs)
      return () => issueServingCertificate()
    },
    fires: ['LodestoneCertificateExpires'],
  },
  {
    name: 'a client opens more connections than a replica accepts',
    plant: async () => {
      const stopping = new AbortController()
      const ended = openConnections(Number(new URL(replicas[0]?.url ?? '').port), stopping.signal)
      return async () => {
        stopping.abort()
        await ended
      }
    },
    fires: ['LodestoneRequestsShed'],
  },
]

test('a healthy installation fires no alert, and each fault fires its own', async () => {
  timers.enable()
  await createWorkloads()
  const loading = new AbortController()
  const load = writeWorkloads(loading.signal)
  cutOffNetwork.losePackets()

  await sleep(healthyMs)
  const silent: string[] = []
  const fired: Record<string, string[]> = { 'a healthy installation': await firedSince(begin) }
  for (const { name, plant, fires } of faults) {
    const planted = Date.now()
    const repair = await plant()
    await plane.eventually(`${fires} fires: ${name}`, () => isFiring(fires), ALERT_MS)
    fired[name] = await firedSince(planted)
    for (const alert of fires.filter((one) => one !== CAUSED_WITHOUT_LOG))
      silent.push(...(await runSection({ plane, alert, since: planted, lodestones: replicas, replaced })))
    logToStderr(`${name}: ${fired[name]} after ${Math.round((Date.now() - planted) / 1000)} s`)
    await repair()
    // Replicas that start may have no leader for longer than the shortened alert waits.
    await plane.eventually(`no alert fires after "${name}"`, async () => (await hasLeader()) && isFiring([]), ALERT_MS)
  }
  const ofCutOff = () => prometheus.firedSince(begin, `namespace="${cutOff}"`)
  await plane.eventually(
    'the replica without a connection has a stale watch, and old credentials',
    async () => (await ofCutOff()).length > 1,
    ALERT_MS * 2,
  )
  for (const alert of await ofCutOff())
    silent.push(...(await runSection({ plane, alert, since: begin, lodestones: [cutOffReplica], replaced })))
  fired['its API server sends no packets'] = await ofCutOff()
  loading.abort()
  const requests = await load

  logToStderr(
    `${requests} writes of users; 99.9 % of timers end within ${Math.round(timers.percentile(99.9) / 1e6)} ms`,
  )
  expect(fired).toEqual({
    'a healthy installation': [],
    ...Object.fromEntries(faults.map(({ name, fires }) => [name, fires])),
    'its API server sends no packets': ['LodestoneCredentialsExpire', 'LodestoneWatchStale'],
  })
  expect(silent, 'each command of the sections of these alerts shows something').toEqual([])
  const alerts = new Set(Object.values(fired).flat())
  expect([...alerts].sort()).toEqual([...CAUSED_IN['alerts.full'], CAUSED_WITHOUT_LOG].sort())
  await checkDashboard()
}, 3_600_000)

/** The alerts of the first installation that fired. */
async function firedSince(startMs: number): Promise<string[]> {
  const fired = await prometheus.firedSince(startMs, `namespace!="${cutOff}"`)
  return fired.filter(isExpectedHere)
}

/** Whether exactly these alerts of the first installation fire now. */
async function isFiring(names: string[]): Promise<true> {
  const alerts = (await prometheus.alerts()).filter(
    ({ state, labels }) => state === 'firing' && labels['namespace'] !== cutOff,
  )
  const firing = new Set(alerts.map(({ labels }) => labels['alertname'] ?? ''))
  expect([...firing].filter(isExpectedHere).sort()).toEqual(names)
  return true
}

/** Of this process, as a measure of the machine. They are of 5 ms, and Lodestone has 10 ms for a review. */
const timers = monitorEventLoopDelay({ resolution: 5 })

/** A machine that is too busy for timers is too busy for the objective of reviews. Then it is right that its alerts fire. */
function isExpectedHere(alert: string): boolean {
  return timers.percentile(99.9) / 1e6 < 15 || !alert.startsWith('LodestoneReviewsBurnBudget')
}

/** A workload with its data in one member, one with a table of the data system, and one on hold: its data is unknown. */
async function createWorkloads(): Promise<void> {
  await plane.apply([
    ...[source('photos', ['member1']), claim('narrowed', { data: 'photos' })],
    tableClaim('table', { data: table }),
    claim('held', { data: 'unknown', policy: { holdTimeoutSeconds: 86_400 } }),
    ...['narrowed', 'table', 'held', 'free'].flatMap((name) => [policy(name), deployment(name)]),
  ])
  const hub = hubOn(plane)
  await hub.isOnlyIn(deployment('narrowed'), 'member1')
  await hub.isOnlyIn(deployment('table'), 'member3')
  await hub.isOnlyIn(deployment('free'), 'member1,member2,member3')
  const held = await plane.getJson(bindings, 'held-deployment', 'default')
  expect(held?.metadata.annotations).toHaveProperty('lodestone.dev/hold')
}

/** Changes a workload twice a second, as users do. Returns the number of writes. */
async function writeWorkloads(signal: AbortSignal): Promise<number> {
  const path = `${await plane.api.collection('deployments.apps', 'default')}/narrowed`
  let writes = 0
  while (!signal.aborted) {
    await plane.api.request('PATCH', path, { spec: { replicas: 1 + (++writes % 3) } }, 'application/merge-patch+json')
    await sleep(500)
  }
  return writes
}

/** Whether a replica serves metrics, and has read no object. */
async function isUnsynced(replica: Lodestone): Promise<boolean> {
  return (
    (await replica.metric('lodestone_build_info')) === 1 && (await replica.metric('lodestone_cached_objects')) === 0
  )
}

async function hasLeader(): Promise<boolean> {
  const status = await Promise.all(replicas.map((replica) => replica.metric('leader_election_master_status')))
  return status.includes(1)
}

/** Writes a kubeconfig for the replicas, and returns its path. */
async function issueCredentials(validMs = 30 * dayMs): Promise<string> {
  const user = await plane.pki.issueUser(lodestoneUser, [], validMs)
  return plane.pki.writeKubeconfig(`https://${network.host}`, lodestoneUser, user)
}

const certificateFolder = () => join(plane.dir, 'serving')

async function issueServingCertificate(validMs = 90 * dayMs): Promise<void> {
  const { certificate, key } = await plane.pki.issue({
    name: 'lodestone-serving',
    commonName: 'lodestone',
    ipAddresses: ['127.0.0.1'],
    validMs,
  })
  for (const [file, content] of Object.entries({
    'ca.crt': plane.pki.caCertificate,
    'tls.key': key,
    'tls.crt': certificate,
  }))
    await writeFile(join(certificateFolder(), file), content)
}

interface Configuration extends KubeObject {
  webhooks: { timeoutSeconds: number }[]
}

/** Sets another timeout after each write of Lodestone, as a tool does that keeps a manifest applied. At its end, the manifest is corrected. */
async function revertRegistration(signal: AbortSignal): Promise<void> {
  const path = `${await plane.api.collection('mutatingwebhookconfigurations')}/lodestone`
  const read = async () => ((await plane.api.expect('GET', path)) as Configuration).webhooks
  const write = (webhooks: Configuration['webhooks']) =>
    plane.api.request('PATCH', path, { webhooks }, 'application/merge-patch+json')
  const wanted = await read()
  while (!signal.aborted) {
    const webhooks = await read()
    if (webhooks.some(({ timeoutSeconds }) => timeoutSeconds !== 5))
      await write(webhooks.map((webhook) => ({ ...webhook, timeoutSeconds: 5 })))
    await sleep(200)
  }
  await write(wanted)
}

/** Opens connections and keeps them. */
async function openConnections(port: number, signal: AbortSignal): Promise<void> {
  const sockets = new Set<Socket>()
  while (!signal.aborted) {
    const socket = connect({ host: '127.0.0.1', port })
    sockets.add(socket)
    socket.on('error', () => socket.destroy()).once('close', () => sockets.delete(socket))
    await sleep(50)
  }
  for (const socket of sockets) socket.destroy()
}

/** Queries of the dashboard that show nothing in this run, with the reason. */
const WITHOUT_SERIES: Record<string, string> = {
  '5xx and faults: {{webhook}} {{code}}': 'no review fails',
  '5xx and faults: {{webhook}} fault': 'no review fails',
  'Moves, and holds that were not honored: not honored: {{result}}': 'the scheduler honors all holds',
  'Bytes moved: {{task}}': 'a hub has no movers',
  'Mover duration, p90: {{task}}': 'a hub has no movers',
  'Failed movers, evictions and conflicts: {{task}}: {{reason}} per second': 'a hub has no movers',
}

/** Each query of the dashboard has series with the labels of its legend, except those that are listed. */
async function checkDashboard(): Promise<void> {
  const dashboard: Dashboard = JSON.parse(await readFile('charts/lodestone/dashboards/lodestone.json', 'utf8'))
  const variables = { namespace, instance: '.*', __rate_interval: '30s' }
  const empty: string[] = []
  for (const { name, labels, expr } of panelQueries(dashboard, variables)) {
    const series = await prometheus.range(expr, begin)
    if (series.length === 0) empty.push(name)
    for (const { metric } of series) expect(Object.keys(metric), name).toEqual(expect.arrayContaining(labels))
  }
  expect(empty.sort()).toEqual(Object.keys(WITHOUT_SERIES).sort())

  const values: Record<string, string[]> = {}
  for (const { name, query } of dashboard.templating.list) {
    const text = typeof query === 'string' ? query : query.query
    const [, selector = '', label = ''] = /^label_values\((.+), (\w+)\)$/.exec(withValues(text, variables)) ?? []
    if (label) values[name] = await prometheus.labelValues(label, selector)
  }
  expect(values).toEqual({
    namespace: [cutOff, namespace],
    instance: replicas.map(({ healthUrl }) => new URL(healthUrl).host).sort(),
  })
}
