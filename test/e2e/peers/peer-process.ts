// One program that a peer consists of: it can be stopped and started again, with the same ports and the same data.
import { mkdir } from 'node:fs/promises'
import { delimiter, join } from 'node:path'
import { type ProcessSpec, type RunningProcess, startProcess } from '../processes.ts'

export type Launch = Pick<ProcessSpec, 'name' | 'command' | 'args' | 'ready'> & {
  dir: string
  env?: Record<string, string>
}

// The functions of every peer besides its own protocol.
export interface Peer {
  // That of the running process, or of the last one.
  readonly pid: number
  readonly logFile: string
  // After a stop: the same addresses, the same data.
  start(): Promise<void>
  // An outage; the test that started a peer also ends it with this.
  stop(): Promise<void>
}

export interface PeerOptions {
  // Tells apart several in one folder: the stem of the log and of the folder with the data.
  name?: string
}

export async function launchPeer({ dir, name, env: own = {}, ...spec }: Launch): Promise<Peer> {
  const logFile = join(dir, `${name}.log`)
  const home = join(dir, name)
  // Nothing of the caller's environment: no proxies, no credentials, no configuration of another installation.
  const env = { PATH: process.env['PATH'] ?? '', HOME: home, ...own }
  await mkdir(home, { recursive: true })
  const begin = () => startProcess({ ...spec, name, env, cwd: home, logFile })
  let running: RunningProcess = await begin()
  return {
    get pid() {
      return running.pid
    },
    logFile,
    start: async () => {
      if (running.hasExited()) running = await begin()
    },
    stop: () => running.stop(2_000),
  }
}

export function javaArgs(folder: string, mainClass: string, home: string, heapMb: number): string[] {
  const classPath = [join(folder, 'classes'), join(folder, 'lib', '*')].join(delimiter)
  return [...serverArgs(home, heapMb), '-Dorg.slf4j.simpleLogger.defaultLogLevel=warn', '-cp', classPath, mainClass]
}

// Built for a quick start and a small heap, not for throughput.
export function serverArgs(home: string, heapMb: number): string[] {
  return [
    `-Xmx${heapMb}m`,
    '-XX:+UseSerialGC',
    '-XX:TieredStopAtLevel=1',
    '-XX:-UsePerfData',
    '-Djava.net.preferIPv4Stack=true',
    `-Duser.home=${home}`,
    `-Djava.io.tmpdir=${home}`,
  ]
}

export function mavenArgs(into: string): string[] {
  return ['-B', '-ntp', '-q', `-Dinto=${into}`, 'compiler:compile', 'dependency:copy-dependencies']
}
