import { expect, test } from 'vitest'
import { makeClaim, makeSource } from '../../../test/builders.ts'
import { storeOf } from '../../../test/stores.ts'
import { openDataSourceLoop } from './data-source.ts'

const { turnOf } = openDataSourceLoop()
const name = 'amoro-table-lake.shop.sales'
const claim = makeClaim({}, { namespace: 'shop' })
const shown = { claimRefs: [{ namespace: 'lab', name: 'sales' }] }

test.each([
  { what: 'that a claim needs', objects: [claim], want: 'shop' },
  { what: 'without a status', objects: [claim, makeSource({}, { name })], want: 'shop' },
  { what: 'with claims in its status', objects: [claim, makeSource({}, { name, status: shown })], want: 'lab' },
  { what: 'without claims', objects: [makeSource({}, { name })], want: '' },
])('a source $what runs in the turn of namespace "$want"', async ({ objects, want }) => {
  const store = await storeOf(objects)
  expect(turnOf?.(name, store)).toBe(want)
})
