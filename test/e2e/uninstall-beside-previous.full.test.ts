// `lodestone uninstall` while a replica of the version before this one runs. It knows nothing of an uninstallation, and writes on.
import { hostname } from 'node:os'
import { afterEach, beforeAll, beforeEach, describe, expect, test } from 'vitest'
import type { KubeObject } from './api-client.ts'
import { type ControlPlane, startControlPlane } from './control-plane.ts'
import { bindings, type Hub, hubOn } from './hub.ts'
import { installLodestone, type Lodestone, leaseRights, startLodestone } from './lodestone.ts'
import { logToStderr } from './log.ts'
import { claim, deployment, policy, source } from './manifests.ts'
import { volumeManagerOf } from './member.ts'
import { previousRelease } from './previous-release.ts'
import { installUninstaller, mentions, type Uninstaller } from './uninstall.ts'

const elected = { leaderElection: { enabled: true } }
const alone = { leaderElection: { enabled: false } }
const gone = { code: 0, stderr: '', stdout: expect.stringContaining('nothing of Lodestone is left') }
const uninstalling = 'lodestone.dev/uninstalling'

let previous: string
beforeAll(async () => {
  previous = await previousRelease()
}, 600_000)

let plane: ControlPlane
let uninstaller: Uninstaller
afterEach(() => plane?.stopAll())

describe('on a hub', () => {
  let hub: Hub

  beforeEach(async () => {
    plane = await startControlPlane({ garbageCollector: true })
    hub = hubOn(plane)
    await installLodestone(plane)
    await plane.apply(leaseRights())
    uninstaller = await installUninstaller(plane)
  })

  test('it refuses beside the leader, names it, and leaves everything as it was', async () => {
    const older = await startOlder('older', elected)
    await place()
    await refuses(/^lodestone uninstall: replica HOST holds Lease lodestone-system\/lodestone/)
    await completesAfter(older)
  })

  test('it refuses beside an older replica that takes the Lease of this version', async () => {
    const newer = await startLodestone(plane, {
      name: 'newer',
      // Only the older one registers: both would write the registration in turns.
      config: { ...elected, registration: { mode: 'none' } },
      readyTimeoutMs: 300_000,
    })
    const older = await startOlder('older', elected)
    await place()
    await refuses(/^lodestone uninstall: replica HOST holds Lease lodestone-system\/lodestone/)
    await newer.stop()
    await completesAfter(older)
  })

  test('it refuses beside a replica without leader election', async () => {
    const older = await startOlder('older', alone)
    await place()
    await refuses(/^lodestone uninstall: a replica without leader election/)
    await completesAfter(older)
  })

  async function place(): Promise<void> {
    await hub.apply(source('placed-data', ['member2']), claim('placed', { data: 'placed-data' }))
    await hub.apply(claim('waiting', { data: 'unknown-data' }))
    await hub.apply(policy('placed'), deployment('placed'), policy('waiting'), deployment('waiting'))
    await hub.isOnlyIn(deployment('placed'), 'member2')
    await plane.eventually('the other is on hold', async () =>
      (await plane.kubectl(['get', bindings, '-A', '-o', 'yaml'])).stdout.includes('lodestone.dev/hold'),
    )
  }
})

describe('in a cluster', () => {
  beforeEach(async () => {
    plane = await startControlPlane({ karmada: false, nodes: { names: ['node-1'], movers: 'succeed' } })
    await installLodestone(plane)
    await plane.apply(leaseRights())
    uninstaller = await installUninstaller(plane)
  })

  test.each([
    { name: 'the leader', config: elected, message: /replica HOST holds Lease lodestone-system\/lodestone/ },
    { name: 'a replica without leader election', config: alone, message: /a replica without leader election/ },
  ])('it refuses beside $name, and VolumeManagers keep their finalizers', async ({ config, message }) => {
    const older = await startOlder('older', { volumes: { enabled: true }, ...config })
    await plane.apply([manager()])
    await plane.eventually('the data is on a node', async () => (await managerState()) === 'Running')
    await refuses(message, '--keep-data')
    await completesAfter(older, '--keep-data')
  })

  async function managerState(): Promise<unknown> {
    const found = await plane.getJson('volumemanagers.vck.intelai.org', 'mnist', 'default')
    return (found as { status?: { state?: string } }).status?.state
  }
})

function startOlder(name: string, config: Record<string, unknown>): Promise<Lodestone> {
  return startLodestone(plane, { name, entry: previous, config, readyTimeoutMs: 300_000 })
}

async function refuses(message: RegExp, ...args: string[]): Promise<void> {
  const before = await state()
  const beganAt = performance.now()
  const refused = await uninstaller.uninstall('--yes', ...args)
  logToStderr(`refused after ${Math.round((performance.now() - beganAt) / 1000)} s: ${refused.stderr.trim()}`)
  expect(refused.code).toBe(1)
  expect(refused.stderr).toMatch(new RegExp(message.source.replace('HOST', hostname())))
  expect(refused.stderr).toContain('stop')
  expect(refused.stdout).toContain('0 objects: not everything was removed')
  expect(await state()).toEqual(before)
  // Without it, no replica of this version would lead for an hour.
  const lease = await plane.getJson('leases', 'lodestone', 'lodestone-system')
  expect(lease?.metadata.annotations ?? {}).not.toHaveProperty([uninstalling])
}

async function completesAfter(older: Lodestone, ...args: string[]): Promise<void> {
  await older.stop()
  expect(await uninstaller.uninstall('--yes', ...args)).toMatchObject({ code: 0, stderr: '' })
  await plane.eventually('nothing is left', async () => (await uninstaller.checkGone()).code === 0)
  expect(await uninstaller.checkGone()).toEqual(gone)
  expect(await mentions(plane)).toEqual([])
}

/** The objects with traces, and whether the registration has webhooks. Replicas of two versions write it in turns. */
async function state(): Promise<unknown> {
  const found = (await mentions(plane)).filter((name) => !name.startsWith('Lease '))
  const registration = (await plane.getJson('mutatingwebhookconfiguration', 'lodestone')) as { webhooks?: unknown[] }
  return { found, isRegistered: (registration.webhooks ?? []).length > 0 }
}

function manager(): KubeObject {
  const options = { awsCredentialsSecretName: '', sourceURL: 's3://lake/train/' }
  const volume = { id: 'vol1', replicas: 1, sourceType: 'S3', accessMode: 'ReadWriteOnce', labels: { a: 'b' }, options }
  return volumeManagerOf('mnist', volume) as unknown as KubeObject
}
