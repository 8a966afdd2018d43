/** The ClusterRoles of Lodestone in the cluster that it serves: the rights that its caches and writes need, and no more. */
import { dataSources } from '../../api/data-source.ts'
import { dataSourceClaims } from '../../api/data-source-claim.ts'
import { definitionName, definitions } from '../../api/definition.ts'
import { interpreterWebhookConfigurations } from '../../api/interpreter.ts'
import {
  clusterPropagationPolicies,
  clusterResourceBindings,
  propagationPolicies,
  resourceBindings,
} from '../../api/karmada.ts'
import type { K8sObject, ResourceType } from '../../api/meta.ts'
import { bindingOf, clusterRole, type PolicyRule } from '../../api/rbac.ts'
import {
  mutatingWebhookConfigurations,
  REGISTRATION_NAME,
  validatingWebhookConfigurations,
} from '../../api/registration.ts'
import type { WorkloadKinds } from '../../core/workload-kinds/kinds.ts'
import { type AnyCachedKind, kindKey } from '../../store/kinds/any-kind.ts'
import { kindsFor } from '../../store/kinds/cached-kinds.ts'

/** The ServiceAccount in the manifests, unless another one is given. */
export const LODESTONE = { name: 'lodestone', namespace: 'lodestone-system' }

/**
 * Returns the ClusterRole of every installation and its binding. It is derived from the table of cached kinds, so that both cannot differ.
 * It does not allow to write pods or to read nodes or Secrets. `dependencyRoles` adds the rights for dependencies, volume-roles.ts those
 * for pods.
 */
export function clusterRoles(workloads: WorkloadKinds): K8sObject[] {
  const { name } = LODESTONE
  const kinds = kindsFor({ workloads, dependencies: false, movesData: false })
  const rules: PolicyRule[] = [
    ...readRules(kinds),
    ...definitionRules(kinds),
    // The objects that the loops write.
    {
      apiGroups: [dataSourceClaims.group],
      resources: ['datasourceclaims', 'datasourceclaims/status'],
      verbs: ['patch'],
    },
    { apiGroups: [dataSources.group], resources: ['datasources'], verbs: ['create', 'patch', 'delete'] },
    { apiGroups: [dataSources.group], resources: ['datasources/status'], verbs: ['patch'] },
    { apiGroups: [resourceBindings.group], resources: BINDINGS, verbs: ['patch'] },
    // Only for dry runs: the probe of the webhooks.
    { apiGroups: [clusterResourceBindings.group], resources: [clusterResourceBindings.plural], verbs: ['create'] },
    {
      apiGroups: [propagationPolicies.group],
      resources: [clusterPropagationPolicies.plural, propagationPolicies.plural],
      verbs: ['patch'],
    },
    { apiGroups: [''], resources: ['events'], verbs: ['create'] },
    ownRegistrations([mutatingWebhookConfigurations, validatingWebhookConfigurations]),
  ]
  return [clusterRole(name, rules), bindingOf(name, { name }, LODESTONE)]
}

/**
 * Returns the rights to find the dependencies of workloads and to attach them to clusters: on a hub, unless `dependencies.distribution` is
 * `none`.
 */
export function dependencyRoles(workloads: WorkloadKinds): K8sObject[] {
  const name = 'lodestone-dependencies'
  const common = new Set(
    kindsFor({ workloads, dependencies: false, movesData: false }).map(({ type }) => kindKey(type)),
  )
  const more = kindsFor({ workloads, dependencies: true, movesData: false })
  const rules: PolicyRule[] = [
    ...readRules(more.filter(({ type }) => !common.has(kindKey(type)))),
    { apiGroups: [resourceBindings.group], resources: BINDINGS, verbs: ['create'] },
    ownRegistrations([interpreterWebhookConfigurations]),
  ]
  return [clusterRole(name, rules), bindingOf(name, { name }, LODESTONE)]
}

const BINDINGS = [clusterResourceBindings.plural, resourceBindings.plural]

/**
 * The right to update, but not to create: RBAC cannot limit `create` by name, since the name is unknown at authorization. The installation
 * creates them.
 */
function ownRegistrations(types: readonly ResourceType[]): PolicyRule {
  return {
    apiGroups: [...new Set(types.map(({ group }) => group))],
    resources: types.map(({ plural }) => plural),
    resourceNames: [REGISTRATION_NAME],
    verbs: ['get', 'update'],
  }
}

/**
 * Returns the right to read the CustomResourceDefinitions of these kinds, by name: without them, a deleted object cannot be told from a deleted
 * CRD.
 */
function definitionRules(kinds: readonly AnyCachedKind[]): PolicyRule[] {
  const names = kinds.filter(({ absence }) => absence === 'confirm').map(({ type }) => definitionName(type))
  return [
    { apiGroups: [definitions.group], resources: [definitions.plural], resourceNames: names.sort(), verbs: ['get'] },
  ]
}

/** Returns the rights to read these kinds. For a kind with `metadataOnly`, single objects are never read, so `get` is not needed. */
export function readRules(kinds: readonly AnyCachedKind[]): PolicyRule[] {
  const metadataOnly = kinds.filter((kind) => kind.metadataOnly)
  return [
    ...rulesFor(
      kinds.filter((kind) => !kind.metadataOnly),
      ['get', 'list', 'watch'],
    ),
    ...rulesFor(metadataOnly, ['list', 'watch']),
  ]
}

function rulesFor(kinds: readonly AnyCachedKind[], verbs: string[]): PolicyRule[] {
  return [...Map.groupBy(kinds, ({ type }) => type.group)].map(([group, members]) => ({
    apiGroups: [group],
    resources: members.map(({ type }) => type.plural).sort(),
    verbs,
  }))
}
