// Registers Karmada's own admission webhooks by url: the same rules as its installers, as one table.
import type { KubeObject } from './api-client.ts'

interface Hook {
  name: string
  group: string
  resource: string
  path: string
  operations?: string[]
  cluster?: boolean
  sideEffects?: string
}

const policy = 'policy.karmada.io'
const work = 'work.karmada.io'
const autoscaling = 'autoscaling.karmada.io'
const networking = 'networking.karmada.io'
const config = 'config.karmada.io'

const mutating: Hook[] = [
  { name: 'propagationpolicy', group: policy, resource: 'propagationpolicies', path: 'propagationpolicy' },
  {
    name: 'clusterpropagationpolicy',
    group: policy,
    resource: 'clusterpropagationpolicies',
    path: 'clusterpropagationpolicy',
    cluster: true,
  },
  { name: 'overridepolicy', group: policy, resource: 'overridepolicies', path: 'overridepolicy' },
  {
    name: 'resourcebinding',
    group: work,
    resource: 'resourcebindings',
    path: 'resourcebinding',
    operations: ['CREATE'],
  },
  {
    name: 'clusterresourcebinding',
    group: work,
    resource: 'clusterresourcebindings',
    path: 'clusterresourcebinding',
    operations: ['CREATE'],
    cluster: true,
  },
  { name: 'work', group: work, resource: 'works', path: 'work' },
  { name: 'autoscaling', group: autoscaling, resource: 'federatedhpas', path: 'federatedhpa' },
  { name: 'multiclusterservice', group: networking, resource: 'multiclusterservices', path: 'multiclusterservice' },
]

const validating: Hook[] = [
  { name: 'propagationpolicy', group: policy, resource: 'propagationpolicies', path: 'propagationpolicy' },
  {
    name: 'clusterpropagationpolicy',
    group: policy,
    resource: 'clusterpropagationpolicies',
    path: 'clusterpropagationpolicy',
    cluster: true,
  },
  { name: 'overridepolicy', group: policy, resource: 'overridepolicies', path: 'overridepolicy' },
  {
    name: 'clusteroverridepolicy',
    group: policy,
    resource: 'clusteroverridepolicies',
    path: 'clusteroverridepolicy',
    cluster: true,
  },
  {
    name: 'config',
    group: config,
    resource: 'resourceinterpreterwebhookconfigurations',
    path: 'resourceinterpreterwebhookconfiguration',
    cluster: true,
  },
  {
    name: 'resourceinterpretercustomization',
    group: config,
    resource: 'resourceinterpretercustomizations',
    path: 'resourceinterpretercustomization',
    cluster: true,
  },
  {
    name: 'federatedresourcequota',
    group: policy,
    resource: 'federatedresourcequotas',
    path: 'federatedresourcequota',
  },
  { name: 'multiclusteringress', group: networking, resource: 'multiclusteringresses', path: 'multiclusteringress' },
  { name: 'federatedhpa', group: autoscaling, resource: 'federatedhpas', path: 'federatedhpa' },
  { name: 'cronfederatedhpa', group: autoscaling, resource: 'cronfederatedhpas', path: 'cronfederatedhpa' },
  { name: 'multiclusterservice', group: networking, resource: 'multiclusterservices', path: 'multiclusterservice' },
  {
    name: 'resourcebinding',
    group: work,
    resource: 'resourcebindings',
    path: 'resourcebinding',
    sideEffects: 'NoneOnDryRun',
  },
  {
    name: 'clustertaintpolicy',
    group: policy,
    resource: 'clustertaintpolicies',
    path: 'clustertaintpolicy',
    cluster: true,
  },
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
      mutating.map((hook) => webhook(hook, client(`mutate-${hook.path}`))),
    ),
    configuration('ValidatingWebhookConfiguration', 'validating-config', [
      ...validating.map((hook) => webhook(hook, client(`validate-${hook.path}`))),
      deletionProtection,
    ]),
  ]
}

function configuration(kind: string, name: string, webhooks: object[]): KubeObject {
  const metadata = { name, labels: { app: 'karmada-webhook' } }
  return { apiVersion: 'admissionregistration.k8s.io/v1', kind, metadata, webhooks }
}

function webhook(hook: Hook, clientConfig: object): object {
  const rule = {
    operations: hook.operations ?? ['CREATE', 'UPDATE'],
    apiGroups: [hook.group],
    apiVersions: ['*'],
    resources: [hook.resource],
    scope: hook.cluster ? 'Cluster' : 'Namespaced',
  }
  return {
    name: `${hook.name}.karmada.io`,
    rules: [rule],
    clientConfig,
    failurePolicy: 'Fail',
    sideEffects: hook.sideEffects ?? 'None',
    admissionReviewVersions: ['v1'],
    timeoutSeconds,
  }
}
