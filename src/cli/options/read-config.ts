/** The option `-c`, and the configuration of a command that uses data systems: the file of the option, and the environment. */
import { type Config, DEFAULT_CONFIG, loadConfig } from '../../app/config/config.ts'
import { withPluginPath } from '../../app/config/systems-config.ts'
import type { Arguments, CommandIo } from '../command.ts'

/** Returns the option `-c` of a command with this description. */
export function configOption(description = 'Configuration file of the server') {
  return { config: { type: 'string', short: 'c', value: 'FILE', description } } as const
}

/**
 * `PLUGIN_CONFIG_PATH` applies to each of these commands as to the server, so that they know the same data systems.
 *
 * Throws `ConfigError` for an invalid file.
 */
export function readConfig(args: Arguments, { env }: CommandIo, defaults: Config = DEFAULT_CONFIG): Config {
  const config = loadConfig(args.text('config'), defaults)
  return { ...config, systems: withPluginPath(config.systems, env) }
}
