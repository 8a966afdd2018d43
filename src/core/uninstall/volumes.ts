/** Removes the traces of Lodestone from claims, sources, VolumeManagers, nodes and their persistent volumes. The data on nodes stays. */
import { dataSources } from '../../api/data-source.ts'
import { dataSourceClaims } from '../../api/data-source-claim.ts'
import {
  CLAIM_FINALIZER,
  DISK_PREFIX,
  LEFTOVER_PREFIX,
  MOVER_LABEL,
  SOURCE_FINALIZER,
  VOLUME_FINALIZER,
} from '../../api/lodestone.ts'
import type { K8sObject, ResourceType } from '../../api/meta.ts'
import { nodes } from '../../api/node.ts'
import { persistentVolumeClaims, persistentVolumes } from '../../api/persistent-volume.ts'
import type { Pod } from '../../api/pod.ts'
import { type VolumeManager, volumeManagers } from '../../api/volume-manager.ts'
import { isObject, parseJson } from '../../base/json.ts'
import { readableStatus } from '../volume-manager/known-status.ts'
import { readTask } from '../volume-manager/mover/task.ts'
import { isOfVolume, ownerOfNodeLabel, ownerOfObject, placeKey } from '../volume-manager/rules/names.ts'
import {
  change,
  deletion,
  NOTHING_TO_REMOVE,
  type Removal,
  type RemovalRule,
  withoutFinalizer,
  withoutKeys,
} from './removal.ts'

/** Claims and sources are objects of users: they stay, without the finalizers. */
export const claimRules: readonly RemovalRule[] = [
  finalizerRule(dataSourceClaims, CLAIM_FINALIZER),
  finalizerRule(dataSources, SOURCE_FINALIZER),
]

/** VolumeManagers stay too. Persistent volumes are objects of Lodestone: claims come first, because pods mount them. */
export const volumeRules: readonly RemovalRule[] = [
  finalizerRule(volumeManagers, VOLUME_FINALIZER, (object) => listNodeData(object as VolumeManager).map(dataKept)),
  { type: nodes, metadataOnly: true, plan: planNode },
  persistentVolumeRule(persistentVolumeClaims),
  persistentVolumeRule(persistentVolumes),
]

function finalizerRule(
  type: ResourceType,
  finalizer: string,
  keeps: (object: K8sObject) => string[] = () => [],
): RemovalRule {
  return {
    type,
    plan(object) {
      const freed = withoutFinalizer(object, finalizer)
      return change(type, object, freed, [`finalizer ${finalizer}`], keeps(object))
    },
  }
}

/** The data of a volume in a directory of a node. */
export interface NodeData {
  node: string
  path: string
}

/** Returns the directories of Lodestone that the status of a VolumeManager names. That of a `Local` volume belongs to the user, and always stays. */
export function listNodeData({ status }: VolumeManager): NodeData[] {
  const places = (readableStatus(status)?.volumes ?? []).flatMap(({ replicas = [], deletions = [] }) => [
    ...replicas,
    ...deletions,
  ])
  const found = places.flatMap(({ node, path }) => (node && path && isOfVolume(path) ? [{ node, path }] : []))
  return [...new Map(found.map((one) => [placeKey(one), one])).values()]
}

/** Returns the directories of deleted VolumeManagers that the annotations of a node name. */
export function leftoversOn({ metadata }: K8sObject): NodeData[] {
  const texts = Object.entries(metadata.annotations ?? {}).filter(([key]) => key.startsWith(LEFTOVER_PREFIX))
  return texts.flatMap(([, text]) => {
    const leftover = parseJson(text)
    const path = isObject(leftover) ? leftover['path'] : undefined
    return typeof path === 'string' ? [{ node: metadata.name ?? '', path }] : []
  })
}

/** Returns what the removal of a VolumeManager or a node keeps. */
export function dataKept({ node, path }: NodeData): string {
  return `data on node ${node}: ${path}`
}

function planNode(node: K8sObject): Removal {
  const labeled = withoutKeys(node, 'labels', isVolumeLabel)
  const { object, removed } = withoutKeys(labeled.object, 'annotations', (key) =>
    [LEFTOVER_PREFIX, DISK_PREFIX].some((prefix) => key.startsWith(prefix)),
  )
  const removes = [...labeled.removed.map((key) => `label ${key}`), ...removed.map((key) => `annotation ${key}`)]
  return change(nodes, node, object, removes, leftoversOn(node).map(dataKept))
}

/** A uid without dashes. VCK's own labels begin with a namespace instead. */
const UID = /^[0-9a-f]{32}$/

function isVolumeLabel(label: string): boolean {
  return UID.test(ownerOfNodeLabel(label) ?? '')
}

function persistentVolumeRule(type: ResourceType): RemovalRule {
  return {
    type,
    metadataOnly: true,
    plan(object) {
      return ownerOfObject(object.metadata) === undefined ? NOTHING_TO_REMOVE : deletion(type, object)
    },
  }
}

const MOVER_NAME = /^vck-resource-[0-9a-z]{13}-\d+$/

/** Whether a Pod is a mover. The webhook `mover-pod` keeps users from creating Pods with this label. */
export function isMoverPod(pod: Pod): boolean {
  const { labels, name = '' } = pod.metadata
  return labels?.[MOVER_LABEL] !== undefined && MOVER_NAME.test(name) && readTask(pod) !== undefined
}
