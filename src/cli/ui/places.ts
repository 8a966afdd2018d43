/** Counts what readers use at the same time: in all, and by user. */
import type { Viewer } from './access/viewer.ts'

export class Places {
  readonly #byUser = new Map<string | undefined, number>()
  readonly #most: number
  readonly #mostOfUser: number
  #total = 0

  /** @param mostOfUser one reader must not keep all others away. A team may share a ServiceAccount */
  constructor(most: number, mostOfUser: number) {
    this.#most = most
    this.#mostOfUser = mostOfUser
  }

  /** Returns whose places are all taken; undefined if there is one. The reader who started the command has no limit of its own. */
  takenBy({ user }: Pick<Viewer, 'user'>): 'user' | 'all' | undefined {
    if (user !== undefined && this.#of(user) >= this.#mostOfUser) return 'user'
    return this.#total >= this.#most ? 'all' : undefined
  }

  /** Takes a place, and returns the function that gives it back. */
  take({ user }: Pick<Viewer, 'user'>): () => void {
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
