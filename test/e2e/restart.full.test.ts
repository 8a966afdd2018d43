// A restart over a fleet where everything is as it should be: everything is looked at, and nothing is written.
import { mkdir, readFile, stat, writeFile } from 'node:fs/promises'
import { join } from 'node:path'
import { setTimeout as sleep } from 'node:timers/promises'
import { afterAll, beforeAll, expect, test } from 'vitest'
import { clusterOf, resolvedFleet } from '../../bench/harness/fleet.ts'
import { seed } from '../../bench/harness/seed.ts'
import type { KubeObject } from './api-client.ts'
import { type ControlPlane, startControlPlane } from './control-plane.ts'
import { installLodestone, type Lodestone, lodestoneUser, startLodestone } from './lodestone.ts'
import { logToStderr } from './log.ts'
import { binding } from './manifests.ts'
import { makeTemporaryFolder, removeTemporaryFolder } from './processes.ts'

const bindings = 10_000
// Claim 0 is for a workload that has no binding: the others have one each.
const fleet = { claims: bindings + 1, sources: bindings / 10, bindings }
const keys = { 'data-source-claim': fleet.claims, 'data-source': fleet.sources, 'resource-binding': fleet.bindings }
const writing = ['create', 'update', 'patch', 'delete', 'deletecollection']

let auditFolder: string
let auditLog: string
let plane: ControlPlane
let lodestone: Lodestone

beforeAll(async () => {
  auditFolder = await makeTemporaryFolder()
  auditLog = join(auditFolder, 'audit.log')
  const policyFile = join(auditFolder, 'policy.json')
  await writeFile(policyFile, JSON.stringify(auditPolicy()))
  plane = await startControlPlane({
    flags: { 'kube-apiserver': [`--audit-policy-file=${policyFile}`, `--audit-log-path=${auditLog}`] },
  })
  // They would work on the bindings, whose workloads are not there.
  await plane.stop('karmada-controller-manager')
  await plane.stop('karmada-scheduler')
  const kubeconfig = await installLodestone(plane)
  await seed(plane.url('etcd'), resolvedFleet(binding('workload'), fleet))
  lodestone = await startLodestone(plane, {
    kubeconfig,
    config: {
      systems: { directory: await writeStaticSystem(plane.dir) },
      loops: { writesPerSecond: 5_000, driftIntervalSeconds: 10 },
    },
  })
})

afterAll(async () => {
  await plane?.stopAll()
  if (auditFolder) await removeTemporaryFolder(auditFolder)
})

test(`a restart over ${fleet.bindings} bound claims and the drift pass write nothing`, async () => {
  await plane.eventually('the namespace is exempt from the policy for claimed workloads', isExempt, 240_000, 1_000)
  await plane.eventually('the fleet is settled', async () => (await passesDone(1)) && isSettled(), 240_000, 1_000)
  await plane.eventually('no status waits to be written', isQuiet, 240_000, 1_000)
  await lodestone.stop()
  const before = { versions: await versions(), auditSize: (await stat(auditLog)).size }
  const written = await writesSince(0)
  expect(written.length, 'the audit log knows what was written to get there').toBeGreaterThan(2 * fleet.bindings)

  await lodestone.restart()
  const restarted = Date.now()
  await plane.eventually('everything was looked at', () => passesDone(1), 60_000)
  logToStderr(`${written.length} writes to settle; after the restart a pass over all took ${Date.now() - restarted} ms`)
  await plane.eventually('everything was looked at once more', () => passesDone(2), 60_000)
  await lodestone.stop()

  expect(await writesSince(before.auditSize)).toEqual([])
  expect(await versions()).toEqual(before.versions)
}, 360_000)

interface FleetObject extends KubeObject {
  spec: { placement?: { clusterAffinity?: { clusterNames?: string[] } } }
  status?: { phase?: string; boundClaims?: number; conditions?: { type: string; status: string }[] }
}

// Only what Lodestone writes, so that the log stays small. Written before the request is answered (blocking mode, the default).
function auditPolicy(): object {
  return {
    apiVersion: 'audit.k8s.io/v1',
    kind: 'Policy',
    omitStages: ['RequestReceived'],
    rules: [{ level: 'Metadata', users: [lodestoneUser], verbs: writing }, { level: 'None' }],
  }
}

async function writesSince(offset: number): Promise<string[]> {
  const lines = (await readFile(auditLog)).subarray(offset).toString().trimEnd().split('\n')
  return (
    lines
      .filter((line) => line !== '')
      .map((line) => {
        const { verb, requestURI } = JSON.parse(line) as { verb: string; requestURI: string }
        return `${verb} ${requestURI}`
      })
      // The probe of the webhooks stores nothing.
      .filter((write) => !write.includes('dryRun=All'))
  )
}

// Writes a data system that answers with the current places of the seeded sources, so that its answers change nothing.
async function writeStaticSystem(dir: string): Promise<string> {
  const directory = join(dir, 'systems')
  await mkdir(directory)
  const sources = Array.from({ length: fleet.sources }, (_, i) => ({
    type: 'bucket',
    name: `data-${i}`,
    location: `s3://bucket-${i}/data`,
    clusters: [clusterOf(i)],
  }))
  // No query is due between the two starts.
  await writeFile(
    join(directory, 'static'),
    JSON.stringify({ system: 'static', refreshInterval: '24h', extra: { sources } }),
  )
  return directory
}

// Every object had its turn that often, and none waits for another.
async function passesDone(times: number): Promise<boolean> {
  const seen = await Promise.all(
    Object.entries(keys).map(async ([loop, objects]) => {
      const runs = await lodestone.metric('controller_runtime_reconcile_total', `controller="${loop}"`)
      return runs >= times * objects && (await lodestone.metric('workqueue_depth', `name="${loop}"`)) === 0
    }),
  )
  return seen.every(Boolean)
}

/** Lodestone gathers the changes of a claim for a moment before it writes its status. */
async function isQuiet(): Promise<boolean> {
  const before = await writesSince(0)
  await sleep(1_000)
  return (await writesSince(0)).length === before.length
}

async function isSettled(): Promise<boolean> {
  const [claims = [], sources = [], narrowed = []] = await everyObject()
  return (
    claims.length === fleet.claims &&
    claims.every(({ metadata, status }) => metadata['finalizers'] !== undefined && isWell(status, 'Bound', 'Bound')) &&
    sources.length === fleet.sources &&
    sources.every(({ status }) => isWell(status, 'Available', 'Ready') && (status?.boundClaims ?? 0) >= 10) &&
    narrowed.length === fleet.bindings &&
    narrowed.every(({ spec }) => spec.placement?.clusterAffinity?.clusterNames?.length === 1)
  )
}

/** It has too many claims: each of them would cost time at each of the writes. */
async function isExempt(): Promise<boolean> {
  if (!plane.servesPolicies) return true
  const policy = await plane.getJson('validatingadmissionpolicies', 'lodestone-claimed-workloads')
  return JSON.stringify(policy?.['spec']).includes('"default"')
}

function isWell(status: FleetObject['status'], phase: string, type: string): boolean {
  const condition = status?.conditions?.find((one) => one.type === type)
  return status?.phase === phase && condition?.status === 'True'
}

async function versions(): Promise<Map<string, unknown>> {
  const objects = (await everyObject()).flat()
  return new Map(objects.map(({ metadata }) => [String(metadata['uid']), metadata['resourceVersion']]))
}

async function everyObject(): Promise<FleetObject[][]> {
  const lists = ['datasourceclaims', 'datasources', 'resourcebindings.work.karmada.io'].map((kind) =>
    plane.listJson(kind),
  )
  return (await Promise.all(lists)) as FleetObject[][]
}
