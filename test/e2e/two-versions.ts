// This version and the one before it behind one balancer: the steps that the tests of both play, with the writes of the registration.
import { mkdir } from 'node:fs/promises'
import { join } from 'node:path'
import { setTimeout as sleep } from 'node:timers/promises'
import type { KubeObject } from './api-client.ts'
import { startBalancer } from './balancer.ts'
import type { ControlPlane } from './control-plane.ts'
import { type Lodestone, type LodestoneOptions, leaseRights } from './lodestone.ts'
import { previousRelease } from './previous-release.ts'
import { type Replica, startReplica } from './replicas.ts'

export type Version = 'old' | 'new'

// A run of a replica that wrote a registration, as its log has it. On a hub it may be that of Karmada's interpreter.
export interface RegistrationWrite {
  version: Version
  replica: string
  // Milliseconds since the begin of the step.
  atMs: number
}

// What one step changed.
export interface StepResult {
  // In the order of their times.
  writes: RegistrationWrite[]
  // How often the webhooks for admission changed, as the API server counts it.
  changes: number
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
  const logs: { version: Version; name: string; lodestone: Lodestone }[] = []

  async function start(version: Version): Promise<void> {
    const entry = version === 'old' ? { entry: oldEntry } : {}
    const name = `${version}-${logs.length + 1}`
    const replica = await startReplica(plane, balancer, { name, kubeconfig, ...options, ...entry })
    replicas.push(replica)
    logs.push({ version, name, lodestone: replica.lodestone })
  }

  // Those since a time, of all replicas that ever ran.
  async function writesSince(begunMs: number): Promise<RegistrationWrite[]> {
    const writes = await Promise.all(
      logs.map(async ({ version, name, lodestone }) =>
        writtenAt(await lodestone.readLog()).map((ms) => ({ version, replica: name, atMs: ms - begunMs })),
      ),
    )
    return writes
      .flat()
      .filter(({ atMs }) => atMs >= 0)
      .sort((a, b) => a.atMs - b.atMs)
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
        const begunMs = Date.now()
        const before = { changes: await generation(plane), leaders: await transitions(plane) }
        await run()
        await duringStep?.(i + 1)
        const changes = (await generation(plane)) - before.changes
        const leaders = (await transitions(plane)) - before.leaders
        // A replica logs its writes after the last one of a run.
        await plane.eventually('the logs have each change', async () => (await writesSince(begunMs)).length >= changes)
        const result = { changes, leaders, writes: await writesSince(begunMs) }
        results[name] = result
        afterStep(name, result)
      }
      return results
    },
  }
}

// Describes what one step changed, with the replica of each write.
export function describeStep({ writes, changes, leaders }: StepResult): string {
  const written = writes.map(({ replica, atMs }) => `${replica} after ${(atMs / 1000).toFixed(0)} s`).join(', ')
  return `${changes} changes of the registration (${written || 'none'}), ${leaders} changes of the leader`
}

// The versions that wrote the registration in a step, in the order of their writes.
export function writersOf(step: StepResult | undefined): Version[] {
  if (!step) throw new Error('there is no such step')
  return step.writes.map(({ version }) => version)
}

// The times, in ms since the epoch, at which a replica wrote the registration.
function writtenAt(log: string): number[] {
  return (
    log
      .split('\n')
      // The last line may be incomplete.
      .slice(0, -1)
      .filter((line) => line.includes('"msg":"webhooks registered"'))
      .map((line) => Date.parse((JSON.parse(line) as { time: string }).time))
  )
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
