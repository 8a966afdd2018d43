/** The HTTPS server against good, bad and hostile input, over real TLS. */
import { connect } from 'node:tls'
import { beforeEach, describe, expect, test } from 'vitest'
import { resourceBindings } from '../../src/api/karmada.ts'
import { SHIPPED_KINDS } from '../../src/core/workload-kinds/kinds.ts'
import { openFolderStore } from '../../src/store/folder/folder.ts'
import { cachedKinds } from '../../src/store/kinds/cached-kinds.ts'
import { defineWebhook } from '../../src/webhooks/define.ts'
import { allWebhooks } from '../../src/webhooks/index.ts'
import { REVIEW_PATH as PATH, type RunningServer, review, startServer } from './admission-server.ts'
import { type CallOptions, call, raw } from './https-client.ts'

const uid = JSON.parse(review).request.uid

/** Stands for a decision with a bug: what it throws must never become an answer. */
const broken = defineWebhook({
  name: 'broken',
  type: 'mutating',
  resources: [resourceBindings],
  operations: ['CREATE'],
  failurePolicy: 'Ignore',
  gather: () => undefined,
  decide: () => {
    throw new Error('a bug')
  },
})

const limits = { requestTimeoutMs: 400, headersTimeoutMs: 300, connectionCheckMs: 50, inFlight: 4 }
let running: RunningServer

beforeEach(async () => {
  running = await startServer({ limits, webhooks: [...allWebhooks(SHIPPED_KINDS), broken] })
})

function post(options: Partial<CallOptions>) {
  const { port, ca } = running
  return call({ port, ca, path: PATH, body: review, ...options })
}

async function stillWorks() {
  const answer = await post({})
  expect(answer.status).toBe(200)
}

test('a binding is answered with the patch that pins it to its data', async () => {
  const answer = await post({ path: `${PATH}?timeout=3s` })

  const { apiVersion, kind, response } = JSON.parse(answer.body)
  expect(answer.status).toBe(200)
  expect({ apiVersion, kind, uid: response.uid, allowed: response.allowed, patchType: response.patchType }).toEqual({
    apiVersion: 'admission.k8s.io/v1',
    kind: 'AdmissionReview',
    uid,
    allowed: true,
    patchType: 'JSONPatch',
  })
  expect(JSON.parse(Buffer.from(response.patch, 'base64').toString())).toContainEqual({
    op: 'replace',
    path: '/spec/placement/clusterAffinity/clusterNames',
    value: ['member2'],
  })
})

test('each request leaves one log line with uid, object, outcome and duration', async () => {
  await post({})

  expect(running.lines).toHaveLength(1)
  expect(running.lines[0]).toMatchObject({
    msg: 'reviewed',
    uid,
    object: 'ResourceBinding demo/trainer-deployment',
    outcome: 'patched',
    decision: 'Narrowed',
    ms: expect.any(Number),
  })
})

describe('a webhook of another version', () => {
  test.each(['/mutate/of-a-later-version', '/validate/of-an-earlier/version?timeout=3s', '/mutate/'])(
    'at %s allows the object, with a warning',
    async (path) => {
      const answer = await post({ path })

      const { uid: answered, allowed, patch, warnings } = JSON.parse(answer.body).response
      expect({ status: answer.status, answered, allowed, patch }).toEqual({ status: 200, answered: uid, allowed: true })
      expect(warnings).toEqual([expect.stringContaining(`not reviewed: ${path.split('?')[0]} is no webhook`)])
      expect(running.lines).toEqual([
        expect.objectContaining({ msg: 'not reviewed', webhook: 'unknown-path', uid, reason: expect.any(String) }),
      ])
    },
  )

  test('is counted under one name, whatever its path', async () => {
    for (const name of ['a', 'b']) await post({ path: `/validate/${name}` })
    const sample = 'controller_runtime_webhook_requests_total{webhook="unknown-path",code="200"}'
    expect(await running.figure(sample)).toBe(2)
  })

  test('gets no answer to something that is no review', async () => {
    expect((await post({ path: '/mutate/later', body: '{}' })).status).toBe(400)
    expect((await post({ path: '/mutate/later', method: 'GET', body: '' })).status).toBe(405)
  })
})

const changed = (change: (review: { [key: string]: never } & { request: Record<string, unknown> }) => void) => {
  const copy = JSON.parse(review)
  change(copy)
  return JSON.stringify(copy)
}

describe('bad input gets a 4xx with a JSON body and one log line, and harms no request', () => {
  test.each([
    { name: 'no JSON', options: { body: '{"apiVersion":' }, wantStatus: 400, wantMessage: 'not JSON' },
    { name: 'an empty body', options: { body: '' }, wantStatus: 400, wantMessage: 'empty' },
    { name: 'JSON that is no review', options: { body: '[1,2]' }, wantStatus: 400, wantMessage: 'AdmissionReview' },
    {
      name: 'a review of another version',
      options: { body: review.replace('admission.k8s.io/v1"', 'admission.k8s.io/v1beta1"') },
      wantStatus: 400,
      wantMessage: 'apiVersion: must be "admission.k8s.io/v1"',
    },
    {
      name: 'a review without a uid',
      options: { body: changed(({ request }) => delete request['uid']) },
      wantStatus: 400,
      wantMessage: 'request.uid: is required',
    },
    {
      name: 'a review of another kind',
      options: { path: '/validate/data-source' },
      wantStatus: 400,
      wantMessage: 'reviews DataSource of datadependency.volcano.sh/v1alpha1, not ResourceBinding',
      wantUid: true,
    },
    {
      name: 'a body over 7 MiB',
      options: { body: Buffer.alloc(7 * 1024 * 1024 + 1, ' ') },
      wantStatus: 413,
      wantMessage: 'larger than',
    },
    {
      name: 'a GET',
      options: { method: 'GET', body: '' },
      wantStatus: 405,
      wantMessage: 'use POST with an AdmissionReview',
    },
    { name: 'a PUT', options: { method: 'PUT' }, wantStatus: 405, wantMessage: 'use POST with an AdmissionReview' },
    {
      name: 'an unknown path',
      options: { path: '/nothing' },
      wantStatus: 404,
      wantMessage: '/mutate/resource-binding',
    },
    {
      name: 'another content type',
      options: { contentType: 'text/plain' },
      wantStatus: 415,
      wantMessage: 'application/json',
    },
  ] as { name: string; options: Partial<CallOptions>; wantStatus: number; wantMessage: string; wantUid?: boolean }[])(
    '$name',
    async ({ options, wantStatus, wantMessage, wantUid }) => {
      const answer = await post(options)

      expect(answer.status).toBe(wantStatus)
      expect(answer.headers['content-type']).toMatch(/^application\/json/)
      expect(JSON.parse(answer.body)).toEqual({
        error: { status: wantStatus, message: expect.stringContaining(wantMessage) },
      })
      expect(answer.headers['retry-after']).toBeUndefined()
      expect(running.lines).toHaveLength(1)
      expect(running.lines[0]).toMatchObject(wantUid ? { uid } : {})
      await stillWorks()
    },
  )

  test('a body that ends early', async () => {
    const text = await raw({
      ...running,
      bytes: `POST ${PATH} HTTP/1.1\r\nHost: x\r\nContent-Type: application/json\r\nContent-Length: 1000\r\n\r\n{"a":`,
      end: true,
    })

    expect(text).not.toContain('200 OK')
    await stillWorks()
  })

  test('a body that arrives too slowly is aborted', async () => {
    const text = await raw({
      ...running,
      bytes: `POST ${PATH} HTTP/1.1\r\nHost: x\r\nContent-Type: application/json\r\nContent-Length: 1000\r\n\r\n{"a":`,
    })

    expect(text).toContain('408 Request Timeout')
    expect(text).toContain('took too long')
    await stillWorks()
  })

  test.each([
    { name: 'an expectation that cannot be met', header: 'Host: x\r\nExpect: the-impossible', want: 417 },
    { name: 'a request without Host', header: 'X-Header: x', want: 400 },
  ])('$name is answered in JSON', async ({ header, want }) => {
    const bytes = `POST ${PATH} HTTP/1.1\r\n${header}\r\nContent-Type: application/json\r\nContent-Length: 1\r\n\r\n{`
    const text = await raw({ ...running, bytes, end: true })

    const [head = '', body = ''] = text.split('\r\n\r\n')
    expect(head).toContain(`HTTP/1.1 ${want} `)
    expect(head.toLowerCase()).toContain('content-type: application/json')
    expect(JSON.parse(body)).toMatchObject({ error: { status: want } })
    await stillWorks()
  })

  test('bytes that are no HTTP', async () => {
    const text = await raw({ ...running, bytes: 'HELLO\r\n\r\n' })

    expect(text).toContain('400 Bad Request')
    await stillWorks()
  })
})

test('a legal data key named __proto__ passes through unharmed', async () => {
  const body = review.replace('"annotations": {', '"annotations": { "__proto__": "x",')

  const answer = await post({ body })

  expect(answer.status).toBe(200)
  const { patch } = JSON.parse(answer.body).response
  expect(Buffer.from(patch, 'base64').toString()).not.toContain('__proto__')
})

test('a fault of ours is HTTP 500 for failurePolicy, and never a wrong "allowed"', async () => {
  const answer = await post({ path: '/mutate/broken' })

  expect(answer.status).toBe(500)
  expect(answer.body).not.toContain('allowed')
  expect(running.lines).toEqual([expect.objectContaining({ level: 'error', uid, msg: 'review failed' })])
  await stillWorks()
})

test('a review before the caches are read is HTTP 500: unknown is not empty', async () => {
  const { port, ca } = await startServer({ store: openFolderStore({ kinds: cachedKinds }) })
  const answer = await post({ port, ca })

  expect(answer.status).toBe(500)
  expect(JSON.parse(answer.body).error.message).toContain('have not been read yet')
})

test('a request in flight when the server closes is answered, and its connection ends', async () => {
  const { server, port, ca, figure } = running
  const head = `POST ${PATH} HTTP/1.1\r\nHost: x\r\nContent-Type: application/json\r\nContent-Length: ${Buffer.byteLength(review)}\r\n\r\n`
  let text = ''
  const socket = connect({ host: '127.0.0.1', port, ca, servername: 'localhost' })
  const ended = new Promise<void>((resolve, reject) => {
    socket.on('data', (chunk) => {
      text += chunk
    })
    socket.once('close', () => resolve())
    socket.once('error', reject)
  })
  socket.write(head + review.slice(0, -1))
  await expect.poll(() => figure('lodestone_bytes_in_flight')).toBeGreaterThan(0)

  const closed = server.close(10_000)
  await expect.poll(() => server.fastify.server.listening).toBe(false)
  socket.write(review.slice(-1))

  await Promise.all([ended, closed])
  expect(text).toMatch(/^HTTP\/1\.1 200 OK/)
  expect(text.toLowerCase()).toContain('connection: close')
})
