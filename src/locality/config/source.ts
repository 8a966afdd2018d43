/** The source of the configurations of data systems: a folder, or a ConfigMap. */

/** One configuration: its name in messages, and its text, or why it has none. */
export type ConfigFile = { file: string; text: string } | { file: string; problem: string }

/** The files of a source are unknown. The message has the reason. */
export class ConfigSourceError extends Error {
  override name = 'ConfigSourceError'
}

export interface ConfigSource {
  /** The name in messages. */
  readonly name: string
  /** A folder whose changes are reported; without it, the source is only polled. */
  readonly directory?: string
  /** Returns the files, sorted by name. Throws `ConfigSourceError` if they are unknown. */
  read(): Promise<ConfigFile[]>
}
