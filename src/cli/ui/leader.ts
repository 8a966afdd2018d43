/** Checks the Lease of the leader election: which replica writes, and whether it lives. */
import { objectKey } from '../../api/meta.ts'
import { formatAge } from '../../base/time/duration.ts'
import { isUninstalling, type Lease, leaseHolder, leases } from '../../store/cluster/lease.ts'
import { readObject } from '../../store/cluster/object-writer.ts'
import { type Check, type Finding, failed, passed, type ReadContext, skipped, warning } from '../check-install/check.ts'

const DEFAULT_SECONDS = 15
/** Clocks of this machine and of the leader may differ by this much. */
const TOLERANCE_MS = 5_000

export const leader: Check<ReadContext> = {
  name: 'leader',
  async run({ connection, config, now }) {
    const { namespace, name, enabled } = config.leaderElection
    if (!enabled) return skipped('leaderElection.enabled is false: each process writes')
    const lease = await readObject(connection, leases, namespace, name)
    return judgeLease(lease, objectKey(namespace, name), now)
  },
}

/** Decides on the Lease with this key. `now` in ms since the epoch. */
export function judgeLease(lease: Lease | undefined, key: string, now: number): Finding {
  if (!lease)
    return skipped(
      `there is no Lease ${key}: Lodestone did not run yet, runs without leader election, or its Lease is in the host cluster`,
    )
  if (isUninstalling(lease, now))
    return warning(`lodestone uninstall has Lease ${key}`, 'wait until the uninstallation ends')
  const holder = leaseHolder(lease)
  if (holder === '') return failed(`no replica holds Lease ${key}`, 'start Lodestone; see the log of its replicas')
  if (!isOldLease(lease, now)) return passed(`${holder} holds Lease ${key}`)
  const age = formatAge(now - Date.parse(lease.spec?.renewTime ?? ''))
  return failed(
    `${holder} has not renewed Lease ${key} for ${age}`,
    'check that Lodestone runs and reaches the API server; compare the clocks of this machine and Lodestone',
  )
}

/** Whether the holder should have renewed the Lease before now. */
export function isOldLease({ spec = {} }: Lease, now: number): boolean {
  const { renewTime = '', leaseDurationSeconds = DEFAULT_SECONDS } = spec
  return !(now - Date.parse(renewTime) <= leaseDurationSeconds * 1000 + TOLERANCE_MS)
}
