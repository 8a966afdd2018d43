import { describe, expect, test } from 'vitest'
import type { WebhookEntry } from '../../api/registration.ts'
import { completeConfig } from '../../app/config/config.ts'
import { wantedRegistration } from '../../app/registration.ts'
import { changedFields, missingRules } from './registration.ts'

const wanted = wantedRegistration(completeConfig({}, 'test')).flatMap(({ webhooks = [] }) => webhooks)
const name = 'resource-binding.lodestone.dev'
const changed = (change: (webhook: WebhookEntry) => Partial<WebhookEntry>) =>
  wanted.map((webhook) => (webhook.name === name ? { ...webhook, ...change(webhook) } : webhook))

test('the registration of this version has no difference', () => {
  expect([...missingRules(wanted, wanted), ...changedFields(wanted, wanted)]).toEqual([])
})

describe('a difference is named with its webhook:', () => {
  test('a missing operation', () => {
    const stored = changed(({ rules }) => ({ rules: rules.map((rule) => ({ ...rule, operations: ['CREATE'] })) }))
    expect(missingRules(wanted, stored)).toEqual([
      `${name} does not receive UPDATE of resourcebindings.work.karmada.io`,
    ])
  })

  test('a failure policy, and namespaces', () => {
    const stored = changed(() => ({ failurePolicy: 'Fail', namespaceSelector: { matchLabels: { none: 'none' } } }))
    expect(missingRules(wanted, stored)).toEqual([])
    expect(changedFields(wanted, stored)).toEqual([
      `failurePolicy of ${name} is Fail`,
      `namespaceSelector of ${name} differs`,
    ])
  })
})

test('namespace requirements that a platform adds to the webhooks are no difference', () => {
  const added = { key: 'control-plane', operator: 'DoesNotExist' as const }
  const stored = wanted.map((webhook) => ({
    ...webhook,
    namespaceSelector: {
      ...webhook.namespaceSelector,
      matchExpressions: [...(webhook.namespaceSelector?.matchExpressions ?? []), added],
    },
  }))
  expect(changedFields(wanted, stored)).toEqual([])
})
