/** The webhook configurations for the API server, made from the table of webhooks and from nothing else. */
import { ENFORCE_LABEL } from '../api/lodestone.ts'
import { apiVersionOf, type LabelSelectorRequirement } from '../api/meta.ts'
import {
  mutatingWebhookConfigurations,
  REGISTRATION_LABELS,
  REGISTRATION_NAME,
  validatingWebhookConfigurations,
  type WebhookClientConfig,
  type WebhookConfiguration,
  type WebhookEntry,
} from '../api/registration.ts'
import { pathOf, type Webhook } from './define.ts'

export interface Registration {
  /** How the API server reaches us: by URL on a Karmada hub, whose Services live elsewhere, by Service in a plain cluster. */
  target: { url: string } | { service: { namespace: string; name: string; port: number } }
  /** PEM; absent when something else (cert-manager) fills it in. */
  caBundlePem?: string
  timeoutSeconds: number
  /** Namespaces that are never intercepted, among them the namespace of Lodestone. */
  excludedNamespaces: readonly string[]
}

/**
 * The API server never sends requests of these namespaces to Lodestone. Otherwise a broken webhook could keep a control plane from healing
 * itself. They are excluded by prefix, since Karmada makes a `karmada-es-<member>` for each member.
 */
const EXCLUDED_PREFIXES = ['kube-', 'karmada-']

/** The configurations for these webhooks, complete with every field that the API server would default. */
export function registrationOf(
  webhooks: readonly Webhook[],
  registration: Registration,
  toBase64: (text: string) => string,
): WebhookConfiguration[] {
  return [mutatingWebhookConfigurations, validatingWebhookConfigurations].flatMap((type) => {
    const wanted = type === mutatingWebhookConfigurations ? 'mutating' : 'validating'
    const entries = webhooks
      .filter((webhook) => webhook.type === wanted)
      .flatMap((webhook) => entriesOf(webhook, registration, toBase64))
    if (entries.length === 0) return []
    return [
      {
        apiVersion: apiVersionOf(type),
        kind: type.kind,
        metadata: { name: REGISTRATION_NAME, labels: REGISTRATION_LABELS },
        webhooks: entries,
      },
    ]
  })
}

/**
 * One entry, or two where enforcement is the namespace's choice: `Fail` where it is labeled and `Ignore` elsewhere. A namespace
 * selector never skips a cluster-scoped object, so those have one entry.
 */
function entriesOf(webhook: Webhook, registration: Registration, toBase64: (text: string) => string): WebhookEntry[] {
  const { failurePolicy, name, resources, objectSelector } = webhook
  const isNamespaced = resources.every(({ namespaced }) => namespaced)
  const entry = (name: string, policy: 'Ignore' | 'Fail', enforced?: 'In' | 'NotIn'): WebhookEntry => ({
    name,
    clientConfig: clientConfigOf(pathOf(webhook), registration, toBase64),
    rules: rulesOf(webhook),
    failurePolicy: policy,
    matchPolicy: 'Equivalent',
    ...(webhook.type === 'mutating' && { reinvocationPolicy: 'IfNeeded' as const }),
    sideEffects: 'None',
    timeoutSeconds: registration.timeoutSeconds,
    admissionReviewVersions: ['v1'],
    ...(isNamespaced && { namespaceSelector: { matchExpressions: selector(registration, enforced) } }),
    ...(objectSelector && { objectSelector }),
    ...matchConditions(webhook, isNamespaced),
  })
  if (failurePolicy !== 'FailWhereEnforced') return [entry(`${name}.lodestone.dev`, failurePolicy)]
  if (!isNamespaced) return [entry(`${name}.lodestone.dev`, 'Ignore')]
  return [entry(`${name}.lodestone.dev`, 'Ignore', 'NotIn'), entry(`${name}.enforced.lodestone.dev`, 'Fail', 'In')]
}

/** A rule means every combination of its values, so there is one for each API version. */
function rulesOf({ resources, operations }: Webhook): WebhookEntry['rules'] {
  return [...Map.groupBy(resources, (type) => `${apiVersionOf(type)} ${type.namespaced}`).values()].map((types) => ({
    apiGroups: [...new Set(types.map(({ group }) => group))],
    apiVersions: [...new Set(types.map(({ version }) => version))],
    resources: types.map(({ plural }) => plural),
    operations: [...operations],
    scope: types[0]?.namespaced ? 'Namespaced' : 'Cluster',
  }))
}

function selector({ excludedNamespaces }: Registration, enforced?: 'In' | 'NotIn'): LabelSelectorRequirement[] {
  const excluded = { key: 'kubernetes.io/metadata.name', operator: 'NotIn', values: [...excludedNamespaces].sort() }
  return [
    ...(excluded.values.length > 0 ? [excluded] : []),
    ...(enforced ? [{ key: ENFORCE_LABEL, operator: enforced, values: ['true'] }] : []),
  ]
}

/** Keeps calls away that could only be answered "untouched". */
function matchConditions({ matchCondition }: Webhook, isNamespaced: boolean): Pick<WebhookEntry, 'matchConditions'> {
  const prefixes = EXCLUDED_PREFIXES.map((prefix) => `!request.namespace.startsWith('${prefix}')`).join(' && ')
  const conditions = [
    ...(isNamespaced ? [{ name: 'not-a-system-namespace', expression: prefixes }] : []),
    ...(matchCondition ? [matchCondition] : []),
  ]
  return conditions.length > 0 ? { matchConditions: conditions } : {}
}

/** The client configuration with which the API server calls a path. */
export function clientConfigOf(
  path: string,
  { target, caBundlePem }: Registration,
  toBase64: (text: string) => string,
): WebhookClientConfig {
  return {
    ...('url' in target
      ? { url: `${target.url.replace(/\/$/, '')}${path}` }
      : { service: { ...target.service, path } }),
    ...(caBundlePem && { caBundle: toBase64(caBundlePem) }),
  }
}
