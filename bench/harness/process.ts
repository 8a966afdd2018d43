/** The built Lodestone, and CPU time and memory of a process as Linux counts them. */
import { execFileSync } from 'node:child_process'
import { readFileSync } from 'node:fs'
import { join } from 'node:path'
import { setTimeout as sleep } from 'node:timers/promises'

/** Lodestone as it is in the image. The npm scripts of the benchmarks build it. */
export const BUILT = join(import.meta.dirname, '..', '..', 'dist', 'main.js')

/** The kernel counts CPU time in ticks of 10 ms on every platform that Node runs on. */
const TICKS_PER_SECOND = 100

/** User and system CPU seconds since the process started. */
export function cpuSeconds(pid: number): number {
  const stat = readFileSync(`/proc/${pid}/stat`, 'utf8')
  // The second field is the name of the program in brackets, which may hold blanks.
  const fields = stat.slice(stat.lastIndexOf(')') + 2).split(' ')
  return (Number(fields[11]) + Number(fields[12])) / TICKS_PER_SECOND
}

/** Resident memory now and at its peak, in MiB. */
export function memoryMiB(pid: number): { now: number; peak: number } {
  const status = readFileSync(`/proc/${pid}/status`, 'utf8')
  const read = (name: string) => Number(new RegExp(`${name}:\\s+(\\d+) kB`).exec(status)?.[1] ?? 0) / 1024
  return { now: read('VmRSS'), peak: read('VmHWM') }
}

/** Lets processes, with all their threads, run on one processor only. Processes without an id are left out. */
export function runOn(processor: number, ...pids: (number | undefined)[]): void {
  for (const pid of pids) if (pid) execFileSync('taskset', ['-apc', String(processor), String(pid)])
}

/** Resolves when the process needs little CPU time. An API server fills its watch caches for a while after its start. */
export async function untilIdle(pid: number): Promise<void> {
  for (let before = cpuSeconds(pid); ; ) {
    await sleep(1000)
    const now = cpuSeconds(pid)
    if (now - before < 0.2) return
    before = now
  }
}
