/** Names the directory of the certificates of a served folder, in the cache of the user. */
import { createHash } from 'node:crypto'
import { existsSync, realpathSync } from 'node:fs'
import { homedir } from 'node:os'
import { basename, isAbsolute, join, resolve } from 'node:path'

/** The longest part of the name that comes from the folder; a name of a file has at most 255 bytes. */
const MAX_CHARACTERS = 40
const HASH_CHARACTERS = 8

/**
 * Each folder has its own directory, whatever path leads to it: `~/.cache/lodestone/hub-1c2f6ab3`, or below `$XDG_CACHE_HOME`, as the XDG
 * Base Directory Specification says. A relative `$XDG_CACHE_HOME` is ignored, as the specification demands.
 */
export function cacheDirectoryOf(folder: string, env: Record<string, string | undefined>): string {
  const path = existsSync(folder) ? realpathSync(folder) : resolve(folder)
  const hash = createHash('sha256').update(path).digest('hex').slice(0, HASH_CHARACTERS)
  const name = basename(path)
    .replaceAll(/[^\w.-]/g, '_')
    .slice(0, MAX_CHARACTERS)
  const given = env['XDG_CACHE_HOME'] ?? ''
  const cache = isAbsolute(given) ? given : join(env['HOME'] || homedir(), '.cache')
  return join(cache, 'lodestone', `${name}-${hash}`)
}
