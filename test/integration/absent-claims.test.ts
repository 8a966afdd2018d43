/** The CRD of claims is deleted while the application runs: workloads stay where they are, and the application says so. */
import { expect, test } from 'vitest'
import { dataSources } from '../../src/api/data-source.ts'
import { type DataSourceClaim, dataSourceClaims } from '../../src/api/data-source-claim.ts'
import { type ResourceBinding, resourceBindings } from '../../src/api/karmada.ts'
import { decideBinding } from '../../src/core/resource-binding/decide.ts'
import { SHIPPED_KINDS } from '../../src/core/workload-kinds/kinds.ts'
import { gatherBindingInput } from '../../src/queries/binding.ts'
import { kindsFor } from '../../src/store/kinds/cached-kinds.ts'
import { DEFAULT_DECISIONS, makeBinding, makeClaim, makeSource } from '../builders.ts'
import { openAppOnApiServer } from './app-on-api-server.ts'

const NOW = Date.parse('2026-01-01T00:00:00Z')
const CRD = 'datasourceclaims.datadependency.volcano.sh'

/** Starts the application with a claim, its source and its binding, and waits until the loop has narrowed the binding. */
async function start() {
  const { server, store, start } = await openAppOnApiServer(
    kindsFor({ workloads: SHIPPED_KINDS, dependencies: false, movesData: false }),
  )
  const claim = makeClaim()
  server.put(dataSourceClaims, claim)
  server.put(dataSources, makeSource({ locality: { clusterNames: ['member2'] } }))
  server.put(resourceBindings, makeBinding({ clusters: [{ name: 'member2', replicas: 2 }] }))
  const app = await start()
  const url = `http://127.0.0.1:${app.ports.health}`
  const binding = () =>
    server.objects.get('/apis/work.karmada.io/v1alpha2/resourcebindings', 'default', 'app-deployment')
  const clusters = () => (binding() as ResourceBinding).spec.placement?.clusterAffinity?.clusterNames
  await expect.poll(clusters).toEqual(['member2'])
  return { server, store, claim, clusters, binding, read: async (path: string) => (await fetch(url + path)).text() }
}

async function deleteDefinition({ server, store, claim }: Awaited<ReturnType<typeof start>>) {
  server.terminate(dataSourceClaims)
  server.remove(dataSourceClaims, claim.metadata.namespace, claim.metadata.name ?? '')
  await expect.poll(() => store.unavailable().length).toBe(1)
}

test('the narrowing stays, and the application is not ready, with the reason', async () => {
  const world = await start()
  const { server, store, clusters, binding, read } = world
  const before = binding()?.metadata.resourceVersion

  await deleteDefinition(world)

  const message = `CustomResourceDefinition ${CRD} is being deleted; the last known objects stay in use; apply the CRD and its objects again`
  expect(await read('/readyz')).toBe(`not ready: DataSourceClaim objects are not available: ${message}\n`)
  // The probe of the kubelet: a server that left its Service would not keep anything.
  expect(await read('/readyz?exclude=kinds')).toBe('ok\n')
  // While the main thread is busy, only the metrics of health are served.
  await expect
    .poll(() => read('/metrics'))
    .toContain('lodestone_kind_unavailable{kind="DataSourceClaim",reason="Terminating"} 1\n')
  await expect.poll(() => eventsAbout(server, CRD)).toEqual([{ type: 'Warning', reason: 'KindUnavailable', message }])
  expect([clusters(), binding()?.metadata.resourceVersion]).toEqual([['member2'], before])
  // As admission decides when Karmada's detector writes the placement of the policy again.
  const rewritten = makeBinding({ clusters: [{ name: 'member2' }] }, binding()?.metadata)
  const input = gatherBindingInput(
    rewritten,
    binding() as ResourceBinding,
    { ...DEFAULT_DECISIONS, store, now: NOW },
    { leavesMovesToLoop: true },
  )
  expect(decideBinding(input).binding.spec.placement?.clusterAffinity?.clusterNames).toEqual(['member2'])
})

test('the finalizer of a claim goes with its CRD, and the narrowing stays', async () => {
  const { server, store, claim, clusters } = await start()
  const stored = () =>
    server.objects.get(
      '/apis/datadependency.volcano.sh/v1alpha1/datasourceclaims',
      'default',
      claim.metadata.name ?? '',
    )
  await expect.poll(() => stored()?.metadata.finalizers).toEqual(['lodestone.dev/claim'])

  server.terminate(dataSourceClaims)
  const metadata = { ...stored()?.metadata, deletionTimestamp: '2026-01-01T00:00:00Z' }
  server.put(dataSourceClaims, { ...claim, metadata: { ...metadata, finalizers: ['lodestone.dev/claim', 'a/b'] } })

  await expect.poll(() => stored()?.metadata.finalizers).toEqual(['a/b'])
  expect([store.size(dataSourceClaims), clusters()]).toEqual([1, ['member2']])
})

test('the application is ready again after the CRD and its claims were applied again', async () => {
  const world = await start()
  const { server, store, claim, clusters, read } = world
  await deleteDefinition(world)

  server.put(dataSourceClaims, claim as DataSourceClaim)
  server.serve(dataSourceClaims, true)

  await expect.poll(() => store.unavailable()).toEqual([])
  expect(await read('/readyz')).toBe('ok\n')
  await expect.poll(() => read('/metrics')).not.toContain('lodestone_kind_unavailable{')
  await expect
    .poll(() => eventsAbout(server, CRD))
    .toContainEqual({ type: 'Normal', reason: 'KindAvailable', message: 'DataSourceClaim objects are available again' })
  expect(clusters()).toEqual(['member2'])
})

interface StoredEvent {
  type: string
  reason: string
  message: string
  involvedObject: { name: string }
}

function eventsAbout(server: Awaited<ReturnType<typeof start>>['server'], name: string) {
  const all = (server.objects.page({ collection: '/api/v1/events' }, 0, null)?.items ?? []) as unknown as StoredEvent[]
  return all
    .filter(({ involvedObject }) => involvedObject.name === name)
    .map(({ type, reason, message }) => ({ type, reason, message }))
}
