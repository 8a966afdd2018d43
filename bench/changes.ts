/** Waits for objects to reach a state, by a watch of each kind. */
import { setTimeout as sleep } from 'node:timers/promises'
import type { KubeObject } from '../test/e2e/api-client.ts'
import type { ControlPlane } from '../test/e2e/control-plane.ts'
import { type Listener, watch } from './watch.ts'

export interface Changes {
  /** When the object is first heard of in that state, on the clock of performance.now(). Throws when that takes too long. */
  heard(of: ObjectOf, isReached: (object: KubeObject) => boolean): Promise<number>
  /** Resolves when the object was not written for so long. */
  quiet(of: ObjectOf, ms: number): Promise<void>
}

export interface ObjectOf {
  kind: string
  name: string
}

const TIMEOUT_MS = 10_000

/** Watches these resources until the plane goes down. */
export async function followChanges(plane: ControlPlane, resources: string[]): Promise<Changes> {
  const listeners = new Set<Listener>()
  const listen = ({ kind, name }: ObjectOf, take: Listener) => {
    const listener: Listener = (object, at) => {
      if (object.kind === kind && object.metadata.name === name) take(object, at)
    }
    listeners.add(listener)
    return () => listeners.delete(listener)
  }
  for (const resource of resources) {
    await watch(plane, resource, (object, at) => {
      for (const listener of listeners) listener(object, at)
    })
  }
  return {
    heard: (of, isReached) =>
      new Promise((resolve, reject) => {
        let last: KubeObject | undefined
        const timer = setTimeout(() => {
          stop()
          reject(new Error(`${of.kind} ${of.name}: last seen as ${JSON.stringify(last)}`))
        }, TIMEOUT_MS)
        const stop = listen(of, (object, at) => {
          last = object
          if (!isReached(object)) return
          clearTimeout(timer)
          stop()
          resolve(at)
        })
      }),
    async quiet(of, ms) {
      let lastAt = performance.now()
      const stop = listen(of, (_, at) => {
        lastAt = at
      })
      while (performance.now() - lastAt < ms) await sleep(ms / 10)
      stop()
    },
  }
}
