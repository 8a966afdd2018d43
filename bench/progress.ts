/** Follows the claims and bindings of a fleet until every one is where it is to be. */
import { setTimeout as sleep } from 'node:timers/promises'
import type { KubeObject } from '../test/e2e/api-client.ts'
import type { ControlPlane } from '../test/e2e/control-plane.ts'
import { openTally, reached } from './tally.ts'
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

const LOOK_MS = 100

/** Begins to watch; resolves when everything that is there has been seen. */
export async function followFleet(plane: ControlPlane, { claims, clusterOf }: Goal): Promise<Progress> {
  const bound = openTally((claim) => (claim['status'] as { phase?: string } | undefined)?.phase === 'Bound')
  const narrowed = openTally((binding) => isNarrowed(binding, clusterOf(binding.metadata.name)))
  await watch(plane, 'datasourceclaims', bound.take)
  await watch(plane, 'resourcebindings.work.karmada.io', narrowed.take)
  while (bound.seen() < claims || narrowed.seen() < claims) await sleep(LOOK_MS)
  return {
    async done() {
      await reached([
        { what: 'claims are Bound', tally: bound, goal: claims },
        { what: 'bindings are narrowed', tally: narrowed, goal: claims },
      ])
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
