/** Webhook configurations of an API server (admissionregistration.k8s.io/v1). */
import type { K8sObject, LabelSelector, ResourceType } from './meta.ts'

/** The name of each configuration of Lodestone. */
export const REGISTRATION_NAME = 'lodestone'
/** The label that marks a configuration with that name as one of Lodestone. */
export const REGISTRATION_LABELS = { 'app.kubernetes.io/name': 'lodestone' }

/** On webhook configurations and admission policies, by the leader: the version of Lodestone that they are of. */
export const VERSION_ANNOTATION = 'lodestone.dev/version'
/** On the same objects, by the leader: a digest of the registration, which depends on the version and its configuration. */
export const DIGEST_ANNOTATION = 'lodestone.dev/digest'

/** What a replica says about itself. */
export interface Replica {
  /** The host name, for users. */
  host: string
  /** The version of Lodestone. */
  version: string
  /** A digest of the registration that it would write, which depends on its version and its configuration. */
  registration: string
  /** A digest of the CAs that should sign for it; undefined if another tool registers them. */
  ca?: string
  /** Set if it serves another API server than the one with its Lease, as the pods of a hub do. */
  elsewhere?: true
}

/** The address of a webhook: a URL or a Service. */
export interface WebhookClientConfig {
  url?: string
  service?: { namespace: string; name: string; path: string; port: number }
  caBundle?: string
}

/** The fields that the webhook configurations of all APIs have. */
export interface Registrable extends K8sObject {
  webhooks?: { name: string; clientConfig: WebhookClientConfig; namespaceSelector?: LabelSelector }[]
}

export interface WebhookEntry {
  name: string
  clientConfig: WebhookClientConfig
  rules: {
    apiGroups: string[]
    apiVersions: string[]
    resources: string[]
    operations: string[]
    scope: 'Namespaced' | 'Cluster'
  }[]
  failurePolicy: 'Ignore' | 'Fail'
  matchPolicy: 'Equivalent'
  reinvocationPolicy?: 'IfNeeded'
  sideEffects: 'None'
  timeoutSeconds: number
  admissionReviewVersions: ['v1']
  namespaceSelector?: LabelSelector
  objectSelector?: LabelSelector
  matchConditions?: { name: string; expression: string }[]
}

export interface WebhookConfiguration extends K8sObject {
  webhooks?: WebhookEntry[]
}

export const mutatingWebhookConfigurations: ResourceType<WebhookConfiguration> = {
  group: 'admissionregistration.k8s.io',
  version: 'v1',
  kind: 'MutatingWebhookConfiguration',
  plural: 'mutatingwebhookconfigurations',
  namespaced: false,
}

export const validatingWebhookConfigurations: ResourceType<WebhookConfiguration> = {
  group: 'admissionregistration.k8s.io',
  version: 'v1',
  kind: 'ValidatingWebhookConfiguration',
  plural: 'validatingwebhookconfigurations',
  namespaced: false,
}
