// The first start of Lodestone on a hub whose running workload another tool has placed.
import { afterAll, beforeAll, expect, test } from 'vitest'
import type { KubeObject } from './api-client.ts'
import { type ControlPlane, startControlPlane } from './control-plane.ts'
import { clusterNames } from './hub.ts'
import { installLodestone, type Lodestone, startLodestone } from './lodestone.ts'
import { claim, deployment, policy, source } from './manifests.ts'
import { collect } from './poll.ts'
import { stopAndCheckRights } from './rights.ts'

const bindings = 'resourcebindings.work.karmada.io'

let plane: ControlPlane
let lodestone: Lodestone | undefined

beforeAll(async () => {
  plane = await startControlPlane()
})

afterAll(() => stopAndCheckRights({ plane, lodestones: [lodestone] }))

test('a running workload of volcano-global stays in its cluster at the first start', async () => {
  const kubeconfig = await installLodestone(plane)
  await plane.create(policy('web', { placement: without('member1') }), deployment('web'))
  await plane.eventually('the workload is scheduled', async () => (await scheduled()) === 'member2,member3')
  // As volcano-global narrows: in the binding, and not in the policy.
  await plane.kubectl(['patch', bindings, 'web-deployment', '--type=merge', '-p', patchOf('member1', 'member3')])
  await plane.eventually('the workload is in one cluster', async () => (await scheduled()) === 'member2')
  await plane.create(claim('web', { data: 'web-data' }), source('web-data', ['member2']))
  const seen = collect(scheduled)

  const started = await startLodestone(plane, { kubeconfig })
  lodestone = started
  await plane.eventually('the policy has propagateDeps', async () => {
    const { spec } = (await plane.getJson('propagationpolicies.policy.karmada.io', 'web', 'default')) as Policy
    return spec.propagateDeps === true
  })
  await plane.eventually('the binding is narrowed', async () => (await affinity()).join() === 'member2')
  expect(await started.metric('lodestone_webhooks_seen')).toBe(1)
  expect(await seen.stop()).toEqual(['member2'])

  await started.restart()
  await plane.eventually('the API server is seen to call the webhooks again', async () => {
    return (await started.metric('lodestone_webhooks_seen')) === 1
  })
})

interface Policy extends KubeObject {
  spec: { propagateDeps?: boolean }
}

interface Binding extends KubeObject {
  spec: { clusters?: { name: string }[]; placement?: { clusterAffinity?: { clusterNames?: string[] } } }
}

function without(...exclude: string[]): object {
  return { clusterAffinity: { exclude } }
}

function patchOf(...exclude: string[]): string {
  return JSON.stringify({ spec: { placement: without(...exclude) } })
}

async function binding(): Promise<Binding | undefined> {
  return (await plane.getJson(bindings, 'web-deployment', 'default')) as Binding | undefined
}

async function scheduled(): Promise<string> {
  return clusterNames(await binding())
}

async function affinity(): Promise<string[]> {
  return (await binding())?.spec.placement?.clusterAffinity?.clusterNames ?? []
}
