/** Finds out whether manifests are those of a member cluster. */
import { dataSources } from '../api/data-source.ts'
import { dataSourceClaims } from '../api/data-source-claim.ts'
import {
  clusterPropagationPolicies,
  clusterResourceBindings,
  clusters,
  propagationPolicies,
  resourceBindings,
} from '../api/karmada.ts'
import { volumeManagers } from '../api/volume-manager.ts'
import type { ObjectStore } from '../store/store.ts'

const HUB_KINDS = [
  clusters,
  propagationPolicies,
  clusterPropagationPolicies,
  resourceBindings,
  clusterResourceBindings,
  dataSourceClaims,
  dataSources,
]

/** Whether a folder has VolumeManagers and no object of a hub. */
export function isMember(folder: ObjectStore): boolean {
  return folder.size(volumeManagers) > 0 && !hasHubObjects(folder)
}

/** Whether a folder has an object of a hub. */
export function hasHubObjects(folder: ObjectStore): boolean {
  return HUB_KINDS.some((type) => folder.size(type) > 0)
}
