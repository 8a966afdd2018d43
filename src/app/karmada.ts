/** Knows which rules the connected Karmada has: by the configuration, or by the schemas that the API server serves. */
import {
  type KarmadaRules,
  newestRules,
  rulesOfSchemas,
  rulesOfVersion,
  strictestRules,
} from '../core/karmada-rules.ts'
import type { ServerInfo } from '../core/server-features.ts'
import type { Logger } from '../telemetry/logger.ts'

export interface KarmadaInput {
  /** The version in the configuration; the API server decides if it is absent. */
  version: string | undefined
  /** Reads what the API server is; absent if there is none, as in a folder. */
  readServerInfo: (() => Promise<ServerInfo>) | undefined
  log: Logger
}

export interface KarmadaVersion {
  /** The strictest rules until the API server has answered. */
  rules(): KarmadaRules
  /** Reads the rules anew, and keeps the last ones if that fails. The report of features logs the error. */
  refresh(): Promise<void>
  /** Calls the function after a change of the rules: Karmada was upgraded. Returns a function that unsubscribes. */
  subscribe(changed: () => void): () => void
}

/** Opens the rules. Without an API server and a version, they are those of the newest version. */
export function openKarmadaVersion({ version, readServerInfo, log }: KarmadaInput): KarmadaVersion {
  const configured = version === undefined ? undefined : rulesOfVersion(version)
  let rules = configured ?? (readServerInfo ? strictestRules : newestRules)
  const listeners = new Set<() => void>()
  return {
    rules: () => rules,
    async refresh() {
      if (configured || !readServerInfo) return
      const info = await readServerInfo().catch(() => undefined)
      const read = info?.bindingSchemas && rulesOfSchemas(info.bindingSchemas)
      if (!read || JSON.stringify(read) === JSON.stringify(rules)) return
      rules = read
      log.info({ ...rules }, 'rules of Karmada changed')
      for (const changed of listeners) changed()
    },
    subscribe(changed) {
      listeners.add(changed)
      return () => void listeners.delete(changed)
    },
  }
}
