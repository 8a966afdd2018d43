import { describe, expect, test } from 'vitest'
import {
  makeBinding,
  makeClaim,
  makeDeployment,
  makePod,
  makePolicy,
  makeSource,
  makeVolumeManager,
} from '../../../test/builders.ts'
import { status } from './status.fake.ts'

describe('in a folder, where no controller writes', () => {
  const claim = makeClaim()
  const workload = makeDeployment({ name: 'app' })

  test('a workload that admission would put on hold is shown, with the reason', async () => {
    const { stdout } = await status([claim, makePolicy(), workload], '-o', 'wide')

    expect(stdout).toContain(`HOLDS (1)
WORKLOAD                 SINCE   REASON       BINDING   DECISION ID   MESSAGE
Deployment default/app   -       Unresolved   -         -             default/sales: no DataSource for amoro table lake.shop.sales yet
`)
  })

  test('a workload with a location is not on hold, and its claim is Bound', async () => {
    const { stdout } = await status([claim, makeSource({}, { status: {} }), makePolicy(), workload])

    expect(stdout).toMatch(/default\/sales +Bound .* member2\n/)
    expect(stdout).toContain('HOLDS (0)\n')
    expect(stdout).toMatch(/amoro-table-lake.shop.sales +Available +member2/)
  })

  test('the state of a stored binding is shown, and no prediction for its workload', async () => {
    const { stdout } = await status([claim, makePolicy(), workload, makeBinding()])

    expect(stdout).toContain('HOLDS (0)\n')
  })

  test('a pod that would wait for its volumes is shown', async () => {
    const { stdout } = await status([makeVolumeManager(), makePod({ name: 'sales' })], '--held')

    expect(stdout).toBe(`HOLDS (1)
WORKLOAD              SINCE   MESSAGE
Pod default/trainer   -       waits for VolumeManager sales/vol1
`)
  })
})
