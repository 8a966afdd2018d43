/** Reads configurations into the table of systems. For an invalid file, the last valid configuration stays in use. */
import { describeErrors } from '../../base/field-errors.ts'
import type { SystemsObserver } from '../observer.ts'
import type { SystemTable } from '../system-table.ts'
import { duplicateSystem, parseSystemConfig, type SystemDefinition } from './config.ts'
import type { ConfigFile, ConfigSource } from './source.ts'
import { readTlsFiles } from './tls-files.ts'

export interface ConfigReaderInput {
  source: ConfigSource
  definitions: Readonly<Record<string, SystemDefinition>>
  table: SystemTable
  observer: SystemsObserver
}

/** The state of one read of the folder. */
interface Pass {
  /** The file of each system. */
  files: Map<string, string>
  /** The problem of each invalid file. */
  problems: Map<string, string>
}

export class ConfigReader {
  readonly #input: ConfigReaderInput
  #problems = new Map<string, string>()
  #running: Promise<void> = Promise.resolve()
  #waiting: Promise<void> | undefined
  #isStopped = false

  constructor(input: ConfigReaderInput) {
    this.#input = input
  }

  /** The current problem of each invalid file. */
  problems(): ReadonlyMap<string, string> {
    return this.#problems
  }

  /** Reads the source. Resolves when its content is in use. Calls during a wait share one read. */
  reload(): Promise<void> {
    this.#waiting ??= this.#running.then(() => {
      this.#waiting = undefined
      this.#running = this.#read()
      return this.#running
    })
    return this.#waiting
  }

  /** Ends the reads. Resolves when the running read has ended. */
  async stop(): Promise<void> {
    this.#isStopped = true
    await this.reload()
  }

  async #read(): Promise<void> {
    if (this.#isStopped) return
    const { source, table, observer } = this.#input
    const pass: Pass = { files: new Map(), problems: new Map() }
    const files = await source.read().catch((error: Error) => {
      pass.problems.set(source.name, `${source.name}: ${error.message}`)
      return undefined
    })
    if (this.#isStopped) return
    for (const file of files ?? []) await this.#use(file, pass)
    if (files !== undefined) table.removeAllBut(new Set(files.map(({ file }) => file)))
    for (const [file, message] of pass.problems) {
      if (this.#problems.get(file) !== message) observer.configError({ file, message })
    }
    this.#problems = pass.problems
    table.publish()
  }

  async #use(given: ConfigFile, { files, problems }: Pass): Promise<void> {
    const { file } = given
    const { definitions, table } = this.#input
    try {
      if ('problem' in given) throw new Error(`${file}: ${given.problem}`)
      const config = parseSystemConfig(file, given.text, definitions, given.folder)
      const other = files.get(config.system)
      if (other !== undefined) throw new Error(`${file}: ${describeErrors([duplicateSystem(config.system, other)])}`)
      files.set(config.system, file)
      table.put(file, `${given.text}\n${await readTlsFiles(config.endpoint.tls, file)}`, config)
    } catch (error) {
      // The last valid configuration of this file stays in use.
      problems.set(file, (error as Error).message)
      for (const entry of table.entries())
        if (entry.file === file) files.set(entry.system, files.get(entry.system) ?? file)
    }
  }
}
