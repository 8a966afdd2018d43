import { describe, expect, test } from 'vitest'
import { makeVolumeManager, NOW } from '../../../test/builders.ts'
import { storeOf } from '../../../test/stores.ts'
import { clusters } from '../../api/karmada.ts'
import { defined } from '../../base/json.ts'
import { SHIPPED_KINDS } from '../../core/workload-kinds/kinds.ts'
import type { ObjectStore } from '../../store/store.ts'
import type { ServingCertificates } from '../../tls/source.ts'
import { openReadiness, volumesWarning } from './readiness.ts'

const managed = (name: string) => makeVolumeManager([{}], { name, finalizers: ['lodestone.dev/volumes'] })
const of = (name: string) => makeVolumeManager([{}], { name })

describe('VolumeManagers without a controller', () => {
  test.each([
    {
      what: 'with data on nodes, that nothing deletes',
      managers: [managed('a'), of('b')],
      isEnabled: false,
      want: /: default\/a;/,
    },
    { what: 'while volumes are enabled', managers: [managed('a')], isEnabled: true, want: undefined },
    { what: 'as templates on a hub', managers: [of('a')], isEnabled: false, want: undefined },
  ])('$what', async ({ managers, isEnabled, want }) => {
    const warning = volumesWarning({ volumes: { enabled: isEnabled } }, await storeOf(managers))

    expect(warning ?? '').toMatch(want ?? /^$/)
  })
})

/** The reasons of a replica whose only problems are those of its store. */
function reasonsOf(store: Partial<ObjectStore>, isRead = true): string[] {
  const readiness = openReadiness({
    store: { unsynced: () => [], unavailable: () => [], ...store } as ObjectStore,
    karmada: { isRead: () => isRead },
    registration: { isRegistered: () => true },
    leadership: { denied: () => undefined },
    stopping: new AbortController().signal,
    now: () => NOW,
  })
  readiness.useCertificates({ current: () => ({ notAfter: NOW + 1 }) as ServingCertificates })
  return readiness.reasons().map((reason) => `${reason.check}: ${reason.message}`)
}

test('of kinds with the same name, the one that is not there is named with its group', () => {
  const jobs = SHIPPED_KINDS.all.map(({ type }) => type).filter(({ kind }) => kind === 'Job')
  const types = [...jobs, clusters]
  const message = 'the API server does not serve it'
  expect(reasonsOf({ kinds: () => types, unsynced: () => types })).toEqual([
    'caches: Job (batch) cache not synced',
    'caches: Job (batch.volcano.sh) cache not synced',
    'caches: Cluster cache not synced',
  ])
  const unavailable = () => jobs.slice(1).map((type) => ({ type, reason: 'NotServed' as const, message }))
  expect(reasonsOf({ kinds: () => types, unavailable })).toEqual([
    `kinds: Job (batch.volcano.sh) objects are not available: ${message}`,
  ])
})

test('the rules of Karmada are waited for', () => {
  expect(reasonsOf({}, false)).toEqual(['caches: rules of Karmada not read'])
})

describe('a kind without a response of the API server for five minutes', () => {
  const [fresh, stale] = [1_000, 300_001]
  const check = (ages: Record<string, number | undefined>) =>
    reasonsOf({ contactAges: () => Object.entries(ages).map(([kind, ageMs]) => defined({ kind, ageMs })) })

  test('is a problem of the kind, not of the replica, while other kinds have responses', () => {
    expect(check({ Cluster: stale, ResourceBinding: fresh })).toEqual([
      'kinds: no watch event of Cluster for 5 minutes',
    ])
  })

  test('is a problem of the replica if no kind has one', () => {
    expect(check({ Cluster: stale, Job: undefined })).toEqual(['watches: no watch event of Cluster for 5 minutes'])
    expect(check({ Cluster: fresh, Job: undefined })).toEqual([])
  })
})
