/** Builds the webhook configurations for the API server from the table of webhooks. */
import { ENFORCE_ALL, ENFORCE_LABEL } from '../api/lodestone.ts'
import { apiVersionOf, type LabelSelectorRequirement } from '../api/meta.ts'
import { NAMESPACE_NAME_LABEL } from '../api/namespace.ts'
import {
  mutatingWebhookConfigurations,
  REGISTRATION_LABELS,
  REGISTRATION_NAME,
  validatingWebhookConfigurations,
  type WebhookClientConfig,
  type WebhookConfiguration,
  type WebhookEntry,
} from '../api/registration.ts'
import { defined } from '../base/json.ts'
import { type Webhook, webhookPath } from './define.ts'

export interface Registration {
  /** The address for the API server: a URL on a Karmada hub, which has no access to Services, or a Service in a plain cluster. */
  target: { url: string } | { service: { namespace: string; name: string; port: number } }
  /** PEM; absent if another component, such as cert-manager, sets it. */
  caBundlePem?: string
  timeoutSeconds: number
  /** Namespaces whose requests are never sent, with the namespace of Lodestone. */
  excludedNamespaces: readonly string[]
}

/**
 * The API server never sends requests of these namespaces to Lodestone, since a broken webhook could prevent the repair of a control plane.
 * They are excluded by prefix, because Karmada creates a `karmada-es-<member>` for each member.
 */
const EXCLUDED_PREFIXES = ['kube-', 'karmada-']

/** The same as a condition in CEL. It holds for objects without a namespace. */
export const NOT_A_SYSTEM_NAMESPACE = {
  name: 'not-a-system-namespace',
  expression: EXCLUDED_PREFIXES.map((prefix) => `!request.namespace.startsWith('${prefix}')`).join(' && '),
}

/** Whether the API server sends no requests of this namespace. */
export function isExcluded(
  namespace: string,
  { excludedNamespaces }: Pick<Registration, 'excludedNamespaces'>,
): boolean {
  return excludedNamespaces.includes(namespace) || EXCLUDED_PREFIXES.some((prefix) => namespace.startsWith(prefix))
}

/** Returns the configurations for these webhooks, with every field that the API server would default. */
export function webhookConfigurations(
  webhooks: readonly Webhook[],
  registration: Registration,
  toBase64: (text: string) => string,
): WebhookConfiguration[] {
  return [mutatingWebhookConfigurations, validatingWebhookConfigurations].flatMap((type) => {
    const wanted = type === mutatingWebhookConfigurations ? 'mutating' : 'validating'
    const entries = webhooks
      .filter((webhook) => webhook.type === wanted)
      .flatMap((webhook) => webhookEntries(webhook, registration, toBase64))
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
 * Returns one entry, or two if the namespace decides about enforcement: `Fail` for labeled namespaces and `Ignore` for all others. A
 * namespace selector never excludes a cluster-scoped object, so cluster-scoped kinds have one entry.
 */
function webhookEntries(
  webhook: Webhook,
  registration: Registration,
  toBase64: (text: string) => string,
): WebhookEntry[] {
  const { failurePolicy, name, resources, objectSelector } = webhook
  const isNamespaced = resources.every(({ namespaced }) => namespaced)
  const entry = (name: string, policy: 'Ignore' | 'Fail', enforced?: 'In' | 'NotIn'): WebhookEntry =>
    defined({
      name,
      clientConfig: clientConfigOf(webhookPath(webhook), registration, toBase64),
      rules: webhookRules(webhook),
      failurePolicy: policy,
      matchPolicy: 'Equivalent',
      reinvocationPolicy: webhook.type === 'mutating' ? 'IfNeeded' : undefined,
      sideEffects: 'None',
      timeoutSeconds: registration.timeoutSeconds,
      admissionReviewVersions: ['v1'],
      namespaceSelector: isNamespaced ? { matchExpressions: selector(registration, enforced) } : undefined,
      objectSelector,
      ...matchConditions(webhook, isNamespaced),
    })
  if (failurePolicy !== 'FailWhereEnforced') return [entry(`${name}.lodestone.dev`, failurePolicy)]
  if (!isNamespaced) return [entry(`${name}.lodestone.dev`, 'Ignore')]
  return [entry(`${name}.lodestone.dev`, 'Ignore', 'NotIn'), entry(`${name}.enforced.lodestone.dev`, 'Fail', 'In')]
}

/** Returns one rule per API version, since a rule matches every combination of its values. */
function webhookRules({ resources, operations, subresources = [] }: Webhook): WebhookEntry['rules'] {
  return [...Map.groupBy(resources, (type) => `${apiVersionOf(type)} ${type.namespaced}`).values()].map((types) => ({
    apiGroups: [...new Set(types.map(({ group }) => group))],
    apiVersions: [...new Set(types.map(({ version }) => version))],
    resources: types.flatMap(({ plural }) => [plural, ...subresources.map((name) => `${plural}/${name}`)]),
    operations: [...operations],
    scope: types[0]?.namespaced ? 'Namespaced' : 'Cluster',
  }))
}

function selector(registration: Registration, enforced?: 'In' | 'NotIn'): LabelSelectorRequirement[] {
  return [
    ...notExcluded(registration),
    ...(enforced ? [{ key: ENFORCE_LABEL, operator: enforced, values: [ENFORCE_ALL] }] : []),
  ]
}

/** Returns the requirements of a namespace selector that leave out the excluded namespaces. */
export function notExcluded({
  excludedNamespaces,
}: Pick<Registration, 'excludedNamespaces'>): LabelSelectorRequirement[] {
  if (excludedNamespaces.length === 0) return []
  return [{ key: NAMESPACE_NAME_LABEL, operator: 'NotIn', values: [...excludedNamespaces].sort() }]
}

/** Returns CEL conditions that filter out requests whose decision would always be "untouched". */
function matchConditions({ matchCondition }: Webhook, isNamespaced: boolean): Pick<WebhookEntry, 'matchConditions'> {
  const conditions = [...(isNamespaced ? [NOT_A_SYSTEM_NAMESPACE] : []), ...(matchCondition ? [matchCondition] : [])]
  return conditions.length > 0 ? { matchConditions: conditions } : {}
}

/** Returns the client configuration with which the API server calls a path. */
export function clientConfigOf(
  path: string,
  { target, caBundlePem }: Registration,
  toBase64: (text: string) => string,
): WebhookClientConfig {
  return {
    ...('url' in target
      ? { url: `${target.url.replace(/\/$/, '')}${path}` }
      : { service: { ...target.service, path } }),
    ...defined({ caBundle: caBundlePem ? toBase64(caBundlePem) : undefined }),
  }
}
