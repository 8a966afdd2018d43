import { expect, test } from 'vitest'
import { NOW } from '../../../test/builders.ts'
import { storeOf } from '../../../test/stores.ts'
import { makeMover } from '../../../test/volume-builders.ts'
import { VOLUME_SETTINGS } from '../../../test/volume-world.ts'
import { roleBindings } from '../../api/rbac.ts'
import { openMoverAccess } from './mover-access.ts'

const SETTINGS = VOLUME_SETTINGS.movers
const MINUTE = 60_000
const mover = { ...makeMover(), spec: { ...makeMover().spec, serviceAccountName: 'reader' } }
const NAMES = ['lodestone-mover', 'lodestone-mover.reader']

/** Movers with a RoleBinding that another client deletes, and the names of those that are there after a later mover. */
async function bindingsAfter(ms: number): Promise<string[]> {
  const store = await storeOf()
  const access = openMoverAccess()
  const grant = async (now: number) => {
    await access.grant('default', SETTINGS.serviceAccountName, { store, now })
    await access.grantUsers(mover, SETTINGS, { store, now })
  }
  const present = async () => {
    const read = await Promise.all(NAMES.map((name) => store.read(roleBindings, 'default', name)))
    return read.filter((binding) => binding !== undefined)
  }
  await grant(NOW)
  for (const binding of await present()) await store.delete(roleBindings, binding)
  await grant(NOW + ms)
  return (await present()).map(({ metadata }) => metadata.name ?? '')
}

test.each([
  { name: 'ten minutes later', ms: 10 * MINUTE, want: NAMES },
  { name: 'when the clock is set back', ms: -MINUTE, want: NAMES },
  { name: 'not before, so that each mover costs no request', ms: 9 * MINUTE, want: [] },
])('a RoleBinding of movers that another client deletes is created again: $name', async ({ ms, want }) => {
  expect(await bindingsAfter(ms)).toEqual(want)
})
