/** Computes the id of a decision from the object that has it. It joins audit log, Events, log lines and the command line (ADR 33). */
import type { ResourceBinding } from '../api/karmada.ts'
import { VOLUMES_ANNOTATION } from '../api/lodestone.ts'
import type { K8sObject } from '../api/meta.ts'
import type { Pod } from '../api/pod.ts'
import { listDigest } from '../base/hash.ts'
import { type DecidedAnnotations, readDecision } from './resource-binding/annotations.ts'

/** In hexadecimal digits: 40 bits. Among a million decisions, a second one has a given id with a probability of one in a million. */
const LENGTH = 10

/**
 * Returns the id of the decision in our annotations on a binding: 10 hexadecimal digits. It depends on kind, namespace and name of the
 * binding, and on what was decided. So each replica computes the same id, at any time. Messages do not count: they change while a decision
 * lasts. A binding without our annotations has the id of a decision that stores nothing.
 *
 * @param decided our annotations on the binding, of a caller that has read or written them
 */
export function bindingDecisionId(
  binding: ResourceBinding,
  decided: DecidedAnnotations = readDecision(binding.metadata.annotations),
): string {
  return decisionId(binding, binding.metadata.namespace, decidedIn(decided))
}

/**
 * Returns the id of the decision on a pod that requests volumes, whether it was rejected, gated or injected; undefined for another pod. Pods
 * of one controller with the same request have the same id: the API server generates their names after admission.
 *
 * @param namespace that of the request, since a pod that is being created may have none
 */
export function podDecisionId(pod: Pod, namespace: string | undefined = pod.metadata.namespace): string | undefined {
  const request = pod.metadata.annotations?.[VOLUMES_ANNOTATION]
  return request === undefined ? undefined : decisionId(pod, namespace, [request])
}

function decisionId({ kind, metadata }: K8sObject, namespace: string | undefined, decided: readonly string[]): string {
  const name = metadata.generateName || metadata.name
  return listDigest([kind, namespace ?? '', name ?? '', ...decided]).slice(0, LENGTH)
}

/** Returns what was decided, as texts. A hold is one decision from its begin to its end, unless its reason changes. */
function decidedIn({ hold, locality }: DecidedAnnotations): string[] {
  if (hold) return hold.released ? ['Released', hold.since] : ['OnHold', hold.since, hold.reason]
  if (!locality) return []
  const { state, claims, required = [], requiredDigest = '', preferred = [], round = 0 } = locality
  return [state, requiredDigest, `${round}`, `${claims}`, `${required}`, ...preferred.map((clusters) => `${clusters}`)]
}
