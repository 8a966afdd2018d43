/** Asks the API server about the readers of the page, and remembers its answers for a short time. */
import { createHash } from 'node:crypto'
import pLimit from 'p-limit'
import { defined } from '../../../base/json.ts'
import type { Clock } from '../../../base/time/clock.ts'
import { mayUser, type ReviewedUser, reviewToken } from '../../../store/cluster/access-review.ts'
import type { ApiConnection } from '../../../store/cluster/api-connection.ts'
import { isForbidden } from '../../../store/cluster/api-error.ts'
import { ReviewError, type Viewer } from './viewer.ts'

export interface ReviewedUsers {
  /** Returns the reader of a token; undefined if the API server does not accept it. Throws `ReviewError`. */
  viewerOf(token: string): Promise<Viewer | undefined>
}

/** A right that was taken away, or a token that ended, counts for no longer than this. */
const ANSWER_MS = 30_000
/** Each answer is small. The oldest ones are asked for again. */
const MAX_ANSWERS = 20_000
const CONCURRENT = 8
const MAX_WAITING = 2_000
const TIMEOUT_MS = 5_000

/** @param report receives why the API server could not be asked. Callers without a session get only that it could not. */
export function reviewedUsers(
  connection: ApiConnection,
  clock: Clock,
  report: (problem: string) => void,
): ReviewedUsers {
  const limit = pLimit(CONCURRENT)
  const tokens = new Answers<Viewer | undefined>(clock)
  const rights = new Answers<boolean>(clock)

  function ask<Answer>(request: (signal: AbortSignal) => Promise<Answer>): Promise<Answer> {
    if (limit.pendingCount >= MAX_WAITING) throw new ReviewError('too many requests of readers; try again')
    return limit(() => request(AbortSignal.timeout(TIMEOUT_MS))).catch((error: Error) => {
      report(`the API server cannot be asked about readers: ${error.message}${reviewRemedy(error)}`)
      throw new ReviewError('the API server cannot be asked about readers; the log of the page has the reason', {
        cause: error,
      })
    })
  }

  function viewerOf(user: ReviewedUser): Viewer {
    // Two tokens of a user may have different groups, by the authenticator.
    const owner = digestCredentials(JSON.stringify(user))
    return {
      user: user.username,
      may(verb, { group, plural }, { namespace, name } = {}) {
        const access = defined({ verb, group, resource: plural, namespace: namespace || undefined, name })
        return rights.get(`${owner} ${JSON.stringify(access)}`, () =>
          ask((signal) => mayUser(connection, user, access, signal)),
        )
      },
    }
  }

  return {
    viewerOf: (token) =>
      tokens.get(digestCredentials(token), async () => {
        const user = await ask((signal) => reviewToken(connection, token, signal))
        return user && viewerOf(user)
      }),
  }
}

function reviewRemedy(error: Error): string {
  return isForbidden(error) ? '; apply the roles: lodestone manifests page' : ''
}

function digestCredentials(text: string): string {
  return createHash('sha256').update(text).digest('base64')
}

/** Answers by key, each for a while. Errors are not remembered. */
class Answers<Answer> {
  readonly #clock: Clock
  readonly #entries = new Map<string, { answer: Promise<Answer>; until: number }>()

  constructor(clock: Clock) {
    this.#clock = clock
  }

  async get(key: string, ask: () => Promise<Answer>): Promise<Answer> {
    const known = this.#entries.get(key)
    if (known && this.#clock.now() < known.until) return known.answer
    // A new entry is the last one in the order of the map.
    this.#entries.delete(key)
    const answer = ask()
    this.#entries.set(key, { answer, until: this.#clock.now() + ANSWER_MS })
    const [oldest] = this.#entries.keys()
    if (this.#entries.size > MAX_ANSWERS && oldest !== undefined) this.#entries.delete(oldest)
    answer.catch(() => {
      if (this.#entries.get(key)?.answer === answer) this.#entries.delete(key)
    })
    return answer
  }
}
