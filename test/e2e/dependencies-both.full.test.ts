// Karmada and Lodestone both distribute, which no user should configure but some will: they agree, and neither undoes a write of the other.
import { setTimeout as sleep } from 'node:timers/promises'
import { afterAll, beforeAll, expect, test } from 'vitest'
import { countRequests, type Requests, requestsBetween, WRITES } from '../../bench/harness/plane.ts'
import type { KubeObject } from './api-client.ts'
import type { ControlPlane } from './control-plane.ts'
import { bindings, clusterBindings, type Hub, startHub } from './hub.ts'
import { startLodestone } from './lodestone.ts'
import {
  claim,
  clusterPolicy,
  configMap,
  deployment,
  only,
  persistentVolume,
  policy,
  secret,
  service,
  source,
} from './manifests.ts'

const PLACEMENTS = ['resourcebindings', 'clusterresourcebindings', 'propagationpolicies', 'clusterpropagationpolicies']
const names = Array.from({ length: 5 }, (_, i) => `web-${i}`)
const shared = configMap('shared')
const independent = configMap('independent')
const password = secret('password')
const disk = persistentVolume('disk', { needs: password })
const own = (name: string) => configMap(`${name}-settings`)
const workload = (name: string) => deployment(name, { needs: [own(name), shared, independent, password] })

let plane: ControlPlane
let hub: Hub

beforeAll(async () => {
  const started = await startHub({ propagateDeps: true })
  plane = started.plane
  hub = started.hub
  const { kubeconfig } = started
  await startLodestone(plane, { kubeconfig, config: { dependencies: { distribution: 'builtin' } } })
})

afterAll(async () => {
  await plane?.stopAll()
})

test('with both distributors, no binding is written in the final state', async () => {
  await hub.apply(
    source('web-data', ['member1', 'member2']),
    shared,
    independent,
    password,
    policy('independent', { workload: independent, placement: only('member3') }),
    clusterPolicy('disk', disk, { placement: only('member1'), propagateDeps: true }),
    disk,
    ...names.flatMap((name) => [
      own(name),
      service(name, { of: name }),
      claim(name, { data: 'web-data' }),
      policy(name, { propagateDeps: true }),
      workload(name),
    ]),
  )
  for (const name of names) {
    for (const one of [workload(name), own(name), service(name, { of: name })]) {
      await hub.isOnlyIn(one, 'member1,member2')
    }
  }
  await hub.isOnlyIn(shared, 'member1,member2')
  await hub.isOnlyIn(independent, 'member1,member2,member3')
  await plane.eventually('both have labeled its dependents', async () => {
    const labels = Object.keys((await hub.bindingOf(shared))?.metadata.labels ?? {})
    for (const prefix of ['resourcebinding.karmada.io/depended-by-', 'lodestone.dev/depended-by-']) {
      expect(labels.filter((key) => key.startsWith(prefix))).toHaveLength(names.length)
    }
    return true
  })

  await hub.mergePatch(source('web-data', []), { spec: { locality: { clusterNames: ['member2'] } } })
  for (const one of [workload('web-0'), own('web-0'), shared]) await hub.isOnlyIn(one, 'member2')
  await hub.mergePatch(shared, { data: { key: 'changed' } })
  await plane.eventually('the change arrives', async () => {
    expect(await hub.manifestIn('member2', shared)).toMatchObject({ data: { key: 'changed' } })
    return true
  })
  const beforeRestart = await bindingUpdates()
  await plane.restart('karmada-controller-manager')
  await plane.eventually('it sends bindings again', async () => (await bindingUpdates()) > beforeRestart)
  await settled()

  const before = { writes: await bindingWrites(), versions: await versions() }
  await sleep(20_000)

  expect(requestsBetween(before.writes, await bindingWrites())).toEqual({})
  expect(await versions()).toEqual(before.versions)

  await hub.delete(...names.map(workload))

  for (const name of names) await hub.isOnlyIn(own(name), '')
  await hub.isOnlyIn(shared, '')
  await hub.isOnlyIn(independent, 'member3')
  await hub.isOnlyIn(password, 'member1')
  expect((await hub.bindingOf(shared))?.spec.requiredBy ?? []).toEqual([])
}, 480_000)

async function everyBinding(): Promise<KubeObject[]> {
  return [...(await plane.listJson(bindings)), ...(await plane.listJson(clusterBindings))]
}

async function versions(): Promise<Map<string, unknown>> {
  return new Map((await everyBinding()).map(({ metadata }) => [metadata.name, metadata['resourceVersion']]))
}

/** All requests to write, also those that change nothing: two that undo each other may be quicker than a look. */
function bindingWrites(): Promise<Requests> {
  return countRequests(plane, PLACEMENTS, WRITES)
}

/** Counts the updates of bindings; Karmada's detector updates every binding when it starts. */
async function bindingUpdates(): Promise<number> {
  return (await bindingWrites())['PUT resourcebindings'] ?? 0
}

async function settled(): Promise<void> {
  let before = ''
  let unchanged = 0
  await plane.eventually(
    'bindings are not written any more',
    async () => {
      const now = JSON.stringify(await bindingWrites())
      unchanged = now === before ? unchanged + 1 : 0
      before = now
      return unchanged >= 30
    },
    180_000,
  )
}
