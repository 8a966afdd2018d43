// What volcano-global leaves on a real Karmada: running workloads that it placed, with claims and sources that Lodestone finds invalid, or
// without a known location. From the first start of Lodestone to the deletion of the claims, no workload gets a second cluster.
import { readFileSync } from 'node:fs'
import { join } from 'node:path'
import { afterAll, beforeAll, expect, test } from 'vitest'
import type { KubeObject } from './api-client.ts'
import { runLodestone } from './command.ts'
import { type ControlPlane, startControlPlane } from './control-plane.ts'
import { type BindingObject, bindings, type Hub, hubOn } from './hub.ts'
import { installLodestone, type Lodestone, startLodestone } from './lodestone.ts'
import { claim, deployment, policy, type SpecObject } from './manifests.ts'
import { type PlacementRecord, type Placements, watchPlacements } from './placements.ts'
import { stopAndCheckRights } from './rights.ts'

const repository = join(import.meta.dirname, '..', '..')
const claims = 'datasourceclaims.datadependency.volcano.sh'
const sources = 'datasources.datadependency.volcano.sh'
const theirs = 'datadependency.volcano.sh/finalizer'
const theirsOfSources = 'datadependency.volcano.sh/datasource-finalizer'

interface Leftover {
  /** What differs from a plain claim of this workload; a function of the workload's name. */
  spec?: (workload: object) => object
  hasSource?: false
}

/** The CRDs of volcano-global accept all of these. Each claim names the running workload of the same name. */
const LEFTOVERS: Readonly<Record<string, Leftover>> = {
  'empty-namespace': { spec: (workload) => ({ workload: { ...workload, namespace: '' } }) },
  'forty-attributes': {
    spec: () => ({ attributes: Object.fromEntries(Array.from({ length: 40 }, (_, i) => [`a${i}`, 'x'])) }),
  },
  'padded-name': { spec: () => ({ dataSourceName: ' lake.shop.orders ' }) },
  'long-type': { spec: () => ({ dataSourceType: 't'.repeat(64) }) },
  'without-source': { hasSource: false },
}
const names = Object.keys(LEFTOVERS)

let plane: ControlPlane
let hub: Hub
let placements: Placements
let lodestone: Lodestone | undefined
const seen = new Map<string, PlacementRecord>()
let waiting: PlacementRecord

beforeAll(async () => {
  plane = await startControlPlane()
  hub = hubOn(plane)
  const crds = readFileSync(join(repository, 'test', 'data', 'deploy-guide', 'upstream-crds.yaml'), 'utf8')
  await hub.kubectl(['apply', '-f', '-'], crds)
  await plane.crdsEstablished()
  placements = await watchPlacements(plane)
  await leaveBehind()
  const kubeconfig = await installLodestone(plane)
  // A deleted claim would end its narrowing while the test still deletes the others.
  const config = { placement: { releaseDelaySeconds: 3600 } }
  for (const name of names) seen.set(name, placements.follow(deployment(name)))
  waiting = placements.follow(deployment('waiting'))
  lodestone = await startLodestone(plane, { kubeconfig, config })
})

afterAll(async () => {
  await placements?.stop()
  await stopAndCheckRights({ plane, lodestones: [lodestone] })
})

async function leaveBehind(): Promise<void> {
  const placement = { clusterAffinity: { exclude: ['member1'] } }
  const workloads = [...names, 'waiting']
  await hub.apply(...workloads.flatMap((name) => [policy(name, { placement }), deployment(name)]))
  for (const name of names) {
    await placements.isIn(deployment(name), 'member2,member3')
    await patchBinding(name, { placement: { clusterAffinity: { exclude: ['member1', 'member3'] } } })
  }
  for (const name of names) await placements.isIn(deployment(name), 'member2')
  await placements.isIn(deployment('waiting'), 'member2,member3')
  await patchBinding('waiting', { suspension: { scheduling: true }, clusters: null })
  const objects = names.flatMap((name) => [theirClaim(name), theirClaim(name, `${name}-deleted`)])
  await hub.apply(...objects, theirClaim('waiting'))
  await hub.apply(...names.filter((name) => LEFTOVERS[name]?.hasSource !== false).map((name) => theirSource(name)))
  await hub.apply(theirSource('waiting', 'member3'))
  for (const name of names) await hub.kubectl(['delete', claims, `${name}-deleted`, '--wait=false'])
}

/** As the controller of volcano-global narrows, and its webhook suspends. */
async function patchBinding(name: string, spec: object): Promise<void> {
  const annotations = {
    'datadependency.volcano.sh/placement-injected': 'true',
    'datadependency.volcano.sh/excluded-clusters': 'member1,member3',
  }
  const isNarrowed = 'placement' in spec
  const patch = JSON.stringify({ ...(isNarrowed && { metadata: { annotations } }), spec })
  await hub.kubectl(['patch', bindings, `${name}-deployment`, '--type=merge', '-p', patch])
}

function theirClaim(workload: string, name = workload): SpecObject {
  const plain = claim(workload, { data: `lake.shop.${workload}` })
  const spec = { ...plain.spec, system: 'manual', dataSourceType: 'table' }
  const differing = LEFTOVERS[workload]?.spec?.(plain.spec['workload'] as object)
  return { ...plain, metadata: { ...plain.metadata, name, finalizers: [theirs] }, spec: { ...spec, ...differing } }
}

function theirSource(name: string, cluster = 'member2'): KubeObject {
  const { system, dataSourceType, dataSourceName, attributes } = theirClaim(name).spec
  return {
    apiVersion: 'datadependency.volcano.sh/v1alpha1',
    kind: 'DataSource',
    metadata: { name, finalizers: [theirsOfSources] },
    spec: {
      system,
      type: dataSourceType,
      name: dataSourceName,
      locality: { clusterNames: [cluster] },
      ...(attributes !== undefined && { attributes }),
    },
  } as KubeObject
}

const migrate = () => runLodestone(['migrate', '--kubeconfig', plane.kubeconfig, '--apply'])

/** The clusters of a workload's binding, and the members with its Works, in each state since the first start. */
function historyOf(name: string): object {
  const { clusters, members } = seen.get(name) ?? {}
  return { name, clusters, members }
}

const alwaysInMember2 = names.map((name) => ({ name, clusters: ['member2'], members: ['member2'] }))

test('first start, migrate --apply and deletion of claims leave workloads in place', async () => {
  await plane.eventually('the API server is seen to call the webhooks', async () => {
    return (await lodestone?.metric('lodestone_webhooks_seen')) === 1
  })
  await plane.eventually('the policies have propagateDeps, so Karmada has written the bindings again', async () => {
    for (const name of names.filter((one) => LEFTOVERS[one]?.hasSource !== false)) {
      const found = await hub.read(policy(name))
      if (!(found as SpecObject | undefined)?.spec['propagateDeps']) throw new Error(`${name} has not`)
    }
    return true
  })
  await plane.eventually('every binding is narrowed by Lodestone', async () => {
    for (const name of names) expect([name, await narrowingOf(name)]).toEqual([name, ['member2']])
    return true
  })
  expect(names.map(historyOf)).toEqual(alwaysInMember2)

  const { code, stdout, stderr } = await migrate()

  expect({ code, stderr }).toEqual({ code: 0, stderr: '' })
  expect(stdout).toContain(', 0 failed\n')
  const left = [...(await plane.listJson(claims)), ...(await plane.listJson(sources))]
  const finalizers = left.map(({ metadata }) => `${metadata.name} ${metadata['finalizers'] ?? ''}`)
  expect(finalizers.filter((text) => text.includes('volcano'))).toEqual([])
  await plane.eventually('the claims that were deleted before are gone', async () => {
    return (await plane.listJson(claims)).every(({ metadata }) => !metadata.name.endsWith('-deleted'))
  })
  await placements.isIn(deployment('waiting'), 'member3')
  expect(waiting.clusters).toEqual(['', 'member3'])

  for (const name of names) await hub.kubectl(['delete', claims, name, '--timeout=60s'])

  expect(await plane.listJson(claims)).toHaveLength(1)
  for (const name of names) await placements.isIn(deployment(name), 'member2')
  expect(names.map(historyOf)).toEqual(alwaysInMember2)
  expect(await migrate()).toMatchObject({ code: 0, stdout: 'nothing of volcano-global is left\n' })
})

async function narrowingOf(name: string): Promise<unknown> {
  const { spec } = (await hub.bindingOf(deployment(name))) as BindingObject
  return (spec['placement'] as { clusterAffinity?: { clusterNames?: string[] } } | undefined)?.clusterAffinity
    ?.clusterNames
}
