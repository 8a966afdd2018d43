/** Tests that requirements of a managed platform in namespace selectors stay, and that those of Lodestone are repaired. */
import { describe, expect, test } from 'vitest'
import type { LabelSelectorRequirement } from '../api/meta.ts'
import { mutatingWebhookConfigurations, type Registrable, type WebhookConfiguration } from '../api/registration.ts'
import { defined } from '../base/json.ts'
import { isCurrent, planRegistration } from './plan-registration.ts'

const type = mutatingWebhookConfigurations
const NAMES = { key: 'kubernetes.io/metadata.name', operator: 'NotIn', values: ['kube-system', 'lodestone-system'] }
const ENFORCED = { key: 'lodestone.dev/enforce', operator: 'In', values: ['true'] }

/** What the admissions enforcer of AKS adds to each webhook. */
const AKS = [
  { key: 'control-plane', operator: 'NotIn', values: ['true'] },
  { key: 'kubernetes.azure.com/managedby', operator: 'NotIn', values: ['aks'] },
]
/** What GKE Autopilot adds. */
const GKE = [{ key: NAMES.key, operator: 'NotIn', values: ['kube-system', 'gke-gmp-system', 'gke-managed-cim'] }]

function makeConfiguration(matchExpressions: LabelSelectorRequirement[], more: object = {}): WebhookConfiguration {
  const entry = defined({
    name: 'pod.lodestone.dev',
    clientConfig: { url: 'https://10.0.0.7/mutate/pod', caBundle: 'bmV3' },
    rules: [],
    failurePolicy: 'Ignore' as const,
    matchPolicy: 'Equivalent' as const,
    sideEffects: 'None' as const,
    timeoutSeconds: 3,
    admissionReviewVersions: ['v1'] as ['v1'],
    namespaceSelector: { matchExpressions },
    ...more,
  })
  const metadata = { name: 'lodestone', resourceVersion: '7' }
  return { apiVersion: 'admissionregistration.k8s.io/v1', kind: type.kind, metadata, webhooks: [entry] }
}

const wanted = makeConfiguration([NAMES, ENFORCED])

function selectorAfterWrite(current: WebhookConfiguration, next = wanted) {
  const actions = planRegistration([{ type, wanted: next, current }])
  return actions.map(({ object }) => (object as Registrable).webhooks?.[0]?.namespaceSelector)
}

describe.each([
  { name: 'AKS', others: AKS },
  { name: 'GKE Autopilot', others: GKE },
])('requirements of $name', ({ others }) => {
  test('are no difference', () => {
    expect(isCurrent(makeConfiguration([NAMES, ENFORCED, ...others]), wanted)).toBe(true)
    expect(isCurrent(makeConfiguration([...others, NAMES, ENFORCED]), wanted)).toBe(true)
  })

  test('are no difference for a webhook that Lodestone registers for all namespaces', () => {
    const cluster = makeConfiguration([], { namespaceSelector: undefined })
    expect(isCurrent(makeConfiguration(others), cluster)).toBe(true)
    expect(selectorAfterWrite(makeConfiguration(others, { failurePolicy: 'Fail' }), cluster)).toEqual([
      { matchExpressions: others },
    ])
  })

  test('stay when another field is repaired', () => {
    const current = makeConfiguration([NAMES, ENFORCED, ...others], { failurePolicy: 'Fail' })
    expect(selectorAfterWrite(current)).toEqual([{ matchExpressions: [NAMES, ENFORCED, ...others] }])
  })

  test('stay when the configuration excludes other namespaces, and the earlier ones go', () => {
    const next = makeConfiguration([{ ...NAMES, values: ['lodestone-system'] }, ENFORCED])
    const current = makeConfiguration([NAMES, ENFORCED, ...others])
    expect(isCurrent(current, next)).toBe(false)
    expect(selectorAfterWrite(current, next)).toEqual([
      { matchExpressions: [{ ...NAMES, values: ['lodestone-system'] }, ENFORCED, ...others] },
    ])
  })
})

test.each([
  { name: 'a missing requirement', stored: [ENFORCED] },
  { name: 'other names', stored: [{ ...NAMES, values: ['production'] }, ENFORCED] },
  { name: 'another value of enforcement', stored: [NAMES, { ...ENFORCED, values: ['false'] }] },
  { name: 'a second requirement on enforcement', stored: [NAMES, ENFORCED, { ...ENFORCED, operator: 'NotIn' }] },
  { name: 'no requirement', stored: [] },
])('a selector with $name is repaired', ({ stored }) => {
  expect(selectorAfterWrite(makeConfiguration(stored))).toEqual([{ matchExpressions: [NAMES, ENFORCED] }])
})

test('labels that another writer requires stay', () => {
  const namespaceSelector = { matchLabels: { team: 'a' }, matchExpressions: [NAMES] }
  const current = makeConfiguration([], { namespaceSelector })
  expect(selectorAfterWrite(current)).toEqual([{ matchLabels: { team: 'a' }, matchExpressions: [NAMES, ENFORCED] }])
})
