/** Follows the claims and bindings of a fleet until every one is where it is to be. */
import { setTimeout as sleep } from 'node:timers/promises'
import type { KubeObject } from '../test/e2e/api-client.ts'
import type { ControlPlane } from '../test/e2e/control-plane.ts'
import { log } from './log.ts'
import { watch } from './watch.ts'

export interface Progress {
  /** When the last claim was Bound and the last binding narrowed, on the clock of performance.now(). Throws when nothing happens. */
  done(): Promise<{ claims: number; bindings: number }>
}

interface Goal {
  claims: number
  /** The cluster that the binding of that name is to be narrowed to. */
  clusterOf(binding: string): string
}

const STALLED_MS = 60_000
const LOOK_MS = 100
const TELL_MS = 10_000

/** Begins to watch; resolves when everything that is there has been seen. */
export async function followFleet(plane: ControlPlane, { claims, clusterOf }: Goal): Promise<Progress> {
  const bound = openTally((claim) => (claim['status'] as { phase?: string } | undefined)?.phase === 'Bound')
  const narrowed = openTally((binding) => isNarrowed(binding, clusterOf(binding.metadata.name)))
  await watch(plane, 'datasourceclaims', bound.take)
  await watch(plane, 'resourcebindings.work.karmada.io', narrowed.take)
  while (bound.seen() < claims || narrowed.seen() < claims) await sleep(LOOK_MS)
  return {
    async done() {
      const begun = performance.now()
      let told = begun
      while (bound.count() < claims || narrowed.count() < claims) {
        await sleep(LOOK_MS)
        const now = performance.now()
        const state = `${bound.count()} of ${claims} claims are Bound, ${narrowed.count()} bindings narrowed`
        if (now - told > TELL_MS) {
          log(state)
          told = now
        }
        if (now - Math.max(begun, bound.heardAt(), narrowed.heardAt()) > STALLED_MS)
          throw new Error(`stalled: ${state}`)
      }
      return { claims: bound.changedAt(), bindings: narrowed.changedAt() }
    },
  }
}

function isNarrowed(binding: KubeObject, cluster: string): boolean {
  const { placement, suspension } = binding['spec'] as {
    placement?: { clusterAffinity?: { clusterNames?: string[] } }
    suspension?: { scheduling?: boolean }
  }
  return placement?.clusterAffinity?.clusterNames?.join() === cluster && !suspension?.scheduling
}

/** Counts the objects that have reached a state, which they may leave again. */
function openTally(hasReached: (object: KubeObject) => boolean) {
  const states = new Map<string, boolean>()
  let count = 0
  let heardAt = 0
  let changedAt = 0
  return {
    take(object: KubeObject, at: number) {
      const { name } = object.metadata
      const before = states.get(name) ?? false
      const reached = hasReached(object)
      states.set(name, reached)
      heardAt = at
      if (reached === before) return
      count += reached ? 1 : -1
      changedAt = at
    },
    seen: () => states.size,
    count: () => count,
    heardAt: () => heardAt,
    changedAt: () => changedAt,
  }
}
