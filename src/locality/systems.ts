/** All data systems of a folder of configurations, kept current: a changed file takes effect, a bad one leaves the last good in use. */
import { watch } from 'node:fs'
import { readFile } from 'node:fs/promises'
import type { Cluster } from '../api/karmada.ts'
import { type Clock, systemClock } from './clock.ts'
import { parseSystemConfig, type SystemConfig, type SystemDefinition } from './config/config.ts'
import { type FolderFile, readConfigFolder } from './config/folder.ts'
import { completeObserver, type SystemsObserver } from './observer.ts'
import { type OpenSystem, openSystem } from './open-system.ts'
import { plugins } from './plugins/index.ts'
import type { SystemHealth, Systems } from './plugins/plugin.ts'

export type { SystemsObserver } from './observer.ts'
export type { SystemHealth } from './plugins/plugin.ts'

export interface SystemStatus {
  system: string
  plugin: string
  file: string
  health: SystemHealth
  /** What is wrong with the file now; the configuration in use is the last good one. */
  configError?: string
}

/** The systems as whoever runs them sees them. */
export interface OpenedSystems extends Systems {
  /** Every system in use, by name. */
  list(): SystemStatus[]
  /** Files that no system in use comes from, with what is wrong with them. */
  problems(): { file: string; message: string }[]
  /** Reads the folder now; resolves when what it says is in use. */
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
  /** Looking again this often covers mounts that tell nothing. Default 10 s. */
  pollMs?: number
  /** Default 30 s. */
  healthIntervalMs?: number
}

interface Loaded {
  file: string
  plugin: string
  /** What the system was opened with: its document and the files of TLS, which are read once only. */
  stamp: string
  open: OpenSystem
}

const SETTLE_MS = 100

/** Opens every system of a folder; resolves when the folder has been read once, whatever was in it. */
export async function openSystems(input: SystemsInput): Promise<OpenedSystems> {
  const { directory, clock = systemClock, definitions = plugins } = input
  const observer = completeObserver(input.observer)
  const stopping = new AbortController()
  const listeners = new Set<(systems: readonly string[]) => void>()
  const loaded = new Map<string, Loaded>()
  const retired = new Set<Promise<void>>()
  let problems = new Map<string, string>()

  const changed = new Set<string>()

  function tellChanges(): void {
    const systems = [...changed].sort()
    changed.clear()
    if (systems.length > 0) for (const listener of listeners) listener(systems)
  }

  async function scan(): Promise<void> {
    if (directory === undefined) return
    const found = new Map<string, string>()
    const files = await readConfigFolder(directory).catch((error: NodeJS.ErrnoException) => {
      found.set(directory, `${directory}: cannot be read (${error.code})`)
      return undefined
    })
    if (stopping.signal.aborted) return
    const used = new Map<string, string>()
    for (const file of files ?? []) await take(file, used, found)
    if (files !== undefined) removeAllBut(new Set(files.map(({ file }) => file)))
    for (const [file, message] of found) {
      if (problems.get(file) !== message) observer.configError({ file, message })
    }
    problems = found
    tellChanges()
  }

  async function take(given: FolderFile, used: Map<string, string>, found: Map<string, string>): Promise<void> {
    const { file } = given
    try {
      if ('problem' in given) throw new Error(`${file}: ${given.problem}`)
      const config = parseSystemConfig(file, given.text, definitions)
      const other = used.get(config.system)
      if (other !== undefined) throw new Error(`${file}: system: ${config.system} is configured in ${other} already`)
      used.set(config.system, file)
      const stamp = `${given.text}\n${await readTlsFiles(config, file)}`
      if (!stopping.signal.aborted) put(file, stamp, config)
    } catch (error) {
      // Only this file is unusable, and its last good configuration stays: whoever runs us is told which, and why.
      found.set(file, (error as Error).message)
      for (const [system, one] of loaded) if (one.file === file) used.set(system, used.get(system) ?? file)
    }
  }

  function put(file: string, stamp: string, config: SystemConfig): void {
    const { system, plugin } = config
    const before = loaded.get(system)
    if (before?.stamp === stamp && before.file === file) return
    const definition = definitions[plugin]
    if (definition === undefined) return
    const open = openSystem({
      config,
      definition,
      clusters: input.clusters,
      observer,
      clock,
      healthIntervalMs: input.healthIntervalMs ?? 30_000,
      healthChanged: () => {
        changed.add(system)
        tellChanges()
      },
    })
    loaded.set(system, { file, plugin, stamp, open })
    for (const [name, one] of loaded) if (one.file === file && name !== system) remove(name)
    if (before !== undefined) retire(before.open)
    observer.loaded({ system, file })
    changed.add(system)
  }

  function removeAllBut(files: ReadonlySet<string>): void {
    for (const [system, { file }] of loaded) if (!files.has(file)) remove(system)
  }

  function remove(system: string): void {
    const one = loaded.get(system)
    if (one === undefined) return
    loaded.delete(system)
    retire(one.open)
    observer.removed({ system })
    changed.add(system)
  }

  function retire(open: OpenSystem): void {
    const closed: Promise<void> = open.close().finally(() => retired.delete(closed))
    retired.add(closed)
  }

  const reload = oneAtATime(scan)
  const closeWatcher = directory === undefined ? () => {} : watchFolder(directory, () => void settle())
  let settling = false
  /** A file is written in several steps: it is read when they are probably over, and by the next poll when they were not. */
  async function settle(): Promise<void> {
    if (settling) return
    settling = true
    await clock.sleep(SETTLE_MS, stopping.signal)
    settling = false
    await reload()
  }
  async function poll(): Promise<void> {
    for (;;) {
      await clock.sleep(input.pollMs ?? 10_000, stopping.signal)
      if (stopping.signal.aborted) return
      await reload()
    }
  }
  await reload()
  const polling = directory === undefined ? Promise.resolve() : poll()

  return {
    get: (system) => loaded.get(system)?.open,
    list: () =>
      [...loaded]
        .sort(([a], [b]) => (a < b ? -1 : 1))
        .map(([system, { file, plugin, open }]) => {
          const configError = problems.get(file)
          return { system, plugin, file, health: open.health, ...(configError !== undefined && { configError }) }
        }),
    problems: () => {
      const files = new Set([...loaded.values()].map(({ file }) => file))
      return [...problems].filter(([file]) => !files.has(file)).map(([file, message]) => ({ file, message }))
    },
    subscribe: (listener) => {
      listeners.add(listener)
      return () => listeners.delete(listener)
    },
    reload,
    stop: async () => {
      stopping.abort()
      closeWatcher()
      await polling
      await reload()
      for (const { open } of loaded.values()) retire(open)
      await Promise.all(retired)
    },
  }
}

async function readTlsFiles({ endpoint: { tls } }: SystemConfig, file: string): Promise<string> {
  const keys = ['caFile', 'certFile', 'keyFile'] as const
  const texts = keys.map((key) => {
    const name = tls[key]
    if (name === undefined) return ''
    return readFile(name, 'utf8').catch(({ code }: NodeJS.ErrnoException) => {
      throw new Error(`${file}: endpoint.tls.${key}: ${name} cannot be read (${code})`)
    })
  })
  return (await Promise.all(texts)).join('\n')
}

/** Calls run one after the other; those that come while one waits share it. */
function oneAtATime(run: () => Promise<void>): () => Promise<void> {
  let running: Promise<void> = Promise.resolve()
  let waiting: Promise<void> | undefined
  return () => {
    waiting ??= running.then(() => {
      waiting = undefined
      running = run()
      return running
    })
    return waiting
  }
}

/** A hint only: where the system cannot watch, the poll finds the change. */
function watchFolder(directory: string, changed: () => void): () => void {
  try {
    const watcher = watch(directory, { persistent: false }, changed)
    watcher.on('error', () => watcher.close())
    return () => watcher.close()
  } catch {
    // The folder is not there yet, or cannot be watched: see above.
    return () => {}
  }
}
