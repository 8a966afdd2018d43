// The etcd of a hub is restored from an older snapshot. Its resource versions go back, and watches from newer ones send nothing.
import { cp, rename, rm } from 'node:fs/promises'
import { join } from 'node:path'
import { afterAll, beforeAll, expect, test } from 'vitest'
import type { KubeObject } from './api-client.ts'
import { type ControlPlane, startControlPlane } from './control-plane.ts'
import { installLodestone, type Lodestone, startLodestone } from './lodestone.ts'
import { claim, configMap, source } from './manifests.ts'

let plane: ControlPlane
let lodestone: Lodestone

beforeAll(async () => {
  plane = await startControlPlane()
  lodestone = await startLodestone(plane, { kubeconfig: await installLodestone(plane) })
})

// An API server that has just started forbids requests until it knows the roles, so the rights are not checked.
afterAll(() => plane?.stopAll())

test('Lodestone takes over the objects of a hub restored from an older snapshot', async () => {
  await plane.apply([source('orders', ['member1']), claim('orders', { data: 'orders' })])
  await isLocated('orders', 'member1')
  const restore = await backUp()
  for (let i = 0; i < 300; i++) await plane.apply([{ ...configMap('filler'), data: { key: `${i}` } } as KubeObject])
  await plane.apply([source('orders', ['member2'])])
  await isLocated('orders', 'member2')

  await restore()

  await isLocated('orders', 'member1')
  await plane.apply([source('sales', ['member3']), claim('sales', { data: 'sales' })])
  await isLocated('sales', 'member3')
  await plane.eventually('the cache has both sources', async () => {
    expect(await lodestone.metric('lodestone_cached_objects', 'kind="DataSource"')).toBe(2)
    return true
  })
  expect(await lodestone.metric('lodestone_relists_total', 'reason="restored"')).toBeGreaterThan(0)
})

/** Copies the data of etcd, as after a power failure. Returns a function that puts it back. */
async function backUp(): Promise<() => Promise<void>> {
  const data = join(plane.dir, 'etcd')
  const copy = join(plane.dir, 'etcd-snapshot')
  const pid = plane.pidOf('etcd') ?? 0
  process.kill(pid, 'SIGSTOP')
  await cp(data, copy, { recursive: true })
  process.kill(pid, 'SIGCONT')
  return async () => {
    for (const component of ['kube-apiserver', 'etcd'] as const) await plane.stop(component)
    await rm(data, { recursive: true })
    await rename(copy, data)
    for (const component of ['etcd', 'kube-apiserver'] as const) await plane.start(component)
  }
}

/** Returns when the status of a claim says that its data is in a cluster. */
async function isLocated(name: string, cluster: string): Promise<void> {
  await plane.eventually(`the data of ${name} is in ${cluster}`, async () => {
    const found = await plane.getJson('datasourceclaims.datadependency.volcano.sh', name, 'default')
    const { conditions = [] } = (found?.['status'] ?? {}) as { conditions?: { type: string; message: string }[] }
    const resolved = conditions.find(({ type }) => type === 'Resolved')
    return resolved?.message === `the data is in ${cluster}`
  })
}
