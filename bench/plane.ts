/** A control plane that is ready to be measured. */
import { setTimeout as sleep } from 'node:timers/promises'
import { type ControlPlane, type ControlPlaneOptions, startControlPlane } from '../test/e2e/control-plane.ts'
import { installLodestone } from '../test/e2e/lodestone.ts'
import { log } from './log.ts'
import { cpuSeconds } from './process-stats.ts'

/** A plane, and the kubeconfig of Lodestone's service account on it. */
export interface MeasuredPlane {
  plane: ControlPlane
  kubeconfig: string
}

/** Starts Karmada and installs Lodestone. The caller stops it. */
export async function startPlane(options: Pick<ControlPlaneOptions, 'flags'> = {}): Promise<MeasuredPlane> {
  const plane = await startControlPlane({ ...options, log })
  return { plane, kubeconfig: await installLodestone(plane) }
}

/** For bindings that are seeded: Karmada's controllers would work on them while we measure. */
export async function stopControllers(plane: ControlPlane): Promise<void> {
  await plane.stop('karmada-controller-manager')
  await plane.stop('karmada-scheduler')
}

/** An API server that runs for long has its watch caches full; one that was just filled is still busy with that. */
export async function untilIdle(pid: number): Promise<void> {
  for (let before = cpuSeconds(pid); ; ) {
    await sleep(1000)
    const now = cpuSeconds(pid)
    if (now - before < 0.2) return
    before = now
  }
}
