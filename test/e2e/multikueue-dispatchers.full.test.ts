// Two dispatchers of MultiKueue: Kueue nominates all workers at once, since its configuration does not name Lodestone.
import { afterAll, beforeAll, expect, test } from 'vitest'
import { type ControlPlane, startControlPlane } from './control-plane.ts'
import { queuedJob, queues, startKueue, workloadOf } from './kueue.ts'
import { installLodestone, type Lodestone, startLodestone } from './lodestone.ts'
import { claim } from './manifests.ts'
import { stopAndCheckRights } from './rights.ts'
import { multiKueueCheck, startWorker } from './worker-clusters.ts'

const NAMESPACES = ['default']

let manager: ControlPlane
let lodestone: Lodestone

beforeAll(async () => {
  manager = await startControlPlane({ karmada: false })
  const config = { kueue: { enabled: true, multiKueue: { enabled: true } } }
  const kubeconfig = await installLodestone(manager, config)
  await startKueue(manager)
  // Without quota the job waits, nominated, in the worker.
  await startWorker(manager, 'worker1', { namespaces: NAMESPACES, quotas: { team: 0 } })
  await manager.apply([
    ...multiKueueCheck('workers', ['worker1']),
    ...queues('team', { checks: ['workers'], namespaces: NAMESPACES }),
  ])
  lodestone = await startLodestone(manager, { kubeconfig, config })
}, 300_000)

afterAll(() => stopAndCheckRights({ plane: manager, lodestones: [lodestone] }))

test('Lodestone leaves nominations to another dispatcher, and says what to configure', async () => {
  const job = queuedJob('contested', { queue: 'team', isRemote: true })
  await manager.apply([claim('contested', { data: 'contested-data', workload: job }), job])
  const left = await manager.eventually(
    'the Workload shows the reason',
    async () => {
      const workload = await workloadOf(manager, job)
      const conditions = workload?.status?.conditions
      expect(conditions?.find(({ type }) => type === 'lodestone.dev/Nominated')).toMatchObject({
        status: 'False',
        reason: 'OtherDispatcher',
        message:
          'another dispatcher changes the nomination; set multiKueue.dispatcherName of Kueue to lodestone.dev/dispatcher',
      })
      expect(workload?.status?.nominatedClusterNames).toEqual(['worker1'])
      return workload
    },
    60_000,
  )
  const witness = queuedJob('witness', { queue: 'team', isRemote: true })
  await manager.apply(witness)
  await manager.eventually('a later job is nominated', async () => {
    expect((await workloadOf(manager, witness))?.status?.nominatedClusterNames).toEqual(['worker1'])
    return true
  })
  expect((await workloadOf(manager, job))?.metadata['resourceVersion']).toBe(left?.metadata['resourceVersion'])
})
