/** The directories of caches: in `~/.cache/lodestone`. */
import { enableCompileCache } from 'node:module'
import { isAbsolute, join } from 'node:path'

/**
 * Returns `~/.cache/lodestone`, or its counterpart below `$XDG_CACHE_HOME`, as the XDG Base Directory Specification says. A relative
 * `$XDG_CACHE_HOME` is ignored, as the specification demands. Returns undefined without a home, as in a container.
 */
export function cacheDirectory(env: Readonly<Record<string, string | undefined>>): string | undefined {
  const given = env['XDG_CACHE_HOME'] ?? ''
  if (isAbsolute(given)) return join(given, 'lodestone')
  return env['HOME'] ? join(env['HOME'], '.cache', 'lodestone') : undefined
}

/**
 * Caches the compiled code of all modules that are imported later: a command then starts in half of the time. A directory that cannot be
 * written has no effect. `NODE_COMPILE_CACHE` names another directory, and `NODE_DISABLE_COMPILE_CACHE=1` disables it.
 */
export function cacheCompiledCode(env: Readonly<Record<string, string | undefined>>): void {
  const directory = cacheDirectory(env)
  // Not in the folder for temporary files, which is the default of Node: other users could write it first.
  if (directory !== undefined) enableCompileCache(join(directory, 'compiled-code'))
}
