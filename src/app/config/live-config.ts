/** The current configuration, read again when its file changes. If the new file is invalid, the last valid configuration stays in use. */
import { readFileSync } from 'node:fs'
import { dirname } from 'node:path'
import { watchFolder } from '../../base/folder-watch.ts'
import { isObject, jsonEqual } from '../../base/json.ts'
import { type Clock, systemClock } from '../../base/time/clock.ts'
import type { Logger } from '../../telemetry/logger.ts'
import type { Config } from './config.ts'
import { ConfigError } from './config-file.ts'

export interface ConfigSource {
  file: string
  /** Reads the configuration in the same way as at the start. Throws `ConfigError`. */
  read(): Config
}

export interface LiveConfig {
  current(): Config
  /** Calls the listener after a change took effect. Returns a function that unsubscribes. */
  subscribe(listener: () => void): () => void
  stop(): void
}

interface LiveConfigInput {
  config: Config
  /** Absent if there is no file and the configuration cannot change. */
  source: ConfigSource | undefined
  log: Logger
  clock?: Clock
}

// In ms: the kubelet replaces one symbolic link, but users write several files. A short wait avoids errors about an incomplete change.
const SETTLE_MS = 200
const POLL_MS = 10_000

/** Most programs empty a file before they write it. On a slow machine or a full disk, that is longer than any pause. */
const EMPTY = 'is empty, as while it is written; write {} for the default configuration'

/** Watches the file, also in a mounted ConfigMap. A change that needs a restart is logged once. */
export function openLiveConfig({ config, source, log, clock = systemClock }: LiveConfigInput): LiveConfig {
  const listeners = new Set<() => void>()
  let used = config
  let read = config
  let refused: string | undefined
  /** The last text of the file; undefined if it was rejected. */
  let seen: string | undefined
  const stop = source ? follow(source) : () => undefined

  return {
    current: () => used,
    subscribe(listener) {
      listeners.add(listener)
      return () => listeners.delete(listener)
    },
    stop,
  }

  function follow({ file, read: readNow }: ConfigSource): () => void {
    return watchFolder({
      directory: dirname(file),
      recursive: false,
      clock,
      debounceMs: SETTLE_MS,
      pollMs: POLL_MS,
      changed: () => reload(file, readNow),
      failed: (error) =>
        log.warn({ file, reason: error.message }, 'cannot watch the configuration; polling every 10 s'),
    })
  }

  function reload(file: string, readNow: () => Config): void {
    // Any change in the folder triggers this function, for instance of log files in the same folder. So the text is compared first.
    const text = readConfigText(file)
    if (text !== undefined && text === seen) return
    let next: Config
    try {
      if (text?.trim() === '') throw new ConfigError(`${file}: ${EMPTY}`)
      next = readNow()
      seen = text
    } catch (error) {
      seen = undefined
      if (!(error instanceof ConfigError)) throw error
      if (error.message !== refused) {
        log.error({ file, reason: error.message }, 'invalid configuration; keeping the last valid one')
      }
      refused = error.message
      return
    }
    const wasRejected = refused !== undefined
    refused = undefined
    if (jsonEqual(next, read) && !wasRejected) return
    read = next
    take(file, next)
  }

  function take(file: string, next: Config): void {
    const changed = changedKeys(used, next)
    const keys = changed.filter(takesEffect)
    const later = changed.filter((key) => !takesEffect(key))
    used = changeable(used, next)
    log.info({ file, keys }, keys.length > 0 ? 'configuration changed' : 'configuration read again')
    if (later.length > 0) log.warn({ file, keys: later }, 'these changes take effect at the next start')
    if (keys.length > 0) for (const listener of listeners) listener()
  }
}

/** Returns undefined if the file is not readable: the reader of the configuration reports the error. */
function readConfigText(file: string): string | undefined {
  try {
    return readFileSync(file, 'utf8')
  } catch {
    return undefined
  }
}

/** Returns the keys with different values, as paths: `volumes.movers.maxInAll`. A list counts as one value. */
export function changedKeys(before: unknown, after: unknown, path: readonly string[] = []): string[] {
  if (!isObject(before) || !isObject(after)) return jsonEqual(before, after) ? [] : [path.join('.')]
  return [...new Set([...Object.keys(before), ...Object.keys(after)])].flatMap((key) =>
    changedKeys(before[key], after[key], [...path, key]),
  )
}

/** To move data, other loops and other cached kinds are needed. */
const NEEDS_RESTART = 'volumes.enabled'

/** Whether a change of the key takes effect immediately. */
export function takesEffect(key: string): boolean {
  return key.startsWith('volumes.') && key !== NEEDS_RESTART
}

/** Returns the used configuration with the new values of all keys that can change at run time. */
export function changeable(used: Config, read: Config): Config {
  return { ...used, volumes: { ...read.volumes, enabled: used.volumes.enabled } }
}
