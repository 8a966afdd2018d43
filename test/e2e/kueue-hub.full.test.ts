// Kueue on a Karmada hub: it unsuspends a job when Lodestone has placed it, with the sentence of the hold until then.
import { afterAll, beforeAll, expect, onTestFinished, test } from 'vitest'
import type { KubeObject } from './api-client.ts'
import { type ControlPlane, startControlPlane } from './control-plane.ts'
import { type Hub, hubOn } from './hub.ts'
import { admissionCheck, progressOf, queuedJob, queues, startKueue } from './kueue.ts'
import { installLodestone, type Lodestone, leaseRights, startLodestone } from './lodestone.ts'
import { claim, policy, source } from './manifests.ts'
import { stopAndCheckRights } from './rights.ts'

let plane: ControlPlane
let replicas: Lodestone[]
let hub: Hub

beforeAll(async () => {
  plane = await startControlPlane()
  const kubeconfig = await installLodestone(plane)
  await plane.apply(leaseRights())
  const config = { kueue: { enabled: true }, leaderElection: { enabled: true } }
  replicas = [
    await startLodestone(plane, { name: 'first', kubeconfig, config }),
    // Only one address can be registered.
    await startLodestone(plane, { name: 'second', kubeconfig, config: { ...config, registration: { mode: 'none' } } }),
  ]
  hub = hubOn(plane)
  await startKueue(plane)
  await plane.apply([admissionCheck('data'), ...queues('team', { checks: ['data'], namespaces: ['default'] })])
})

afterAll(() => stopAndCheckRights({ plane, lodestones: replicas ?? [] }))

test('a job on hold shows the reason, and is placed when its policy allows the data', async () => {
  const job = queuedJob('fleet', { queue: 'team' })
  const placement = { clusterAffinity: { clusterNames: ['member1', 'member2'] } }
  await hub.apply(
    policy('fleet', { workload: job, placement }),
    source('fleet-data', ['member3']),
    claim('fleet', { data: 'fleet-data', workload: job }),
    job,
  )
  const hold = 'default/fleet (member3): the data is in member3, which the policy does not allow'
  await shows(job, `Pending: ${hold}`, true)
  await plane.eventually('the binding has the same sentence', async () => {
    const binding = await hub.bindingOf(job)
    const annotation = binding?.metadata.annotations?.['lodestone.dev/hold'] ?? ''
    return annotation.includes(hold)
  })

  await plane.kubectl(['patch', 'datasource', 'fleet-data', '--type=merge', '-p', IN_MEMBER2])
  await shows(job, 'Ready: default/fleet is in member2', false)
  await hub.isOnlyIn(job, 'member2')
  await plane.eventually('the member runs the job', async () => {
    const manifest = (await hub.manifestIn('member2', job)) as { spec?: { suspend?: boolean } } | undefined
    return manifest?.spec?.suspend === false
  })
})

test('another replica admits a waiting job when the leader is killed', async () => {
  const job = queuedJob('orphaned', { queue: 'team' })
  await hub.apply(claim('orphaned', { data: 'orphaned-data', workload: job }), job)
  await shows(job, 'Pending: default/orphaned: no DataSource for static bucket orphaned-data yet', true)
  const leader = replicas[await indexOfLeader()]
  onTestFinished(() => leader?.restart())
  await leader?.kill()
  await plane.apply(source('orphaned-data', ['member1']))
  // The Lease expires 15 s after its last renewal.
  await shows(job, 'Ready: default/orphaned is in member1', false, 60_000)
})

async function shows(job: KubeObject, check: string, suspended: boolean, timeoutMs?: number): Promise<void> {
  await plane.eventually(
    `the job shows ${check}`,
    async () => {
      expect(await progressOf(plane, job)).toMatchObject({ checks: { data: check }, suspended })
      return true
    },
    timeoutMs,
  )
}

async function indexOfLeader(): Promise<number> {
  return plane.eventually('a replica is the leader', async () => {
    const leads = await Promise.all(replicas.map((one) => one.metric('leader_election_master_status')))
    const index = leads.indexOf(1)
    if (index < 0) throw new Error('none')
    return index
  })
}

const IN_MEMBER2 = JSON.stringify({ spec: { locality: { clusterNames: ['member2'] } } })
