/** PersistentVolumes and PersistentVolumeClaims, with the fields that Lodestone creates. */
import type { K8sObject, ResourceType } from './meta.ts'
import type { NodeSelector } from './node.ts'

export interface PersistentVolume extends K8sObject {
  spec?: {
    capacity?: Record<string, string>
    accessModes?: string[]
    persistentVolumeReclaimPolicy?: string
    storageClassName?: string
    claimRef?: { apiVersion?: string; kind?: string; namespace?: string; name?: string; uid?: string }
    /** Immutable after its creation, like the source. */
    nodeAffinity?: { required: NodeSelector }
    local?: { path: string }
    nfs?: { server: string; path: string; readOnly?: boolean }
  }
  status?: { phase?: string }
}

export interface PersistentVolumeClaim extends K8sObject {
  spec?: {
    accessModes?: string[]
    storageClassName?: string
    volumeName?: string
    resources?: { requests?: Record<string, string> }
  }
}

export const persistentVolumes: ResourceType<PersistentVolume> = {
  group: '',
  version: 'v1',
  kind: 'PersistentVolume',
  plural: 'persistentvolumes',
  namespaced: false,
}

export const persistentVolumeClaims: ResourceType<PersistentVolumeClaim> = {
  group: '',
  version: 'v1',
  kind: 'PersistentVolumeClaim',
  plural: 'persistentvolumeclaims',
  namespaced: true,
}
