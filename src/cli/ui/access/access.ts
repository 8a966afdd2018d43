/** How readers come to the page: by a link that the command printed, or with a token of the API server. */
import type { FastifyInstance } from 'fastify'
import type { RequestHeaders } from './hosts.ts'
import type { Rejection, Viewer } from './viewer.ts'

/** The reader of a request, or why it has none. */
export type Identity = { viewer: Viewer; rejection?: never } | { viewer?: never; rejection: Rejection }

export interface Access {
  /** Why a request is not served to any reader, by its headers. `mayBeLinked`: a link on a page of another site may open it in a tab. */
  hostRejection(headers: RequestHeaders, mayBeLinked?: boolean): Rejection | undefined
  identify(headers: RequestHeaders): Promise<Identity>
  /** The paths that need no session: those by which a reader gets one. */
  publicPaths: ReadonlySet<string>
  /** Whether the files of the page, which have no data, need no session either: the page has a form to log in. */
  hasPublicFiles: boolean
  /** Headers of the answer to a request without a session. */
  challenge: Readonly<Record<string, string>>
  addRoutes(server: FastifyInstance): void
}
