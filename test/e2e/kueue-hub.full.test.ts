// Kueue on a Karmada hub: it unsuspends a job when Lodestone has placed it, with the sentence of the hold until then.
import { afterAll, beforeAll, expect, test } from 'vitest'
import { type ControlPlane, startControlPlane } from './control-plane.ts'
import { type Hub, hubOn } from './hub.ts'
import { admissionCheck, progressOf, queuedJob, queues, startKueue } from './kueue.ts'
import { installLodestone, type Lodestone, startLodestone } from './lodestone.ts'
import { claim, policy, source } from './manifests.ts'
import { stopAndCheckRights } from './rights.ts'

let plane: ControlPlane
let lodestone: Lodestone
let hub: Hub

beforeAll(async () => {
  plane = await startControlPlane()
  const kubeconfig = await installLodestone(plane)
  lodestone = await startLodestone(plane, { kubeconfig, config: { kueue: { enabled: true } } })
  hub = hubOn(plane)
  await startKueue(plane)
  await plane.apply([admissionCheck('data'), ...queues('team', { checks: ['data'], namespaces: ['default'] })])
})

afterAll(() => stopAndCheckRights({ plane, lodestones: [lodestone] }))

test('a job waits with the sentence of its hold, and is unsuspended and placed when its policy allows the data', async () => {
  const job = queuedJob('fleet', { queue: 'team' })
  const placement = { clusterAffinity: { clusterNames: ['member1', 'member2'] } }
  await hub.apply(
    policy('fleet', { workload: job, placement }),
    source('fleet-data', ['member3']),
    claim('fleet', { data: 'fleet-data', workload: job }),
    job,
  )
  const hold = 'default/fleet (member3): the data is in member3, which the policy does not allow'
  await shows(`Pending: ${hold}`, true)
  await plane.eventually('the binding has the same sentence', async () => {
    const binding = await hub.bindingOf(job)
    const annotation = binding?.metadata.annotations?.['lodestone.dev/hold'] ?? ''
    return annotation.includes(hold)
  })

  await plane.kubectl(['patch', 'datasource', 'fleet-data', '--type=merge', '-p', IN_MEMBER2])
  await shows('Ready: default/fleet is in member2', false)
  await hub.isOnlyIn(job, 'member2')
  const manifest = (await hub.manifestIn('member2', job)) as { spec?: { suspend?: boolean } } | undefined
  expect(manifest?.spec?.suspend).toBe(false)

  async function shows(check: string, suspended: boolean): Promise<void> {
    await plane.eventually(`the job shows ${check}`, async () => {
      expect(await progressOf(plane, job)).toMatchObject({ checks: { data: check }, suspended })
      return true
    })
  }
})

const IN_MEMBER2 = JSON.stringify({ spec: { locality: { clusterNames: ['member2'] } } })
