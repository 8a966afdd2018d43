/** What Lodestone may do in the cluster that it serves: what its caches read and its writers write, and no more. */
import { dataSources } from '../api/data-source.ts'
import { dataSourceClaims } from '../api/data-source-claim.ts'
import { interpreterWebhookConfigurations } from '../api/interpreter.ts'
import {
  clusterPropagationPolicies,
  clusterResourceBindings,
  propagationPolicies,
  resourceBindings,
} from '../api/karmada.ts'
import type { K8sObject } from '../api/meta.ts'
import { bindingOf, clusterRole, type PolicyRule } from '../api/rbac.ts'
import {
  mutatingWebhookConfigurations,
  REGISTRATION_NAME,
  validatingWebhookConfigurations,
} from '../api/registration.ts'
import { kindsFor } from '../store/cached-kinds.ts'
import type { AnyCachedKind } from '../store/kinds.ts'

/** Who runs Lodestone, as far as nobody says otherwise: the ServiceAccount of the manifests. */
export const LODESTONE = { name: 'lodestone', namespace: 'lodestone-system' }

/**
 * The ClusterRole of every Lodestone, derived from the table of cached kinds so that the two cannot differ, and its binding. It writes no
 * pod and reads no node: on a hub there are none of its own. What it takes where pods run is in volume-roles.ts.
 */
export function clusterRoles(): K8sObject[] {
  const { name } = LODESTONE
  const registrations = [mutatingWebhookConfigurations, validatingWebhookConfigurations].map(({ plural }) => plural)
  const read = kindsFor({ dependencies: true, movesData: false })
  const rules: PolicyRule[] = [
    ...readRules(
      read.filter(({ metadataOnly }) => !metadataOnly),
      ['get', 'list', 'watch'],
    ),
    // Of these nothing but metadata is read, and that is never asked for one by one.
    ...readRules(
      read.filter(({ metadataOnly }) => metadataOnly),
      ['list', 'watch'],
    ),
    // What the loops write.
    {
      apiGroups: [dataSourceClaims.group],
      resources: ['datasourceclaims', 'datasourceclaims/status'],
      verbs: ['patch'],
    },
    { apiGroups: [dataSources.group], resources: ['datasources'], verbs: ['create', 'patch', 'delete'] },
    { apiGroups: [dataSources.group], resources: ['datasources/status'], verbs: ['patch'] },
    {
      apiGroups: [resourceBindings.group],
      resources: [clusterResourceBindings.plural, resourceBindings.plural],
      verbs: ['create', 'patch'],
    },
    {
      apiGroups: [propagationPolicies.group],
      resources: [clusterPropagationPolicies.plural, propagationPolicies.plural],
      verbs: ['patch'],
    },
    { apiGroups: [''], resources: ['events'], verbs: ['create'] },
    // `create` cannot be limited by name: the name is not known when it is authorised.
    { apiGroups: [mutatingWebhookConfigurations.group], resources: registrations, verbs: ['create'] },
    {
      apiGroups: [mutatingWebhookConfigurations.group],
      resources: registrations,
      resourceNames: [REGISTRATION_NAME],
      verbs: ['get', 'update'],
    },
    {
      apiGroups: [interpreterWebhookConfigurations.group],
      resources: [interpreterWebhookConfigurations.plural],
      verbs: ['create'],
    },
    {
      apiGroups: [interpreterWebhookConfigurations.group],
      resources: [interpreterWebhookConfigurations.plural],
      resourceNames: [REGISTRATION_NAME],
      verbs: ['get', 'update', 'delete'],
    },
  ]
  return [clusterRole(name, rules), bindingOf(name, { name }, LODESTONE)]
}

function readRules(kinds: readonly AnyCachedKind[], verbs: string[]): PolicyRule[] {
  return [...Map.groupBy(kinds, ({ type }) => type.group)].map(([group, members]) => ({
    apiGroups: [group],
    resources: members.map(({ type }) => type.plural).sort(),
    verbs,
  }))
}
