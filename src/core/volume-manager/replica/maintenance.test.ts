import { describe, expect, test } from 'vitest'
import { makeVolume, NOW } from '../../../../test/builders.ts'
import { at, makeReplica } from '../../../../test/volume-builders.ts'
import { VOLUME_SETTINGS } from '../../../../test/volume-world.ts'
import type { MaintenanceStatus, ReplicaStatus } from '../../../api/volume-status.ts'
import { type MaintenanceObservation, startMaintenance, stepMaintenance, withHandled } from './maintenance.ts'
import { divideReplica } from './replica.ts'

const DAY = 86_400
const settings = { ...VOLUME_SETTINGS, checks: { intervalSeconds: DAY, timeoutSeconds: 60 } }
const READ_ONLY = makeVolume({ readOnly: true })
const REFRESHED = makeVolume({ readOnly: true, refreshIntervalSeconds: 3600 })
const LOCAL = makeVolume({ sourceType: 'Local', options: { path: '/mnt/a' } })

/** A phase that is over a second before NOW, and begins again a day later. */
const phase = ((NOW / 1000 - 1) % DAY) / DAY
/** A phase that begins in an hour. */
const LATER = ((NOW / 1000 + 3600) % DAY) / DAY

const observedOf = (more: Partial<MaintenanceObservation> = {}): MaintenanceObservation => ({
  config: READ_ONLY,
  mover: undefined,
  progress: undefined,
  retryTriggers: new Set(),
  isCurrent: true,
  isNodeReady: true,
  users: [],
  requests: {},
  phase,
  settings,
  now: NOW,
  ...more,
})
/** Steps the maintenance of a replica. */
function step(replica: ReplicaStatus, observed: MaintenanceObservation) {
  const { download, use, maintenance } = divideReplica(replica)
  return stepMaintenance(maintenance, { ...download, ...use }, observed)
}
const READY = makeReplica({ since: at(-100) })
const running = (more: Partial<MaintenanceStatus> = {}): Partial<ReplicaStatus> => ({
  since: at(-100),
  maintenance: { kind: 'Check', state: 'Running', attempt: 3, since: at(-9), ...more },
  maintenances: 3,
})
const queued = (kind: MaintenanceStatus['kind'], more: object = {}) => ({
  kind,
  attempt: 1,
  state: 'Queued',
  since: at(0),
  ...more,
})
const failedWith = (code: string, retry = true) =>
  ({ kind: 'failed', code, message: 'why', retry, nodeFault: 'maybe', node: 'n1' }) as const

describe('the maintenance of a ready replica', () => {
  test.each<{ name: string; replica?: Partial<ReplicaStatus>; more?: Partial<MaintenanceObservation>; want: unknown }>([
    { name: 'is a check in each interval', want: queued('Check') },
    { name: 'is no second check in an interval', replica: { checkedTime: at(0) }, want: undefined },
    { name: 'is no check of new data', replica: { since: at(0) }, want: undefined },
    {
      name: 'is no check without an interval',
      more: { settings: { ...settings, checks: { ...settings.checks, intervalSeconds: 0 } } },
      want: undefined,
    },
    { name: 'does not begin on a node that is not ready', more: { isNodeReady: false }, want: undefined },
    {
      name: 'does not stay queued on a node that is not ready',
      replica: { maintenance: queued('Check') as MaintenanceStatus },
      more: { isNodeReady: false },
      want: undefined,
    },
    {
      name: 'is no check of data without a source',
      more: { config: makeVolume({ sourceType: 'NFS' }) },
      want: undefined,
    },
    { name: 'is a check of a Local directory', more: { config: LOCAL }, want: queued('Check') },
    {
      name: 'is no scheduled check with another image',
      more: { config: makeVolume({ mover: { image: 'example.org/other' } }) },
      want: undefined,
    },
    {
      name: 'is a check after a boot of the node',
      replica: { checkedTime: at(-600), checkedBoot: 'a' },
      more: { boot: 'b', phase: LATER },
      want: queued('Check'),
    },
    {
      name: 'is no check in the boot in which the data was last found',
      replica: { checkedTime: at(-600), checkedBoot: 'a' },
      more: { boot: 'a', phase: LATER },
      want: undefined,
    },
    {
      name: 'is no check for a boot in the first 10 minutes after another check',
      replica: { checkedTime: at(-599), checkedBoot: 'a' },
      more: { boot: 'b', phase: LATER },
      want: undefined,
    },
    {
      name: 'is no check for a boot before any is recorded',
      replica: { checkedTime: at(-600) },
      more: { boot: 'b', phase: LATER },
      want: undefined,
    },
    {
      name: 'is no check of a node that reports no boot',
      replica: { checkedTime: at(-600), checkedBoot: 'a' },
      more: { phase: LATER },
      want: undefined,
    },
    {
      name: 'is no check for a boot without an interval',
      replica: { checkedTime: at(-600), checkedBoot: 'a' },
      more: { boot: 'b', settings: { ...settings, checks: { ...settings.checks, intervalSeconds: 0 } } },
      want: undefined,
    },
    { name: 'is no check without a spec', more: { config: undefined }, want: undefined },
    {
      name: 'is a full check on request',
      replica: { checkedTime: at(0), handledCheck: 'a' },
      more: { requests: { check: 'b' } },
      want: queued('FullCheck', { request: 'b' }),
    },
    {
      name: 'is no full check for a request that was handled',
      replica: { checkedTime: at(0), handledCheck: 'b' },
      more: { requests: { check: 'b' } },
      want: undefined,
    },
    {
      name: 'is a full check on request 10 minutes after the last one',
      replica: { checkedTime: at(0), handledCheck: 'a', requestedCheckTime: at(-600) },
      more: { requests: { check: 'b' } },
      want: queued('FullCheck', { request: 'b' }),
    },
    {
      name: 'is no full check on request before that',
      replica: { checkedTime: at(0), handledCheck: 'a', requestedCheckTime: at(-599) },
      more: { requests: { check: 'b' } },
      want: undefined,
    },
    {
      name: 'is a refresh after its interval',
      replica: { checkedTime: at(0), refreshedTime: at(-3600) },
      more: { config: REFRESHED },
      want: queued('Refresh'),
    },
    {
      name: 'is no refresh of data of another source',
      replica: { checkedTime: at(0), refreshedTime: at(-3600) },
      more: { config: REFRESHED, isCurrent: false, requests: { refresh: 'a' } },
      want: undefined,
    },
    {
      name: 'is no refresh any more of data that has another source now',
      replica: { checkedTime: at(0), maintenance: queued('Refresh') as MaintenanceStatus },
      more: { config: REFRESHED, isCurrent: false },
      want: undefined,
    },
    {
      name: 'is no refresh any more of data that pods may write now',
      replica: { checkedTime: at(0), maintenance: queued('Refresh') as MaintenanceStatus },
      more: { config: makeVolume() },
      want: undefined,
    },
    { name: 'is a check of data of another source', more: { isCurrent: false }, want: queued('Check') },
    {
      name: 'is no refresh before its interval',
      replica: { checkedTime: at(0), refreshedTime: at(-3599) },
      more: { config: REFRESHED },
      want: undefined,
    },
    {
      name: 'is a refresh on request',
      replica: { checkedTime: at(0) },
      more: { requests: { refresh: 'a' } },
      want: queued('Refresh', { request: 'a' }),
    },
    {
      name: 'is no refresh on request in the first minute after another one',
      replica: { checkedTime: at(0), refreshedTime: at(-59) },
      more: { requests: { refresh: 'a' } },
      want: undefined,
    },
    {
      name: 'is no refresh of data that pods may change',
      replica: { checkedTime: at(0) },
      more: { requests: { refresh: 'a' }, config: makeVolume() },
      want: undefined,
    },
    {
      name: 'is no refresh while pods use many older trees',
      replica: { checkedTime: at(0), oldTrees: 4, replacedTime: at(-50) },
      more: { requests: { refresh: 'a' }, users: [{ pod: 'default/old', node: 'n1', startTime: at(-60) }] },
      want: {
        ...queued('Refresh', { request: 'a' }),
        state: 'Failed',
        reason: 'InUse',
        message: 'in use by default/old',
        retryTime: at(600),
      },
    },
    {
      name: 'deletes old trees when their pods have ended',
      replica: { checkedTime: at(-DAY), oldTrees: 1, replacedTime: at(-50), since: at(-2 * DAY) },
      more: {
        users: [{ pod: 'default/new', node: 'n1', startTime: at(-40) }],
        settings: { ...settings, checks: { ...settings.checks, intervalSeconds: 0 } },
      },
      want: queued('Check'),
    },
    {
      name: 'keeps old trees while a pod may use them',
      replica: { checkedTime: at(0), oldTrees: 1, replacedTime: at(-50) },
      more: { users: [{ pod: 'default/unknown', node: 'n1' }] },
      want: undefined,
    },
    {
      name: 'waits for the retry time of a failure',
      replica: {
        checkedTime: at(0),
        refreshedTime: at(-9999),
        maintenance: { kind: 'Refresh', state: 'Failed', attempt: 1, retryTime: at(1) },
      },
      more: { config: REFRESHED },
      want: { kind: 'Refresh', state: 'Failed', attempt: 1, retryTime: at(1) },
    },
    {
      name: 'is retried at once when a Secret changed',
      replica: {
        checkedTime: at(0),
        refreshedTime: at(-9999),
        maintenances: 1,
        maintenance: { kind: 'Refresh', state: 'Failed', attempt: 1, failures: 2, retryTime: at(1) },
      },
      more: { config: REFRESHED, retryTriggers: new Set(['secret'] as const) },
      want: queued('Refresh', { attempt: 2, failures: 2 }),
    },
  ])('$name', ({ replica, more, want }) => {
    expect(step({ ...READY, ...replica }, observedOf(more)).next.maintenance).toEqual(want)
  })

  test('is computed again when it is due', () => {
    const { dueAt } = step({ ...READY, checkedTime: at(0) }, observedOf())

    expect(((dueAt ?? 0) - NOW) / 1000).toBeCloseTo(DAY - 1, 2)
  })

  test('ends with its state', () => {
    const replica = makeReplica({ ...running(), state: 'Unreachable' })

    expect(step(replica, observedOf()).next.maintenance).toBeUndefined()
  })
})

describe('a check', () => {
  test.each(['DataMissing', 'DataDamaged', 'NotFound', 'LinkInPath'])('that ends with %s has found a loss', (code) => {
    const { next, loss } = step(makeReplica(running()), observedOf({ mover: failedWith(code) }))

    expect(loss).toMatchObject({ code, message: 'why' })
    expect(next.maintenance).toBeUndefined()
  })

  test.each(['Unexpected', 'PrepareTimeout', 'TargetExists', 'Evicted', 'PathNotMounted'])(
    'that ends with %s says nothing, and waits for the next interval',
    (code) => {
      const { next, loss } = step(makeReplica(running()), observedOf({ mover: failedWith(code) }))

      expect(loss).toBeUndefined()
      expect(next).toMatchObject({ maintenance: { state: 'Failed', reason: code, failures: 1 } })
      expect(Date.parse(next.maintenance?.retryTime ?? '')).toBeGreaterThan(NOW + (DAY - 10) * 1000)
    },
  )

  test.each<Partial<ReplicaStatus>>([{ inUse: true }, { lastUsedTime: at(-1) }])(
    'of unused data that pods changed meanwhile loses nothing, and is repeated: %o',
    (use) => {
      const config = makeVolume()
      const replica = makeReplica({ ...running({ kind: 'FullCheck', request: 'b' }), checkedTime: at(0), ...use })
      const more = { config, requests: { check: 'b' } }

      const { next, loss } = step(replica, observedOf({ ...more, mover: failedWith('DataDamaged') }))

      expect([loss, next.maintenances]).toEqual([undefined, 3])
      expect(next.maintenance).toEqual(queued('FullCheck', { attempt: 4, request: 'b' }))
      expect(next.handledCheck).toBeUndefined()
      const lost = step(replica, observedOf({ ...more, mover: failedWith('DataMissing') }))
      expect(lost).toMatchObject({ loss: { code: 'DataMissing' }, next: { requestedCheckTime: at(0) } })
    },
  )

  test('that succeeds is recorded, with its request and the old trees that are left', () => {
    const replica = makeReplica({ ...running({ kind: 'FullCheck', request: 'r' }), oldTrees: 2, replacedTime: at(-50) })
    const mover = { kind: 'succeeded', oldTrees: 1, bytes: 9 } as const

    const { next } = step(replica, observedOf({ mover }))

    expect(next).toEqual({
      maintenances: 3,
      checkedTime: at(0),
      handledCheck: 'r',
      requestedCheckTime: at(0),
      oldTrees: 1,
      replacedTime: at(-50),
    })
  })

  test('records the boot of the node in which it found the data', () => {
    const succeeded = observedOf({ mover: { kind: 'succeeded' }, boot: 'b' })

    const { next } = step(makeReplica({ ...running(), checkedBoot: 'a' }), succeeded)
    const refreshed = step(makeReplica({ ...running({ kind: 'Refresh' }), checkedBoot: 'a' }), succeeded)

    expect(next.checkedBoot).toBe('b')
    // A refresh reads no unchanged file.
    expect(refreshed.next.checkedBoot).toBe('a')
  })

  test('after a boot of the node that fails is repeated soon', () => {
    const replica = makeReplica({ ...running(), checkedBoot: 'a' })

    const { next } = step(replica, observedOf({ mover: failedWith('PrepareTimeout'), boot: 'b' }))

    expect(next).toMatchObject({ checkedBoot: 'a', maintenance: { state: 'Failed', retryTime: at(10) } })
  })

  test('on request that can never run is not repeated', () => {
    const replica = makeReplica(running({ kind: 'FullCheck', request: 'r' }))

    const { next } = step(replica, observedOf({ mover: failedWith('WrongOptions', false) }))

    expect(next).toMatchObject({ handledCheck: 'r', requestedCheckTime: at(0) })
  })
})

describe('a refresh', () => {
  const replica = makeReplica(running({ kind: 'Refresh', request: 'r' }))

  test('that found a damaged disk says nothing about the data', () => {
    const { next, loss } = step(replica, observedOf({ mover: failedWith('DataDamaged') }))

    expect(loss).toBeUndefined()
    expect(next).toMatchObject({ maintenance: { state: 'Failed', retryTime: at(10) } })
  })

  test.each([
    { name: 'replaced data', mover: { oldTrees: 1, replaced: true as const }, want: at(-5) },
    { name: 'was killed after it replaced data', mover: { oldTrees: 1 }, want: at(-5) },
    { name: 'changed nothing', mover: {}, want: undefined },
  ])('that $name has the time of the replacement $want', ({ mover, want }) => {
    const succeeded = { kind: 'succeeded', endTime: at(-5), bytes: 7, ...mover } as const

    const { next, refreshedBytes } = step(replica, observedOf({ mover: succeeded }))

    expect(refreshedBytes).toBe(7)
    expect(next).toMatchObject({ refreshedTime: at(0), handledRefresh: 'r' })
    expect(next.replacedTime).toBe(want)
  })

  test.each([{ kind: 'running', node: 'n1' } as const, undefined, failedWith('Unreachable')])(
    'ends when pods may write the data, also with the mover %o',
    (mover) => {
      const { next } = step(
        makeReplica({ ...replica, checkedTime: at(0) }),
        observedOf({ mover, config: makeVolume() }),
      )

      expect(next).toEqual({ checkedTime: at(0), maintenances: 3 })
    },
  )

  test('that has replaced the data is recorded, although pods may write it now', () => {
    const mover = { kind: 'succeeded', oldTrees: 1, replaced: true, endTime: at(-5) } as const

    const { next } = step(replica, observedOf({ mover, config: makeVolume() }))

    expect(next).toMatchObject({ oldTrees: 1, replacedTime: at(-5), refreshedTime: at(0) })
  })

  test('whose mover exists already is running', () => {
    const known = makeReplica({ maintenance: queued('Refresh') as MaintenanceStatus })

    const { next } = step(known, observedOf({ mover: { kind: 'running', node: 'n1' } }))

    expect(next).toMatchObject({ maintenances: 1, maintenance: { state: 'Running', attempt: 1 } })
  })
})

test('a failed refresh that is no longer wanted leaves the number of old trees', () => {
  const maintenance: MaintenanceStatus = { kind: 'Refresh', state: 'Failed', attempt: 1, retryTime: at(600) }
  const trees = { oldTrees: 2, replacedTime: at(-50), maintenances: 1 }
  const users = [{ pod: 'default/old', node: 'n1', startTime: at(-60) }]
  const withoutChecks = { ...settings, checks: { ...settings.checks, intervalSeconds: 0 } }

  const { next } = step({ ...READY, ...trees, maintenance }, observedOf({ users, settings: withoutChecks }))

  expect(next).toEqual(trees)
})

test('a replica without maintenance starts none', () => {
  expect(startMaintenance(READY, NOW)).toBe(READY)
})

test('new data needs neither of the requests', () => {
  const known = { checkedTime: at(-9), handledCheck: 'x' }

  expect(withHandled(known, { check: 'a', refresh: 'b' })).toEqual({ ...known, handledCheck: 'a', handledRefresh: 'b' })
  expect(withHandled(known, {})).toEqual(known)
})
