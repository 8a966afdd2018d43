/** Sends the probes of the webhooks: dry runs of objects that Lodestone rejects. Nothing is stored. Recognizes errors of webhooks. */
import { dataSources } from '../../api/data-source.ts'
import { clusterResourceBindings } from '../../api/karmada.ts'
import { collectionPath, type K8sObject, type ResourceType } from '../../api/meta.ts'
import { PROBE_REASON, probeBinding, probeSource } from '../../core/admission/webhook-probe.ts'
import type { ApiConnection } from './api-connection.ts'
import { ApiError, RequestError } from './api-error.ts'
import { APPLY_ROLES } from './apply-roles.ts'

/** `seen`: the API server calls our webhooks. `notNeeded`: it serves no bindings, so it is not a hub. `unseen`: with the reason. */
export type ProbeResult = { result: 'seen' } | { result: 'notNeeded' } | { result: 'unseen'; reason: string }

export type WebhookProbe = (signal: AbortSignal) => Promise<ProbeResult>

/** Longer than the API server waits for a webhook: 30 s at most, 3 s by default. */
const TIMEOUT_MS = 35_000

/** Returns a function that sends one probe. It throws only unexpected errors. */
export function openWebhookProbe(connection: ApiConnection): WebhookProbe {
  return (signal) => send(connection, clusterResourceBindings, probeBinding(), probeResult, signal)
}

/**
 * Returns a function that finds a running Lodestone of any version by the answer of its webhook, also in a cluster without bindings. It throws
 * only unexpected errors.
 */
export function openAnswerProbe(connection: ApiConnection): WebhookProbe {
  return (signal) => send(connection, dataSources, probeSource(), answerResult, signal)
}

async function send(
  connection: ApiConnection,
  type: ResourceType,
  body: K8sObject,
  resultOf: (error: ApiError) => ProbeResult,
  signal: AbortSignal,
): Promise<ProbeResult> {
  const query = { dryRun: 'All' }
  try {
    await connection.request('POST', collectionPath(type), { query, body, signal, timeoutMs: TIMEOUT_MS })
    return {
      result: 'unseen',
      reason: `the API server did not call the webhook of ${type === dataSources ? 'sources' : 'bindings'}`,
    }
  } catch (error) {
    if (error instanceof ApiError) return resultOf(error)
    if (error instanceof RequestError) return { result: 'unseen', reason: error.message }
    throw error
  }
}

/** How kube-apiserver begins the message of a rejection (apiserver, pkg/admission/plugin/webhook/errors). */
const OUR_REJECTION = /admission webhook "[^"]+\.lodestone\.dev" denied the request/

/**
 * Whether the API server could not call a webhook with `failurePolicy: Fail`, which is an internal error like any other (ErrCallingWebhook, in the
 * same package). The next object may not concern that webhook.
 */
export function isWebhookFailure(error: unknown): error is ApiError {
  return error instanceof ApiError && error.status === 500 && error.message.includes('failed calling webhook "')
}

function answerResult({ status, message }: ApiError): ProbeResult {
  if (OUR_REJECTION.test(message)) return { result: 'seen' }
  return status === 404 ? { result: 'notNeeded' } : { result: 'unseen', reason: message }
}

function probeResult({ status, reason, message }: ApiError): ProbeResult {
  if (reason === PROBE_REASON) return { result: 'seen' }
  if (status === 404) return { result: 'notNeeded' }
  const remedy = status === 403 ? `; ${APPLY_ROLES}` : ''
  return { result: 'unseen', reason: `${message}${remedy}` }
}
