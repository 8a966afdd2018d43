/** Counts the readers that follow the events: in all, and those of each user. */
import type { Rejection, Viewer } from './access/viewer.ts'

/** Each tab of a browser is one. */
const MAX_FOLLOWERS = 200
/** The most of one user, so that one reader does not keep all others away. A team may share a ServiceAccount. */
const MAX_OF_USER = 50

export class Followers {
  readonly #byUser = new Map<string | undefined, number>()
  #total = 0

  /** Returns why a reader may not follow; undefined if it may. The reader who started the command has no limit of its own. */
  rejection({ user }: Viewer): Rejection | undefined {
    if (user !== undefined && this.#of(user) >= MAX_OF_USER)
      return rejected(`${user} follows the events ${MAX_OF_USER} times; close some of these tabs`)
    if (this.#total >= MAX_FOLLOWERS) return rejected(`${MAX_FOLLOWERS} readers follow the events; close one`)
    return undefined
  }

  /** Counts a reader until the returned function is called. */
  add({ user }: Viewer): () => void {
    this.#count(user, 1)
    return () => this.#count(user, -1)
  }

  #of(user: string | undefined): number {
    return this.#byUser.get(user) ?? 0
  }

  #count(user: string | undefined, change: 1 | -1): void {
    this.#total += change
    const own = this.#of(user) + change
    if (own > 0) this.#byUser.set(user, own)
    else this.#byUser.delete(user)
  }
}

function rejected(message: string): Rejection {
  return { status: 503, message }
}
