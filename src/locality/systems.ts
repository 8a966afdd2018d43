/** Opens the configured data systems and keeps them current. */
import type { Cluster } from '../api/karmada.ts'
import { watchFolder } from '../base/folder-watch.ts'
import { defined } from '../base/json.ts'
import { type Clock, systemClock } from '../base/time/clock.ts'
import { ConfigReader } from './config/config-reader.ts'
import type { ConfigSource } from './config/source.ts'
import type { SystemHealth, Systems } from './locality.ts'
import { completeObserver, type SystemsObserver } from './observer.ts'
import { plugins } from './plugins/index.ts'
import { SystemTable } from './system-table.ts'

export type { SystemHealth } from './locality.ts'
export type { SystemsObserver } from './observer.ts'

export interface SystemStatus {
  system: string
  plugin: string
  file: string
  health: SystemHealth
  /** The problem of the current file. The last valid configuration is in use. */
  configError?: string
}

/** The systems, with their status and the problems of their files. */
export interface OpenedSystems extends Systems {
  /** All systems in use, by name. */
  list(): SystemStatus[]
  /** The files without a system in use, with their problems. */
  problems(): { file: string; message: string }[]
  /** Reads the source. Resolves when its content is in use. */
  reload(): Promise<void>
  stop(): Promise<void>
}

export interface SystemsInput {
  /** The configurations. Without them, there are no systems. */
  source?: ConfigSource
  /** Returns the current Cluster objects of Karmada. */
  clusters: () => readonly Cluster[]
  observer?: Partial<SystemsObserver>
  clock?: Clock
  /** Interval of reads without a reported change, for mounts that report no changes. Default 10 s. */
  pollMs?: number
}

const DEBOUNCE_MS = 100

/** Opens all systems of a source. Resolves when it was read once, even if no file is valid. */
export async function openSystems(input: SystemsInput): Promise<OpenedSystems> {
  const { clusters, clock = systemClock } = input
  const observer = completeObserver(input.observer)
  const table = new SystemTable({ clusters, observer, clock, definitions: plugins })
  const opened = openReader({ input, table, observer, clock })
  await opened?.reader.reload()
  const problems = () => opened?.reader.problems() ?? new Map<string, string>()
  return {
    get: (system) => table.get(system),
    list: () =>
      table.entries().map(({ system, plugin, file, open }) => {
        const configError = problems().get(file)
        return defined({ system, plugin, file, health: open.health, configError })
      }),
    problems: () => {
      const files = new Set(table.entries().map(({ file }) => file))
      return [...problems()].filter(([file]) => !files.has(file)).map(([file, message]) => ({ file, message }))
    },
    subscribe: (listener) => table.subscribe(listener),
    reload: async () => opened?.reader.reload(),
    stop: async () => {
      opened?.unwatch()
      // The systems are closed during the last read, which opens none.
      await Promise.all([opened?.reader.stop(), table.stop()])
    },
  }
}

interface ReaderInput {
  input: SystemsInput
  table: SystemTable
  observer: SystemsObserver
  clock: Clock
}

function openReader({ input: { source, pollMs = 10_000 }, clock, ...rest }: ReaderInput) {
  if (source === undefined) return undefined
  const reader = new ConfigReader({ source, definitions: plugins, ...rest })
  const changed = () => void reader.reload()
  const { directory } = source
  if (directory === undefined) return { reader, unwatch: poll(clock, pollMs, changed) }
  const unwatch = watchFolder({
    directory,
    recursive: false,
    clock,
    debounceMs: DEBOUNCE_MS,
    pollMs,
    changed,
    // Polling finds the changes, and a read reports a missing folder.
    failed: () => undefined,
  })
  return { reader, unwatch }
}

/** Calls `changed` at an interval. Returns a function that ends this. */
function poll(clock: Clock, intervalMs: number, changed: () => void): () => void {
  let cancel = next()
  function next(): () => void {
    return clock.after(intervalMs, () => {
      cancel = next()
      changed()
    })
  }
  return () => cancel()
}
