/** Tells the refusal of a mover by the API server from an error that passes by itself. */
import { MissingPrerequisiteError, refusalOf } from '../../store/store.ts'

/** The messages of kube-apiserver about a webhook that rejects an object, with any status that it likes, or that cannot be called. */
const BY_WEBHOOK = /\b(admission webhook "[^"]*" denied the request|failed calling webhook)\b/

/**
 * The message of an error with which the API server rejects a mover; undefined for any other error. The cause is a policy, a quota, a webhook,
 * or a namespace that does not exist or is being deleted.
 */
export function refusalOfMover(error: unknown): string | undefined {
  const isFinal = error instanceof MissingPrerequisiteError
  if (isFinal || (error instanceof Error && BY_WEBHOOK.test(error.message))) return error.message
  return refusalOf(error)
}
