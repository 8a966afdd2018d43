/** The probes with which Lodestone sees that the API server calls its webhooks: dry runs that its webhooks reject. */
import { type DataSource, dataSources } from '../../api/data-source.ts'
import { clusterResourceBindings, type ResourceBinding } from '../../api/karmada.ts'
import { apiVersionOf } from '../../api/meta.ts'
import type { Outcome } from '../outcome.ts'

const NAME = 'lodestone-webhook-probe'

/** The reason of the rejection, by which its sender recognizes it. */
export const PROBE_REASON = 'LodestoneWebhookProbe'

/**
 * Returns the binding of the probe. It is cluster-scoped: no selector of namespaces excludes it, and its webhook is in the same configuration as
 * that of ResourceBindings.
 */
export function probeBinding(): ResourceBinding {
  return {
    apiVersion: apiVersionOf(clusterResourceBindings),
    kind: clusterResourceBindings.kind,
    metadata: { name: NAME },
    spec: { resource: { apiVersion: 'v1', kind: 'Namespace', name: NAME }, placement: {} },
  }
}

/** Returns the answer to a probe; undefined for any other binding. The rejection also protects from a server that ignores `dryRun`. */
export function answerProbe({ metadata }: ResourceBinding): Outcome | undefined {
  if (metadata.name !== NAME || metadata.namespace) return undefined
  const message = 'is reserved for the probe of Lodestone, which sees by this answer that its webhooks are called'
  return { kind: 'deny', reason: PROBE_REASON, errors: [{ path: 'metadata.name', code: 'Forbidden', message }] }
}

/** Returns a source that each version of Lodestone rejects, and which its CRD allows. */
export function probeSource(): DataSource {
  return {
    apiVersion: apiVersionOf(dataSources),
    kind: dataSources.kind,
    metadata: { name: NAME },
    spec: { system: 'probe', type: 'probe', name: 'probe', locality: { clusterNames: ['-'] } },
  }
}
