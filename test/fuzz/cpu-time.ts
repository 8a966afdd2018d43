/** CPU time of the main thread of a process, and of a baseline to compare it with: how fast this machine is now. */
import { readFileSync } from 'node:fs'

const baselineText = JSON.stringify(
  Array.from({ length: 25_000 }, (_, i) => ({
    metadata: { name: `object-${i}`, namespace: 'default', labels: { app: `app-${i % 7}` } },
    spec: { replicas: i, values: [i, i / 3, true, null, `text ${i}`] },
  })),
)

/** Returns the CPU time of the main thread of a process in ms, as the scheduler of Linux counts it. */
export function mainThreadMs(pid: number): number {
  const [nanoseconds] = readFileSync(`/proc/${pid}/task/${pid}/schedstat`, 'utf8').split(' ')
  return Number(nanoseconds) / 1e6
}

/** Returns the CPU time in ms that this thread needs at the moment to parse 4 MB of JSON. */
export function baselineMs(): number {
  const before = mainThreadMs(process.pid)
  JSON.parse(baselineText)
  return mainThreadMs(process.pid) - before
}
