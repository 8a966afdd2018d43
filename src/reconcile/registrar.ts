/** Keeps one registration current: reads it, decides whether this replica may replace it, and writes. */

import type { Replica } from '../api/registration.ts'
import type { Clock } from '../base/time/clock.ts'
import type { ObjectStore } from '../store/store.ts'
import {
  type KeptRegistration,
  keptCa,
  observeRegistration,
  recordWrite,
  registrationTurn,
  type WriteHistory,
} from './registration-turn.ts'
import { type ReadRegistration, writeRegistration } from './webhook-registration.ts'

/** The time for which this replica is the leader. */
export interface LeaderTerm {
  /** Writes only while the term lasts. */
  store: ObjectStore
  /** Its begin, by the monotonic clock, in ms. */
  sinceMs: number
}

export interface RegistrarInput {
  own: Replica
  /** The other replicas that are alive. */
  others: readonly Replica[]
  /** Absent while another replica is the leader. */
  term: LeaderTerm | undefined
  /** For a replica that is not the leader: it adds its CA, if the registration lacks it. */
  store: ObjectStore
}

export interface RegistrarResult {
  /** How many configurations were written. */
  written: number
  /** Whether the API server can call the webhooks, of whichever version they are. */
  isServed: boolean
  /** Why the wanted registration was not written. */
  kept?: KeptRegistration
}

const NEW_HISTORY: WriteHistory = { reverts: 0 }

export class Registrar {
  readonly #clock: Pick<Clock, 'now'>
  #history = NEW_HISTORY
  /** Of the CA in a registration that is kept. */
  #caHistory = NEW_HISTORY
  #termSinceMs: number | undefined
  #revision: string | undefined

  constructor(clock: Pick<Clock, 'now'>) {
    this.#clock = clock
  }

  /**
   * Writes what is necessary. A replica that is not the leader only adds its CA. It would not be ready otherwise, and a rolling update that changes
   * the source of certificates would not end.
   *
   * @throws ConflictError if another client changed the registration since it was read
   */
  async run(read: ReadRegistration, { own, others, term, store }: RegistrarInput): Promise<RegistrarResult> {
    const nowMs = this.#clock.now()
    // A difference that this leader made by itself is no change of another client.
    if (term?.sinceMs !== this.#termSinceMs || read.revision !== this.#revision) {
      this.#history = NEW_HISTORY
      this.#caHistory = NEW_HISTORY
    }
    this.#termSinceMs = term?.sinceMs
    this.#revision = read.revision
    this.#history = observeRegistration(this.#history, read.isCurrent, nowMs)
    this.#caHistory = observeRegistration(this.#caHistory, read.isServed, nowMs)
    if (read.isCurrent) return { written: 0, isServed: true }
    const leaderForMs = nowMs - (term?.sinceMs ?? nowMs)
    const turn = registrationTurn({
      own,
      others,
      registered: read.registered,
      leaderForMs,
      history: this.#history,
      nowMs,
    })
    const keep = turn.kind === 'keep' ? turn : undefined
    if (!term || keep) return this.#renewCa(read, keep, term?.store ?? store)
    const written = await writeRegistration(term.store, read.replace)
    this.#history = recordWrite(this.#history, nowMs)
    return { written, isServed: true }
  }

  /** Gives a registration that is kept the present CA, unless another client changes that after each write. */
  async #renewCa(
    { renewCa, isServed }: ReadRegistration,
    turn: KeptRegistration | undefined,
    store: ObjectStore,
  ): Promise<RegistrarResult> {
    const nowMs = this.#clock.now()
    const keptFor = renewCa.length > 0 ? keptCa(this.#caHistory, nowMs) : undefined
    if (keptFor) return { written: 0, isServed, kept: keptFor }
    const written = await writeRegistration(store, renewCa)
    if (written > 0) this.#caHistory = recordWrite(this.#caHistory, nowMs)
    return { written, isServed: isServed || written > 0, ...(turn && { kept: turn }) }
  }
}
