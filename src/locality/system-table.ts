/** The data systems in use, by name: opens, replaces and closes them, and reports to subscribers which ones changed. */
import type { Cluster } from '../api/karmada.ts'
import type { Clock } from '../time/clock.ts'
import type { SystemConfig, SystemDefinition } from './config/config.ts'
import type { SystemsObserver } from './observer.ts'
import { type OpenSystem, openSystem } from './open-system.ts'

export interface SystemTableInput {
  /** The Karmada Cluster objects as they are now. */
  clusters: () => readonly Cluster[]
  observer: SystemsObserver
  clock: Clock
  definitions: Readonly<Record<string, SystemDefinition>>
  healthIntervalMs: number
}

export interface SystemEntry {
  system: string
  file: string
  plugin: string
  /** The content that the system was opened with: its document and its TLS files, which are read only once. */
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

  /** Every entry, by the name of its system. */
  entries(): SystemEntry[] {
    return [...this.#entries.values()].sort((a, b) => (a.system < b.system ? -1 : 1))
  }

  /** Opens the system of a file, in place of what the file or the system had before. Throws when a file that it names cannot be read. */
  put(file: string, content: string, config: SystemConfig): void {
    const { system, plugin } = config
    const { definitions, clusters, observer, clock, healthIntervalMs } = this.#input
    const before = this.#entries.get(system)
    const definition = definitions[plugin]
    if (this.#isStopped || definition === undefined || (before?.content === content && before.file === file)) return
    const healthChanged = () => {
      this.#changed.add(system)
      this.publish()
    }
    const open = openSystem({ config, definition, clusters, observer, clock, healthIntervalMs, healthChanged })
    this.#entries.set(system, { system, file, plugin, content, open })
    for (const other of this.entries()) if (other.file === file && other.system !== system) this.#remove(other)
    if (before !== undefined) this.#close(before)
    observer.loaded({ system, file })
    this.#changed.add(system)
  }

  /** Removes every system whose file is not one of `files`. */
  removeAllBut(files: ReadonlySet<string>): void {
    for (const entry of this.entries()) if (!files.has(entry.file)) this.#remove(entry)
  }

  /** Reports the systems that changed since the last report. */
  publish(): void {
    const systems = [...this.#changed].sort()
    this.#changed.clear()
    if (systems.length > 0) for (const listener of this.#listeners) listener(systems)
  }

  subscribe(listener: (systems: readonly string[]) => void): () => void {
    this.#listeners.add(listener)
    return () => this.#listeners.delete(listener)
  }

  /** Closes every system; resolves when the last one is closed. Nothing is opened from then on. */
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
