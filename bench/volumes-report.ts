/** What `bench/volumes.ts` prints. */
import { table } from './markdown.ts'

export interface RequestCount {
  /** `PATCH nodes` */
  kind: string
  count: number
}

export interface VolumesRun {
  setting: string
  managers: number
  replicas: number
  nodes: number
  /** Movers at once, and writes a second, that were allowed. */
  movers: number
  writes: number
  /** Of each VolumeManager, from its creation until all its replicas were ready, in seconds. */
  times: number[]
  /** From the first creation until the last one was ready. */
  seconds: number
  requests: RequestCount[]
  cpuSeconds: number
  memoryMiB: number
}

const GOAL = 12

export function report(run: VolumesRun): string {
  const { managers, replicas, nodes, times, seconds, requests } = run
  const all = managers * replicas
  const sorted = times.toSorted((one, other) => one - other)
  const at = (share: number) => (sorted[Math.min(sorted.length - 1, Math.floor(share * sorted.length))] ?? 0).toFixed(1)
  const perReplica = (count: number) => (count / all).toFixed(2)
  const total = requests.reduce((sum, { count }) => sum + count, 0)
  return `${managers} VolumeManagers of ${replicas} replicas on ${nodes} nodes; ${run.movers} movers at once and ${run.writes} writes a second allowed. ${run.setting}

All replicas ready after ${seconds.toFixed(1)} s (${(all / seconds).toFixed(0)} a second); of one VolumeManager, from its creation: half after ${at(0.5)} s, 99 % after ${at(0.99)} s. Lodestone: ${run.cpuSeconds.toFixed(1)} s of CPU, ${run.memoryMiB.toFixed(0)} MiB at most.

${table(
  ['requests of Lodestone', 'in all', 'per replica'],
  [
    ...requests.map(({ kind, count }) => [kind, count, perReplica(count)]),
    [`all (goal: ${GOAL} per replica)`, total, perReplica(total)],
  ],
)}`
}
