import { describe, expect, test } from 'vitest'
import { makeWebhook } from '../../test/builders.ts'
import { mutatingWebhookConfigurations, type WebhookConfiguration, type WebhookEntry } from '../api/registration.ts'
import { planRegistration, planWithdrawal } from './plan-registration.ts'

const type = mutatingWebhookConfigurations

function makeEntry(overrides: Partial<WebhookEntry> = {}): WebhookEntry {
  return {
    ...makeWebhook({ url: 'https://10.0.0.7/mutate/resource-binding', caBundle: 'bmV3' }),
    rules: [
      {
        apiGroups: ['work.karmada.io'],
        apiVersions: ['v1alpha2'],
        resources: ['resourcebindings'],
        operations: ['CREATE', 'UPDATE'],
        scope: 'Namespaced',
      },
    ],
    ...overrides,
  }
}

function makeConfiguration(...webhooks: WebhookEntry[]): WebhookConfiguration {
  return {
    apiVersion: 'admissionregistration.k8s.io/v1',
    kind: type.kind,
    metadata: { name: 'lodestone' },
    webhooks: webhooks.length === 0 ? [makeEntry()] : webhooks,
  }
}

/** The configuration in a cluster: with a resourceVersion, and with fields of the API server and of users. */
function stored(configuration: WebhookConfiguration): WebhookConfiguration {
  return {
    ...configuration,
    metadata: { ...configuration.metadata, resourceVersion: '7', labels: { team: 'platform' } },
    webhooks: (configuration.webhooks ?? []).map((entry) => ({ ...entry, objectSelector: {} })),
  }
}

test('a missing configuration is created', () => {
  const wanted = makeConfiguration()

  expect(planRegistration([{ type, wanted, current: undefined }])).toEqual([{ kind: 'create', type, object: wanted }])
})

describe('a correct configuration is not changed', () => {
  test.each([
    { name: 'equal', current: makeConfiguration() },
    { name: 'with fields that the API server defaults', current: stored(makeConfiguration()) },
  ])('$name', ({ current }) => {
    expect(planRegistration([{ type, wanted: makeConfiguration(), current }])).toEqual([])
  })

  test('with a caBundle of another controller, if we have none', () => {
    const wanted = makeConfiguration(makeEntry({ clientConfig: { url: 'https://10.0.0.7' } }))
    const current = makeConfiguration(makeEntry({ clientConfig: { url: 'https://10.0.0.7', caBundle: 'dGhlaXJz' } }))

    expect(planRegistration([{ type, wanted, current }])).toEqual([])
  })
})

describe('a configuration that differs is repaired', () => {
  const [rule] = makeEntry().rules
  test.each([
    { name: 'another CA', entry: makeEntry({ clientConfig: { ...makeEntry().clientConfig, caBundle: 'b2xk' } }) },
    { name: 'another failurePolicy', entry: makeEntry({ failurePolicy: 'Fail' }) },
    { name: 'a missing rule', entry: makeEntry({ rules: [] }) },
    { name: 'an additional rule', entry: makeEntry({ rules: rule ? [rule, rule] : [] }) },
    { name: 'an entry with another name', entry: makeEntry({ name: 'old.lodestone.dev' }) },
  ])('$name', ({ entry }) => {
    const wanted = makeConfiguration()

    const actions = planRegistration([{ type, wanted, current: stored(makeConfiguration(entry)) }])

    expect(actions).toMatchObject([{ kind: 'update', type, object: { webhooks: wanted.webhooks } }])
  })

  test.each([
    { name: 'an additional entry', current: makeConfiguration(makeEntry(), makeEntry({ name: 'old.lodestone.dev' })) },
    { name: 'no entries', current: { ...makeConfiguration(), webhooks: [] } },
  ])('$name', ({ current }) => {
    const actions = planRegistration([{ type, wanted: makeConfiguration(), current }])

    expect(actions).toMatchObject([{ kind: 'update', object: { webhooks: [makeEntry()] } }])
  })

  test('by a write with the resourceVersion, which keeps the fields of other writers', () => {
    const current = stored(makeConfiguration(makeEntry({ timeoutSeconds: 30 })))

    const actions = planRegistration([{ type, wanted: makeConfiguration(), current }])

    expect(actions[0]?.object.metadata).toEqual(current.metadata)
  })

  test('and a caBundle of another controller stays in its entry', () => {
    const withoutCa = (name: string) => makeEntry({ name, clientConfig: { url: 'https://10.0.0.7' } })
    const wanted = makeConfiguration(withoutCa('a.lodestone.dev'), withoutCa('b.lodestone.dev'))
    const current = makeConfiguration(
      makeEntry({ name: 'b.lodestone.dev', clientConfig: { url: 'https://old', caBundle: 'dGhlaXJz' } }),
    )

    const actions = planRegistration([{ type, wanted, current }])

    const written = actions[0]?.object as WebhookConfiguration | undefined
    expect(written?.webhooks?.map(({ clientConfig }) => clientConfig)).toEqual([
      { url: 'https://10.0.0.7' },
      { url: 'https://10.0.0.7', caBundle: 'dGhlaXJz' },
    ])
  })

  test('only the incorrect one is written', () => {
    const wanted = makeConfiguration()

    const actions = planRegistration([
      { type, wanted, current: stored(wanted) },
      { type, wanted, current: stored(makeConfiguration(makeEntry({ timeoutSeconds: 30 }))) },
    ])

    expect(actions).toHaveLength(1)
  })

  test('once: after the write, the next plan is empty', () => {
    const wanted = makeConfiguration()
    const current = stored(makeConfiguration(makeEntry({ failurePolicy: 'Fail' })))
    const actions = planRegistration([{ type, wanted, current }])

    const again = planRegistration([{ type, wanted, current: actions[0]?.object as WebhookConfiguration }])

    expect(again).toEqual([])
  })
})

describe('a configuration that is no longer wanted', () => {
  const ours = {
    ...makeConfiguration().metadata,
    resourceVersion: '7',
    labels: { 'app.kubernetes.io/name': 'lodestone' },
  }

  test('is emptied once, with the resourceVersion that was read', () => {
    const current = { ...makeConfiguration(), metadata: ours }

    const emptied = { ...current, webhooks: [] }
    expect(planWithdrawal(type, current)).toEqual([{ kind: 'update', type, object: emptied }])
    expect(planWithdrawal(type, emptied)).toEqual([])
  })

  test.each([
    { name: 'it does not exist', current: undefined },
    { name: 'it has our name but not our labels', current: stored(makeConfiguration()) },
    {
      name: 'it has the labels of another program',
      current: { ...makeConfiguration(), metadata: { ...ours, labels: { 'app.kubernetes.io/name': 'other' } } },
    },
  ])('is not changed if $name', ({ current }) => {
    expect(planWithdrawal(type, current)).toEqual([])
  })
})
