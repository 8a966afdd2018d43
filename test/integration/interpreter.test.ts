/** Karmada's requests for dependencies against the HTTPS server, over real TLS: valid ones, invalid ones and too early ones. */
import { afterAll, beforeAll, beforeEach, describe, expect, test } from 'vitest'
import { services } from '../../src/api/dependencies.ts'
import { openFolderStore } from '../../src/store/folder/folder.ts'
import type { Interpreter } from '../../src/webhooks/interpreter.ts'
import { typeOf } from '../stores.ts'
import { type RunningServer, startServer } from './admission-server.ts'
import { type CallOptions, call } from './https-client.ts'

const PATH = '/interpret/dependencies'
/** Of the workloads of this test. */
const UID = 'f2f5b0a4-6a3d-4c0e-8a3b-0f6f8a0f2c11'
const deployments = typeOf('apps/v1', 'Deployment')

const store = openFolderStore({ kinds: [{ type: services, keep: (raw: never) => raw, indexes: {} }] })

/** Finds that a Deployment needs the Services of its namespace; one that is called broken meets a bug. */
const interpreter: Interpreter = {
  types: [deployments],
  isStored: ({ metadata: { uid } }) => uid === UID,
  interpret: ({ metadata: { name, namespace } }) => {
    if (name === 'broken') throw new Error('a bug')
    return [...store.list(services)]
      .filter(({ metadata }) => metadata.namespace === namespace)
      .map(({ apiVersion, kind, metadata }) => ({ apiVersion, kind, namespace: 'shop', name: metadata.name ?? '' }))
  },
}

let running: RunningServer

beforeEach(async () => {
  running = await startServer({ interpreter, store, limits: { bodyBytes: 4096 } })
})
afterAll(() => store.stop())

/** As karmada-controller-manager 1.18 sends it. */
function question(name = 'web', change: Record<string, unknown> = {}) {
  return {
    kind: 'ResourceInterpreterContext',
    apiVersion: 'config.karmada.io/v1alpha1',
    request: {
      uid: '0b6b2e8c-8a52-4a8e-9c3e-6a1c7e0d2f11',
      kind: { group: 'apps', version: 'v1', kind: 'Deployment' },
      name,
      namespace: 'shop',
      operation: 'InterpretDependency',
      object: { apiVersion: 'apps/v1', kind: 'Deployment', metadata: { name, namespace: 'shop', uid: UID }, spec: {} },
      replicas: 0,
      ...change,
    },
  }
}

function ask(body: unknown, options: Partial<CallOptions> = {}) {
  const text = typeof body === 'string' ? body : JSON.stringify(body)
  const { port, ca } = running
  return call({ port, ca, path: `${PATH}?timeout=3s`, body: text, ...options })
}

const { uid } = question().request

test('a request before the caches are read is HTTP 500: unknown is not "needs nothing"', async () => {
  const answer = await ask(question())

  expect(answer.status).toBe(500)
  expect(JSON.parse(answer.body).error.message).toContain('Service objects have not been read yet')
  await store.start(new AbortController().signal)
  expect((await ask(question())).status).toBe(200)
})

describe('once they are read', () => {
  beforeAll(async () => {
    await store.start(new AbortController().signal)
    await store.create(services, { apiVersion: 'v1', kind: 'Service', metadata: { name: 'web', namespace: 'shop' } })
  })

  test('a request is answered with the dependencies, under its own uid', async () => {
    const answer = await ask(question())

    expect(answer.status).toBe(200)
    expect(answer.headers['content-type']).toMatch(/^application\/json/)
    expect(JSON.parse(answer.body)).toEqual({
      apiVersion: 'config.karmada.io/v1alpha1',
      kind: 'ResourceInterpreterContext',
      response: {
        uid,
        successful: true,
        dependencies: [{ apiVersion: 'v1', kind: 'Service', namespace: 'shop', name: 'web' }],
      },
    })
  })

  test('a kind is known in every version', async () => {
    const object = { apiVersion: 'apps/v2', kind: 'Deployment', metadata: { name: 'web', namespace: 'shop', uid: UID } }

    const answer = await ask(question('web', { object }))

    expect(JSON.parse(answer.body).response).toMatchObject({ successful: true, dependencies: [{ name: 'web' }] })
  })

  test('it leaves one log line, and is counted beside the webhooks', async () => {
    await ask(question())

    expect(running.lines).toEqual([
      expect.objectContaining({
        level: 'info',
        msg: 'interpreted',
        webhook: 'dependencies',
        uid,
        object: 'apps/v1 Deployment shop/web',
        outcome: 'interpreted',
        dependencies: 1,
        ms: expect.any(Number),
      }),
    ])
    expect(await running.figure('controller_runtime_webhook_requests_total{webhook="dependencies",code="200"}')).toBe(1)
    expect(await running.figure('lodestone_decisions_total{webhook="dependencies",result="interpreted"}')).toBe(1)
    expect(await running.figure('controller_runtime_webhook_latency_seconds_count{webhook="dependencies"}')).toBe(1)
  })

  test.each([
    {
      name: 'another operation',
      body: question('web', { operation: 'InterpretReplica' }),
      want: 'lodestone: operation InterpretReplica is not supported; use InterpretDependency',
    },
    {
      name: 'a kind that it does not know',
      body: question('web', { object: { apiVersion: 'a.example.org/v1', kind: 'Thing', metadata: { name: 'web' } } }),
      want: 'lodestone: kind Thing of a.example.org/v1 is not supported',
    },
    {
      name: 'a kind of that name in another group',
      body: question('web', {
        object: { apiVersion: 'a.example.org/v1', kind: 'Deployment', metadata: { name: 'w' } },
      }),
      want: 'lodestone: kind Deployment of a.example.org/v1 is not supported',
    },
    {
      name: 'an object that is not in the cluster, or not the same one',
      body: question('web', {
        object: { apiVersion: 'apps/v1', kind: 'Deployment', metadata: { name: 'web', namespace: 'shop', uid: 'x' } },
      }),
      want: 'lodestone: Deployment shop/web with this uid is not cached; retry',
    },
  ])('$name is answered without success, and why', async ({ body, want }) => {
    const answer = await ask(body)

    expect(answer.status).toBe(200)
    expect(JSON.parse(answer.body).response).toEqual({ uid, successful: false, status: { message: want, code: 400 } })
    expect(running.lines).toEqual([expect.objectContaining({ uid, outcome: 'refused', reason: want })])
  })

  test('a fault of ours is HTTP 500, never an answer', async () => {
    const answer = await ask(question('broken'))

    expect(answer.status).toBe(500)
    expect(answer.body).not.toContain('successful')
    expect(running.lines).toEqual([expect.objectContaining({ level: 'error', uid, msg: 'interpretation failed' })])
    expect(await running.figure('controller_runtime_webhook_panics_total{webhook="dependencies"}')).toBe(1)
  })

  test.each<{ name: string; body: unknown; options?: Partial<CallOptions>; status: number; want: string }>([
    { name: 'no JSON', body: '{"kind":', status: 400, want: 'not JSON' },
    { name: 'an empty body', body: '', status: 400, want: 'POST a ResourceInterpreterContext' },
    {
      name: 'a request without a uid',
      body: question('web', { uid: '' }),
      status: 400,
      want: 'request.uid: must not',
    },
    {
      name: 'an object that is none',
      body: question('web', { object: null }),
      status: 400,
      want: 'request.object: must be of type object',
    },
    { name: 'an AdmissionReview', body: { kind: 'AdmissionReview' }, status: 400, want: 'ResourceInterpreterContext' },
    {
      name: 'a GET',
      body: '',
      options: { method: 'GET' },
      status: 405,
      want: 'use POST with a ResourceInterpreterContext',
    },
    { name: 'a body over the limit', body: ' '.repeat(5000), status: 413, want: 'larger than 4096 bytes' },
    { name: 'another type', body: '', options: { contentType: 'text/plain' }, status: 415, want: 'application/json' },
    { name: 'another question', body: question(), options: { path: '/interpret/x' }, status: 404, want: PATH },
  ])('$name is a clear $status', async ({ body, options, status, want }) => {
    const answer = await ask(body, options)

    expect(answer.status).toBe(status)
    expect(JSON.parse(answer.body)).toEqual({ error: { status, message: expect.stringContaining(want) } })
    expect(running.lines).toHaveLength(1)
    expect((await ask(question())).status).toBe(200)
  })
})
