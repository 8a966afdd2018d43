import { describe, expect, test } from 'vitest'
import { resourceBindings } from '../../api/karmada.ts'
import { until } from '../../base/time/clock.fake.ts'
import { isListRequest, isWatchRequest, json, statusObject } from '../cluster/api-responses.fake.ts'
import { openStage, pass, type Stage } from '../cluster/watch/reflector.fake.ts'
import { bindingKind, buildBinding } from '../objects.fake.ts'

const kinds = [{ ...bindingKind, keep: (raw: unknown) => raw as never, indexes: {}, metadataOnly: true as const }]

const held = ({ store }: Stage, name: string) => store.get(resourceBindings, 'shop', name)

describe('a metadata-only kind', () => {
  test('is requested without content, in every page of the list and in the watch', async () => {
    const stage = await openStage({ kinds, pageSize: 1 })
    for (const name of ['a', 'b']) stage.server.put(resourceBindings, buildBinding(name))
    await stage.start()

    const accepts = stage.server.requests.map(({ query, headers }) => [query.has('watch'), headers.accept])
    const list = 'application/json;as=PartialObjectMetadataList;g=meta.k8s.io;v=v1,application/json'
    const watch = 'application/json;as=PartialObjectMetadata;g=meta.k8s.io;v=v1,application/json'
    expect(accepts).toEqual([
      [false, list],
      [false, list],
      [true, watch],
    ])
  })

  test('other kinds are requested with their content', async () => {
    const stage = await openStage()
    await stage.start()

    for (const { headers } of stage.server.requests) expect(headers.accept).toBe('application/json')
  })

  test('is cached with its kind and all of its metadata', async () => {
    const stage = await openStage({ kinds })
    stage.server.put(resourceBindings, buildBinding('listed'))
    await stage.start()
    const { metadata } = stage.server.put(resourceBindings, buildBinding('watched'))
    await until(() => held(stage, 'watched') !== undefined)

    const { apiVersion, kind } = buildBinding('watched')
    expect(held(stage, 'watched')).toEqual({ apiVersion, kind, metadata })
    expect(held(stage, 'listed')).toMatchObject({ apiVersion, kind, metadata: { annotations: { note: 'not kept' } } })
  })

  test('is reduced to metadata when the server sends whole objects', async () => {
    const stage = await openStage({ kinds })
    const whole = (name: string) => ({
      ...buildBinding(name),
      metadata: { name, namespace: 'shop', resourceVersion: '7' },
    })
    const answer = json(200, { metadata: { resourceVersion: '7' }, items: [whole('a')] })
    stage.server.misbehave(isListRequest(resourceBindings), answer)
    stage.server.misbehave(isWatchRequest(resourceBindings), (response) => {
      response.writeHead(200, { 'content-type': 'application/json' })
      response.write(`${JSON.stringify({ type: 'ADDED', object: whole('b') })}\n`)
    })
    await stage.store.start(new AbortController().signal)
    await until(() => stage.names().length === 2)

    for (const name of ['a', 'b']) expect(held(stage, name)).not.toHaveProperty('spec')
  })

  test('continues after a bookmark, and lists again when its position expired', async () => {
    const stage = await openStage({ kinds })
    await stage.start()
    const isAt = (version: string) => (request: { query: URLSearchParams }) =>
      request.query.get('resourceVersion') === version
    const metadata = { resourceVersion: '4711', creationTimestamp: null }
    stage.server.watches(resourceBindings)[0]?.send('BOOKMARK', { ...buildBinding('x'), metadata })
    stage.clock.advance(20_000)
    stage.server.watches(resourceBindings)[0]?.end()
    await until(() => stage.server.watchRequests(resourceBindings).some(isAt('4711')))
    await until(() => stage.server.watches(resourceBindings).length === 1)
    expect(stage.changes).toEqual([])

    stage.server.objects.put(resourceBindings, buildBinding('a'))
    stage.server.watches(resourceBindings)[0]?.send('ERROR', statusObject(410, 'Expired'))
    await pass(stage.clock, () => stage.names().length === 1)
    expect(stage.heard).toContain('watch expired')
    expect(stage.server.lists(resourceBindings)).toHaveLength(2)
  })
})
