// `preference: Cost | Time | Bytes` of claims on a real Karmada: prices and bandwidths choose the cluster in which a workload starts.
import { readFile, writeFile } from 'node:fs/promises'
import { afterAll, beforeAll, describe, expect, onTestFinished, test } from 'vitest'
import { parse, stringify } from 'yaml'
import type { TransferLink } from '../../src/core/transfer-cost/matrix.ts'
import type { KubeObject } from './api-client.ts'
import { lodestoneOutput } from './command.ts'
import { claim, deployment, job, policy, type SpecObject, source } from './manifests.ts'
import { memberClusters } from './member-clusters.ts'
import { inOneCluster, type Stage, startStage, stopStage } from './moving-workloads.ts'
import { settled } from './poll.ts'

const GiB = 2 ** 30
const [frankfurt, ohio, mumbai] = [memberClusters['member1'], memberClusters['member2'], memberClusters['member3']].map(
  (cluster) => ({ region: cluster?.region ?? '' }),
) as [Region, Region, Region]
// No price between Mumbai and Frankfurt is known in this direction.
const links: TransferLink[] = [
  { from: frankfurt, to: ohio, pricePerGiB: 0.1, bytesPerSecond: '100Mi' },
  { from: ohio, to: frankfurt, pricePerGiB: 1, bytesPerSecond: '100Mi' },
  { from: frankfurt, to: mumbai, pricePerGiB: 2, bytesPerSecond: '1Gi' },
  { from: ohio, to: mumbai, pricePerGiB: 2, bytesPerSecond: '1Gi' },
  { from: mumbai, to: ohio, pricePerGiB: 0.2, bytesPerSecond: '100Mi' },
]
const full = { key: 'full', effect: 'NoSchedule' } as const
const broken = { key: 'broken', effect: 'NoExecute' } as const

interface Region {
  region: string
}

let stage: Stage

beforeAll(async () => {
  // member0 is at no known place.
  const options = { clusters: { ...memberClusters, member0: {} }, failover: 'Gracefully' } as const
  stage = await startStage(options, {
    transferCosts: { currency: 'USD', links },
    placement: { failbackWindowSeconds: 3 },
  })
})

afterAll(() => stopStage(stage))

describe('a workload with 5 GiB in member1 and 3 GiB in member2', () => {
  test.each([
    { preference: 'Bytes', cluster: 'member1', gain: 'most of its data is there' },
    { preference: 'Cost', cluster: 'member2', gain: 'the transfer costs 0.50 USD there, the least' },
    { preference: 'Time', cluster: 'member3', gain: 'the transfer takes 8 s, although all data is transferred' },
  ])('starts in $cluster with $preference: $gain', async ({ preference, cluster }) => {
    const workload = await create(`three-${preference.toLowerCase()}`, { preference })

    await stage.placements.isIn(workload, cluster)
  })
})

describe('a workload whose policy excludes the cluster of its data', () => {
  test.each([
    { preference: 'Cost', cluster: 'member2' },
    { preference: 'Time', cluster: 'member3' },
  ])('starts in $cluster, which is the best of the others by $preference', async ({ preference, cluster }) => {
    const data = [{ cluster: 'member1', gib: 5 }]
    const workload = await create(`excluded-${preference.toLowerCase()}`, {
      preference,
      data,
      allowed: ['member2', 'member3'],
    })

    await stage.placements.isIn(workload, cluster)
  })
})

test('a workload starts in the next cheapest cluster until the cheapest has room', async () => {
  await stage.plane.taintCluster('member2', full)
  onTestFinished(() => stage.plane.untaintCluster('member2', full.key))
  const workload = await create('next', { preference: 'Cost' })
  const record = stage.placements.follow(workload)
  await stage.placements.isIn(workload, 'member1')

  await stage.plane.untaintCluster('member2', full.key)

  await stage.placements.isIn(workload, 'member2')
  expect(record.clusters).toEqual(expect.arrayContaining(['member1', 'member2']))
  expect(record.clusters).not.toContain('member3')
})

test('a cluster without a price comes after an expensive one, and before none', async () => {
  const data = [{ cluster: 'member3', gib: 1 }]
  const known = await create('priced', { preference: 'Cost', data, allowed: ['member1', 'member2'] })
  await stage.placements.isIn(known, 'member2')

  const only = await create('unpriced', { preference: 'Cost', data, allowed: ['member1'] })
  await stage.placements.isIn(only, 'member1')
})

test('a cluster of an unknown region comes after those with a price', async () => {
  const data = [{ cluster: 'member1', gib: 1 }]
  const workload = await create('nowhere', { preference: 'Cost', data, allowed: ['member0', 'member2'] })
  await stage.placements.isIn(workload, 'member2')

  const costs = await explain(workload)

  expect(costs.get('member0')).toMatchObject({
    unknown: expect.arrayContaining(['the price from provider-a eu-central to member0 (without provider and region)']),
  })
  expect(costs.get('member0')).not.toHaveProperty('money')
})

test('data of an unknown size has no cost: a workload starts where it is', async () => {
  const workload = await create('unsized', { preference: 'Cost', data: [{ cluster: 'member3' }] })

  await stage.placements.isIn(workload, 'member3')
})

describe('when prices change', () => {
  test('running workloads stay, and new ones start in the cluster that is now cheapest', async () => {
    const running = await create('running', { preference: 'Cost' })
    const batch = await create('batch', { preference: 'Cost', workload: job('batch') })
    for (const workload of [running, batch]) await stage.placements.isIn(workload, 'member2')
    const records = [running, batch].map((workload) => stage.placements.follow(workload))

    await useCosts({ links: links.map((link) => (link.from === ohio ? { ...link, pricePerGiB: 0 } : link)) })

    const later = await create('later', { preference: 'Cost' })
    await stage.placements.isIn(later, 'member1')
    // Each write of the binding goes through admission.
    await stage.hub.kubectl(['scale', 'deployment/running', '--replicas=3'])
    for (const workload of [running, batch]) await isSettled(workload)
    for (const record of records) expect(record).toMatchObject({ clusters: ['member2'], members: ['member2'] })
  })

  test('and are removed, a claim warns that bytes decide, and they do', async () => {
    await useCosts({})

    const { stderr } = await stage.hub.apply(claim('unpriced-hub', { data: 'x', policy: preferring('Cost') }))
    const workload = await create('by-bytes', { preference: 'Cost' })

    expect(stderr).toContain('spec.policy.preference: Cost counts as Bytes: set transferCosts in the configuration')
    await stage.placements.isIn(workload, 'member1')
  })
})

test.each([
  {
    name: 'a value that does not exist',
    terms: { enforcement: 'Preferred', preference: 'Cheapest' },
    error: 'spec.policy.preference: Unsupported value: "Cheapest": supported values: "Bytes", "Cost", "Time"',
  },
  {
    name: 'a preference of a Required claim',
    terms: { enforcement: 'Required', preference: 'Cost' },
    error: 'spec.policy.preference: has no effect: a Required claim has no other clusters',
  },
])('$name is rejected with its path', async ({ terms, error }) => {
  const invalid = claim('invalid', { data: 'invalid', policy: terms })

  const { code, stderr } = await stage.plane.tryCreate(invalid)

  expect({ code, stderr }).toEqual({ code: 1, stderr: expect.stringContaining(error) })
})

test.each([
  { preference: 'Cost', figure: 'money', cluster: 'member2', next: 'member1' },
  { preference: 'Time', figure: 'seconds', cluster: 'member3', next: 'member1' },
] as const)(
  'explain and what-if tell the costs by which a workload with $preference runs',
  async ({ preference, figure, cluster, next }) => {
    const workload = await create(`told-${figure}`, { preference })
    await stage.placements.isIn(workload, cluster)
    const costs = await explain(workload)
    // That of the cluster without a known place is last, and has no figure.
    const told = [...costs.values()].slice(0, -1).map((cost) => cost[figure] ?? Number.NaN)
    expect([[...costs.keys()][0], told]).toEqual([cluster, told.toSorted((a, b) => a - b)])

    const words = ['what-if', '--taint', `${cluster}=${broken.key}:${broken.effect}`, '-o', 'json']
    const { changes } = JSON.parse(await lodestone(...words))
    const change = changes.find((one: { workload: { name: string } }) => one.workload.name === workload.metadata.name)
    await stage.plane.taintCluster(cluster, broken)
    onTestFinished(() => stage.plane.untaintCluster(cluster, broken.key))

    await stage.placements.isIn(workload, next)
    expect(change).toMatchObject({ effect: 'moves', from: [cluster], to: [next] })
    expect(change.transfer.candidates).toEqual([{ cluster: next, ...costs.get(next) }])
  },
)

interface Workload {
  preference: string
  /** Default: 5 GiB in member1 and 3 GiB in member2. */
  data?: { cluster: string; gib?: number }[]
  /** The clusters of the policy. Default: all three. */
  allowed?: string[]
  workload?: SpecObject
}

const bothData = [
  { cluster: 'member1', gib: 5 },
  { cluster: 'member2', gib: 3 },
]

/** Creates a workload with a claim for each piece of its data. */
async function create(
  name: string,
  { preference, data = bothData, allowed, workload = deployment(name) }: Workload,
): Promise<SpecObject> {
  const placement = { ...inOneCluster, ...(allowed && { clusterAffinity: { clusterNames: allowed } }) }
  const objects = data.flatMap(({ cluster, gib }, i) => [
    claim(`${name}-${i}`, { data: `${name}-${i}`, workload, policy: preferring(preference) }),
    source(`${name}-${i}`, [cluster], gib === undefined ? {} : { bytes: gib * GiB }),
  ])
  await stage.hub.apply(...objects, policy(name, { workload, placement }), workload)
  return workload
}

function preferring(preference: string): object {
  return { enforcement: 'Preferred', preference }
}

/** Starts Lodestone again with other prices, until the test ends. */
async function useCosts(transferCosts: object): Promise<void> {
  const { configFile, restart } = stage.lodestone
  const before = await readFile(configFile, 'utf8')
  onTestFinished(async () => {
    await writeFile(configFile, before)
    await restart()
  })
  await writeFile(configFile, stringify({ ...parse(before), transferCosts }))
  await restart()
}

async function isSettled(workload: KubeObject): Promise<void> {
  await settled(`the binding of ${workload.metadata.name}`, () => stage.hub.bindingOf(workload))
}

async function lodestone(...words: string[]): Promise<string> {
  const source = ['--kubeconfig', stage.plane.kubeconfig, '--config', stage.lodestone.configFile]
  return lodestoneOutput([...words, ...source])
}

interface Cost {
  money?: number
  seconds?: number
  [field: string]: unknown
}

interface Line {
  name?: string
  kind?: string
  transfer?: Cost
  children?: Line[]
}

/** The cost of each cluster, in the order of the explanation. */
async function explain({ kind, metadata }: KubeObject): Promise<Map<string, Cost>> {
  const words = ['explain', `${kind.toLowerCase()}/${metadata.name}`, '-n', 'default', '-o', 'json']
  const { object } = JSON.parse(await lodestone(...words)) as { object: Line }
  const lines = (line: Line): Line[] => [line, ...(line.children ?? []).flatMap(lines)]
  return new Map(lines(object).flatMap(({ name = '', transfer }) => (transfer ? [[name, transfer]] : [])))
}
