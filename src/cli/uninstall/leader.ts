/** Ends the work of running replicas through their Lease, before an uninstallation removes what they would write again. */
import type { K8sObject } from '../../api/meta.ts'
import { objectKey } from '../../api/meta.ts'
import { isUninstalling, type Lease, leaseHolder, leases, UNINSTALLING_ANNOTATION } from '../../store/cluster/lease.ts'
import { ALIVE_MS, REPLICA_ANNOTATION_PREFIX } from '../../store/cluster/replica-list.ts'
import { ConflictError, NotFoundError } from '../../store/store.ts'
import { isConfigured } from './find-leases.ts'
import { pause, type UninstallContext } from './gather.ts'

const POLL_MS = 500
/** The leader sees the mark within 3 s. Its loops end what they have begun. */
const STOP_MS = 60_000
/**
 * A replica of an older version ignores the mark, and acquires the Lease when the leader has released it. Its longest interval of attempts is
 * 2.4 s.
 */
const SETTLE_MS = 5000
const DEFAULT_LEASE_SECONDS = 15
const MAX_ATTEMPTS = 6

/** Whether the holder of a Lease renews it. Waits for a renewal, at most until the Lease would expire. */
export async function hasLeader(lease: Lease, context: UninstallContext): Promise<boolean> {
  if (leaseHolder(lease) === '' || isUninstalling(lease, context.now())) return false
  const before = serializeSpec(lease)
  const until = context.clock.now() + lifetimeMs(lease)
  while (context.clock.now() < until) {
    await pause(context, POLL_MS)
    const now = await read(lease, context)
    if (!now) return false
    if (serializeSpec(now) !== before) return leaseHolder(now) !== ''
  }
  return false
}

/**
 * Withdraws the Leases, so that no replica leads: the leader ends its loops and its registration, and releases the Lease. If a replica does
 * not, or if the user interrupts, the marks are taken back: the replicas continue, since nothing was removed.
 *
 * @returns which replica does not, and the remedy; undefined when no replica leads
 */
export async function withdraw(found: readonly Lease[], context: UninstallContext): Promise<string | undefined> {
  const mark = new Date(context.now()).toISOString()
  const takeBack = async () => {
    for (const marked of found) await takeMarkBack(marked, mark, context)
  }
  try {
    for (const lease of found) await setMark(lease, mark, context)
    for (const lease of found) {
      const failure = await untilReleased(lease, context)
      if (failure === undefined) continue
      await takeBack()
      return failure
    }
    return undefined
  } catch (error) {
    // The first error has the reason, also of a second one.
    await takeBack().catch(() => undefined)
    throw error
  }
}

async function setMark({ metadata: { namespace, name = '' } }: Lease, mark: string, { store }: UninstallContext) {
  try {
    await store.patch(leases, { namespace, name }, { metadata: { annotations: { [UNINSTALLING_ANNOTATION]: mark } } })
  } catch (error) {
    if (!(error instanceof NotFoundError)) throw error
  }
}

/**
 * Gives a Lease the mark that it had before, such as that of an interrupted run, or none. Does nothing if another uninstallation has marked
 * it since.
 */
async function takeMarkBack(lease: Lease, mark: string, context: UninstallContext): Promise<void> {
  const { namespace, name = '', annotations } = lease.metadata
  const before = annotations?.[UNINSTALLING_ANNOTATION] ?? null
  for (let attempt = 1; attempt <= MAX_ATTEMPTS; attempt++) {
    const stored = await read(lease, context)
    if (stored?.metadata.annotations?.[UNINSTALLING_ANNOTATION] !== mark) return
    const { resourceVersion } = stored.metadata
    const patch = { metadata: { resourceVersion, annotations: { [UNINSTALLING_ANNOTATION]: before } } }
    try {
      await context.store.patch(leases, { namespace, name }, patch)
      return
    } catch (error) {
      // The holder has renewed it.
      if (!(error instanceof ConflictError || error instanceof NotFoundError)) throw error
    }
  }
}

/** Waits until no replica holds a marked Lease. Returns why one does, and the remedy. */
async function untilReleased(lease: Lease, context: UninstallContext): Promise<string | undefined> {
  const { namespace, name = '' } = lease.metadata
  const until = context.clock.now() + STOP_MS
  let seen = { spec: '', sinceMs: 0 }
  let wasHeld = leaseHolder(lease) !== ''
  for (;;) {
    const stored = await read(lease, context)
    if (!stored) return undefined
    const spec = serializeSpec(stored)
    const nowMs = context.clock.now()
    if (spec !== seen.spec) seen = { spec, sinceMs: nowMs }
    const isHeld = leaseHolder(stored) !== ''
    wasHeld ||= isHeld
    const quietMs = isHeld ? lifetimeMs(stored) : wasHeld ? SETTLE_MS : 0
    if (nowMs - seen.sinceMs >= quietMs) return undefined
    if (isHeld && nowMs >= until) {
      const host = leaseHolder(stored).split('_', 1)[0]
      // The annotations by which it was found can be written by any user who may write Leases of a namespace.
      const otherWay = isConfigured(lease, context) ? '' : ', or delete the Lease if it is not of Lodestone'
      return `replica ${host} holds Lease ${objectKey(namespace, name)} and does not release it, as replicas of an older version do; stop all replicas, for instance with kubectl -n ${namespace} scale deployment lodestone --replicas=0${otherWay}, and run again`
    }
    await pause(context, POLL_MS)
  }
}

/**
 * Deletes a Lease when no replica announces itself there any more. A replica that was killed leaves its announcement, so the wait is as long as
 * replicas wait for each other.
 *
 * @param seen the Lease as it was read, and when, by the clock of the context
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
    if (now.size === 0 || context.clock.now() - seen.atMs >= ALIVE_MS) {
      try {
        await context.store.delete(leases, stored)
        return undefined
      } catch (error) {
        // A replica that announces itself is seen in the next round.
        if (!(error instanceof ConflictError)) throw error
      }
    }
    await pause(context, POLL_MS)
  }
}

function announcements({ metadata: { annotations = {} } }: K8sObject): Map<string, string> {
  return new Map(Object.entries(annotations).filter(([key]) => key.startsWith(REPLICA_ANNOTATION_PREFIX)))
}

function read({ metadata: { namespace, name = '' } }: Lease, { store }: UninstallContext): Promise<Lease | undefined> {
  return store.read(leases, namespace, name)
}

function serializeSpec({ spec }: Lease): string {
  return JSON.stringify(spec ?? {})
}

function lifetimeMs({ spec }: Lease): number {
  return (spec?.leaseDurationSeconds ?? DEFAULT_LEASE_SECONDS) * 1000
}
