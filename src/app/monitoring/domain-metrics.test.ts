import { expect, onTestFinished, test } from 'vitest'
import {
  DEFAULT_DECISIONS,
  makeBinding,
  makeClaim,
  makeSource,
  makeVolumeManager,
  NOW,
} from '../../../test/builders.ts'
import { storeOf } from '../../../test/stores.ts'
import { makeReplica } from '../../../test/volume-builders.ts'
import { resourceBindings } from '../../api/karmada.ts'
import { HOLD_ANNOTATION, SOURCE_FINALIZER } from '../../api/lodestone.ts'
import type { K8sObject } from '../../api/meta.ts'
import { volumeManagers } from '../../api/volume-manager.ts'
import type { ReplicaStatus } from '../../api/volume-status.ts'
import { openDomainMetrics } from './domain-metrics.ts'

const MINUTE_MS = 60_000

async function open(objects: K8sObject[]) {
  const store = await storeOf(objects)
  const metrics = openDomainMetrics({ ...DEFAULT_DECISIONS, store, karmadaRules: () => undefined, now: () => NOW })
  onTestFinished(metrics.stop)
  return { store, read: metrics.read }
}

function onHold(reason: string, heldMs: number, more: object = {}) {
  const hold = { reason, message: 'no answer yet', since: new Date(NOW - heldMs).toISOString(), ...more }
  const binding = makeBinding({}, { annotations: { [HOLD_ANNOTATION]: JSON.stringify(hold) } })
  return { ...binding, spec: { ...binding.spec, suspension: { scheduling: true } } }
}

test('holds are counted by reason, with the age of the oldest', async () => {
  const { read } = await open([onHold('Unresolved', 5 * MINUTE_MS)])

  expect(read().holds).toEqual({
    Unresolved: { count: 1, oldestSeconds: 300, overdue: 0 },
    Unsatisfiable: { count: 0, oldestSeconds: 0, overdue: 0 },
    ClaimMissing: { count: 0, oldestSeconds: 0, overdue: 0 },
  })
})

test('a hold that ends, is released or is deleted does not count any more', async () => {
  const { store, read } = await open([])
  const binding = await store.create(resourceBindings, onHold('Unresolved', 1000))
  expect(read().holds['Unresolved']?.count).toBe(1)

  const released = onHold('Unresolved', 1000, { released: true })
  const { resourceVersion } = binding.metadata
  const updated = await store.update(resourceBindings, {
    ...released,
    metadata: { ...released.metadata, resourceVersion },
  } as typeof binding)
  expect(read().holds['Unresolved']?.count).toBe(0)

  await store.update(resourceBindings, {
    ...binding,
    metadata: { ...binding.metadata, resourceVersion: updated.metadata.resourceVersion },
  } as typeof binding)
  expect(read().holds['Unresolved']?.count).toBe(1)
  const [stored] = store.list(resourceBindings)
  if (stored) await store.delete(resourceBindings, stored)
  expect(read().holds['Unresolved']?.count).toBe(0)
})

test.each([
  { name: 'has a timeout that ended long ago', heldMs: 5 * MINUTE_MS, holdTimeoutSeconds: 120, want: 1 },
  { name: 'has a timeout that ended half a minute ago', heldMs: 2.5 * MINUTE_MS, holdTimeoutSeconds: 120, want: 0 },
  { name: 'has a timeout that has not ended', heldMs: 5 * MINUTE_MS, holdTimeoutSeconds: 3600, want: 0 },
  { name: 'has no timeout', heldMs: 5000 * MINUTE_MS, holdTimeoutSeconds: undefined, want: 0 },
])('of a hold whose claim $name, $want are overdue', async ({ heldMs, holdTimeoutSeconds, want }) => {
  const policy = holdTimeoutSeconds === undefined ? {} : { holdTimeoutSeconds }
  const { read } = await open([makeClaim({ policy }), onHold('Unresolved', heldMs)])

  expect(read().holds['Unresolved']?.overdue).toBe(want)
})

function managerWith(replicas: ReplicaStatus[], name = 'sales') {
  const manager = makeVolumeManager()
  return {
    ...manager,
    metadata: { ...manager.metadata, name },
    status: { volumes: [{ id: 'vol1', nodeAffinity: {}, replicas }] },
  }
}

test('the age of the oldest location is that of a DataSource with a claim', async () => {
  const confirmed = (name: string, minutes: number, finalizers: string[]) => {
    const lastResolvedTime = new Date(NOW - minutes * MINUTE_MS).toISOString()
    return makeSource({ name }, { name, finalizers, status: { lastResolvedTime } })
  }
  const { read } = await open([
    confirmed('claimed', 5, [SOURCE_FINALIZER]),
    confirmed('newer', 2, ['other', SOURCE_FINALIZER]),
    confirmed('retained', 5000, ['other']),
  ])

  expect(read().sourceAges).toEqual({ amoro: 300 })
})

const queuedFor = (seconds: number) =>
  makeReplica({ state: 'Queued', since: new Date(NOW - seconds * 1000).toISOString() })

test('replicas and waiting work follow the VolumeManagers', async () => {
  const { store, read } = await open([managerWith([makeReplica()])])
  expect(read().replicas).toMatchObject({ Ready: 1, Queued: 0 })

  const second = await store.create(volumeManagers, managerWith([queuedFor(90), makeReplica({ index: 1 })], 'other'))
  expect(read().replicas).toMatchObject({ Ready: 2, Queued: 1 })
  expect(read().moverQueue).toMatchObject({
    download: { count: 1, oldestSeconds: 90 },
    upload: { count: 0, oldestSeconds: 0 },
  })

  await store.delete(volumeManagers, second)
  expect(read().replicas).toMatchObject({ Ready: 1, Queued: 0 })
})
