/** A reader of the page, and what it may see. */
import { type ResourceType, resourceWord } from '../../../api/meta.ts'

export type Kind = Pick<ResourceType, 'group' | 'plural' | 'namespaced'>

export interface Viewer {
  /** The name of the user; absent for the reader who started the command. */
  user?: string
  /** The only namespace whose objects are read; absent for all. */
  namespace?: string
  /**
   * Whether the reader may do this with objects of a kind: without a namespace in all of them, without a name with all objects. Throws
   * `ReviewError` if the API server does not answer.
   */
  may(
    verb: 'list' | 'get' | 'create',
    kind: Kind,
    place?: { namespace?: string | undefined; name?: string },
  ): Promise<boolean>
}

/** The reader who started the command. Its kubeconfig decided what was read. */
export const OWNER: Viewer = { may: () => Promise.resolve(true) }

/** Returns the reader who started the command for one namespace. Its rights decided which kinds are hidden. */
export function ownerIn(namespace: string, isKindHidden: (kind: Kind) => boolean): Viewer {
  return {
    namespace,
    async may(verb, kind, place) {
      if (isKindHidden(kind)) return false
      return verb !== 'list' || !kind.namespaced || place?.namespace === namespace
    },
  }
}

/** Why a request is rejected. */
export interface Rejection {
  status: number
  message: string
}

/** Returns the rejection of a request for another namespace than the only one that is read. */
export function otherNamespace({ namespace: only }: Viewer, asked: string | undefined): Rejection | undefined {
  if (only === undefined || asked === undefined || asked === only) return undefined
  return { status: 403, message: `only namespace ${only} is shown; for ${asked}, start lodestone ui with -n ${asked}` }
}

/** The API server could not be asked about a user. */
export class ReviewError extends Error {
  override name = 'ReviewError'
}

/** Returns the rejection of a reader who lacks the right to list. */
export function mayNotList(kind: Kind, namespace?: string): Rejection {
  const place = namespace === undefined || !kind.namespaced ? '' : ` in namespace ${namespace}`
  return { status: 403, message: `you may not list ${resourceWord(kind)}${place}; ask an administrator for this right` }
}
