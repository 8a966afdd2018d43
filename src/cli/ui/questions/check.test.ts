import { expect, test } from 'vitest'
import { makeClaim, makeCluster, makeDeployment, makePolicy, makeSource } from '../../../../test/builders.ts'
import { dataSources } from '../../../api/data-source.ts'
import { dataSourceClaims } from '../../../api/data-source-claim.ts'
import { clusters, propagationPolicies, resourceBindings } from '../../../api/karmada.ts'
import { completeConfig } from '../../../app/config/config.ts'
import { newestRules } from '../../../core/karmada-rules.ts'
import { SHIPPED_KINDS } from '../../../core/workload-kinds/kinds.ts'
import { typeOfReference } from '../../kinds.ts'
import { makeNarrowedBinding, openMemory } from '../ui.fake.ts'
import { openCheck } from './check.ts'

const config = completeConfig({}, 'test')

/** A hub with a narrowed Deployment whose data is in member2. */
async function openHub() {
  const store = await openMemory()
  await store.create(typeOfReference(makeDeployment()), makeDeployment())
  await store.create(dataSourceClaims, makeClaim())
  await store.create(dataSources, makeSource())
  await store.create(propagationPolicies, makePolicy())
  for (const name of ['member1', 'member2', 'member3']) await store.create(clusters, makeCluster(name))
  await store.create(resourceBindings, makeNarrowedBinding(['member1', 'member2', 'member3']))
  const context = () => ({
    store,
    config,
    kinds: SHIPPED_KINDS,
    karmadaRules: newestRules,
    isHub: true,
    isFolder: false,
    isMember: false,
    place: 'on this API server',
    now: Date.parse('2026-11-20T12:00:00Z'),
  })
  const { signal } = new AbortController()
  const ask = openCheck({ context, folder: undefined, signal })
  return { store, check: (body: unknown) => ask(body, { left: signal }) }
}

const filesOf = (...objects: object[]) => ({
  files: [{ file: 'given.yaml', text: objects.map((object) => JSON.stringify(object)).join('\n---\n') }],
})

test('a source that moves its data shows the workload of the hub that would move', async () => {
  const { store, check } = await openHub()
  const result = await check(filesOf(makeSource({ locality: { clusterNames: ['member3'] } })))
  expect(result).toMatchObject({
    answer: {
      hub: { moves: 1, waits: 0, unchanged: 0, notReviewed: 0 },
      objects: [
        { object: `DataSource ${makeSource().metadata.name}` },
        { effect: 'moves', diff: expect.stringContaining('member3') },
      ],
    },
  })
  expect(store.get(dataSources, undefined, makeSource().metadata.name ?? '')?.spec.locality?.clusterNames).toEqual([
    'member2',
  ])
})

test('at most eight checks wait', async () => {
  const { check } = await openHub()
  const checks = Array.from({ length: 10 }, () => check(filesOf(makeSource())))
  const results = await Promise.allSettled(checks)
  expect(results.filter(({ status }) => status === 'fulfilled')).toHaveLength(9)
  expect(results.at(-1)).toMatchObject({
    reason: { statusCode: 503, message: expect.stringContaining('8 checks wait') },
  })
})
