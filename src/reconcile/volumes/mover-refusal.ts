/** Tells the refusal of a mover by the API server from an error that passes by itself. */
import { printable } from '../../base/printable.ts'
import { MissingPrerequisiteError, rejectionMessage } from '../../store/store.ts'

/**
 * kube-apiserver has no code for these. A webhook rejects an object with any status that it likes. A webhook that cannot be called is an internal
 * error like any other. So is one whose patch does not apply, or makes no Pod (pkg/admission/plugin/webhook/mutating).
 */
const BY_WEBHOOK = [
  /\b(?:admission webhook "[^"]*" denied the request|failed calling webhook)\b/,
  // The errors of gopkg.in/evanphx/json-patch.v4, which have no common words.
  /^Internal error occurred: (?:\w+ operation (?:does not apply|failed to decode|value must be)|error in \w+ for |testing value )/,
  /^Internal error occurred: .*(?:cannot unmarshal|decoding error|json parse error|must match the regular expression)/,
]

/**
 * The message of an error with which the API server rejects a mover; undefined for any other error. The cause is a policy, a quota, a webhook,
 * or a namespace that does not exist or is being deleted.
 */
export function refusalOfMover(error: unknown): string | undefined {
  if (!(error instanceof Error)) return undefined
  const { message: text } = error
  const isRejected = error instanceof MissingPrerequisiteError || BY_WEBHOOK.some((one) => one.test(text))
  const refusal = isRejected ? text : rejectionMessage(error)
  return refusal === undefined ? undefined : printable(refusal)
}
