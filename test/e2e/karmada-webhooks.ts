// Registers Karmada's own admission webhooks by url: the same rules as its installers, as one table.
import type { KubeObject } from './api-client.ts'

interface Kind {
  group: string
  resource: string
  cluster?: boolean
}

interface Hook {
  kind: keyof typeof kinds
  /** How its path ends, when not with the webhook's name. */
  path?: string
  operations?: string[]
  sideEffects?: string
}

const policy = 'policy.karmada.io'
const work = 'work.karmada.io'
const autoscaling = 'autoscaling.karmada.io'
const networking = 'networking.karmada.io'
const config = 'config.karmada.io'

/** Every kind that Karmada has a webhook for, by the name of the webhook. */
const kinds = {
  propagationpolicy: { group: policy, resource: 'propagationpolicies' },
  clusterpropagationpolicy: { group: policy, resource: 'clusterpropagationpolicies', cluster: true },
  overridepolicy: { group: policy, resource: 'overridepolicies' },
  clusteroverridepolicy: { group: policy, resource: 'clusteroverridepolicies', cluster: true },
  clustertaintpolicy: { group: policy, resource: 'clustertaintpolicies', cluster: true },
  federatedresourcequota: { group: policy, resource: 'federatedresourcequotas' },
  resourcebinding: { group: work, resource: 'resourcebindings' },
  clusterresourcebinding: { group: work, resource: 'clusterresourcebindings', cluster: true },
  work: { group: work, resource: 'works' },
  federatedhpa: { group: autoscaling, resource: 'federatedhpas' },
  cronfederatedhpa: { group: autoscaling, resource: 'cronfederatedhpas' },
  multiclusterservice: { group: networking, resource: 'multiclusterservices' },
  multiclusteringress: { group: networking, resource: 'multiclusteringresses' },
  config: { group: config, resource: 'resourceinterpreterwebhookconfigurations', cluster: true },
  resourceinterpretercustomization: { group: config, resource: 'resourceinterpretercustomizations', cluster: true },
} satisfies Record<string, Kind>

const mutating: Hook[] = [
  { kind: 'propagationpolicy' },
  { kind: 'clusterpropagationpolicy' },
  { kind: 'overridepolicy' },
  { kind: 'resourcebinding', operations: ['CREATE'] },
  { kind: 'clusterresourcebinding', operations: ['CREATE'] },
  { kind: 'work' },
  { kind: 'federatedhpa' },
  { kind: 'multiclusterservice' },
]

const validating: Hook[] = [
  { kind: 'propagationpolicy' },
  { kind: 'clusterpropagationpolicy' },
  { kind: 'overridepolicy' },
  { kind: 'clusteroverridepolicy' },
  { kind: 'config', path: 'resourceinterpreterwebhookconfiguration' },
  { kind: 'resourceinterpretercustomization' },
  { kind: 'federatedresourcequota' },
  { kind: 'multiclusteringress' },
  { kind: 'federatedhpa' },
  { kind: 'cronfederatedhpa' },
  { kind: 'multiclusterservice' },
  { kind: 'resourcebinding', sideEffects: 'NoneOnDryRun' },
  { kind: 'clustertaintpolicy' },
]

// Longer than the installers' 3 s, so that a busy machine does not turn into refused requests.
const timeoutSeconds = 10

export function karmadaWebhookConfigurations(url: string, caBundle: string): KubeObject[] {
  const client = (path: string) => ({ url: `${url}/${path}`, caBundle })
  const deletionProtection = {
    name: 'resourcedeletionprotection.karmada.io',
    rules: [{ operations: ['DELETE'], apiGroups: ['*'], apiVersions: ['*'], resources: ['*'], scope: '*' }],
    clientConfig: client('validate-resourcedeletionprotection'),
    objectSelector: {
      matchExpressions: [{ key: 'resourcetemplate.karmada.io/deletion-protected', operator: 'Exists' }],
    },
    failurePolicy: 'Fail',
    sideEffects: 'None',
    admissionReviewVersions: ['v1'],
    timeoutSeconds,
  }
  return [
    configuration(
      'MutatingWebhookConfiguration',
      'mutating-config',
      mutating.map((hook) => webhook(hook, client(`mutate-${pathOf(hook)}`))),
    ),
    configuration('ValidatingWebhookConfiguration', 'validating-config', [
      ...validating.map((hook) => webhook(hook, client(`validate-${pathOf(hook)}`))),
      deletionProtection,
    ]),
  ]
}

function configuration(kind: string, name: string, webhooks: object[]): KubeObject {
  const metadata = { name, labels: { app: 'karmada-webhook' } }
  return { apiVersion: 'admissionregistration.k8s.io/v1', kind, metadata, webhooks }
}

const pathOf = ({ kind, path = kind }: Hook) => path

function webhook(hook: Hook, clientConfig: object): object {
  const { group, resource, cluster = false }: Kind = kinds[hook.kind]
  const rule = {
    operations: hook.operations ?? ['CREATE', 'UPDATE'],
    apiGroups: [group],
    apiVersions: ['*'],
    resources: [resource],
    scope: cluster ? 'Cluster' : 'Namespaced',
  }
  return {
    name: `${hook.kind}.karmada.io`,
    rules: [rule],
    clientConfig,
    failurePolicy: 'Fail',
    sideEffects: hook.sideEffects ?? 'None',
    admissionReviewVersions: ['v1'],
    timeoutSeconds,
  }
}
