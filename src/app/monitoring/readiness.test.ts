import { describe, expect, test } from 'vitest'
import { makeVolumeManager } from '../../../test/builders.ts'
import { storeOf } from '../../../test/stores.ts'
import { volumesWarning } from './readiness.ts'

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
