import { expect, test } from 'vitest'
import { clusterResourceBindings } from '../../api/karmada.ts'
import { PROBE_REASON } from '../../core/admission/webhook-probe.ts'
import { connectToFake } from './api-connection.fake.ts'
import { type Answer, hang, json, pageNotFound, reset, status } from './api-responses.fake.ts'
import { openWebhookProbe } from './webhook-probe.ts'

test.each<{ name: string; answer: Answer; want: object }>([
  { name: 'rejected by our webhook', answer: status(422, PROBE_REASON), want: { result: 'seen' } },
  {
    name: 'accepted, since no webhook was called',
    answer: json(201, {}),
    want: { result: 'unseen', reason: 'the API server did not call the webhook of bindings' },
  },
  { name: 'rejected by another webhook', answer: status(422, 'Invalid'), want: { result: 'unseen' } },
  { name: 'not answered by our server', answer: status(500, 'InternalError'), want: { result: 'unseen' } },
  {
    name: 'forbidden by the roles',
    answer: status(403, 'Forbidden'),
    want: { result: 'unseen', reason: expect.stringContaining('lodestone manifests rbac') },
  },
  { name: 'cut off', answer: reset, want: { result: 'unseen' } },
  { name: 'for a kind that is not served', answer: pageNotFound, want: { result: 'notNeeded' } },
])('a probe that is $name is $want.result', async ({ answer, want }) => {
  const { server, connection } = await connectToFake([clusterResourceBindings])
  server.misbehave(() => true, answer)

  expect(await openWebhookProbe(connection)(new AbortController().signal)).toMatchObject(want)

  const [request] = server.requests
  expect([request?.method, request?.query.get('dryRun')]).toEqual(['POST', 'All'])
})

test('a probe ends with its signal', async () => {
  const { server, connection } = await connectToFake([clusterResourceBindings])
  server.misbehave(() => true, hang)
  const answer = await openWebhookProbe(connection)(AbortSignal.timeout(20))
  expect(answer).toMatchObject({ result: 'unseen' })
})
