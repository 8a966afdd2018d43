// A data system whose answers the user of the simulation sets: data moves, is deleted, or the system is not available.
import type { SystemHealth, Systems } from '../../src/locality/locality.ts'
import { type LocalityAnswer, LocalityError, type System } from '../../src/locality/locality.ts'

export type CatalogAnswer = { kind: 'located'; clusters: string[] } | { kind: 'nowhere' } | { kind: 'failed' }

export const CATALOG = 'catalog'

export class Catalogs implements Systems {
  readonly #answers = new Map<string, CatalogAnswer>()
  readonly #system: System
  readonly #bytesOf: (data: string) => number | undefined

  constructor(bytesOf: (data: string) => number | undefined = () => undefined) {
    this.#bytesOf = bytesOf
    const health: SystemHealth = { state: 'healthy' }
    this.#system = {
      plugin: {
        system: CATALOG,
        locate: async ({ name }) => this.#locate(name),
        health: async () => {},
        close: async () => {},
      },
      refreshIntervalMs: 120_000,
      maxConcurrent: 4,
      retry: { maxRetries: 1, initialBackoffMs: 1000, maxBackoffMs: 30_000, backoffMultiplier: 2, timeoutMs: 10_000 },
      health,
      clustersOf: ({ clusters = [] }) => [...clusters].sort(),
      whyNoCluster: ({ location }) => `no cluster has ${location}`,
    }
  }

  set(data: string, answer: CatalogAnswer): void {
    this.#answers.set(data, answer)
  }

  answerOf(data: string): CatalogAnswer {
    return this.#answers.get(data) ?? { kind: 'nowhere' }
  }

  get(system: string): System | undefined {
    return system === CATALOG ? this.#system : undefined
  }

  subscribe(): () => void {
    return () => {}
  }

  #locate(data: string): LocalityAnswer {
    const answer = this.answerOf(data)
    if (answer.kind === 'failed') throw new LocalityError('unreachable', 'the catalog is not available')
    if (answer.kind === 'nowhere') return { kind: 'nowhere', reason: 'no such table' }
    const bytes = this.#bytesOf(data)
    return { kind: 'located', location: `s3://${data}`, clusters: answer.clusters, ...(bytes && { bytes }) }
  }
}
