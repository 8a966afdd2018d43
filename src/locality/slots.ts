/** Lets at most so many run at a time; the others wait in line, and may leave it. */

export class Slots {
  #free: number
  readonly #line: (() => void)[] = []

  constructor(count: number) {
    this.#free = count
  }

  /** Runs `work` as soon as a slot is free. Throws the abort's reason when `signal` aborts while it waits. */
  async run<T>(signal: AbortSignal, work: () => Promise<T>): Promise<T> {
    await this.#enter(signal)
    try {
      return await work()
    } finally {
      this.#leave()
    }
  }

  async #enter(signal: AbortSignal): Promise<void> {
    signal.throwIfAborted()
    if (this.#free > 0) {
      this.#free -= 1
      return
    }
    await new Promise<void>((resolve, reject) => {
      const admit = () => {
        signal.removeEventListener('abort', give)
        resolve()
      }
      const give = () => {
        this.#line.splice(this.#line.indexOf(admit), 1)
        reject(signal.reason)
      }
      signal.addEventListener('abort', give, { once: true })
      this.#line.push(admit)
    })
  }

  #leave(): void {
    const next = this.#line.shift()
    if (next === undefined) this.#free += 1
    else next()
  }
}
