/**
 * `npm run bench:latency`: measures how long a user waits for one claim, from its creation to the narrowed binding, on a Karmada at work.
 * Compares that with the time that Karmada itself takes from a policy to a binding. Prints Markdown.
 */
import { setTimeout as sleep } from 'node:timers/promises'
import { parseArgs } from 'node:util'
import type { KubeObject } from '../test/e2e/api-client.ts'
import type { ControlPlane } from '../test/e2e/control-plane.ts'
import { startLodestone } from '../test/e2e/lodestone.ts'
import { deployment, policy, tableClaim } from '../test/e2e/manifests.ts'
import { BUILT } from './built.ts'
import { startCatalog } from './catalog.ts'
import { type Changes, followChanges } from './changes.ts'
import { clusterOf, tableOf } from './fleet.ts'
import { report, type Wait } from './latency-report.ts'
import { log } from './log.ts'
import { machine } from './machine.ts'
import { startPlane } from './plane.ts'

const { values } = parseArgs({ options: { times: { type: 'string', default: '30' } } })
const times = Number(values.times)
/** The table that every claim asks for, and where it is. */
const TABLE = tableOf(0, 1)
const CLUSTER = clusterOf(0)
/** An object that was not written for so long is at rest. */
const REST_MS = 500
const PLURALS: Record<string, string> = {
  Deployment: 'deployments.apps',
  PropagationPolicy: 'propagationpolicies.policy.karmada.io',
  ResourceBinding: 'resourcebindings.work.karmada.io',
  DataSourceClaim: 'datasourceclaims.datadependency.volcano.sh',
}

const { plane, kubeconfig } = await startPlane()
try {
  const changes = await prepare(plane)
  // The first of each pays for what is compiled and connected, and its claim has the catalog asked: not measured.
  await measure('first', changes)
  const waits: Wait[] = []
  for (let i = 1; i <= times; i++) {
    waits.push(await measure(`workload-${i}`, changes))
    if (i % 10 === 0) log(`${i} of ${times}`)
  }
  const setting = `${machine()}; ${times} times each, one after the other, from when the request is sent.`
  process.stdout.write(report({ setting, waits }))
} finally {
  await plane.stopAll()
}
process.exit(0)

async function prepare(target: ControlPlane): Promise<Changes> {
  const catalog = await startCatalog(target, { tables: 1, answerMs: 0 })
  await startLodestone(target, {
    entry: BUILT,
    kubeconfig,
    // Every claim moves a workload that is scheduled; how many of those a minute may bring is not measured here.
    config: { systems: { directory: catalog.systems }, loops: { maxMovesPerMinute: 10_000 } },
  })
  return followChanges(
    target,
    ['ResourceBinding', 'DataSourceClaim'].map((kind) => PLURALS[kind] ?? ''),
  )
}

async function measure(name: string, { heard, quiet }: Changes): Promise<Wait> {
  const binding = { kind: 'ResourceBinding', name: `${name}-deployment` }
  await create(deployment(name))
  // Karmada has seen the Deployment by then, and waits for nothing but its policy.
  await sleep(REST_MS)
  const appeared = heard(binding, () => true)
  const scheduled = heard(binding, (object) => specOf(object).clusters?.length === 3)
  const policyAt = await create(policy(name))
  const appearedAt = await appeared
  await scheduled
  await quiet(binding, REST_MS)
  const narrowed = heard(binding, (object) => affinityOf(object) === CLUSTER)
  const moved = heard(binding, (object) => clustersOf(object) === CLUSTER)
  const bound = heard({ kind: 'DataSourceClaim', name }, (object) => phaseOf(object) === 'Bound')
  const claimAt = await create(tableClaim(name, { data: TABLE }))
  const wait = {
    policyToBinding: appearedAt - policyAt,
    claimToNarrowed: (await narrowed) - claimAt,
    claimToBound: (await bound) - claimAt,
    claimToMoved: (await moved) - claimAt,
  }
  await quiet(binding, REST_MS)
  return wait
}

/** Creates an object as a user would. Gives the moment at which the request was sent. */
async function create(object: KubeObject): Promise<number> {
  const path = await plane.api.collection(PLURALS[object.kind] ?? '', 'default')
  const at = performance.now()
  await plane.api.expect('POST', path, object)
  return at
}

interface BindingSpec {
  placement?: { clusterAffinity?: { clusterNames?: string[] } }
  clusters?: { name: string }[]
}

function specOf(binding: KubeObject): BindingSpec {
  return binding['spec'] as BindingSpec
}

function affinityOf(binding: KubeObject): string | undefined {
  return specOf(binding).placement?.clusterAffinity?.clusterNames?.join()
}

function clustersOf(binding: KubeObject): string | undefined {
  return specOf(binding)
    .clusters?.map(({ name }) => name)
    .join()
}

function phaseOf(object: KubeObject): string | undefined {
  return (object['status'] as { phase?: string } | undefined)?.phase
}
