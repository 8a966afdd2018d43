import { readFileSync } from 'node:fs'
import { describe, expect, test } from 'vitest'
import { makeClaim } from '../../test/builders.ts'
import { storeOf } from '../../test/stores.ts'
import type { AdmissionRequest } from '../api/admission.ts'
import { SHIPPED_KINDS } from '../core/workload-kinds/kinds.ts'
import { recordLog } from '../telemetry/logger.fake.ts'
import { openMetrics } from '../telemetry/metrics.ts'
import type { Webhook } from '../webhooks/define.ts'
import { allWebhooks } from '../webhooks/index.ts'
import { admissionSettings } from './admission.fake.ts'
import { serveWebhook } from './admission.ts'

const webhooks = allWebhooks(SHIPPED_KINDS)

const recorded = (name: string): { request: AdmissionRequest } =>
  JSON.parse(readFileSync(`test/data/reviews/${name}.json`, 'utf8'))
const POD = '038-Pod-CREATE-trainer'
const BINDING = '007-ResourceBinding-UPDATE-app-deployment'

async function open(webhook: Webhook) {
  const { log, lines } = recordLog()
  const metrics = openMetrics()
  const store = await storeOf()
  const serve = serveWebhook(webhook, {
    ...admissionSettings,
    store,
    log,
    metrics,
    now: Date.now,
  })
  return { serve, lines, metrics }
}

function webhookOf(name: string): Webhook {
  const found = webhooks.find((webhook) => webhook.name === name)
  if (!found) throw new Error(`no webhook ${name}`)
  return found
}

test('an object that is nested too deep to compare gets HTTP 400, and is no fault', async () => {
  const { serve, metrics } = await open(webhookOf('data-source-claim'))
  const deep = `${'{"a":'.repeat(100_000)}1${'}'.repeat(100_000)}`
  const claim = makeClaim({ attributes: 'deep' } as never)
  const request = {
    uid: 'u1',
    kind: { group: 'datadependency.volcano.sh', version: 'v1alpha1', kind: 'DataSourceClaim' },
    resource: { group: 'datadependency.volcano.sh', version: 'v1alpha1', resource: 'datasourceclaims' },
    operation: 'UPDATE',
    name: claim.metadata.name,
    namespace: claim.metadata.namespace,
    object: claim,
    oldObject: claim,
  }
  const review = { apiVersion: 'admission.k8s.io/v1', kind: 'AdmissionReview', request }

  const answer = serve(JSON.stringify(review).replaceAll('"deep"', deep))

  expect(answer).toMatchObject({ status: 400, body: expect.stringContaining('nested more than 1000 levels') })
  expect((await metrics.faults.get()).values).toEqual([])
})

describe('a malformed review gets HTTP 400 with the field, at every path that is read', () => {
  test.each<{ name: string; webhook: string; review: string; change: (request: never) => void; want: string }>([
    {
      name: 'a name that is not a string',
      webhook: 'pod',
      review: POD,
      change: ({ object }: { object: { metadata: { name: unknown } } }) => {
        object.metadata.name = { toString: 1 }
      },
      want: 'request.object.metadata.name: must be of type string',
    },
    {
      name: 'a generateName that is not a string',
      webhook: 'pod',
      review: POD,
      change: ({ object }: { object: { metadata: Record<string, unknown> } }) => {
        object.metadata['generateName'] = [{ toString: 1 }]
      },
      want: 'request.object.metadata.generateName: must be of type string',
    },
    {
      name: 'a namespace that is not a string',
      webhook: 'pod',
      review: POD,
      change: (request: { namespace: unknown }) => {
        request.namespace = { valueOf: 1 }
      },
      want: 'request.namespace: must be of type string',
    },
    {
      name: 'a label that is not a string',
      webhook: 'pod',
      review: POD,
      change: ({ object }: { object: { metadata: Record<string, unknown> } }) => {
        object.metadata['labels'] = { app: 1 }
      },
      want: 'request.object.metadata.labels.app: must be of type string',
    },
    {
      name: 'an object without metadata',
      webhook: 'resource-binding',
      review: BINDING,
      change: (request: { object: Record<string, unknown> }) => {
        delete request.object['metadata']
      },
      want: 'request.object.metadata: is required',
    },
    {
      name: 'a stored object without metadata',
      webhook: 'resource-binding',
      review: BINDING,
      change: (request: { oldObject: Record<string, unknown> }) => {
        delete request.oldObject['metadata']
      },
      want: 'request.oldObject.metadata: is required',
    },
    {
      name: 'a stored object with another type instead of a list',
      webhook: 'resource-binding',
      review: BINDING,
      change: (request: { oldObject: { spec: Record<string, unknown> } }) => {
        request.oldObject.spec['clusters'] = 'member1'
      },
      want: 'request.oldObject is malformed: spec.clusters: must be of type array',
    },
  ])('$name', async ({ webhook, review, change, want }) => {
    const { serve, lines } = await open(webhookOf(webhook))
    const body = recorded(review)
    change(body.request as never)

    const { status, body: answer } = serve(JSON.stringify(body))

    expect(status).toBe(400)
    expect(JSON.parse(answer).error.message).toContain(want)
    expect(lines).toEqual([expect.objectContaining({ level: 'warn', uid: body.request.uid, status: 400 })])
  })
})

test('a fault while the log line is built is an HTTP 500 for that request, and counted', async () => {
  const { serve, metrics } = await open({
    ...webhookOf('pod'),
    review: () => ({
      kind: 'allow',
      auditAnnotations: {
        get reason(): string {
          throw new Error('a bug')
        },
        decision: 'Injected',
      },
    }),
  })

  const { status } = serve(JSON.stringify(recorded(POD)))

  expect(status).toBe(500)
  expect(await metrics.registry.metrics()).toContain('controller_runtime_webhook_panics_total{webhook="pod"} 1')
})

test('the trace of kube-apiserver is in the log lines of answered and refused reviews', async () => {
  const { serve, lines } = await open(webhookOf('resource-binding'))
  const trace = '00-0af7651916cd43dd8448eb211c80319c-b7ad6b7169203331-01'

  serve(JSON.stringify(recorded(BINDING)), trace)
  serve('{', trace)
  serve(JSON.stringify(recorded(BINDING)))

  expect(lines.map(({ msg, traceparent }) => [msg, traceparent])).toEqual([
    ['reviewed', trace],
    ['review refused', trace],
    ['reviewed', undefined],
  ])
})

describe('the binding of a pod to a node, whose object is no Pod', () => {
  const bindingReview = (annotations: Record<string, string>) =>
    JSON.stringify({
      apiVersion: 'admission.k8s.io/v1',
      kind: 'AdmissionReview',
      request: {
        uid: 'u1',
        operation: 'CREATE',
        subResource: 'binding',
        name: 'plain',
        namespace: 'shop',
        kind: { group: '', version: 'v1', kind: 'Binding' },
        resource: { group: '', version: 'v1', resource: 'pods' },
        object: { apiVersion: 'v1', kind: 'Binding', metadata: { name: 'plain', namespace: 'shop', annotations } },
      },
    })

  test.each([
    { name: 'with the task of a mover is rejected', annotations: { 'lodestone.dev/mover-task': '{}' }, allowed: false },
    { name: 'is allowed', annotations: { other: 'x' }, allowed: true },
  ])('$name', async ({ annotations, allowed }) => {
    const { serve } = await open(webhookOf('mover-pod'))
    expect(JSON.parse(serve(bindingReview(annotations)).body).response).toMatchObject({ allowed })
  })

  test('is not reviewed by webhooks without that subresource', async () => {
    const { serve } = await open(webhookOf('pod'))
    expect(serve(bindingReview({}))).toMatchObject({ status: 400 })
  })
})
