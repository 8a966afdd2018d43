/** Reads the annotation with which a namespace allows claims of other namespaces (compare ReferenceGrant of the Gateway API). */
import { ALLOW_CLAIMS_FROM_ANNOTATION } from '../../api/lodestone.ts'
import type { K8sObject } from '../../api/meta.ts'
import { labelProblem } from '../../base/names.ts'
import { cut } from '../outcome.ts'

export type ClaimGrant =
  | { kind: 'all' }
  | { kind: 'listed'; namespaces: ReadonlySet<string> }
  /** The annotation is malformed and allows nothing. */
  | { kind: 'invalid'; problem: string }

/** A cached Namespace; without the annotation it has no grant. */
export interface GrantingNamespace extends K8sObject {
  claimGrant?: ClaimGrant
}

/** The maximum number of listed namespaces. To allow more, a namespace lists `*`. */
export const MAX_GRANTED_NAMESPACES = 1000
const ALL = '*'

/**
 * Reads the annotation: names of namespaces, separated by commas, or `*` for all. A malformed annotation allows nothing, since the
 * intention of its author is unknown. Returns undefined without the annotation.
 */
export function readClaimGrant({ metadata }: K8sObject): ClaimGrant | undefined {
  const text = metadata.annotations?.[ALLOW_CLAIMS_FROM_ANNOTATION]
  if (text === undefined) return undefined
  // The limit of the split is one above the maximum: enough to detect too many names.
  const names = text.split(',', MAX_GRANTED_NAMESPACES + 1).map((name) => name.trim())
  if (names.length > MAX_GRANTED_NAMESPACES) {
    return { kind: 'invalid', problem: `it lists more than ${MAX_GRANTED_NAMESPACES} namespaces; use "${ALL}" for all` }
  }
  if (names.length === 1 && names[0] === '') return { kind: 'listed', namespaces: new Set() }
  const wrong = names.find((name) => name !== ALL && labelProblem(name) !== undefined)
  if (wrong !== undefined) {
    return {
      kind: 'invalid',
      problem: `"${cut(wrong, 63)}" is not the name of a namespace; write it like "team-a,team-b"`,
    }
  }
  return names.includes(ALL) ? { kind: 'all' } : { kind: 'listed', namespaces: new Set(names) }
}

/** Whether a grant allows claims of a namespace. */
export function grants(grant: ClaimGrant | undefined, namespace: string): boolean {
  return grant?.kind === 'all' || (grant?.kind === 'listed' && grant.namespaces.has(namespace))
}
