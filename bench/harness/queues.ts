/** Follows the work queues of a controller by its metrics, which controller-runtime and Lodestone name alike. */
import { setTimeout as sleep } from 'node:timers/promises'
import { request } from 'undici'
import { eventually } from '../../test/e2e/poll.ts'
import { cpuSeconds } from './process.ts'

export interface Queues {
  /** The address of the metrics. */
  metrics: string
  /** The queues by their label `name`. */
  names: string[]
  pid: number
}

interface Rest {
  /** When the last run began, in the time of performance.now(). */
  at: number
  /** CPU seconds of the process until then. */
  cpu: number
  /** The runs of each queue. */
  runs: number[]
}

const POLL_MS = 250
const QUIET_MS = 3000
const STALLED_MS = 300_000

/** Waits until each queue has run so many keys, is empty, and begins no run for 3 s. Throws if it begins none for 5 minutes before. */
export async function untilAtRest({ metrics, names, pid }: Queues, keys: number): Promise<Rest> {
  // A process may be ready before it serves its metrics.
  await eventually('the metrics are served', () => readQueues(metrics, names))
  let rest: Rest = { at: performance.now(), cpu: 0, runs: [] }
  for (; ; await sleep(POLL_MS)) {
    const { depth, runs } = await readQueues(metrics, names)
    if (runs.join() !== rest.runs.join()) rest = { at: performance.now(), cpu: cpuSeconds(pid), runs }
    const quietMs = performance.now() - rest.at
    if (depth === 0 && runs.every((count) => count >= keys) && quietMs > QUIET_MS) return rest
    if (quietMs > STALLED_MS) throw new Error(`the queues ${names.join()} stopped after ${runs.join()} of ${keys} keys`)
  }
}

/** Returns how many keys wait in all queues, and how many each queue has begun to run since the start of the process. */
async function readQueues(metrics: string, names: string[]): Promise<{ depth: number; runs: number[] }> {
  const { body } = await request(metrics)
  const samples = [...(await body.text()).matchAll(/^(workqueue_\w+)\{.*?\bname="([^"]*)".*\} (\S+)$/gm)]
  const sum = (metric: string, queue: string) =>
    samples.reduce((all, [, of, name, value]) => (of === metric && name === queue ? all + Number(value) : all), 0)
  return {
    depth: names.reduce((all, name) => all + sum('workqueue_depth', name), 0),
    runs: names.map((name) => sum('workqueue_queue_duration_seconds_count', name)),
  }
}
