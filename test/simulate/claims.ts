// A second model of claims: which ones apply to a workload, and where their data is. It shares no code with src.
import type { ApiObject, Binding } from './karmada.ts'

export interface Claim extends ApiObject {
  spec: {
    system: string
    dataSourceName: string
    workload: { kind: string; name: string; namespace?: string }
    policy?: {
      enforcement?: string
      preference?: string
      onUnresolved?: string
      onUnsatisfiable?: string
      holdTimeoutSeconds?: number
      rebalance?: string
      failback?: string
    }
  }
}

interface Source extends ApiObject {
  spec: { system: string; name: string; locality?: { clusterNames?: string[]; bytes?: number } }
  status?: { phase?: string }
}

// Where the objects are read: the API server, or the cache of a replica.
export interface Sources {
  list<T extends ApiObject>(kind: string): T[]
}

export type Answer = { kind: 'located'; clusters: readonly string[] } | { kind: 'nowhere' } | { kind: 'unknown' }

export interface AppliedClaim {
  claim: Claim
  required: boolean
  isDeleting: boolean
  holdsUnresolved: boolean
  holdsUnsatisfiable: boolean
  holdTimeoutSeconds: number | undefined
  // Whether the claim lets a scheduled workload of this kind move.
  moves: boolean
  // Whether that depends on what the workload loses by a move.
  isAuto: boolean
  // Whether the claim lets a workload return after a failover.
  failsBack: boolean
}

// Kinds that lose nothing by a move.
const MOVABLE = new Set(['Deployment', 'StatefulSet'])

// Returns the permitted claims of the workload of a binding.
export function claimsOf({ spec }: Binding, sources: Sources): AppliedClaim[] {
  const { kind, name, namespace = '' } = spec.resource
  return sources
    .list<Claim>('DataSourceClaim')
    .filter(({ metadata, spec: { workload } }) => {
      const target = workload.namespace ?? metadata.namespace
      const isNamed = workload.kind === kind && workload.name === name && target === namespace
      return isNamed && (metadata.namespace === namespace || isGranted(namespace, metadata.namespace ?? '', sources))
    })
    .map((claim) => {
      const { policy = {} } = claim.spec
      const { rebalance = 'Auto' } = policy
      return {
        claim,
        required: policy.enforcement !== 'Preferred',
        isDeleting: claim.metadata.deletionTimestamp !== undefined,
        holdsUnresolved: policy.onUnresolved !== 'Ignore',
        holdsUnsatisfiable: policy.onUnsatisfiable !== 'Ignore',
        holdTimeoutSeconds: policy.holdTimeoutSeconds,
        moves: rebalance === 'Always' || (rebalance === 'Auto' && MOVABLE.has(kind)),
        isAuto: rebalance === 'Auto',
        failsBack: policy.failback !== 'Never',
      }
    })
}

// Returns where the data of a claim is.
export function locate(claim: Claim, sources: Sources): Answer {
  const source = sourceOf(claim, sources)
  if (!source) return { kind: 'unknown' }
  if (source.status?.phase === 'Unavailable') return { kind: 'nowhere' }
  const clusters = source.spec.locality?.clusterNames
  if (!clusters) return { kind: 'unknown' }
  return clusters.length === 0 ? { kind: 'nowhere' } : { kind: 'located', clusters }
}

// Returns the bytes of the data of a claim; undefined if they are not known.
export function sizeOf(claim: Claim, sources: Sources): number | undefined {
  return sourceOf(claim, sources)?.spec.locality?.bytes
}

function sourceOf({ spec }: Claim, sources: Sources): Source | undefined {
  return sources
    .list<Source>('DataSource')
    .find((one) => one.spec.system === spec.system && one.spec.name === spec.dataSourceName)
}

function isGranted(namespace: string, from: string, sources: Sources): boolean {
  const target = sources.list('Namespace').find(({ metadata }) => metadata.name === namespace)
  const list = target?.metadata.annotations?.['lodestone.dev/allow-claims-from'] ?? ''
  return list.split(',').includes(from)
}
