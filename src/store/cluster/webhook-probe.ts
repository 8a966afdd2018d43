/** Sends the probe of the webhooks: the dry run of a binding that Lodestone rejects. Nothing is stored. */
import { clusterResourceBindings } from '../../api/karmada.ts'
import { collectionPath } from '../../api/meta.ts'
import { PROBE_REASON, probeBinding } from '../../core/admission/webhook-probe.ts'
import type { ApiConnection } from './api-connection.ts'
import { ApiError, RequestError } from './api-error.ts'

/** `seen`: the API server calls our webhooks. `notNeeded`: it serves no bindings, so it is not a hub. `unseen`: with the reason. */
export type ProbeResult = { result: 'seen' } | { result: 'notNeeded' } | { result: 'unseen'; reason: string }

export type WebhookProbe = (signal: AbortSignal) => Promise<ProbeResult>

/** Longer than the API server waits for a webhook: 30 s at most, 3 s by default. */
const TIMEOUT_MS = 35_000

/** Returns a function that sends one probe. It throws only unexpected errors. */
export function openWebhookProbe(connection: ApiConnection): WebhookProbe {
  return async (signal) => {
    try {
      const query = { dryRun: 'All' }
      const body = probeBinding()
      await connection.request('POST', collectionPath(clusterResourceBindings), {
        query,
        body,
        signal,
        timeoutMs: TIMEOUT_MS,
      })
      return { result: 'unseen', reason: 'the API server did not call the webhook of bindings' }
    } catch (error) {
      if (error instanceof ApiError) return probeResult(error)
      if (error instanceof RequestError) return { result: 'unseen', reason: error.message }
      throw error
    }
  }
}

function probeResult({ status, reason, message }: ApiError): ProbeResult {
  if (reason === PROBE_REASON) return { result: 'seen' }
  if (status === 404) return { result: 'notNeeded' }
  const remedy = status === 403 ? "; apply the roles: 'lodestone manifests rbac' prints them" : ''
  return { result: 'unseen', reason: `${message}${remedy}` }
}
