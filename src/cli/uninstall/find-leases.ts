/** Finds the Leases of Lodestone in a cluster, and tells those of replicas that serve another API server. */
import type { Config } from '../../app/config/config.ts'
import type { ApiConnection } from '../../store/cluster/api-connection.ts'
import { type Lease, leases, UNINSTALLING_ANNOTATION } from '../../store/cluster/lease.ts'
import { announcedReplicas, REPLICA_ANNOTATION_PREFIX } from '../../store/cluster/replica-list.ts'
import { collectObjects } from '../all-objects/collect-objects.ts'
import type { Patience } from '../all-objects/patient-connection.ts'

/** Where Leases are read, and the configuration that names one. */
interface LeaseContext extends Patience {
  connection: ApiConnection
  config: Pick<Config, 'leaderElection'>
}

/**
 * Returns the Leases of Lodestone: the configured one, and each in which replicas announce themselves. The host cluster of a hub may have a Lodestone
 * of its own, and the Leases of both.
 */
export async function findLeases(context: LeaseContext): Promise<Lease[]> {
  return (await findAllLeases(context)).filter((lease) => !servesElsewhere(lease))
}

/** Returns the Leases of this cluster, also those of replicas that serve another API server. */
export async function findAllLeases(context: LeaseContext): Promise<Lease[]> {
  return collectObjects(leases, context, (object) => {
    const keys = Object.keys(object.metadata.annotations ?? {})
    const isMarked = keys.some((key) => key === UNINSTALLING_ANNOTATION || key.startsWith(REPLICA_ANNOTATION_PREFIX))
    return isMarked || isConfigured(object, context) ? [object as Lease] : []
  })
}

/** Whether all replicas of a Lease serve another API server. Those of an older version do not say it. */
export function servesElsewhere(lease: Lease): boolean {
  const replicas = announcedReplicas(lease)
  return replicas.length > 0 && replicas.every(({ elsewhere }) => elsewhere)
}

/** Whether the configuration names a Lease. */
export function isConfigured({ metadata }: Lease, { config: { leaderElection } }: LeaseContext): boolean {
  return metadata.namespace === leaderElection.namespace && metadata.name === leaderElection.name
}
