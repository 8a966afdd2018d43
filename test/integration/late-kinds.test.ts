/** Things are installed in any order: the whole application on an API server that comes to serve VolumeManagers later. */
import { expect, test } from 'vitest'
import { MOVER_LABEL, MOVER_TASK_ANNOTATION } from '../../src/api/lodestone.ts'
import type { K8sObject } from '../../src/api/meta.ts'
import { nodes } from '../../src/api/node.ts'
import { type Pod, pods } from '../../src/api/pod.ts'
import { volumeManagers } from '../../src/api/volume-manager.ts'
import { DEFAULT_CONFIG } from '../../src/app/config/config.ts'
import { SHIPPED_KINDS } from '../../src/core/workload-kinds/kinds.ts'
import { kindsFor } from '../../src/store/kinds/cached-kinds.ts'
import { makeVolumeManager } from '../builders.ts'
import { openAppOnApiServer } from './app-on-api-server.ts'

/** Starts everything in a cluster of its own that has a node, and whose API server does not serve VolumeManagers. */
async function start() {
  const volumes = { ...DEFAULT_CONFIG.volumes, enabled: true }
  const kinds = kindsFor({ workloads: SHIPPED_KINDS, dependencies: true, movesData: true })
  const { server, store, start } = await openAppOnApiServer(kinds, { volumes })
  server.serve(volumeManagers, false)
  const status = { conditions: [{ type: 'Ready', status: 'True' }] }
  const labels = { 'kubernetes.io/os': 'linux', 'kubernetes.io/arch': 'amd64' }
  server.put(nodes, { apiVersion: 'v1', kind: 'Node', metadata: { name: 'n1', labels }, status } as K8sObject)
  const app = await start()
  /** Each run of a loop that went well and each that did not, as metrics tell it. */
  const runs = async (loop: string) => {
    const metrics = await (await fetch(`http://127.0.0.1:${app.ports.health}/metrics`)).text()
    return metrics.split('\n').filter((line) => /^\w+_reconcile_total/.test(line) && line.includes(`"${loop}"`))
  }
  return { server, store, runs }
}

test('data of VolumeManagers that are installed later is moved without a restart', async () => {
  const { server, store, runs } = await start()
  expect(store.serves(volumeManagers)).toBe(false)
  const asked = server.requests.filter(({ method }) => method !== 'GET')
  expect([asked, await runs('volume-manager')]).toEqual([[], []])

  server.serve(volumeManagers, true)
  server.put(volumeManagers, makeVolumeManager())

  const movers = () => [...store.list(pods)].filter(({ metadata }) => metadata.labels?.[MOVER_LABEL])
  await expect.poll(() => movers().map(({ metadata }) => metadata.labels?.['vckname'])).toEqual(['sales'])
})

test('movers continue while the API server does not serve VolumeManagers', async () => {
  const task = { manager: 'default/sales', id: 'vol1', role: 'replica', index: 0, attempt: 1 }
  const { server, runs } = await start()

  server.put(pods, {
    apiVersion: 'v1',
    kind: 'Pod',
    metadata: {
      name: 'sales-mover',
      namespace: 'default',
      labels: { [MOVER_LABEL]: 'download' },
      annotations: { [MOVER_TASK_ANNOTATION]: JSON.stringify(task) },
    },
    spec: { containers: [{ name: 'mover' }] },
  } as Pod)

  await expect.poll(() => runs('volume-manager')).toEqual([expect.stringContaining('"success"')])
  expect(server.requests.filter(({ method }) => method === 'DELETE')).toEqual([])
})
