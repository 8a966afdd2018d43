/** The configuration of `lodestone serve`: the file, and the flags over it. */

import { createHash } from 'node:crypto'
import { existsSync, realpathSync } from 'node:fs'
import { homedir } from 'node:os'
import { basename, join, resolve } from 'node:path'
import { type Config, DEFAULT_CONFIG } from '../../app/config/config.ts'
import { LOG_LEVELS } from '../../telemetry/log-levels.ts'
import { cacheDirectory } from '../cache-directory.ts'
import { type Arguments, type CommandIo, UsageError } from '../command.ts'
import { readConfig } from '../options/read-config.ts'
import { readChoice, readPort } from '../options/read-values.ts'

/**
 * The configuration, overridden by the flags. A folder is served on loopback, without a drain, and with certificates in a cache directory.
 *
 * Throws `ConfigError` for an invalid file, and `UsageError` for invalid arguments.
 */
export function serveConfigOf(args: Arguments, io: CommandIo): Config {
  const folder = args.text('folder')
  const onFolder = folder !== undefined
  const config = readConfig(args, io, onFolder ? folderDefaults(folder, io.env) : DEFAULT_CONFIG)
  const { server, log, leaderElection } = config
  const host =
    onFolder && args.text('config') === undefined ? { host: '127.0.0.1', healthHost: '127.0.0.1', drainSeconds: 0 } : {}
  return {
    ...config,
    ...(onFolder
      ? {
          registration: { ...config.registration, mode: 'none' },
          dependencies: onlyOurs(config),
          // No other process serves the folder through the same API server.
          leaderElection: { ...leaderElection, enabled: false },
        }
      : {}),
    server: {
      ...server,
      ...host,
      port: readPort(args, 'port') ?? server.port,
      healthPort: readPort(args, 'health-port') ?? server.healthPort,
    },
    log: { ...log, level: readChoice(args, 'log-level', LOG_LEVELS) ?? log.level },
  }
}

function folderDefaults(folder: string, env: CommandIo['env']): Config {
  const directory = cacheDirectoryOf(folder, env)
  return { ...DEFAULT_CONFIG, certificates: { ...DEFAULT_CONFIG.certificates, directory } }
}

/** With a folder, Karmada does not distribute dependencies, so Lodestone does. */
function onlyOurs({ dependencies }: Config): Config['dependencies'] {
  return dependencies.distribution === 'karmada' ? { ...dependencies, distribution: 'builtin' } : dependencies
}

/** The longest part of the name that comes from the folder; a name of a file has at most 255 bytes. */
const MAX_CHARACTERS = 40
const HASH_CHARACTERS = 8

/** Each folder has its own directory, whatever path leads to it: `~/.cache/lodestone/hub-1c2f6ab3`. */
export function cacheDirectoryOf(
  folder: string,
  env: Record<string, string | undefined>,
  home: () => string = homedir,
): string {
  const path = existsSync(folder) ? realpathSync(folder) : resolve(folder)
  const hash = createHash('sha256').update(path).digest('hex').slice(0, HASH_CHARACTERS)
  const name = basename(path)
    .replaceAll(/[^\w.-]/g, '_')
    .slice(0, MAX_CHARACTERS)
  return join(cacheDirectory(env) ?? join(homeOfUser(home), '.cache', 'lodestone'), `${name}-${hash}`)
}

/** The home in the list of users, for a process without `HOME`. The user of a container may be in no list. */
function homeOfUser(home: () => string): string {
  try {
    return home()
  } catch (error) {
    throw new UsageError(
      'this user has no home directory; set HOME or XDG_CACHE_HOME to a folder that can be written',
      {
        cause: error,
      },
    )
  }
}
