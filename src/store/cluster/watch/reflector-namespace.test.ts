import { describe, expect, test } from 'vitest'
import { clusters, resourceBindings } from '../../../api/karmada.ts'
import { settle, until } from '../../../base/time/clock.fake.ts'
import { bindingKind, buildBinding, buildCluster, clusterKind } from '../../objects.fake.ts'
import { openStage, pass } from './reflector.fake.ts'

const signal = new AbortController().signal

/** A store that reads namespace shop, for a user with the right to read the paths that `permits` accepts. */
async function openShop(permits: (path: string) => boolean) {
  const stage = await openStage({ kinds: [bindingKind, { ...clusterKind, optional: true }], namespace: 'shop' })
  stage.server.permits = ({ path }) => permits(path)
  return stage
}

const inShop = (path: string) => path.includes('/namespaces/shop/')

describe('a store of one namespace', () => {
  test('lists and watches the objects of that namespace, and sends no request for others', async () => {
    const { server, store, names, changes } = await openShop(() => true)
    const other = buildBinding('other')
    server.put(resourceBindings, { ...other, metadata: { ...other.metadata, namespace: 'sales' } })
    server.put(resourceBindings, buildBinding('own'))
    server.put(clusters, buildCluster('north-1'))
    await store.start(signal)
    await until(() => server.watches(resourceBindings).length === 1)
    server.put(resourceBindings, { ...other, metadata: { ...other.metadata, namespace: 'sales', name: 'later' } })
    server.put(resourceBindings, buildBinding('next'))
    await until(() => changes.length === 1)
    expect(names()).toEqual(['next', 'own'])
    expect(store.size(clusters)).toBe(1)
    const paths = server.requests.map(({ path }) => path).filter((path) => path.endsWith('/resourcebindings'))
    expect(new Set(paths)).toEqual(new Set(['/apis/work.karmada.io/v1alpha2/namespaces/shop/resourcebindings']))
  })

  test('is synced without a kind that the user may not list, and names the missing right', async () => {
    const { server, store, names } = await openShop(inShop)
    server.put(resourceBindings, buildBinding('own'))
    server.put(clusters, buildCluster('north-1'))
    await store.start(signal)
    expect(names()).toEqual(['own'])
    expect([store.serves(clusters), store.size(clusters)]).toEqual([true, 0])
    expect(store.unavailable()).toEqual([
      { type: clusters, reason: 'Forbidden', message: 'you may not list clusters.cluster.karmada.io' },
    ])
  })

  test('names the namespace in which a right is missing', async () => {
    const { store } = await openShop((path) => path.endsWith('/clusters'))
    await store.start(signal)
    expect(store.unavailable().map(({ message }) => message)).toEqual([
      'you may not list resourcebindings.work.karmada.io in namespace shop',
    ])
  })

  test('has the objects of a kind as soon as the user may list it', async () => {
    const { server, store, clock } = await openShop(inShop)
    server.put(clusters, buildCluster('north-1'))
    await store.start(signal)
    server.permits = () => true
    await pass(clock, () => store.size(clusters) === 1)
    expect(store.unavailable()).toEqual([])
  })

  test('loses the objects of a kind when the right is taken away', async () => {
    const { server, store, clock } = await openShop(() => true)
    server.put(clusters, buildCluster('north-1'))
    await store.start(signal)
    await until(() => server.watches(clusters).length === 1)
    server.permits = ({ path }) => inShop(path)
    clock.advance(20_000)
    server.watches(clusters)[0]?.end()
    await pass(clock, () => store.size(clusters) === 0)
    expect(store.unavailable()).toHaveLength(1)
  })

  test('counts an unserved kind as absent, although the server forbids its list', async () => {
    const { server, store } = await openShop(inShop)
    server.serve(clusters, false)
    await store.start(signal)
    await settle()
    expect([store.serves(clusters), store.unavailable()]).toEqual([false, []])
  })
})
