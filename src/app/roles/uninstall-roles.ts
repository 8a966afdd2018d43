/** The rights of `lodestone uninstall`, and the objects of an installation that it deletes. */
import {
  ABSENCE_POLICIES,
  validatingAdmissionPolicies,
  validatingAdmissionPolicyBindings,
} from '../../api/admission-policy.ts'
import { dataSources } from '../../api/data-source.ts'
import { dataSourceClaims } from '../../api/data-source-claim.ts'
import { definitionName, definitions } from '../../api/definition.ts'
import { secrets, serviceAccounts } from '../../api/dependencies.ts'
import { interpreterWebhookConfigurations } from '../../api/interpreter.ts'
import {
  clusterPropagationPolicies,
  clusterResourceBindings,
  propagationPolicies,
  resourceBindings,
} from '../../api/karmada.ts'
import { admissionChecks } from '../../api/kueue.ts'
import type { K8sObject, ResourceType } from '../../api/meta.ts'
import { nodes } from '../../api/node.ts'
import { persistentVolumeClaims, persistentVolumes } from '../../api/persistent-volume.ts'
import { pods } from '../../api/pod.ts'
import {
  bindClusterRole,
  clusterRole,
  clusterRoleBindings,
  clusterRoles,
  type PolicyRule,
  roleBindings,
  roles,
} from '../../api/rbac.ts'
import {
  mutatingWebhookConfigurations,
  REGISTRATION_NAME,
  validatingWebhookConfigurations,
} from '../../api/registration.ts'
import { volumeManagers } from '../../api/volume-manager.ts'
import { defined } from '../../base/json.ts'
import { hasPods, SHIPPED_KINDS } from '../../core/workload-kinds/kinds.ts'
import { leases } from '../../store/cluster/lease.ts'
import { type Config, DEFAULT_CONFIG } from '../config/config.ts'
import { systemsRoles } from '../config/systems-config.ts'
import { configuredWorkloadKinds } from '../config/workload-kinds-config.ts'
import { podRolesFor, rolesFor } from './granted.ts'
import { pageRoles } from './page-roles.ts'
import { electionRoles, LODESTONE } from './rbac.ts'
import { credentialRoles, storageClasses } from './volume-roles.ts'

const NAME = 'lodestone-uninstall'

/**
 * Returns the ClusterRole of an uninstallation and its binding to a ServiceAccount of its own: the account of Lodestone may delete less. The
 * uninstallation does not delete them, since it needs them to the end.
 */
export function uninstallRoles(config?: Config): K8sObject[] {
  const account = { name: NAME, namespace: LODESTONE.namespace }
  return [clusterRole(NAME, uninstallRules(config)), bindClusterRole(NAME, { name: NAME }, account)]
}

function uninstallRules(config: Config | undefined): PolicyRule[] {
  const { leaderElection, certificates } = config ?? DEFAULT_CONFIG
  const workloads = (config ? configuredWorkloadKinds(config) : SHIPPED_KINDS).all.filter(hasPods)
  const byName = Map.groupBy(installedObjects(config), ({ type }) => type)
  return [
    // Every Lease is read, so that no replica with a Lease of another name is missed.
    rule([leases], ['list']),
    rule([leases], ['get', 'patch', 'delete'], [leaderElection.name]),
    rule([mutatingWebhookConfigurations, validatingWebhookConfigurations], ['get', 'delete'], [REGISTRATION_NAME]),
    rule([interpreterWebhookConfigurations], ['get', 'delete'], [REGISTRATION_NAME]),
    rule([validatingAdmissionPolicies, validatingAdmissionPolicyBindings], ['get', 'delete'], ABSENCE_POLICIES),
    // Only for dry runs: they show whether the API server calls the webhooks.
    rule([clusterResourceBindings], ['create']),
    rule([dataSources], ['create']),
    ...rulesByGroup(
      [
        propagationPolicies,
        clusterPropagationPolicies,
        resourceBindings,
        clusterResourceBindings,
        dataSourceClaims,
        dataSources,
        nodes,
        ...workloads.map(({ type }) => type),
      ],
      ['get', 'list', 'patch'],
    ),
    rule([admissionChecks], ['get', 'list']),
    { apiGroups: [admissionChecks.group], resources: [`${admissionChecks.plural}/status`], verbs: ['patch'] },
    rule([volumeManagers], ['get', 'list', 'patch', 'delete']),
    rule([pods], ['get', 'list', 'patch', 'delete']),
    rule([persistentVolumeClaims, persistentVolumes, serviceAccounts], ['get', 'list', 'delete']),
    rule([roleBindings], ['get', 'list', 'delete']),
    rule([secrets], ['get', 'delete'], [certificates.secret.name]),
    ...[...byName]
      .filter(([type]) => ![secrets, serviceAccounts, roleBindings].some((one) => one === type))
      .map(([type, members]) =>
        rule([type], ['get', 'delete'], [...new Set(members.map(({ object }) => object.metadata.name ?? ''))].sort()),
      ),
    rule([definitions], ['get', 'delete'], [dataSourceClaims, dataSources, volumeManagers].map(definitionName)),
  ]
}

function rulesByGroup(types: readonly ResourceType[], verbs: string[]): PolicyRule[] {
  return [...Map.groupBy(types, ({ group }) => group).values()].map((members) => rule(members, verbs))
}

/** The types have the same group. */
function rule(types: readonly ResourceType[], verbs: string[], resourceNames?: string[]): PolicyRule {
  return defined({
    apiGroups: [...new Set(types.map(({ group }) => group))],
    resources: [...new Set(types.map(({ plural }) => plural))].sort(),
    resourceNames,
    verbs,
  })
}

const TYPES: readonly ResourceType[] = [
  clusterRoles,
  clusterRoleBindings,
  roles,
  roleBindings,
  serviceAccounts,
  storageClasses,
]

/** Returns the objects that `lodestone manifests` prints for any configuration, and the Secret with the certificates. */
export function installedObjects(config: Config | undefined): { type: ResourceType; object: K8sObject }[] {
  const systems = { configMap: { namespace: LODESTONE.namespace, name: '' } }
  const configured = config ? [...rolesFor(config), ...podRolesFor(config)] : systemsRoles(systems)
  const all = [
    ...rolesFor(undefined),
    ...podRolesFor(undefined),
    ...credentialRoles(LODESTONE.namespace),
    ...electionRoles((config ?? DEFAULT_CONFIG).leaderElection),
    ...pageRoles(SHIPPED_KINDS),
    ...configured,
  ]
  const distinct = new Map(
    all.map((object) => [[object.kind, object.metadata.namespace, object.metadata.name].join('/'), object]),
  )
  const { secret } = (config ?? DEFAULT_CONFIG).certificates
  const certificates = { apiVersion: 'v1', kind: secrets.kind, metadata: secret }
  return [
    { type: secrets, object: certificates },
    ...[...distinct.values()].flatMap((object) => {
      const type = TYPES.find(({ kind }) => kind === object.kind)
      return type ? [{ type, object }] : []
    }),
  ]
}
