/** Ends the work of running replicas through their Lease, before an uninstallation removes what they would write again. */
import { setTimeout as sleep } from 'node:timers/promises'
import type { K8sObject } from '../../api/meta.ts'
import { objectKey } from '../../api/meta.ts'
import { isUninstalling, type Lease, leaseHolder, leases, UNINSTALLING_ANNOTATION } from '../../store/cluster/lease.ts'
import { ALIVE_MS, REPLICA_ANNOTATION_PREFIX } from '../../store/cluster/replica-list.ts'
import { ConflictError, NotFoundError } from '../../store/store.ts'
import { collect, type UninstallContext } from './gather.ts'

const POLL_MS = 500
/** The leader sees the mark within 3 s. Its loops end what they have begun. */
const STOP_MS = 60_000
const DEFAULT_LEASE_SECONDS = 15

/** Returns the Leases of Lodestone: the configured one, and each in which replicas announce themselves. */
export async function findLeases(context: UninstallContext): Promise<Lease[]> {
  const { namespace, name } = context.config.leaderElection
  return collect(leases, context, (object) => {
    const { metadata } = object
    const keys = Object.keys(metadata.annotations ?? {})
    const isMarked = keys.some((key) => key === UNINSTALLING_ANNOTATION || key.startsWith(REPLICA_ANNOTATION_PREFIX))
    const isConfigured = metadata.namespace === namespace && metadata.name === name
    return isMarked || isConfigured ? [object as Lease] : []
  })
}

/** Whether the holder of a Lease renews it. Waits for a renewal, at most until the Lease would expire. */
export async function hasLeader(lease: Lease, context: UninstallContext): Promise<boolean> {
  if (leaseHolder(lease) === '' || isUninstalling(lease, context.now())) return false
  const before = specOf(lease)
  const until = performance.now() + lifetimeMs(lease)
  while (performance.now() < until) {
    await sleep(POLL_MS, undefined, { signal: context.signal })
    const now = await read(lease, context)
    if (!now) return false
    if (specOf(now) !== before) return leaseHolder(now) !== ''
  }
  return false
}

/**
 * Withdraws the Lease, so that no replica leads: the leader ends its loops and its registration, and releases the Lease.
 *
 * @returns why it does not, and the remedy; undefined when no replica leads
 */
export async function withdraw(lease: Lease, context: UninstallContext): Promise<string | undefined> {
  const { namespace, name = '' } = lease.metadata
  const mark = { metadata: { annotations: { [UNINSTALLING_ANNOTATION]: new Date(context.now()).toISOString() } } }
  try {
    await context.store.patch(leases, { namespace, name }, mark)
  } catch (error) {
    if (error instanceof NotFoundError) return undefined
    throw error
  }
  const until = performance.now() + STOP_MS
  let seen = { spec: '', sinceMs: 0 }
  for (;;) {
    const stored = await read(lease, context)
    if (!stored || leaseHolder(stored) === '') return undefined
    const spec = specOf(stored)
    const nowMs = performance.now()
    if (spec !== seen.spec) seen = { spec, sinceMs: nowMs }
    if (nowMs - seen.sinceMs >= lifetimeMs(stored)) return undefined
    if (nowMs >= until) {
      const host = leaseHolder(stored).split('_', 1)[0]
      return `replica ${host} does not release Lease ${objectKey(namespace, name)}; stop Lodestone, and run again: kubectl -n ${namespace} scale deployment lodestone --replicas=0`
    }
    await sleep(POLL_MS, undefined, { signal: context.signal })
  }
}

/**
 * Deletes a Lease when no replica announces itself there any more. A replica that was killed leaves its announcement, so the wait is as long as
 * replicas wait for each other.
 *
 * @param seen the Lease as it was read, and when, by the monotonic clock
 * @returns why the Lease stays, with the remedy
 */
export async function deleteLease(
  seen: { lease: Lease; atMs: number },
  context: UninstallContext,
): Promise<string | undefined> {
  const before = announcements(seen.lease)
  for (;;) {
    const stored = await read(seen.lease, context)
    if (!stored) return undefined
    const now = announcements(stored)
    const isAlive = [...now].some(([key, text]) => before.get(key) !== text)
    if (isAlive) {
      const { namespace, name } = stored.metadata
      return `Lease ${objectKey(namespace, name ?? '')}: it keeps ${now.size} running replica${now.size === 1 ? '' : 's'} from beginning again; stop them, and run again`
    }
    if (now.size === 0 || performance.now() - seen.atMs >= ALIVE_MS) {
      try {
        await context.store.delete(leases, stored)
        return undefined
      } catch (error) {
        // A replica that announces itself is seen in the next round.
        if (!(error instanceof ConflictError)) throw error
      }
    }
    await sleep(POLL_MS, undefined, { signal: context.signal })
  }
}

function announcements({ metadata: { annotations = {} } }: K8sObject): Map<string, string> {
  return new Map(Object.entries(annotations).filter(([key]) => key.startsWith(REPLICA_ANNOTATION_PREFIX)))
}

function read({ metadata: { namespace, name = '' } }: Lease, { store }: UninstallContext): Promise<Lease | undefined> {
  return store.read(leases, namespace, name)
}

function specOf({ spec }: Lease): string {
  return JSON.stringify(spec ?? {})
}

function lifetimeMs({ spec }: Lease): number {
  return (spec?.leaseDurationSeconds ?? DEFAULT_LEASE_SECONDS) * 1000
}
