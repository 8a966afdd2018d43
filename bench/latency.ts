/**
 * `npm run bench:latency`: how long a user waits for one claim, from its creation to the narrowed binding, on a Karmada at work. Karmada's
 * own time from a policy to a binding is beside it.
 */
import { setTimeout as sleep } from 'node:timers/promises'
import { endProcess } from '../src/cli/end-process.ts'
import type { KubeObject } from '../test/e2e/api-client.ts'
import { deployment, policy, tableClaim } from '../test/e2e/manifests.ts'
import { startCatalog } from './harness/catalog.ts'
import { clusterOf, tableOf } from './harness/fleet.ts'
import { withPlane } from './harness/plane.ts'
import { median, options, print, quantile, report, table } from './harness/report.ts'
import { reached, Tally, watch } from './harness/watch.ts'

const { rounds } = options({ rounds: 30 })
const CLUSTER = clusterOf(0)
/** A resource that was not written for so long is at rest. */
const REST_MS = 500

interface Binding {
  placement?: { clusterAffinity?: { clusterNames?: string[] } }
  clusters?: { name: string }[]
}
const specOf = (object: KubeObject) => object['spec'] as Binding
const created = new Tally(() => true)
const scheduled = new Tally((object) => specOf(object).clusters !== undefined)
const narrowed = new Tally((object) => specOf(object).placement?.clusterAffinity?.clusterNames?.join() === CLUSTER)
const moved = new Tally(
  (object) =>
    specOf(object)
      .clusters?.map(({ name }) => name)
      .join() === CLUSTER,
)
const bound = new Tally((claim) => (claim['status'] as { phase?: string } | undefined)?.phase === 'Bound')

await withPlane({}, async ({ plane, start }) => {
  const { directory } = await startCatalog(plane, 1, 0)
  // Every claim moves a scheduled workload. The limit of moves is not the subject.
  await start({ config: { systems: { directory }, loops: { maxMovesPerMinute: 10_000 } } })
  await watch(plane, 'datasourceclaims', bound)
  await watch(plane, 'resourcebindings.work.karmada.io', created, scheduled, narrowed, moved)
  const create = async (plural: string, object: KubeObject) => {
    const path = await plane.api.collection(plural, 'default')
    const at = performance.now()
    await plane.api.expect('POST', path, object)
    return at
  }
  const waits: number[][] = []
  // Round 0 compiles, connects and queries the catalog. It does not count.
  for (let round = 0; round <= rounds; round++) {
    const name = `workload-${round}`
    const binding = `${name}-deployment`
    await create('deployments.apps', deployment(name))
    // Karmada has seen the Deployment after that, and waits for its policy only.
    await sleep(REST_MS)
    const policyAt = await create('propagationpolicies.policy.karmada.io', policy(name))
    await reached(round + 1, scheduled)
    await atRest()
    const claimAt = await create('datasourceclaims', tableClaim(name, { data: tableOf(0, 1) }))
    await reached(round + 1, narrowed, moved, bound)
    await atRest()
    const wait = (since: number, tally: Tally, object = binding) => (tally.reachedAt.get(object) ?? Number.NaN) - since
    waits.push([
      wait(policyAt, created),
      ...[wait(claimAt, narrowed), wait(claimAt, bound, name), wait(claimAt, moved)],
    ])
  }
  const columns = ['Karmada: policy → binding', 'claim → narrowed', 'claim → Bound', 'claim → rescheduled by Karmada']
  const all = columns.map((_, column) => waits.slice(1).map((wait) => wait[column] ?? Number.NaN))
  const cells = all.map((ms) => `${quantile(ms, 0.5).toFixed(0)}, ${quantile(ms, 0.9).toFixed(0)}`)
  const [policyToBinding = [], claimToNarrowed = []] = all
  const value = median(claimToNarrowed) / median(policyToBinding)
  report([{ name: 'claim → narrowed ÷ Karmada: policy → binding', value, better: 'lower' }])
  print(
    'one workload while everything else is at rest; goal: claim → narrowed p50 ≤ 150 ms',
    table([`${rounds} rounds`, ...columns], [['p50, p90 ms', ...cells]]),
  )
})
await endProcess()

async function atRest(): Promise<void> {
  while (performance.now() - moved.heardAt < REST_MS) await sleep(REST_MS / 10)
}
