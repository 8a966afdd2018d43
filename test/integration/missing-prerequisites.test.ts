/** A cluster without a kind that a loop writes: the whole application on an API server that ceases to serve DataSourceClaims. */
import { expect, test } from 'vitest'
import { dataSourceClaims } from '../../src/api/data-source-claim.ts'
import { SHIPPED_KINDS } from '../../src/core/workload-kinds/kinds.ts'
import { kindsFor } from '../../src/store/kinds/cached-kinds.ts'
import { makeClaim } from '../builders.ts'
import { openAppOnApiServer } from './app-on-api-server.ts'

test('a kind without its CRD is logged once, however many writes fail for it', async () => {
  const { server, lines, start } = await openAppOnApiServer(
    kindsFor({ workloads: SHIPPED_KINDS, dependencies: false, movesData: false }),
  )
  await start()
  await expect.poll(() => server.watches(dataSourceClaims).length).toBe(1)

  server.serve(dataSourceClaims, false)
  server.put(dataSourceClaims, makeClaim())
  server.put(dataSourceClaims, makeClaim({ dataSourceName: 'lake.shop.orders' }, { name: 'orders' }))

  const writes = () =>
    server.requests.filter(({ method, path }) => method !== 'GET' && path.includes('/datasourceclaims/'))
  await expect.poll(() => writes().length).toBeGreaterThan(6)
  const reason =
    'the API server does not serve DataSourceClaim in datadependency.volcano.sh/v1alpha1; install its CustomResourceDefinition'
  const failures = lines.filter(({ msg }) => msg === 'reconcile failed')
  expect(failures).toMatchObject([{ loop: 'data-source-claim', reason }])
})
