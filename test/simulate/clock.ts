// The virtual clock of a world. While it is installed, the timers of production code run on it.

interface Timer {
  dueMs: number
  run: () => void
}

const START_MS = Date.parse('2026-01-01T00:00:00Z')

export class VirtualClock {
  #nowMs = START_MS
  readonly #timers = new Map<number, Timer>()
  #created = 0

  now(): number {
    return this.#nowMs
  }

  // The time as Kubernetes writes it, in whole seconds.
  stamp(): string {
    return stampOf(this.#nowMs)
  }

  // Advances the time. Timers fire in the order of their times.
  advance(ms: number): void {
    const endMs = this.#nowMs + ms
    for (let next = this.#firstBefore(endMs); next; next = this.#firstBefore(endMs)) {
      const [id, timer] = next
      this.#timers.delete(id)
      this.#nowMs = Math.max(this.#nowMs, timer.dueMs)
      timer.run()
    }
    this.#nowMs = endMs
  }

  // When the next timer fires; undefined if there is none.
  nextTimerMs(): number | undefined {
    const [first] = [...this.#timers.values()].map(({ dueMs }) => dueMs).sort((a, b) => a - b)
    return first
  }

  // Replaces the global timers. Returns a function that restores them.
  install(): () => void {
    const { setTimeout: realSet, clearTimeout: realClear } = globalThis
    const set = (run: () => void, delayMs = 0) => {
      const id = ++this.#created
      this.#timers.set(id, { dueMs: this.#nowMs + Math.max(1, delayMs), run })
      return id
    }
    globalThis.setTimeout = set as unknown as typeof setTimeout
    globalThis.clearTimeout = ((id: number) => this.#timers.delete(id)) as unknown as typeof clearTimeout
    return () => {
      globalThis.setTimeout = realSet
      globalThis.clearTimeout = realClear
    }
  }

  #firstBefore(endMs: number): [number, Timer] | undefined {
    let first: [number, Timer] | undefined
    for (const entry of this.#timers) {
      if (entry[1].dueMs <= endMs && (!first || entry[1].dueMs < first[1].dueMs)) first = entry
    }
    return first
  }
}

function stampOf(ms: number): string {
  return new Date(ms).toISOString().replace(/\.\d+Z$/, 'Z')
}
