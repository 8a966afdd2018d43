/** Limits the readers that follow the events: in all, and those of each user. */
import type { Rejection, Viewer } from './access/viewer.ts'
import { Places } from './places.ts'

/** Each tab of a browser is one. */
const MAX_FOLLOWERS = 200
const MAX_OF_USER = 50

export class Followers {
  readonly #places = new Places(MAX_FOLLOWERS, MAX_OF_USER)

  /** Returns why a reader may not follow; undefined if it may. */
  rejection(viewer: Viewer): Rejection | undefined {
    const takenBy = this.#places.takenBy(viewer)
    if (takenBy === 'user')
      return rejected(`${viewer.user} follows the events ${MAX_OF_USER} times; close some of these tabs`)
    return takenBy && rejected(`${MAX_FOLLOWERS} readers follow the events; close one`)
  }

  /** Counts a reader until the returned function is called. */
  add(viewer: Viewer): () => void {
    return this.#places.take(viewer)
  }
}

function rejected(message: string): Rejection {
  return { status: 503, message }
}
