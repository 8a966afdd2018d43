/** Reads the configuration of a command that uses data systems: the file of `--config`, and the environment. */
import { type Config, DEFAULT_CONFIG, loadConfig } from '../../app/config/config.ts'
import { withPluginPath } from '../../app/config/systems-config.ts'
import type { Arguments, CommandIo } from '../command.ts'

/**
 * `PLUGIN_CONFIG_PATH` applies to each of these commands as to the server, so that they know the same data systems.
 *
 * Throws `ConfigError` for an invalid file.
 */
export function readConfig(args: Arguments, { env }: CommandIo, defaults: Config = DEFAULT_CONFIG): Config {
  const config = loadConfig(args.text('config'), defaults)
  return { ...config, systems: withPluginPath(config.systems, env) }
}
