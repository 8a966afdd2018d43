/** Collects the body of a request within a limit and a budget of bytes. */
import type { IncomingMessage } from 'node:http'
import type { ByteBudget, Holding } from './byte-budget.ts'
import { BusyProblem, RequestProblem } from './problem.ts'

/** A complete body. Its bytes count until it is released. */
export interface ReceivedBody {
  /** Bytes. */
  size: number
  text(): string
  release(): void
  /** Calls back when its bytes are needed for other requests before it was released. */
  onGivenUp(listener: () => void): void
}

/** Of a body that comes in several pieces, so many bytes are allocated at first. */
const FIRST_BYTES = 16 * 1024

/**
 * Collects the whole body. fastify's own reader decodes chunk by chunk, which costs as much as a third of the bare server does.
 *
 * @param done gets a 413 problem as soon as more than `limit` bytes are announced or arrive, a 503 problem when the budget is used up
 * and this body is the one to give up, or a 400 problem when the request breaks off
 */
export function receiveBody(
  request: IncomingMessage,
  limit: number,
  budget: ByteBudget,
  done: (error: Error | null, body?: ReceivedBody) => void,
): void {
  const tooLarge = () => new RequestProblem(413, `the body is larger than ${limit} bytes`)
  const announced = Number(request.headers['content-length'] ?? limit)
  if (announced > limit) {
    done(tooLarge())
    return
  }
  let giveUp = () => fail(new BusyProblem('too many bytes of unfinished requests; retry'))
  const holding = budget.open(() => giveUp())
  const pieces = new Pieces(announced, holding)
  let finished = false

  function fail(error: Error): void {
    if (finished) return
    finished = true
    pieces.drop()
    holding.release()
    done(error)
  }

  request.on('data', (piece: Buffer) => {
    if (finished) return
    if (pieces.length + piece.length > limit) fail(tooLarge())
    else pieces.add(piece)
  })
  request.on('end', () => {
    if (finished) return
    finished = true
    const drop = () => pieces.drop()
    giveUp = drop
    done(null, {
      size: pieces.length,
      text: () => pieces.text(),
      release() {
        pieces.drop()
        holding.release()
      },
      onGivenUp(listener) {
        giveUp = () => {
          drop()
          listener()
        }
      },
    })
  })
  request.on('error', (error) => fail(new RequestProblem(400, `the body ended early: ${error.message}`)))
}

/**
 * The pieces of a body, put together in one buffer that doubles: a list of pieces of one byte each would take a hundred times their size.
 * One piece alone, as nearly every review comes, is not copied.
 */
class Pieces {
  readonly #announced: number
  readonly #holding: Holding
  #buffer: Buffer | undefined
  /** Whether the buffer was allocated here: one piece alone belongs to Node. */
  #isOwn = false
  length = 0

  constructor(announced: number, holding: Holding) {
    this.#announced = announced
    this.#holding = holding
  }

  add(piece: Buffer): void {
    if (!this.#buffer) {
      if (!this.#holding.grow(piece.length)) return
      this.#buffer = piece
    } else {
      if (!this.#reserve(this.#buffer, this.length + piece.length)) return
      piece.copy(this.#buffer, this.length)
    }
    this.length += piece.length
  }

  text(): string {
    return this.#buffer?.toString('utf8', 0, this.length) ?? ''
  }

  /** Gives the memory back at once: the garbage collector does not see how much of it there is, and comes late. */
  drop(): void {
    if (this.#buffer && this.#isOwn) free(this.#buffer)
    this.#buffer = undefined
  }

  /** False when the body was given up instead. */
  #reserve(buffer: Buffer, needed: number): boolean {
    if (buffer.length >= needed) return true
    const size = Math.max(needed, Math.min(this.#announced, Math.max(FIRST_BYTES, 2 * needed)))
    if (!this.#holding.grow(size - buffer.length)) return false
    const larger = Buffer.allocUnsafeSlow(size)
    buffer.copy(larger, 0, 0, this.length)
    this.drop()
    this.#buffer = larger
    this.#isOwn = true
    return true
  }
}

/** Frees a buffer that has its memory for itself. */
function free({ buffer }: Buffer): void {
  ;(buffer as ArrayBuffer).transfer(0)
}
