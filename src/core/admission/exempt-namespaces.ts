/** The namespaces with so many claims that the policy `lodestone-claimed-workloads` (webhooks/absence.ts) does not apply to them. */
import { ENFORCE_CLAIMS, ENFORCE_LABEL } from '../../api/lodestone.ts'
import { listNames } from '../../base/names.ts'

/** The API server evaluates the policy for each claim of the namespace, at each update of a binding. So this bounds the time of an update. */
const MAX_CLAIMS = 500
/** An exempt namespace stays exempt until it has fewer claims, so that the policy is not written for each claim around the maximum. */
const FEWER_CLAIMS = 400
/** The API server parses the list at each write of any object. */
const MAX_EXEMPT_NAMESPACES = 100

export interface ExemptInput {
  /** The number of claims by namespace. */
  claims: ReadonlyMap<string, number>
  /** The namespaces that are exempt now. */
  exempt: readonly string[]
  /** Whether a label of the namespace demands the policy. */
  isEnforced(namespace: string): boolean
}

/**
 * Returns the names of the exempt namespaces, sorted: those with the most claims if they are too many. The policy applies to all others, so
 * many namespaces of one tenant never exempt that of another tenant.
 */
export function exemptNamespaces({ claims, exempt, isEnforced }: ExemptInput): string[] {
  const before = new Set(exempt)
  const large = [...claims].filter(([name, count]) => count > MAX_CLAIMS || (count >= FEWER_CLAIMS && before.has(name)))
  return large
    .filter(([name]) => !isEnforced(name))
    .sort(([a, countOfA], [b, countOfB]) => countOfB - countOfA || (a < b ? -1 : 1))
    .slice(0, MAX_EXEMPT_NAMESPACES)
    .map(([name]) => name)
    .sort()
}

/** Says what it means for namespaces to be exempt, and how to change that. */
export function describeExempt(names: readonly string[]): string {
  return `new workloads with a claim do not wait for Lodestone in ${listNames(names)}: more than ${MAX_CLAIMS} claims; to let them wait, label the namespace ${ENFORCE_LABEL}=${ENFORCE_CLAIMS}`
}
