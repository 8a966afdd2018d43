/** Which namespaces' claims a namespace allows for its workloads, as its annotation says (compare ReferenceGrant of the Gateway API). */
import { ALLOW_CLAIMS_FROM_ANNOTATION } from '../../api/lodestone.ts'
import type { K8sObject } from '../../api/meta.ts'
import { labelProblem } from '../names.ts'
import { cut } from '../outcome.ts'

export type ClaimGrant =
  | { kind: 'all' }
  | { kind: 'listed'; namespaces: ReadonlySet<string> }
  /** The annotation is malformed and allows nothing. */
  | { kind: 'invalid'; problem: string }

/** A Namespace as it is cached; without the annotation there is no grant. */
export interface GrantingNamespace extends K8sObject {
  claimGrant?: ClaimGrant
}

/** A namespace that allows more of them lists all with a star. */
export const MAX_GRANTED_NAMESPACES = 1000
const ALL = '*'

/**
 * Reads the annotation: names of namespaces with commas between them, or a star for all. One that is malformed allows nothing as a whole,
 * since what its author meant by the rest is not known. Undefined where there is none.
 */
export function readClaimGrant({ metadata }: K8sObject): ClaimGrant | undefined {
  const text = metadata.annotations?.[ALLOW_CLAIMS_FROM_ANNOTATION]
  if (text === undefined) return undefined
  // One more than there may be is enough to know that there are too many.
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

/** Whether claims of a namespace are allowed. */
export function grants(grant: ClaimGrant | undefined, namespace: string): boolean {
  return grant?.kind === 'all' || (grant?.kind === 'listed' && grant.namespaces.has(namespace))
}
