/** The table of open data systems, by name: opens, replaces and closes systems, and reports changes to subscribers. */
import type { Cluster } from '../api/karmada.ts'
import type { Clock } from '../base/time/clock.ts'
import type { SystemConfig, SystemDefinition } from './config/config.ts'
import type { SystemsObserver } from './observer.ts'
import { type OpenSystem, openSystem } from './open-system.ts'

export interface SystemTableInput {
  /** Returns the current Cluster objects of Karmada. */
  clusters: () => readonly Cluster[]
  observer: SystemsObserver
  clock: Clock
  definitions: Readonly<Record<string, SystemDefinition>>
}

export interface SystemEntry {
  system: string
  file: string
  plugin: string
  /** The document and the TLS files with which the system was opened. They are read only once. */
  content: string
  open: OpenSystem
}

export class SystemTable {
  readonly #input: SystemTableInput
  readonly #entries = new Map<string, SystemEntry>()
  readonly #listeners = new Set<(systems: readonly string[]) => void>()
  readonly #changed = new Set<string>()
  readonly #closing = new Set<Promise<void>>()
  #isStopped = false

  constructor(input: SystemTableInput) {
    this.#input = input
  }

  get(system: string): OpenSystem | undefined {
    return this.#entries.get(system)?.open
  }

  /** All entries, sorted by the name of the system. */
  entries(): SystemEntry[] {
    return [...this.#entries.values()].sort((a, b) => (a.system < b.system ? -1 : 1))
  }

  /**
   * Opens the system of a file, and closes the systems that the file or the name had before. Throws when a file of its configuration cannot
   * be read.
   */
  put(file: string, content: string, config: SystemConfig): void {
    const { system, plugin } = config
    const { definitions, clusters, observer, clock } = this.#input
    const before = this.#entries.get(system)
    const definition = definitions[plugin]
    if (this.#isStopped || definition === undefined || (before?.content === content && before.file === file)) return
    const healthChanged = () => {
      this.#changed.add(system)
      this.publish()
    }
    const open = openSystem({ config, definition, clusters, observer, clock, healthChanged })
    this.#entries.set(system, { system, file, plugin, content, open })
    for (const other of this.entries()) if (other.file === file && other.system !== system) this.#remove(other)
    if (before !== undefined) this.#close(before)
    observer.loaded({ system, file })
    for (const { path, message } of config.warnings)
      observer.configWarning({ system, file, message: `${path}: ${message}` })
    this.#changed.add(system)
  }

  /** Removes every system whose file is not one of `files`. */
  removeAllBut(files: ReadonlySet<string>): void {
    for (const entry of this.entries()) if (!files.has(entry.file)) this.#remove(entry)
  }

  /** Calls the listeners with the systems that changed since the last call. */
  publish(): void {
    const systems = [...this.#changed].sort()
    this.#changed.clear()
    if (systems.length > 0) for (const listener of this.#listeners) listener(systems)
  }

  subscribe(listener: (systems: readonly string[]) => void): () => void {
    this.#listeners.add(listener)
    return () => this.#listeners.delete(listener)
  }

  /** Closes all systems, and resolves when they are closed. No system is opened after that. */
  async stop(): Promise<void> {
    this.#isStopped = true
    for (const entry of this.entries()) this.#close(entry)
    await Promise.all(this.#closing)
  }

  #remove(entry: SystemEntry): void {
    const { system } = entry
    this.#entries.delete(system)
    this.#close(entry)
    this.#input.observer.removed({ system })
    this.#changed.add(system)
  }

  #close({ open }: SystemEntry): void {
    const closed: Promise<void> = open.close().finally(() => this.#closing.delete(closed))
    this.#closing.add(closed)
  }
}
