/** Follows objects with watches, without polling, which would slow the measured programs. */
import { setTimeout as sleep } from 'node:timers/promises'
import { Agent, request } from 'undici'
import type { KubeObject } from '../../test/e2e/api-client.ts'
import type { ControlPlane } from '../../test/e2e/control-plane.ts'
import { log } from './report.ts'

/** The objects of one resource that are in a state. All times are those of performance.now(). */
export class Tally {
  /** Names of all objects that the watch reported. */
  readonly seen = new Set<string>()
  /** When each object got into the state. An object that leaves the state is removed. */
  readonly reachedAt = new Map<string, number>()
  /** The time of the last event. */
  heardAt = performance.now()
  readonly #hasReached: (object: KubeObject) => boolean

  constructor(hasReached: (object: KubeObject) => boolean) {
    this.#hasReached = hasReached
  }

  take(object: KubeObject): void {
    const { name } = object.metadata
    this.seen.add(name)
    this.heardAt = performance.now()
    if (!this.#hasReached(object)) this.reachedAt.delete(name)
    else if (!this.reachedAt.has(name)) this.reachedAt.set(name, this.heardAt)
  }

  /** Seconds from a time until the last object got into the state. */
  secondsSince(begun: number): number {
    return (Math.max(...this.reachedAt.values()) - begun) / 1000
  }
}

const STALLED_MS = 120_000

/** Waits until so many objects are in each state. Throws if no event comes for a long time. */
export async function reached(count: number, ...tallies: Tally[]): Promise<void> {
  while (tallies.some(({ reachedAt }) => reachedAt.size < count)) {
    await sleep(100)
    if (performance.now() - Math.max(...tallies.map(({ heardAt }) => heardAt)) < STALLED_MS) continue
    throw new Error(`no event; ${tallies.map(({ reachedAt }) => reachedAt.size).join(' and ')} of ${count} are ready`)
  }
}

/** Reports every object of the namespace `default`, and then each change, until the plane stops. */
export async function watch(plane: ControlPlane, resource: string, ...tallies: Tally[]): Promise<void> {
  await watchNamespace(plane, resource, 'default', ...tallies)
}

/** As `watch`, for another namespace. */
export async function watchNamespace(
  plane: ControlPlane,
  resource: string,
  namespace: string,
  ...tallies: Tally[]
): Promise<void> {
  const { certificate, key } = await plane.pki.issueUser(`watch-${resource}-${namespace}`, ['system:masters'])
  const dispatcher = new Agent({ connect: { ca: plane.pki.caCertificate, cert: certificate, key }, bodyTimeout: 0 })
  plane.onStop(() => dispatcher.destroy())
  const url = `${plane.server}${await plane.api.collection(resource, namespace)}?watch=true`
  const follow = async () => {
    // The server ends the watch of a slow client, and answers 429 while it fills the cache of a new kind. Each watch begins with all objects.
    for (; ; await sleep(100)) {
      const { body } = await request(url, { dispatcher })
      let rest = ''
      for await (const piece of body.setEncoding('utf8')) {
        const lines = (rest + piece).split('\n')
        rest = lines.pop() ?? ''
        for (const { type, object } of lines.map((line) => JSON.parse(line))) {
          if (type === 'ADDED' || type === 'MODIFIED') for (const tally of tallies) tally.take(object)
        }
      }
    }
  }
  follow().catch((error) => dispatcher.destroyed || log(`the watch of ${resource} failed: ${error}`))
}
