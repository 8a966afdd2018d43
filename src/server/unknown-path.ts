/** Answers at the paths of webhooks that this replica does not have. A replica of another version or configuration may have them. */
import { decodeReview, encodeResponse } from '../core/admission/review.ts'
import { describeReview, encodeReview } from './admission.ts'
import { type CallDependencies, type Serve, serveCalls } from './call.ts'
import { MAX_SHOWN } from './responses.ts'

/** The name in log lines and metrics, which must not depend on the path of a caller. */
const NAME = 'unknown-path'

/** The prefixes of the paths of webhooks in every version. */
export const REVIEW_PREFIXES: readonly string[] = ['/mutate/', '/validate/']

/** Whether a path is that of a webhook, in any version. */
export function isReviewPath(path: string): boolean {
  return REVIEW_PREFIXES.some((prefix) => path.startsWith(prefix))
}

/**
 * Returns a function that allows each review at an unknown path, with a warning. While two versions run behind one address, a replica gets
 * reviews of the other version. An error would fail those of webhooks with `failurePolicy: Fail`.
 */
export function serveUnknownPath(path: string, dependencies: CallDependencies): Serve {
  const message = `${path.slice(0, MAX_SHOWN)} is no webhook of this replica; one of another version may have it`
  const outcome = {
    kind: 'allow' as const,
    warnings: [`lodestone: not reviewed: ${message}`],
    auditAnnotations: { decision: 'NotReviewed' as const, reason: message },
  }
  return serveCalls(
    {
      name: NAME,
      expects: 'an AdmissionReview',
      logMessages: { answered: 'not reviewed', refused: 'review refused', failed: 'review failed' },
      decode: decodeReview,
      decide(request) {
        const body = encodeReview(encodeResponse(request, outcome, btoa))
        return { body, decision: 'NotReviewed', line: { ...describeReview(request), reason: message } }
      },
      describe: describeReview,
    },
    dependencies,
  )
}
