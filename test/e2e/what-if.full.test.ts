// Questions to `lodestone what-if` on a real Karmada with failover on: each is asked, then done, and what was said is what happens.
import { writeFile } from 'node:fs/promises'
import { join } from 'node:path'
import { afterAll, beforeAll, expect, test } from 'vitest'
import { stringify } from 'yaml'
import type { KubeObject } from './api-client.ts'
import { lodestoneOutput } from './command.ts'
import { taintPolicy } from './failover.ts'
import { type BindingObject, bindings } from './hub.ts'
import { logToStderr } from './log.ts'
import { claim, deployment, job, policy, type SpecObject, source } from './manifests.ts'
import { memberClusters } from './member-clusters.ts'
import { inOneCluster, runWithData, type Stage, startStage, stopStage } from './moving-workloads.ts'
import { settled } from './poll.ts'

interface Change {
  effect: string
  from: string[]
  to: string[]
  afterSeconds: number
  workload: { kind: string; name: string }
  next?: Omit<Change, 'workload'>
}

const config = { placement: { failbackWindowSeconds: 3, releaseDelaySeconds: 1 } }
const everywhere = { clusterAffinity: { clusterNames: ['member1', 'member2', 'member3'] } }
const broken = { key: 'broken', effect: 'NoExecute' } as const
const waiting = deployment('waiting')

let stage: Stage
let dir: string

beforeAll(async () => {
  stage = await startStage({ failover: 'Gracefully', garbageCollector: true }, config)
  dir = stage.plane.dir
  await writeFile(join(dir, 'what-if.yaml'), stringify(config))
  const { hub, placements } = stage
  await Promise.all([
    runWithData(stage, 'follows', 'member1'),
    runWithData(stage, 'prefers', 'member3', { enforcement: 'Preferred' }),
    runWithData(stage, 'never', 'member1', { rebalance: 'Never', failback: 'Never' }),
  ])
  const batch = job('batch')
  const [only, free, copies] = ['only', 'free', 'copies'].map((name) => deployment(name)) as [
    SpecObject,
    SpecObject,
    SpecObject,
  ]
  await hub.apply(
    ...[claim('batch', { data: 'batch', workload: batch }), source('batch', ['member2']), batch],
    policyOf(batch, inOneCluster),
    ...[only, policy('only', { placement: { ...inOneCluster, clusterAffinity: { clusterNames: ['member1'] } } })],
    ...[free, policy('free', { placement: inOneCluster })],
    ...[copies, policy('copies', { placement: { clusterAffinity: { clusterNames: ['member1', 'member2'] } } })],
    ...[waiting, claim('waiting', { data: 'waiting' }), policy('waiting', { placement: everywhere })],
  )
  await placements.isIn(batch, 'member2')
  await placements.isIn(only, 'member1')
  await placements.isIn(copies, 'member1,member2')
})

afterAll(() => stopStage(stage))

function policyOf({ apiVersion, kind, metadata }: KubeObject, placement: object): SpecObject {
  const { spec, ...rest } = policy(metadata.name, { placement })
  return { ...rest, spec: { ...spec, resourceSelectors: [{ apiVersion, kind, name: metadata.name }] } } as SpecObject
}

interface Scenario {
  name: string
  /** The options of the question; `@file` is a manifest of `files`. */
  asks: string[]
  files?: Record<string, KubeObject>
  does(): Promise<unknown>
  /** The effects that the answer must have, by workload: a scenario without any would prove nothing. */
  says: Record<string, string>
}

const movedPolicy = policy('free', { placement: { ...inOneCluster, clusterAffinity: { clusterNames: ['member3'] } } })
const newClaim = claim('copies', { data: 'batch' })
const located = source('waiting', ['member2'])

// In this order: each begins where the one before it ended.
const scenarios: Scenario[] = [
  {
    name: 'a cluster takes no further workloads',
    asks: ['--taint', 'member1=full:NoSchedule'],
    does: () => stage.plane.taintCluster('member1', { key: 'full', effect: 'NoSchedule' }),
    says: {},
  },
  {
    name: 'it takes workloads again',
    asks: ['--taint', 'member1=full-'],
    does: () => stage.plane.untaintCluster('member1', 'full'),
    says: {},
  },
  {
    name: 'a cluster is drained',
    asks: ['--taint', 'member1=broken:NoExecute'],
    does: () => stage.plane.taintCluster('member1', broken),
    says: { follows: 'moves', never: 'moves', only: 'stranded', copies: 'loses' },
  },
  {
    name: 'the drain ends',
    asks: ['--taint', 'member1=broken-'],
    does: () => stage.plane.untaintCluster('member1', 'broken'),
    says: { follows: 'comesHome', only: 'placed', copies: 'gains' },
  },
  {
    name: 'data moves',
    asks: ['--data', 'follows=member2'],
    does: () => stage.hub.apply(source('follows', ['member2'])),
    says: { follows: 'moves' },
  },
  {
    name: 'the data of a Job moves, and of a claim that never follows',
    asks: ['--data', 'batch=member3', '--data', 'never=member3'],
    does: () => stage.hub.apply(source('batch', ['member3']), source('never', ['member3'])),
    says: { batch: 'stays' },
  },
  {
    name: 'a policy excludes the cluster of its workload',
    asks: ['--policy', '@policy.yaml'],
    files: { 'policy.yaml': movedPolicy },
    does: () => stage.hub.apply(movedPolicy),
    says: { free: 'moves' },
  },
  {
    name: 'a claim is created for a workload with copies',
    asks: ['-f', '@claim.yaml', '--data', 'batch=member2'],
    files: { 'claim.yaml': newClaim },
    does: () => stage.hub.apply(newClaim, source('batch', ['member2'])),
    says: { copies: 'loses' },
  },
  {
    name: 'the claim is deleted',
    asks: ['--delete', 'dsc/copies', '-n', 'default'],
    does: () => stage.hub.delete(newClaim),
    says: { copies: 'stays then gains' },
  },
  {
    name: 'the location of data becomes known',
    asks: ['-f', '@source.yaml'],
    files: { 'source.yaml': located },
    does: () => stage.hub.apply(located),
    says: { waiting: 'released' },
  },
  {
    name: 'a workload is deleted',
    asks: ['--delete', 'deployment/free', '-n', 'default'],
    does: () => stage.hub.delete(deployment('free')),
    says: { free: 'removed' },
  },
  {
    name: 'a cluster is lost',
    asks: ['--cluster-lost', 'member3'],
    does: async () => {
      await stage.hub.apply(taintPolicy('member3'))
      await stage.plane.setClusterStatus('member3', { ...memberClusters['member3'], ready: false })
    },
    says: { prefers: 'moves' },
  },
]

// One test: each scenario begins with the fleet that the one before it left.
test('a real Karmada does what the answer said, in twelve scenarios', async () => {
  for (const scenario of scenarios) await play(scenario)
})

async function play({ name: title, asks, files = {}, does, says }: Scenario): Promise<void> {
  for (const [name, object] of Object.entries(files)) await writeFile(join(dir, name), stringify(object))
  const before = await clustersByName()
  const changes = new Map((await ask(asks)).map((change) => [change.workload.name, change]))
  const effects = [...changes].map(([name, { effect, next }]) => [
    name,
    next ? `${effect} then ${next.effect}` : effect,
  ])
  expect(Object.fromEntries(effects), title).toMatchObject(says)
  await does()
  const problems = async () => {
    const after = await clustersByName()
    return [...before].flatMap(([name, was]) => {
      const problem = problemOf(changes.get(name), was, after.get(name))
      return problem ? [`${name} (${changes.get(name)?.effect ?? 'unchanged'}): ${problem}`] : []
    })
  }
  await stage.plane.eventually(`${title}: every workload does what was said`, async () => {
    const found = await problems()
    if (found.length > 0) throw new Error(found.join('; '))
    return true
  })
  await settled('a binding', allBindings)
  expect(await problems(), title).toEqual([])
  logToStderr(`${title}: ${effects.map((effect) => effect.join(' ')).join(', ') || 'nothing changes'}`)
}

/** All bindings as one object, whose version changes with each of them. */
async function allBindings(): Promise<KubeObject> {
  const versions = (await stage.plane.listJson(bindings)).map(({ metadata }) => metadata['resourceVersion'])
  return { apiVersion: 'v1', kind: 'List', metadata: { name: 'bindings', resourceVersion: versions.join() } }
}

async function ask(options: readonly string[]): Promise<Change[]> {
  const words = options.map((word) => word.replace(/^@/, `${dir}/`))
  const source = ['--kubeconfig', stage.plane.kubeconfig, '--config', join(dir, 'what-if.yaml')]
  return JSON.parse(await lodestoneOutput(['what-if', ...words, ...source, '-o', 'json'])).changes
}

async function clustersByName(): Promise<Map<string, string[]>> {
  const all = (await stage.plane.listJson(bindings)) as (BindingObject & { spec: { resource: { name: string } } })[]
  return new Map(
    all.map(({ spec }) => [
      spec.resource.name,
      // During an eviction, the workload is in no known cluster.
      spec['gracefulEvictionTasks'] ? ['(evicting)'] : (spec.clusters ?? []).map(({ name }) => name).sort(),
    ]),
  )
}

/** Why the clusters of a workload are not those that were said; undefined if they are. */
function problemOf(change: Change | undefined, was: string[], is: string[] | undefined): string | undefined {
  const last = change?.next ?? change
  if (!change || !last) return String(is) === String(was) ? undefined : `it ran in ${was}, and is in ${is}`
  if (last.effect === 'removed') return is === undefined ? undefined : `it runs in ${is}`
  if (!is) return 'its binding is gone'
  if (['stranded', 'waits'].includes(last.effect))
    return is.length === 0 || is[0] === '(evicting)' ? undefined : `it runs in ${is}`
  const allowed = [...was, ...change.to, ...last.to].filter(
    (name) => !last.from.includes(name) || last.to.includes(name),
  )
  const outside = is.filter((name) => !allowed.includes(name))
  if (outside.length > 0 || is.length === 0) return `it is in ${is}, and ${allowed} was said`
  if (last.effect === 'stays' && String(is) !== String(was)) return `it does not stay in ${was}: ${is}`
  return ['gains', 'placed', 'released'].includes(last.effect) && last.to.every((name) => !is.includes(name))
    ? `it is in none of ${last.to}`
    : undefined
}
