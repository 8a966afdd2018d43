/** Explains a PersistentVolume or a claim of Lodestone: the volume and the replica whose data it has. */
import { VOLUME_LABEL } from '../../api/lodestone.ts'
import { type K8sObject, objectKey, type ResourceType, referenceOf, referenceTitle } from '../../api/meta.ts'
import { persistentVolumeClaims } from '../../api/persistent-volume.ts'
import { type VolumeManager, volumeManagers } from '../../api/volume-manager.ts'
import { defined } from '../../base/json.ts'
import { stringsAt } from '../../base/json-path.ts'
import { listConfigs } from '../../core/volume-manager/known-status.ts'
import { ownerOfVolumeKey, replicaClaimName, volumeKey } from '../../core/volume-manager/rules/names.ts'
import { kindKey } from '../../store/any-kind.ts'
import { dependencyExplainer } from './dependency.ts'
import { type Context, type Explainer, readTarget } from './target.ts'
import type { TreeNode } from './tree.ts'
import { readManager, replicaNode } from './volume.ts'
import { workloadExplainer } from './workload.ts'

export const persistentVolumeExplainer: Explainer = {
  reads: workloadExplainer.reads,
  async explain(target, context) {
    const object = await readTarget(target, context.store)
    const key = object?.metadata.labels?.[VOLUME_LABEL]
    if (object && key !== undefined) return explainVolume(object, key, context)
    const isClaim = kindKey(target.type) === kindKey(persistentVolumeClaims as ResourceType)
    return (isClaim ? dependencyExplainer : workloadExplainer).explain(target, context)
  },
}

async function explainVolume(object: K8sObject, key: string, context: Context): Promise<TreeNode> {
  const { store, now } = context
  const reference = referenceOf(object)
  const [claimNamespace] = stringsAt(object, 'spec.claimRef.namespace')
  const [claimName] = stringsAt(object, 'spec.claimRef.name')
  const [directory] = stringsAt(object, 'spec.local.path')
  const [phase] = stringsAt(object, 'status.phase')
  const namespace = reference.namespace ?? claimNamespace
  const cached = store
    .byIndex(volumeManagers, 'owner', ownerOfVolumeKey(key) ?? '')
    .find(({ metadata }) => namespace === undefined || metadata.namespace === namespace)
  const read = cached && (await readManager(context, cached.metadata.namespace, cached.metadata.name ?? ''))
  return {
    ...reference,
    text: `${referenceTitle(reference)}${phase ? `: ${phase}` : ''}`,
    ...defined({ state: phase || undefined }),
    children: [
      ...(claimName ? [{ text: `for PersistentVolumeClaim ${objectKey(claimNamespace, claimName)}` }] : []),
      ...(directory ? [{ text: `directory ${directory}` }] : []),
      read
        ? ownerNode(read.manager, key, reference.name, now)
        : { text: 'its VolumeManager no longer exists', state: 'NotFound' },
    ],
  }
}

/** The VolumeManager, with the volume and the replica that have the key and the name. */
function ownerNode(manager: VolumeManager, key: string, name: string, now: number): TreeNode {
  const reference = referenceOf(manager)
  const config = listConfigs(manager).find(({ id }) => volumeKey(manager, id) === key)
  const replica = manager.status?.volumes
    ?.find(({ id }) => id === config?.id)
    ?.replicas?.find(({ claimName, revision, index }) => {
      return (claimName ?? replicaClaimName(manager, config?.id ?? '', revision, index)) === name
    })
  const volume = config ? `volume ${config.id} (${config.sourceType})` : 'a volume that its spec no longer has'
  return {
    ...reference,
    text: `${referenceTitle(reference)}, ${volume}`,
    ...defined({ state: manager.status?.state }),
    children: replica ? [replicaNode(replica, now)] : [],
  }
}
