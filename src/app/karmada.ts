/** Knows which rules the connected Karmada has: by the configuration, or by the schemas that the API server serves. */
import { resourceBindings } from '../api/karmada.ts'
import { type Clock, sleep, systemClock } from '../base/time/clock.ts'
import { type KarmadaRules, newestRules, rulesOfSchemas, rulesOfVersion } from '../core/karmada-rules.ts'
import type { ServerInfo } from '../core/server-features.ts'
import { RequestError } from '../store/cluster/api-error.ts'
import { repeated } from '../store/cluster/repeated.ts'
import type { Logger } from '../telemetry/logger.ts'

export interface KarmadaInput {
  /** The version in the configuration; the API server decides if it is absent. */
  version: string | undefined
  /** Reads what the API server is; absent if there is none, as in a folder. */
  readServerInfo: (() => Promise<ServerInfo>) | undefined
  /** Whether the API server serves a kind; undefined while the cache does not know. */
  serves: (type: typeof resourceBindings) => boolean | undefined
  log: Logger
  /** Default: the clock of the system. */
  clock?: Clock
}

export interface KarmadaVersion {
  /** Returns the rules; undefined if they cannot be read. Throws before `start` has ended: a decision without them could move a workload. */
  rules(): KarmadaRules | undefined
  /** Whether `start` has ended, or is not needed. */
  isRead(): boolean
  /**
   * Waits for the cache of bindings, and for no other: another kind may lack a right. Then reads the rules, and again while the API server is not
   * available: for a minute at most. Throws when the signal aborts.
   */
  start(signal: AbortSignal): Promise<void>
  /** Reads the rules anew, and keeps the last ones if that fails. The report of features logs the error. */
  refresh(): Promise<void>
  /** Calls the function after a change of the rules: Karmada was upgraded. Returns a function that unsubscribes. */
  subscribe(changed: () => void): () => void
}

/** How long decisions wait for the rules at the start. A hub publishes its schemas some seconds after its objects. */
const PATIENCE_MS = 60_000
const CACHE_POLL_MS = 20

/** Opens the rules. Without an API server and a version, they are those of the newest version. */
export function openKarmadaVersion({
  version,
  readServerInfo,
  serves,
  log,
  clock = systemClock,
}: KarmadaInput): KarmadaVersion {
  const configured = version === undefined ? undefined : rulesOfVersion(version)
  let rules = configured ?? (readServerInfo ? undefined : newestRules)
  let isRead = rules !== undefined
  const listeners = new Set<() => void>()

  /** Throws if the API server does not tell. */
  async function read(serverInfo: () => Promise<ServerInfo>): Promise<void> {
    const { bindingSchemas } = await serverInfo()
    if (!bindingSchemas) throw new RequestError('the API server has not published the schemas of bindings')
    use(rulesOfSchemas(bindingSchemas))
  }

  function use(found: KarmadaRules): void {
    if (JSON.stringify(found) === JSON.stringify(rules)) return
    rules = found
    log.info({ ...found }, 'rules of Karmada changed')
    for (const changed of listeners) changed()
  }

  /** Reads the rules, and again while the API server is not available. */
  async function waitForRules(serverInfo: () => Promise<ServerInfo>, signal: AbortSignal): Promise<void> {
    try {
      await repeated(() => read(serverInfo), { signal, patienceMs: PATIENCE_MS, clock })
    } catch (error) {
      signal.throwIfAborted()
      log.warn({ reason: error instanceof Error ? error.message : String(error) }, UNKNOWN)
    }
  }

  return {
    rules() {
      if (!isRead) throw new Error('the rules of Karmada have not been read yet')
      return rules
    },
    isRead: () => isRead,
    async start(signal) {
      if (isRead || !readServerInfo) return
      while (serves(resourceBindings) === undefined) {
        signal.throwIfAborted()
        await sleep(clock, CACHE_POLL_MS, signal)
      }
      // Only a hub has rules.
      if (serves(resourceBindings)) await waitForRules(readServerInfo, signal)
      isRead = true
    },
    async refresh() {
      if (configured || !readServerInfo) return
      await read(readServerInfo).catch(() => undefined)
    },
    subscribe(changed) {
      listeners.add(changed)
      return () => void listeners.delete(changed)
    },
  }
}

const UNKNOWN =
  'the rules of Karmada cannot be read: overflow tiers and some zones count as not allowed; set karmada.version, or allow GET of /openapi/v3'
