import { describe, expect, test } from 'vitest'
import { makeVolumeManager, NOW } from '../../../test/builders.ts'
import { storeOf } from '../../../test/stores.ts'
import { defined } from '../../base/json.ts'
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

describe('a kind without a response of the API server for five minutes', () => {
  const [fresh, stale] = [1_000, 300_001]
  const check = (ages: Record<string, number | undefined>) => {
    const contactAges = () => Object.entries(ages).map(([kind, ageMs]) => defined({ kind, ageMs }))
    const readiness = openReadiness({
      store: { unsynced: () => [], unavailable: () => [], contactAges } as unknown as ObjectStore,
      registration: { isRegistered: () => true },
      leadership: { denied: () => undefined },
      stopping: new AbortController().signal,
      now: () => NOW,
    })
    readiness.useCertificates({ current: () => ({ notAfter: NOW + 1 }) as ServingCertificates })
    return readiness.reasons().map((reason) => `${reason.check}: ${reason.message}`)
  }

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
