/** The rights of a page in a cluster: `lodestone ui --login token`. */
import type { K8sObject, ResourceType } from '../../api/meta.ts'
import { persistentVolumeClaims, persistentVolumes } from '../../api/persistent-volume.ts'
import { bindingOf, clusterRole } from '../../api/rbac.ts'
import type { WorkloadKinds } from '../../core/workload-kinds/kinds.ts'
import { kindKey } from '../../store/any-kind.ts'
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
    { apiGroups: ['authentication.k8s.io'], resources: ['tokenreviews'], verbs: ['create'] },
    { apiGroups: ['authorization.k8s.io'], resources: ['subjectaccessreviews'], verbs: ['create'] },
  ]
  return [clusterRole(NAME, rules), bindingOf(NAME, { name: NAME }, PAGE_ACCOUNT)]
}

function distinct<Item>(items: readonly Item[], typeOf: (item: Item) => ResourceType): Item[] {
  return [...new Map(items.map((item) => [kindKey(typeOf(item)), item])).values()]
}
