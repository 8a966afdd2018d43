/** The health of a data system in the status of its sources, after a restart of Lodestone. */
import { writeFile } from 'node:fs/promises'
import { join } from 'node:path'
import { expect, onTestFinished, test } from 'vitest'
import { dataSources } from '../../src/api/data-source.ts'
import { condition, findCondition, withConditions } from '../../src/base/conditions.ts'
import { folderSource } from '../../src/locality/config/source.ts'
import { DataServer } from '../../src/locality/http/data-server.fake.ts'
import { openSystems } from '../../src/locality/systems.ts'
import { openDataSourceLoop } from '../../src/reconcile/sources/data-source.ts'
import { makeClaim, makeSource, NOW } from '../builders.ts'
import { storeOf } from '../stores.ts'
import { temporaryFolder } from '../temporary-folder.ts'
import { runLoops } from './controller.ts'

test('a source does not keep the failed health check of an earlier process', async () => {
  const gate = Promise.withResolvers<void>()
  const server = await new DataServer(async () => {
    await gate.promise
    return { body: { code: 200 } }
  }).listen()
  const directory = temporaryFolder()
  await writeFile(join(directory, 'amoro'), JSON.stringify({ system: 'amoro', endpoint: { url: server.url } }))
  const systems = await openSystems({ source: folderSource(directory), clusters: () => [] })
  onTestFinished(async () => {
    await systems.stop()
    await server.close()
  })
  const failed = withConditions([], [condition('SystemHealthy', false, 'Unhealthy', 'HTTP 401')], undefined, NOW)
  const status = { phase: 'Available', lastResolvedTime: new Date(NOW).toISOString(), conditions: failed } as const
  const source = makeSource({ locality: { clusterNames: ['member1'] } }, { status })
  const store = await storeOf([makeClaim(), source])
  const stored = () => store.get(dataSources, undefined, source.metadata.name ?? '')?.status
  runLoops({ store, systems, loops: [openDataSourceLoop()], now: () => NOW })
  // The loop has seen the source before the check ends.
  await expect.poll(() => stored()?.boundClaims).toBe(1)

  gate.resolve()

  await expect.poll(() => findCondition(stored()?.conditions, 'SystemHealthy')?.status).toBe('True')
})
