/** Lists the replicas that are alive, in the annotations of the Lease of the leader election. Each replica announces itself there. */
import type { Replica } from '../../api/registration.ts'
import { isObject, parseJson, without } from '../../base/json.ts'
import type { Clock } from '../../base/time/clock.ts'
import { ConflictError, type ObjectStore } from '../store.ts'
import { type Lease, leases } from './lease.ts'

export interface ReplicaListInput {
  store: Pick<ObjectStore, 'read' | 'update'>
  namespace: string
  /** The name of the Lease. */
  name: string
  /** Unique for every process: a UUID. */
  id: string
  clock: Pick<Clock, 'now'>
  /** Milliseconds since the epoch, for the time in an announcement. No decision depends on it. */
  now: () => number
}

/** On the Lease, by each replica: its host name, version and registration, as JSON; its id follows. */
export const REPLICA_ANNOTATION_PREFIX = 'replica.lodestone.dev/'

/** A replica announces itself every 10 s. After this silence, it counts as gone. */
export const ALIVE_MS = 35_000
/** More replicas are not announced: each of them writes the whole Lease. */
const MAX_REPLICAS = 50
/** In characters: a longer announcement is not of Lodestone. */
const MAX_LENGTH = 1000
const MAX_ATTEMPTS = 4

/**
 * Measures silence by the clock of this process, from the moment when it saw an announcement change. A new replica takes each announcement
 * that it finds as one of a live replica.
 */
export class ReplicaList {
  readonly #input: ReplicaListInput
  readonly #seen = new Map<string, { text: string; aliveUntilMs: number }>()

  constructor(input: ReplicaListInput) {
    this.#input = input
  }

  /**
   * Announces this replica, removes those that are gone, and returns the others that are alive. Without a Lease, there are none: the election
   * creates it.
   *
   * @throws when the store fails, or if others write the Lease at each attempt
   */
  async announce(own: Replica): Promise<readonly Replica[]> {
    const time = new Date(this.#input.now()).toISOString()
    return this.#update(JSON.stringify({ ...own, time }))
  }

  /** Removes this replica. Throws as `announce` does. */
  async leave(): Promise<void> {
    await this.#update(undefined)
  }

  async #update(own: string | undefined): Promise<readonly Replica[]> {
    const { store, namespace, name, id } = this.#input
    for (let attempt = 1; ; attempt++) {
      const lease = await store.read(leases, namespace, name)
      if (!lease) return []
      const others = this.#observe(lease)
      const isFull = others.size >= MAX_REPLICAS
      try {
        if (!isFull) await store.update(leases, withReplicas(lease, new Map([...others, [key(id), own]])))
        return [...others.values()].flatMap((text) => parseReplica(text) ?? [])
      } catch (error) {
        if (!(error instanceof ConflictError) || attempt === MAX_ATTEMPTS) throw error
      }
    }
  }

  /** Returns the announcements of other replicas that are alive. */
  #observe({ metadata: { annotations = {} } }: Lease): Map<string, string> {
    const now = this.#input.clock.now()
    const announced = Object.entries(annotations).filter(
      ([name]) => name.startsWith(REPLICA_ANNOTATION_PREFIX) && name !== key(this.#input.id),
    )
    for (const [name, text] of announced) {
      if (this.#seen.get(name)?.text !== text) this.#seen.set(name, { text, aliveUntilMs: now + ALIVE_MS })
    }
    const alive = announced.filter(([name]) => (this.#seen.get(name)?.aliveUntilMs ?? 0) > now)
    const names = new Set(announced.map(([name]) => name))
    for (const name of this.#seen.keys()) if (!names.has(name)) this.#seen.delete(name)
    return new Map(alive)
  }
}

function key(id: string): string {
  return `${REPLICA_ANNOTATION_PREFIX}${id}`
}

/** Returns the Lease with these announcements and no others. */
function withReplicas(lease: Lease, replicas: ReadonlyMap<string, string | undefined>): Lease {
  const kept = Object.entries(lease.metadata.annotations ?? {}).filter(
    ([name]) => !name.startsWith(REPLICA_ANNOTATION_PREFIX),
  )
  const announced = [...replicas].flatMap(([name, text]) => (text === undefined ? [] : [[name, text] as const]))
  return { ...lease, metadata: { ...lease.metadata, annotations: Object.fromEntries([...kept, ...announced]) } }
}

/** A replica, and when it last announced itself (RFC 3339). */
export interface AnnouncedReplica extends Replica {
  time?: string
}

/** Returns the announcements of a Lease, by host: for users, also those of replicas that are gone. */
export function announcedReplicas({ metadata: { annotations = {} } }: Lease): AnnouncedReplica[] {
  return Object.entries(annotations)
    .flatMap(([name, text]) => (name.startsWith(REPLICA_ANNOTATION_PREFIX) ? (parseAnnouncement(text) ?? []) : []))
    .sort((a, b) => (a.host < b.host ? -1 : 1))
}

function parseReplica(text: string): Replica | undefined {
  const announced = parseAnnouncement(text)
  return announced && without(announced, 'time')
}

function parseAnnouncement(text: string): AnnouncedReplica | undefined {
  const value = text.length > MAX_LENGTH ? undefined : parseJson(text)
  if (!isObject(value)) return undefined
  const { host, version, registration, ca, elsewhere, time } = value
  const isReplica = [host, version, registration].every((each) => typeof each === 'string')
  if (!isReplica) return undefined
  const isText = (each: unknown) => typeof each === 'string'
  const more = { ...(isText(ca) && { ca }), ...(elsewhere === true && { elsewhere }), ...(isText(time) && { time }) }
  return { host, version, registration, ...more } as AnnouncedReplica
}
