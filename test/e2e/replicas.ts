// Replicas of Lodestone behind one address, and workloads whose bindings they narrow.
import { join } from 'node:path'
import { clusterOf } from '../../bench/harness/fleet.ts'
import type { KubeObject } from './api-client.ts'
import type { Balancer } from './balancer.ts'
import type { ControlPlane } from './control-plane.ts'
import { type Lodestone, type LodestoneOptions, startLodestone } from './lodestone.ts'
import { policy } from './manifests.ts'

export interface Replica {
  lodestone: Lodestone
  port: number
  healthUrl: string
}

export const drainSeconds = 2

/** Starts a replica with the certificates of the others, and resolves when the balancer gives it connections. */
export async function startReplica(
  plane: ControlPlane,
  balancer: Balancer,
  { config, ...options }: Pick<LodestoneOptions, 'name' | 'kubeconfig' | 'entry' | 'config' | 'readyTimeoutMs'>,
): Promise<Replica> {
  const lodestone = await startLodestone(plane, {
    ...options,
    config: {
      server: { drainSeconds },
      registration: { url: `https://127.0.0.1:${balancer.port}` },
      certificates: { directory: join(plane.dir, 'certificates') },
      // They have the seeded claims to complete; most of the machine is for the creations.
      loops: { writesPerSecond: 5 },
      leaderElection: { enabled: true },
      ...config,
    },
  })
  const replica = { lodestone, port: Number(new URL(lodestone.url).port), healthUrl: lodestone.healthUrl }
  balancer.add(replica)
  await plane.eventually('the balancer sees the replica', async () => balancer.isReady(replica))
  return replica
}

/** A policy that selects every Deployment. */
export function policyForAll(): KubeObject {
  const { spec, ...rest } = policy('all')
  return { ...rest, spec: { ...spec, resourceSelectors: [{ apiVersion: 'apps/v1', kind: 'Deployment' }] } }
}

/** Whether the binding of `workload-N` is narrowed to the cluster of its data, in a fleet with this number of sources. */
export function isNarrowed(name: string, clusterNames: readonly string[], sources: number): boolean {
  const [, number] = /^workload-(\d+)-deployment$/.exec(name) ?? []
  return clusterNames.length === 1 && clusterNames[0] === clusterOf(Number(number) % sources)
}
