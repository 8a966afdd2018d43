/** The ClusterRoles of Lodestone in the cluster that it serves: the rights that its caches and writes need, and no more. */

import { ABSENCE_POLICIES, validatingAdmissionPolicies } from '../../api/admission-policy.ts'
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
import { admissionChecks, kueueWorkloads } from '../../api/kueue.ts'
import type { K8sObject, ResourceType } from '../../api/meta.ts'
import { bindClusterRole, bindRole, clusterRole, type PolicyRule, role } from '../../api/rbac.ts'
import {
  mutatingWebhookConfigurations,
  REGISTRATION_NAME,
  validatingWebhookConfigurations,
} from '../../api/registration.ts'
import { defined } from '../../base/json.ts'
import type { WorkloadKinds } from '../../core/workload-kinds/kinds.ts'
import { type AnyCachedKind, kindKey } from '../../store/any-kind.ts'
import { leases } from '../../store/cluster/lease.ts'
import { kindsFor } from '../../store/kinds/cached-kinds.ts'
import { kueueKinds, multiKueueKinds } from '../../store/kinds/kueue.ts'

/** The ServiceAccount in the manifests, unless another one is given. */
export const LODESTONE = { name: 'lodestone', namespace: 'lodestone-system' }

/** Returns a ClusterRole and its binding to Lodestone, in one namespace or in all. */
export function grant(name: string, rules: PolicyRule[], namespace?: string): K8sObject[] {
  const metadata = defined({ name, namespace })
  return [clusterRole(name, rules), bindClusterRole(name, metadata, LODESTONE)]
}

/**
 * Returns the right to read the kinds of every installation. It is derived from the table of cached kinds, so that both cannot differ. It
 * does not include nodes or Secrets.
 */
export function clusterRoles(workloads: WorkloadKinds): K8sObject[] {
  const kinds = kindsFor({ workloads, dependencies: false, movesData: false })
  return grant(LODESTONE.name, [...readRules(kinds), ...definitionRules(kinds)])
}

/** Returns the rights to write what the loops write on every cluster: with `loops.enabled`. */
export function loopRoles(): K8sObject[] {
  return grant('lodestone-loops', [
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
    EMIT_EVENTS,
  ])
}

/**
 * Returns the rights to update the own webhook configurations and policies of the API server, and to emit Events about them: unless
 * `registration.mode` is `none`.
 */
export function registrationRoles(): K8sObject[] {
  return grant('lodestone-registration', [
    ownRegistrations([mutatingWebhookConfigurations, validatingWebhookConfigurations]),
    ownRegistrations([validatingAdmissionPolicies], ABSENCE_POLICIES),
    EMIT_EVENTS,
  ])
}

/** Returns the right to read the kinds that are dependencies of workloads: unless `dependencies.distribution` is `none`. */
export function dependencyRoles(workloads: WorkloadKinds): K8sObject[] {
  const common = new Set(
    kindsFor({ workloads, dependencies: false, movesData: false }).map(({ type }) => kindKey(type)),
  )
  const more = kindsFor({ workloads, dependencies: true, movesData: false })
  return grant('lodestone-dependencies', readRules(more.filter(({ type }) => !common.has(kindKey(type)))))
}

/** Returns the right to attach dependencies to clusters: where both the loops and the distribution are on. */
export function distributionRoles(): K8sObject[] {
  return grant('lodestone-distribution', [
    { apiGroups: [resourceBindings.group], resources: BINDINGS, verbs: ['create'] },
  ])
}

/** Returns the right to register with the resource interpreter of Karmada: where both the registration and the distribution are on. */
export function interpreterRoles(): K8sObject[] {
  return grant('lodestone-interpreter', [ownRegistrations([interpreterWebhookConfigurations])])
}

/** Returns the rights to answer AdmissionChecks of Kueue: with `kueue.enabled`, where the loops are on. Only the status is written. */
export function kueueRoles(): K8sObject[] {
  return grant('lodestone-kueue', [
    ...readRules(kueueKinds),
    {
      apiGroups: [kueueWorkloads.group],
      resources: [admissionChecks, kueueWorkloads].map(({ plural }) => `${plural}/status`),
      verbs: ['patch'],
    },
  ])
}

/** Returns the rights of the dispatcher of MultiKueue besides those of `kueueRoles`, by which it writes the status of Workloads. */
export function multiKueueRoles(): K8sObject[] {
  return grant('lodestone-multikueue', readRules(multiKueueKinds))
}

/** Returns the right to elect a leader by one Lease, where it is. A Lease cannot be named when it is created, hence the second rule. */
export function electionRoles({ namespace, name }: { namespace: string; name: string }): K8sObject[] {
  const metadata = { name: 'lodestone-election', namespace }
  const common = { apiGroups: [leases.group], resources: [leases.plural] }
  const rules = [
    { ...common, resourceNames: [name], verbs: ['get', 'update'] },
    { ...common, verbs: ['create'] },
  ]
  return [role(metadata, rules), bindRole(metadata, LODESTONE)]
}

const EMIT_EVENTS: PolicyRule = { apiGroups: [''], resources: ['events'], verbs: ['create'] }
const BINDINGS = [clusterResourceBindings.plural, resourceBindings.plural]

/**
 * The right to update, but not to create: RBAC cannot limit `create` by name, since the name is unknown at authorization. The installation
 * creates them.
 */
function ownRegistrations(types: readonly ResourceType[], names = [REGISTRATION_NAME]): PolicyRule {
  return {
    apiGroups: [...new Set(types.map(({ group }) => group))],
    resources: types.map(({ plural }) => plural),
    resourceNames: names,
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
