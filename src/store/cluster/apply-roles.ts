/** The remedy for a missing right of Lodestone: the commands that print its roles. */
import { isForbidden } from './api-error.ts'

/** The roles of a cluster with pods have a part of their own. The configuration may need rights that only its own roles have. */
export const APPLY_ROLES =
  "apply the roles: 'lodestone manifests rbac --config FILE' prints them, in a cluster with pods 'rbac volumes --config FILE'; or upgrade the chart"

/**
 * Whether the user lacks the right of a request, by the message of kube-apiserver (apiserver, pkg/endpoints/handlers/responsewriters/errors.go).
 * Admission, such as a ResourceQuota, rejects with 403 too.
 */
export function lacksRight(error: unknown): boolean {
  return isForbidden(error) && / is forbidden: User "[^"]*" cannot /.test(error.message)
}
