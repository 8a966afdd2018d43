/**
 * DataSource: the location of data, from the answer of a data system. Fields are those of volcano-global, with the addition of location and
 * bytes.
 */
import type { Condition, K8sObject, ResourceType } from './meta.ts'

/** An ObjectReference of Kubernetes. volcano-global writes all fields except `fieldPath` (client-go, GetReference). */
export interface ClaimReference {
  apiVersion?: string
  kind?: string
  namespace?: string
  name?: string
  uid?: string
  resourceVersion?: string
  fieldPath?: string
}

export interface DataSource extends K8sObject {
  spec: {
    system: string
    type: string
    name: string
    attributes?: Record<string, string>
    reclaimPolicy?: 'Retain' | 'Delete'
    locality?: { clusterNames?: string[]; location?: string; bytes?: number; bytesAreMinimum?: boolean }
  }
  status?: {
    phase?: string
    claimRefs?: ClaimReference[]
    boundClaims?: number
    lastResolvedTime?: string
    lastError?: string
    /** The clusters of the location, for users. A long list is cut. */
    clusters?: string
    /** The size of the data, for users. */
    size?: string
    /** The generation of the spec for which the status was written. */
    observedGeneration?: number
    conditions?: Condition[]
  }
}

export const dataSources: ResourceType<DataSource> = {
  group: 'datadependency.volcano.sh',
  version: 'v1alpha1',
  kind: 'DataSource',
  plural: 'datasources',
  namespaced: false,
}
