/** Loads a snapshot in a process of its own, and measures it. */
import { fork } from 'node:child_process'
import { once } from 'node:events'
import { dataSourceClaims } from '../../src/api/data-source-claim.ts'
import { resourceBindings } from '../../src/api/karmada.ts'
import { openSnapshotStore } from '../../src/store/snapshot/read-snapshot.ts'
import { memoryMiB } from './process.ts'

export interface LoadFigures {
  bindings: number
  claims: number
  loadSeconds: number
  /** The time of the first look-up by an index. */
  indexSeconds: number
  nowMiB: number
  peakMiB: number
}

/** Loads a snapshot in a fresh process. Times are of the CPU. */
export async function loadSnapshot(file: string): Promise<LoadFigures> {
  const child = fork(import.meta.filename, [file])
  const [figures] = await once(child, 'message')
  child.kill()
  return figures
}

async function measure(file: string): Promise<LoadFigures> {
  const secondsSince = (start?: NodeJS.CpuUsage) => {
    const { user, system } = process.cpuUsage(start)
    return (user + system) / 1e6
  }
  const start = process.cpuUsage()
  const { store } = await openSnapshotStore({ file, signal: new AbortController().signal })
  const loadSeconds = secondsSince(start)
  store.byIndex(dataSourceClaims, 'workload', 'apps/Deployment/none/none')
  const indexSeconds = secondsSince(start) - loadSeconds
  const { now: nowMiB, peak: peakMiB } = memoryMiB(process.pid)
  const [bindings, claims] = [store.size(resourceBindings), store.size(dataSourceClaims)]
  return { bindings, claims, loadSeconds, indexSeconds, nowMiB, peakMiB }
}

if (process.argv[1] === import.meta.filename) process.send?.(await measure(process.argv[2] ?? ''))
