/** The rights of a page in a cluster: `lodestone ui --login token`. */
import {
  ABSENCE_POLICIES,
  validatingAdmissionPolicies,
  validatingAdmissionPolicyBindings,
} from '../../api/admission-policy.ts'
import { dataSources } from '../../api/data-source.ts'
import { dataSourceClaims } from '../../api/data-source-claim.ts'
import { definitionName, definitions } from '../../api/definition.ts'
import { events } from '../../api/event.ts'
import { interpreterWebhookConfigurations } from '../../api/interpreter.ts'
import type { K8sObject, ResourceType } from '../../api/meta.ts'
import { persistentVolumeClaims, persistentVolumes } from '../../api/persistent-volume.ts'
import { bindClusterRole, clusterRole, type PolicyRule } from '../../api/rbac.ts'
import {
  mutatingWebhookConfigurations,
  REGISTRATION_NAME,
  validatingWebhookConfigurations,
} from '../../api/registration.ts'
import { volumeManagers } from '../../api/volume-manager.ts'
import type { WorkloadKinds } from '../../core/workload-kinds/kinds.ts'
import { kindKey } from '../../store/any-kind.ts'
import { leases } from '../../store/cluster/lease.ts'
import { placementKinds, relatedKinds } from '../../store/kinds/cached-kinds.ts'
import { injectionKinds } from '../../store/kinds/volumes.ts'
import { LODESTONE, readRules } from './rbac.ts'

const NAME = 'lodestone-page'
/** The account of the page. It is not that of Lodestone, which may write. */
export const PAGE_ACCOUNT = { name: NAME, namespace: LODESTONE.namespace }

/**
 * Returns the ClusterRole of the page and its binding: to read what it shows, and to ask who its readers are. It has no Secrets and no
 * ConfigMaps, and writes nothing.
 */
export function pageRoles(workloads: WorkloadKinds): K8sObject[] {
  const cached = [...placementKinds, ...injectionKinds, ...relatedKinds(workloads)]
  const isCached = new Set(cached.map(({ type }) => kindKey(type)))
  // Explanations read these one by one.
  const all = [...workloads.all.map(({ type }) => type), persistentVolumeClaims, persistentVolumes]
  const single = distinct(all, (type) => type).filter((type) => !isCached.has(kindKey(type)))
  const rules = [
    ...readRules(distinct(cached, ({ type }) => type)),
    ...[...Map.groupBy(single, ({ group }) => group)].map(([group, types]) => ({
      apiGroups: [group],
      resources: types.map(({ plural }) => plural).sort(),
      verbs: ['get'],
    })),
    ...installationRules(),
    { apiGroups: [events.group], resources: [events.plural], verbs: ['list'] },
    { apiGroups: ['authentication.k8s.io'], resources: ['tokenreviews'], verbs: ['create'] },
    { apiGroups: ['authorization.k8s.io'], resources: ['subjectaccessreviews'], verbs: ['create'] },
  ]
  return [clusterRole(NAME, rules), bindClusterRole(NAME, { name: NAME }, PAGE_ACCOUNT)]
}

/** The objects of an installation, by name. */
function installationRules(): PolicyRule[] {
  const registrations = [mutatingWebhookConfigurations, validatingWebhookConfigurations]
  const policies = [validatingAdmissionPolicies, validatingAdmissionPolicyBindings]
  const own = [dataSourceClaims, dataSources, volumeManagers].map(definitionName).sort()
  return [
    readNamed([leases], ['lodestone']),
    readNamed(registrations, [REGISTRATION_NAME]),
    readNamed(policies, ABSENCE_POLICIES),
    readNamed([interpreterWebhookConfigurations], [REGISTRATION_NAME]),
    readNamed([definitions], own),
  ]
}

/** The types have the same group. */
function readNamed(types: readonly ResourceType[], resourceNames: string[]): PolicyRule {
  const [{ group } = { group: '' }] = types
  return { apiGroups: [group], resources: types.map(({ plural }) => plural), resourceNames, verbs: ['get'] }
}

function distinct<Item>(items: readonly Item[], typeOf: (item: Item) => ResourceType): Item[] {
  return [...new Map(items.map((item) => [kindKey(typeOf(item)), item])).values()]
}
