/** Opens the data systems of a folder of configurations and keeps them current. */
import type { Cluster } from '../api/karmada.ts'
import { type Clock, systemClock } from '../time/clock.ts'
import { watchFolder } from '../time/folder-watch.ts'
import type { SystemDefinition } from './config/config.ts'
import { ConfigReader } from './config/config-reader.ts'
import { completeObserver, type SystemsObserver } from './observer.ts'
import { plugins } from './plugins/index.ts'
import type { SystemHealth, Systems } from './plugins/plugin.ts'
import { SystemTable } from './system-table.ts'

export type { SystemsObserver } from './observer.ts'
export type { SystemHealth } from './plugins/plugin.ts'

export interface SystemStatus {
  system: string
  plugin: string
  file: string
  health: SystemHealth
  /** The problem of the file as it is now; the configuration in use is the last good one. */
  configError?: string
}

/** The systems, with their configuration. */
export interface OpenedSystems extends Systems {
  /** Every system in use, by name. */
  list(): SystemStatus[]
  /** Files that no system in use comes from, with their problems. */
  problems(): { file: string; message: string }[]
  /** Reads the folder now; resolves when its content is in use. */
  reload(): Promise<void>
  stop(): Promise<void>
}

export interface SystemsInput {
  /** A mounted ConfigMap, for instance: one file per system. Without it there are no systems. */
  directory?: string
  /** The Karmada Cluster objects as they are now. */
  clusters: () => readonly Cluster[]
  observer?: Partial<SystemsObserver>
  clock?: Clock
  definitions?: Readonly<Record<string, SystemDefinition>>
  /** Interval of reads without a reported change, for mounts that report none. Default 10 s. */
  pollMs?: number
  /** Default 30 s. */
  healthIntervalMs?: number
}

const DEBOUNCE_MS = 100

/** Opens every system of a folder; resolves when the folder has been read once, even if no file can be used. */
export async function openSystems(input: SystemsInput): Promise<OpenedSystems> {
  const { clusters, clock = systemClock, definitions = plugins, healthIntervalMs = 30_000 } = input
  const observer = completeObserver(input.observer)
  const table = new SystemTable({ clusters, observer, clock, definitions, healthIntervalMs })
  const folder = openFolder({ input, definitions, table, observer, clock })
  await folder?.reader.reload()
  const problems = () => folder?.reader.problems() ?? new Map<string, string>()
  return {
    get: (system) => table.get(system),
    list: () =>
      table.entries().map(({ system, plugin, file, open }) => {
        const configError = problems().get(file)
        return { system, plugin, file, health: open.health, ...(configError !== undefined && { configError }) }
      }),
    problems: () => {
      const files = new Set(table.entries().map(({ file }) => file))
      return [...problems()].filter(([file]) => !files.has(file)).map(([file, message]) => ({ file, message }))
    },
    subscribe: (listener) => table.subscribe(listener),
    reload: async () => folder?.reader.reload(),
    stop: async () => {
      folder?.unwatch()
      // Systems are closed while a last read may still be under way: it opens none.
      await Promise.all([folder?.reader.stop(), table.stop()])
    },
  }
}

interface FolderInput {
  input: SystemsInput
  definitions: Readonly<Record<string, SystemDefinition>>
  table: SystemTable
  observer: SystemsObserver
  clock: Clock
}

function openFolder({ input: { directory, pollMs = 10_000 }, clock, ...rest }: FolderInput) {
  if (directory === undefined) return undefined
  const reader = new ConfigReader({ directory, ...rest })
  const unwatch = watchFolder({
    directory,
    recursive: false,
    clock,
    debounceMs: DEBOUNCE_MS,
    pollMs,
    changed: () => void reader.reload(),
    // Polling finds the changes, and the read reports a folder that does not exist.
    failed: () => undefined,
  })
  return { reader, unwatch }
}
