/** Tests what a replica reports while the API server denies the Lease, and that it leads when the right is there. */
import { expect, onTestFinished, test } from 'vitest'
import { FastClock } from '../base/time/clock.fake.ts'
import { aborted } from '../base/time/clock.ts'
import { ApiError } from '../store/cluster/api-error.ts'
import { openFolderStore } from '../store/folder/folder.ts'
import { MissingPrerequisiteError, type ObjectStore } from '../store/store.ts'
import { silentLog } from '../telemetry/logger.fake.ts'
import { DEFAULT_CONFIG } from './config/config.ts'
import { openLeadershipState, startElection } from './election.ts'
import { electionWarning, openReadiness } from './monitoring/readiness.ts'

const forbidden = new ApiError({ status: 403, reason: 'Forbidden', message: 'leases "lodestone" is forbidden' })

/** A replica with a store that denies the Lease with an error, until it is granted. */
function startReplica(error: Error | undefined) {
  const store = openFolderStore({ kinds: [] })
  let denial = error
  const read: ObjectStore['read'] = (...words) => (denial ? Promise.reject(denial) : store.read(...words))
  const clock = new FastClock(20)
  const leadership = openLeadershipState(clock)
  const stop = startElection({
    config: DEFAULT_CONFIG,
    leaseStore: { ...store, read, create: store.create.bind(store), update: store.update.bind(store) } as ObjectStore,
    state: leadership,
    work: aborted,
    onError: () => undefined,
    log: silentLog,
    now: Date.now,
    clock,
  })
  onTestFinished(stop)
  const registration = { isRegistered: () => true }
  const stopping = new AbortController().signal
  const karmada = { isRead: () => true }
  const readiness = openReadiness({ store, karmada, registration, leadership, stopping, now: Date.now })
  return {
    deny: (next: Error | undefined) => {
      denial = next
    },
    leads: () => leadership.current() !== undefined,
    notReady: () => readiness.reasons().filter(({ check }) => check === 'election'),
    warning: () => electionWarning(leadership),
  }
}

test.each([
  { name: 'the right to the Lease', error: forbidden },
  {
    name: 'its namespace',
    error: new MissingPrerequisiteError('namespace "lodestone-system" does not exist; create it'),
  },
])('a replica without $name is not ready, names the remedy, and leads once it has it', async ({ error }) => {
  const replica = startReplica(error)
  await expect.poll(replica.notReady).toEqual([
    {
      check: 'election',
      message: `Lease lodestone-system/lodestone cannot be written: ${error.message}; create the namespace and apply 'lodestone manifests election', or set leaderElection.enabled: false for a single process`,
    },
  ])
  expect(replica.leads()).toBe(false)
  replica.deny(undefined)
  await expect.poll(replica.leads).toBe(true)
  expect(replica.notReady()).toEqual([])
})

test('an API server that does not answer for a moment is no denial', async () => {
  const replica = startReplica(new Error('no response'))
  await expect.poll(replica.leads, { timeout: 200 }).toBe(false)
  expect(replica.notReady()).toEqual([])
  replica.deny(undefined)
  await expect.poll(replica.leads).toBe(true)
})
