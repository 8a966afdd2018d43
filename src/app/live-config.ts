/** The current configuration: reads its file again when it changes; an invalid file leaves the last good configuration in use. */
import { readFileSync } from 'node:fs'
import { dirname } from 'node:path'
import { jsonEqual } from '../core/json.ts'
import type { Logger } from '../telemetry/logger.ts'
import { type Clock, systemClock } from '../time/clock.ts'
import { watchFolder } from '../time/folder-watch.ts'
import { type Config, ConfigError } from './config.ts'
import { changeable, changedKeys, takesEffect } from './config-change.ts'

export interface ConfigSource {
  file: string
  /** Reads it, with everything laid over it as at the start. Throws `ConfigError`. */
  read(): Config
}

export interface LiveConfig {
  current(): Config
  /** Calls back after a change took effect; gives the way to end that. */
  subscribe(listener: () => void): () => void
  stop(): void
}

interface LiveConfigInput {
  config: Config
  /** Absent where there is no file, and nothing changes. */
  source: ConfigSource | undefined
  log: Logger
  clock?: Clock
}

// The kubelet swaps one link, people write file after file: a moment's patience saves a complaint about half a change.
const SETTLE_MS = 200
const POLL_MS = 10_000

/** Follows the file, plain or in a mounted ConfigMap. A change that needs a restart is logged once. */
export function openLiveConfig({ config, source, log, clock = systemClock }: LiveConfigInput): LiveConfig {
  const listeners = new Set<() => void>()
  let used = config
  let read = config
  let refused: string | undefined
  /** The text that was read last, unless it was rejected. */
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
      changed: () => look(file, readNow),
      failed: (error) =>
        log.warn({ file, reason: error.message }, 'configuration is not watched, but read now and then'),
    })
  }

  function look(file: string, readNow: () => Config): void {
    // Whatever changes in the folder brings us here: the file may lie beside logs, which change all the time.
    const text = textOf(file)
    if (text !== undefined && text === seen) return
    let next: Config
    try {
      next = readNow()
      seen = text
    } catch (error) {
      seen = undefined
      if (!(error instanceof ConfigError)) throw error
      if (error.message !== refused) {
        log.error({ file, reason: error.message }, 'configuration refused; the last good one stays')
      }
      refused = error.message
      return
    }
    const isMended = refused !== undefined
    refused = undefined
    if (jsonEqual(next, read) && !isMended) return
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

/** Undefined if the file cannot be read: the reader of the configuration reports why. */
function textOf(file: string): string | undefined {
  try {
    return readFileSync(file, 'utf8')
  } catch {
    return undefined
  }
}
