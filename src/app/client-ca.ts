/** The CA of client certificates, read again when its file changes. If the new file is invalid, the last valid CA stays in use. */
import { readFileSync } from 'node:fs'
import { dirname } from 'node:path'
import { describeFileError } from '../base/file-error.ts'
import { watchFolder } from '../base/folder-watch.ts'
import { type Clock, systemClock } from '../base/time/clock.ts'
import type { Logger } from '../telemetry/logger.ts'
import { parseCertificates } from '../tls/x509.ts'
import { ConfigError } from './config/config-file.ts'

export interface ClientCa {
  /** PEM; undefined if callers are not authenticated. */
  current(): string | undefined
  /** Calls the listener when every new handshake must use another CA. Returns a function that unsubscribes. */
  subscribe(listener: () => void): () => void
  stop(): void
}

interface ClientCaInput {
  /** Absent if callers are not authenticated. */
  file: string | undefined
  log: Logger
  clock?: Clock
}

// In ms: the kubelet replaces one symbolic link, but users copy several files one after the other.
const SETTLE_MS = 200
const POLL_MS = 10_000

/** @throws ConfigError if the file has no certificate at the start */
export function openClientCa({ file, log, clock = systemClock }: ClientCaInput): ClientCa {
  if (file === undefined) {
    log.warn(
      'callers are not authenticated: every client that reaches the admission port gets answers; set server.clientCaFile',
    )
    return { current: () => undefined, subscribe: () => () => undefined, stop: () => undefined }
  }
  let used = read(file)
  let refused = ''
  const listeners = new Set<() => void>()
  const stop = watchFolder({
    directory: dirname(file),
    recursive: false,
    clock,
    debounceMs: SETTLE_MS,
    pollMs: POLL_MS,
    changed: () => reload(file),
    failed: ({ message }) => log.warn({ file, reason: message }, 'cannot watch the client CA; polling every 10 s'),
  })

  function reload(changing: string): void {
    try {
      const next = read(changing)
      refused = ''
      if (next === used) return
      used = next
      log.info({ file }, 'client CA changed')
      for (const listener of listeners) listener()
    } catch (error) {
      if (!(error instanceof ConfigError)) throw error
      if (error.message !== refused)
        log.error({ reason: error.message }, 'invalid client CA; keeping the last valid one')
      refused = error.message
    }
  }

  return {
    current: () => used,
    subscribe(listener) {
      listeners.add(listener)
      return () => void listeners.delete(listener)
    },
    stop,
  }
}

function read(file: string): string {
  try {
    const pem = readFileSync(file, 'utf8')
    parseCertificates(pem)
    return pem
  } catch (cause) {
    throw new ConfigError(`server.clientCaFile: ${file}: ${describeFileError(cause)}`, { cause })
  }
}
