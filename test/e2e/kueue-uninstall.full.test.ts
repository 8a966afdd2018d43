// An uninstallation with the real controller manager of Kueue: no Workload waits for a check that Lodestone does not answer.
import { afterAll, beforeAll, expect, test } from 'vitest'
import type { Condition } from '../../src/api/meta.ts'
import type { KubeObject } from './api-client.ts'
import { type ControlPlane, startControlPlane } from './control-plane.ts'
import { admissionCheck, queues, startKueue } from './kueue.ts'
import { installLodestone, type Lodestone, leaseRights, startLodestone } from './lodestone.ts'
import { installUninstaller } from './uninstall.ts'

let plane: ControlPlane
let lodestone: Lodestone

beforeAll(async () => {
  plane = await startControlPlane({ karmada: false })
  const kubeconfig = await installLodestone(plane)
  await startKueue(plane)
  await plane.apply([
    ...leaseRights(),
    admissionCheck('data'),
    ...queues('team', { checks: ['data'], namespaces: ['default'] }),
  ])
  const config = { kueue: { enabled: true }, leaderElection: { enabled: true } }
  lodestone = await startLodestone(plane, { kubeconfig, config })
})
afterAll(() => plane?.stopAll())

test('an uninstallation ends the check, and its queue admits nothing', async () => {
  await hasActive('clusterqueues', 'team', { status: 'True', reason: 'Ready' })
  const uninstaller = await installUninstaller(plane)
  expect((await uninstaller.uninstall()).stdout).toContain('AdmissionCheck: 1 (data): condition Active=True')

  const done = await uninstaller.uninstall('--yes')
  expect(done).toMatchObject({ code: 0, stderr: '' })
  await hasActive('admissionchecks', 'data', { status: 'False', reason: 'Uninstalled' })
  await hasActive('clusterqueues', 'team', { status: 'False', reason: 'AdmissionCheckInactive' })
  await lodestone.stop()
  expect(await uninstaller.uninstall('--yes')).toMatchObject({ code: 0, stderr: '' })
  expect(await uninstaller.checkGone()).toMatchObject({ code: 0, stderr: '' })
})

async function hasActive(plural: string, name: string, want: Pick<Condition, 'status' | 'reason'>): Promise<void> {
  await plane.eventually(`${plural} ${name} has Active=${want.status}, ${want.reason}`, async () => {
    const all = (await plane.listJson(`${plural}.kueue.x-k8s.io`)) as (KubeObject & {
      status?: { conditions?: Condition[] }
    })[]
    const found = all.find(({ metadata }) => metadata.name === name)?.status?.conditions ?? []
    return found.some(
      ({ type, status, reason }) => type === 'Active' && status === want.status && reason === want.reason,
    )
  })
}
