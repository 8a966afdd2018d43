/** The loop of sources: asks each data system where the data is, no more often than configured, and notes the answer. */
import { type DataSource, dataSources } from '../api/data-source.ts'
import { type DataSourceClaim, dataSourceClaims } from '../api/data-source-claim.ts'
import { type Attempt, CONFIRMATIONS, planSource } from '../core/data-source/plan.ts'
import { sourceKeyOfClaim } from '../core/data-source-claim/keys.ts'
import { fnv1a } from '../core/hash.ts'
import { LocalityError, type System } from '../locality/plugin.ts'
import { claimsOfSource } from '../store/gather-binding.ts'
import type { ObjectStore } from '../store/store.ts'
import { applyPlan } from './apply.ts'
import type { ReconcileContext, ReconcileLoop } from './define.ts'

/** What is known of a source between two questions. Lost with the process, which costs a question and nothing else. */
interface Memory {
  etag?: string
  confirmations: number
  failures: number
  /** When to ask again, ms since the epoch. */
  nextAt?: number
}

const FIRST_RETRY_MS = 1_000
/** "No such data" is asked again sooner than a location, until it is confirmed. */
const CONFIRM_MS = 10_000

/** Opens the loop; what it remembers lives as long as it does. */
export function openDataSourceLoop(): ReconcileLoop {
  const memories = new Map<string, Memory>()
  return {
    name: 'data-source',
    concurrency: 16,
    keysOf: ({ type, before, after }, store) => {
      const objects = [before, after].filter((object) => object !== undefined)
      if (type.kind === dataSources.kind) return objects.map(({ metadata }) => metadata.name ?? '')
      if (type.kind === dataSourceClaims.kind)
        return objects.flatMap((claim) => sourcesOfClaim(claim as DataSourceClaim, store))
      return []
    },
    allKeys: (store) => [...store.list(dataSources)].map(({ metadata }) => metadata.name ?? ''),
    async reconcile(name, context) {
      const { store, systems, now } = context
      const source = store.get(dataSources, undefined, name)
      if (!source) {
        memories.delete(name)
        return undefined
      }
      const claims = claimsOfSource(source, store).filter(({ metadata }) => !metadata.deletionTimestamp)
      const system = systems.get(source.spec.system)
      const memory = memories.get(name) ?? { confirmations: 0, failures: 0 }
      memories.set(name, memory)
      const asks = system !== undefined && claims.length > 0
      const attempt =
        asks && now() >= dueAt(source, memory, system) ? await ask(source, system, memory, context) : undefined
      await applyPlan(context, planSource({ source, claims, attempt, now: now() }))
      return asks ? Math.max(0, dueAt(source, memory, system) - now()) : undefined
    },
  }
}

function sourcesOfClaim(claim: DataSourceClaim, store: ObjectStore): string[] {
  const asked = store.byIndex(dataSources, 'key', sourceKeyOfClaim(claim)).map(({ metadata }) => metadata.name ?? '')
  return claim.status?.boundDataSource ? [...asked, claim.status.boundDataSource] : asked
}

/** When a source is to be asked: at once when it never was, else an interval after the last answer, spread by up to a tenth. */
function dueAt(source: DataSource, memory: Memory, { refreshIntervalMs }: System): number {
  if (memory.nextAt !== undefined) return memory.nextAt
  const last = Date.parse(source.status?.lastResolvedTime ?? '')
  if (Number.isNaN(last)) return 0
  const spread = (Number.parseInt(fnv1a(source.metadata.name ?? '').slice(-4), 36) % 1000) / 10_000
  return last + refreshIntervalMs * (1 - spread)
}

/** One question at a time per source (a queue never runs a key twice at once), however many claims ask it. */
async function ask(
  source: DataSource,
  system: System,
  memory: Memory,
  { now, signal, observer }: ReconcileContext,
): Promise<Attempt> {
  const { type, name, attributes = {} } = source.spec
  const started = performance.now()
  const told = (result: string) => observer.asked(source.spec.system, (performance.now() - started) / 1000, result)
  try {
    // A version is only of use while its answer is still there.
    const etag = source.spec.locality ? memory.etag : undefined
    const answer = await system.plugin.locate({ type, name, attributes, ...(etag && { etag }) }, signal)
    told(answer.kind)
    memory.failures = 0
    if (answer.kind === 'nowhere') {
      memory.confirmations++
      const soon = memory.confirmations < CONFIRMATIONS && source.spec.locality !== undefined
      memory.nextAt = now() + (soon ? Math.min(CONFIRM_MS, system.refreshIntervalMs) : system.refreshIntervalMs)
      return { kind: 'nowhere', reason: answer.reason, confirmations: memory.confirmations }
    }
    memory.confirmations = 0
    memory.nextAt = now() + system.refreshIntervalMs
    if (answer.kind === 'unchanged') return { kind: 'unchanged' }
    if (answer.etag) memory.etag = answer.etag
    else delete memory.etag
    const { location, bytes } = answer
    return { kind: 'located', location, clusters: system.clustersOf(answer), ...(bytes !== undefined && { bytes }) }
  } catch (error) {
    if (!(error instanceof LocalityError)) throw error
    told(error.code)
    memory.failures++
    const wait = error.retryAfterMs ?? FIRST_RETRY_MS * 2 ** (memory.failures - 1)
    memory.nextAt = now() + Math.min(wait, system.refreshIntervalMs)
    return { kind: 'failed', reason: `${system.plugin.system}: ${error.message}` }
  }
}
