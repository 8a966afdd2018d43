/**
 * DataSourceClaim: the data that a workload needs. Fields, phases and messages are those of volcano-global, with the addition of
 * `spec.policy`.
 */
import type { Condition, K8sObject, ResourceType } from './meta.ts'

export interface WorkloadReference {
  apiVersion: string
  kind: string
  name: string
  namespace?: string
}

export type HoldOrIgnore = 'Hold' | 'Ignore'

/** The figure by which a Preferred claim ranks clusters. */
export type PreferenceFigure = 'Bytes' | 'Cost' | 'Time'

export interface ClaimPolicy {
  enforcement?: 'Required' | 'Preferred'
  preference?: PreferenceFigure
  onUnresolved?: HoldOrIgnore
  onUnsatisfiable?: HoldOrIgnore
  holdTimeoutSeconds?: number
  rebalance?: 'Auto' | 'Always' | 'Never'
  failback?: 'Auto' | 'Never'
  maxStalenessSeconds?: number
}

export interface DataSourceClaim extends K8sObject {
  spec: {
    system: string
    dataSourceType: string
    dataSourceName: string
    attributes?: Record<string, string>
    workload: WorkloadReference
    policy?: ClaimPolicy
  }
  /** Of a cached claim: the fields that a client has set, and that the API server drops (core/data-source-claim/dropped-fields.ts). */
  dropped?: readonly string[]
  status?: { phase?: string; boundDataSource?: string; observedGeneration?: number; conditions?: Condition[] }
}

export const dataSourceClaims: ResourceType<DataSourceClaim> = {
  group: 'datadependency.volcano.sh',
  version: 'v1alpha1',
  kind: 'DataSourceClaim',
  plural: 'datasourceclaims',
  namespaced: true,
}
