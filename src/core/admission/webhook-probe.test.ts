import { expect, test } from 'vitest'
import { makeBinding } from '../../../test/builders.ts'
import { encodeResponse } from './review.ts'
import { answerProbe, PROBE_REASON, probeBinding } from './webhook-probe.ts'

test('the webhook rejects the probe with a reason that no other rejection has', () => {
  const outcome = answerProbe(probeBinding())
  const response = encodeResponse({ uid: 'u', object: probeBinding() } as never, outcome ?? { kind: 'allow' }, btoa)
  expect(response).toMatchObject({ allowed: false, status: { reason: PROBE_REASON } })
})

test.each([
  { name: 'a binding of Karmada', binding: makeBinding() },
  {
    name: 'a namespaced binding of the same name',
    binding: makeBinding({}, { name: probeBinding().metadata.name ?? '' }),
  },
])('$name is no probe', ({ binding }) => {
  expect(answerProbe(binding)).toBeUndefined()
})
