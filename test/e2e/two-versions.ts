// This version and the one before it behind one balancer: the steps that the tests of both play, with the writes of the registration.
import { mkdir } from 'node:fs/promises'
import { join } from 'node:path'
import { setTimeout as sleep } from 'node:timers/promises'
import type { KubeObject } from './api-client.ts'
import { startBalancer } from './balancer.ts'
import type { ControlPlane } from './control-plane.ts'
import { type LodestoneOptions, leaseRights } from './lodestone.ts'
import { previousRelease } from './previous-release.ts'
import { type Replica, startReplica } from './replicas.ts'

// What one step changed.
export interface StepResult {
  writes: number
  leaders: number
}

interface Options extends Pick<LodestoneOptions, 'config' | 'readyTimeoutMs'> {
  plane: ControlPlane
  kubeconfig: string
  besideMs: number
  // Called before the end of each step, and after it.
  duringStep?: (number: number) => Promise<void>
  afterStep: (name: string, result: StepResult) => void
}

// Starts two replicas of the older version. `play` runs the steps and returns what each of them changed.
export async function startTwoVersions({ plane, kubeconfig, besideMs, duringStep, afterStep, ...options }: Options) {
  await plane.apply(leaseRights())
  await mkdir(join(plane.dir, 'certificates'))
  const balancer = await startBalancer()
  plane.onStop(() => balancer.stop())
  const oldEntry = await previousRelease()
  const replicas: Replica[] = []
  let started = 0

  async function start(version: 'old' | 'new'): Promise<void> {
    const entry = version === 'old' ? { entry: oldEntry } : {}
    replicas.push(
      await startReplica(plane, balancer, { name: `${version}-${++started}`, kubeconfig, ...options, ...entry }),
    )
  }

  async function stopOldest(): Promise<void> {
    const replica = replicas.shift()
    if (!replica) throw new Error('there is no replica to stop')
    await replica.lodestone.stop(60_000)
    balancer.remove(replica)
  }

  const steps: Readonly<Record<string, () => Promise<void>>> = {
    async 'a new replica beside two old ones'() {
      await start('new')
      await sleep(besideMs)
    },
    async 'the upgrade'() {
      await stopOldest()
      await start('new')
      await stopOldest()
      await plane.eventually('the new version is registered', () => isNewRegistered(plane), 300_000)
    },
    async 'a rolling restart of the new version'() {
      for (let i = 0; i < 2; i++) {
        await start('new')
        await stopOldest()
      }
    },
    async 'an old replica beside two new ones'() {
      await start('old')
      await sleep(besideMs)
    },
    async 'the downgrade'() {
      await stopOldest()
      await start('old')
      await stopOldest()
    },
  }

  await start('old')
  await start('old')
  return {
    async play(): Promise<Record<string, StepResult>> {
      const results: Record<string, StepResult> = {}
      for (const [i, [name, run]] of Object.entries(steps).entries()) {
        const before = { writes: await generation(plane), leaders: await transitions(plane) }
        await run()
        await duringStep?.(i + 1)
        const result = {
          writes: (await generation(plane)) - before.writes,
          leaders: (await transitions(plane)) - before.leaders,
        }
        results[name] = result
        afterStep(name, result)
      }
      return results
    },
  }
}

async function registration(plane: ControlPlane): Promise<KubeObject> {
  const object = await plane.getJson('mutatingwebhookconfiguration', 'lodestone')
  if (!object) throw new Error('there is no registration')
  return object
}

async function generation(plane: ControlPlane): Promise<number> {
  return (await registration(plane)).metadata['generation'] as number
}

async function isNewRegistered(plane: ControlPlane): Promise<boolean> {
  return (await registration(plane)).metadata.annotations?.['lodestone.dev/version'] !== undefined
}

async function transitions(plane: ControlPlane): Promise<number> {
  const lease = await plane.getJson('leases', 'lodestone', 'lodestone-system')
  return (lease as { spec?: { leaseTransitions?: number } } | undefined)?.spec?.leaseTransitions ?? 0
}
