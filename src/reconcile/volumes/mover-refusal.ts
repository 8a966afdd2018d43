/** Tells the refusal of a mover by the API server from an error that passes by itself. */
import { printable } from '../../base/printable.ts'
import { MissingPrerequisiteError, rejectionMessage } from '../../store/store.ts'

/**
 * kube-apiserver has no code for these. A webhook rejects an object with any status that it likes, and a webhook that cannot be called is an
 * internal error like any other.
 */
const BY_WEBHOOK = /\b(admission webhook "[^"]*" denied the request|failed calling webhook)\b/

/**
 * The message of an error with which the API server rejects a mover; undefined for any other error. The cause is a policy, a quota, a webhook,
 * or a namespace that does not exist or is being deleted.
 */
export function refusalOfMover(error: unknown): string | undefined {
  if (!(error instanceof Error)) return undefined
  const { message: text } = error
  const isRejected = error instanceof MissingPrerequisiteError || BY_WEBHOOK.test(text)
  const refusal = isRejected ? text : rejectionMessage(error)
  return refusal === undefined ? undefined : printable(refusal)
}
