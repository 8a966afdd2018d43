/**
 * Objects that each cluster creates for itself. They never follow a workload. With `conflictResolution: Overwrite`, those of the hub would
 * replace those of the member, for example the CA with which its pods verify its API server.
 */
import type { FieldError } from '../../base/field-errors.ts'
import { suggest } from '../../base/suggest.ts'

/** Objects of a kind by name, in one namespace or in all. */
export interface NeverPropagatedEntry {
  kind: string
  /** A `*` at the end stands for any characters. */
  name: string
  namespace?: string
}

/** Whether each cluster creates an object for itself. An object without a name is not known. */
export type NeverPropagated = (object: { kind: string; namespace?: string; name?: string }) => boolean

interface Rule {
  kind: string
  name: string | RegExp
  namespace?: string
}

/**
 * Only names that no user gives to other objects: an object that is left out by mistake breaks its workload. So the ServiceAccounts
 * `builder` and `deployer` of OpenShift are not listed. Secrets of type `kubernetes.io/service-account-token` that users create are not
 * listed either. Karmada propagates these without their token, and the member adds its own (prune.go, retain.go in
 * pkg/resourceinterpreter/default/native).
 */
const SHIPPED: readonly Rule[] = [
  // kube-controller-manager: pkg/controller/certificates/rootcacertpublisher, pkg/controller/serviceaccount.
  { kind: 'ConfigMap', name: 'kube-root-ca.crt' },
  { kind: 'ServiceAccount', name: 'default' },
  // kube-apiserver: pkg/controlplane. Karmada does not propagate the ConfigMap either (pkg/detector/detector.go, EventFilter).
  { kind: 'ConfigMap', name: 'extension-apiserver-authentication', namespace: 'kube-system' },
  { kind: 'Service', name: 'kubernetes', namespace: 'default' },
  { kind: 'EndpointSlice', name: 'kubernetes', namespace: 'default' },
  // kubeadm: cmd/kubeadm/app/phases/bootstraptoken/clusterinfo.
  { kind: 'ConfigMap', name: 'cluster-info', namespace: 'kube-public' },
  // kube-controller-manager before 1.24 and OpenShift: a generated name ends in five characters of apimachinery, rand.String.
  { kind: 'Secret', name: /^(default|builder|deployer)-(token|dockercfg)-[bcdfghjklmnpqrstvwxz2456789]{5}$/ },
  // OpenShift: service-ca-operator; openshift-controller-manager, BuilderRoleBindingController and its siblings.
  { kind: 'ConfigMap', name: 'openshift-service-ca.crt' },
  { kind: 'RoleBinding', name: /^system:(image-pullers|image-builders|deployers)$/ },
  // OpenShift Pipelines: tektoncd/operator, pkg/reconciler/openshift/tektonconfig. OpenDataHub: opendatahub-operator, certconfigmapgenerator.
  { kind: 'ConfigMap', name: 'config-trusted-cabundle' },
  { kind: 'ConfigMap', name: 'config-service-cabundle' },
  { kind: 'ConfigMap', name: 'odh-trusted-ca-bundle' },
  // Istio: istiod, CACertNamespaceConfigMap and CRLNamespaceConfigMap.
  { kind: 'ConfigMap', name: 'istio-ca-root-cert' },
  { kind: 'ConfigMap', name: 'istio-ca-crl' },
  // Helm: pkg/storage/driver. The release of a chart in the hub is not one in a member.
  { kind: 'Secret', name: /^sh\.helm\.release\.v1\./ },
  { kind: 'ConfigMap', name: /^sh\.helm\.release\.v1\./ },
]

/** Returns the shipped rules with those of the configuration. */
export function neverPropagated(configured: readonly NeverPropagatedEntry[] = []): NeverPropagated {
  const byKind = Map.groupBy<string, Rule>([...SHIPPED, ...configured], ({ kind }) => kind)
  return ({ kind, namespace = '', name }) => {
    const rules = name ? byKind.get(kind) : undefined
    return rules?.some((rule) => matchesName(rule, name ?? '') && (rule.namespace ?? namespace) === namespace) ?? false
  }
}

function matchesName({ name: wanted }: Rule, name: string): boolean {
  if (wanted instanceof RegExp) return wanted.test(name)
  return wanted.endsWith('*') ? name.startsWith(wanted.slice(0, -1)) : name === wanted
}

const text = { type: 'string', minLength: 1, maxLength: 253 }

/** The form of `dependencies.neverPropagated`. */
export const neverPropagatedSchema = {
  type: 'array',
  maxItems: 200,
  items: {
    type: 'object',
    required: ['kind', 'name'],
    properties: {
      kind: text,
      name: {
        ...text,
        pattern: '^[^*]+\\*?$',
        errorMessage: 'must be the name of an object, or the beginning of names with * at the end, e.g. corporate-ca-*',
      },
      namespace: text,
    },
  },
}

/** Returns the errors that the schema does not find: kinds that are never dependencies. */
export function validateNeverPropagated(
  entries: readonly NeverPropagatedEntry[],
  kinds: readonly string[],
  at: string,
): FieldError[] {
  return entries.flatMap(({ kind }, i) => {
    if (kinds.includes(kind)) return []
    const message = `Invalid value: "${kind}": must be one of ${kinds.join(', ')}${suggest(kind, kinds)}`
    return [{ path: `${at}[${i}].kind`, code: 'NotSupported' as const, message }]
  })
}
