// Reads bindings for the guarantees: their base, their claims and what Lodestone wrote into them.
import { isDeepStrictEqual } from 'node:util'
import { keyOf } from './api-server.ts'
import type { Answer, Claim, claimsOf, Sources } from './claims.ts'
import { nameOfPolicy, policyNameOf } from './detector.ts'
import type { ApiObject, Binding, Placement, Policy } from './karmada.ts'
import type { Replica } from './replica.ts'
import { common } from './sets.ts'

export const HOLD = 'lodestone.dev/hold'

const OUR_ANNOTATIONS = ['lodestone.dev/base-affinity', 'lodestone.dev/locality', HOLD]

// The cached objects of a replica.
export function viewOf(replica: Replica): Sources {
  const types = new Map(replica.kinds().map((type) => [type.kind, type]))
  return {
    list: <T extends ApiObject>(kind: string) => {
      const type = types.get(kind)
      return type ? ([...replica.list(type)] as unknown as T[]) : []
    },
  }
}

// The clusters that have all data of the located claims.
export function dataOf(answers: readonly [unknown, Answer][]): Set<string> {
  const sets = answers.map(([, answer]) => new Set(answer.kind === 'located' ? answer.clusters : []))
  return sets.reduce((left, right) => common(left, right))
}

// The binding with the affinities of another placement.
export function withAffinities(binding: Binding, { clusterAffinity, clusterAffinities }: Placement): Binding {
  const { clusterAffinity: _one, clusterAffinities: _groups, ...rest } = binding.spec.placement ?? {}
  const placement = {
    ...rest,
    ...(clusterAffinity && { clusterAffinity }),
    ...(clusterAffinities && { clusterAffinities }),
  }
  return { ...binding, spec: { ...binding.spec, placement } }
}

export function nameOf({ metadata }: ApiObject): string {
  return keyOf(metadata.namespace, metadata.name)
}

export function viewedPolicyOf(binding: Binding, replica: Replica): Policy | undefined {
  const name = policyNameOf(binding)
  const kind = name?.includes('/') ? 'PropagationPolicy' : 'ClusterPropagationPolicy'
  const policies = name ? viewOf(replica).list<Policy>(kind) : []
  return policies.find((policy) => nameOfPolicy(policy) === name)
}

export function annotatedBaseOf(binding: Binding | undefined): Placement | undefined {
  try {
    const base = JSON.parse(binding?.metadata.annotations?.['lodestone.dev/base-affinity'] ?? 'null')
    return typeof base === 'object' && base !== null ? base : undefined
  } catch {
    return undefined // A user ruined the annotation.
  }
}

// A hold that was released stays recorded.
export function hasActiveHold({ metadata }: Binding): boolean {
  try {
    const hold = JSON.parse(metadata.annotations?.[HOLD] ?? 'null')
    return typeof hold?.since === 'string' && hold.released !== true
  } catch {
    return false // A user ruined the annotation.
  }
}

export function withBase(binding: Binding, base: object): Binding {
  const annotations = { ...binding.metadata.annotations, 'lodestone.dev/base-affinity': JSON.stringify(base) }
  return { ...binding, metadata: { ...binding.metadata, annotations } }
}

export function affinitiesIn({ clusterAffinity, clusterAffinities }: Placement): object {
  return { clusterAffinity, clusterAffinities }
}

export function isSameAffinity(a: Binding, b: Binding): boolean {
  return isDeepStrictEqual(affinitiesIn(a.spec.placement ?? {}), affinitiesIn(b.spec.placement ?? {}))
}

export function oursIn({ metadata }: Binding): (string | undefined)[] {
  return OUR_ANNOTATIONS.map((key) => metadata.annotations?.[key])
}

// The binding without the fields that Lodestone may change.
export function withoutOurs(binding: Binding): object {
  const { resourceVersion: _version, generation: _generation, annotations = {}, ...metadata } = binding.metadata
  const others = Object.fromEntries(Object.entries(annotations).filter(([key]) => !key.startsWith('lodestone.dev/')))
  const { placement = {}, suspension = {}, rescheduleTriggeredAt: _triggered, ...spec } = binding.spec
  const { clusterAffinity: _one, clusterAffinities: _groups, ...rest } = placement
  const { scheduling: _scheduling, ...siblings } = suspension
  return { metadata: { ...metadata, annotations: others }, spec, placement: rest, suspension: siblings }
}

export function isReleased(stored: Binding | undefined, now: number, claims: ReturnType<typeof claimsOf>): boolean {
  const text = stored?.metadata.annotations?.[HOLD]
  if (!text) return false
  try {
    const { since, released } = JSON.parse(text) as { since: string; released?: boolean }
    const timeouts = claims.flatMap(({ holdTimeoutSeconds = [] }) => holdTimeoutSeconds)
    return released === true || timeouts.some((seconds) => now >= Date.parse(since) + seconds * 1000)
  } catch {
    return false // A user ruined the annotation.
  }
}

export function workloadOf({ metadata, spec }: Claim): string {
  const { kind, name, namespace = metadata.namespace } = spec.workload
  return `${kind} ${keyOf(namespace, name)}`
}

// The fields in which two objects differ, with their values.
export function differenceOf(a: unknown, b: unknown, path = ''): string {
  if (isDeepStrictEqual(a, b)) return ''
  if (typeof a !== 'object' || typeof b !== 'object' || !a || !b || Array.isArray(a) || Array.isArray(b)) {
    return `${path}: ${JSON.stringify(a)} → ${JSON.stringify(b)}`
  }
  const keys = [...new Set([...Object.keys(a), ...Object.keys(b)])]
  const parts = keys.map((key) => differenceOf(a[key as never], b[key as never], path ? `${path}.${key}` : key))
  return parts.filter((part) => part !== '').join('; ')
}

// The state in the locality annotation.
export function stateOf(binding: Binding | undefined): string | undefined {
  return localityOf(binding)?.state
}

// When a wait in the locality annotation began, in ms.
export function waitsSince(binding: Binding | undefined): number | undefined {
  const { since } = localityOf(binding) ?? {}
  return since === undefined ? undefined : Date.parse(since)
}

// Whether the last return did not last, so that the workload waits for longer than the stabilization window.
export function waitsLonger(binding: Binding): boolean {
  return waitsSince(binding) !== undefined && (localityOf(binding)?.returned?.times ?? 0) > 0
}

// Whether a binding waits for a claim: the last decision knew none.
export function waitsForClaim(binding: Binding | undefined): boolean {
  return waitsSince(binding) !== undefined && localityOf(binding)?.claims?.length === 0
}

// Whether a binding is narrowed to data that is required.
export function isRequired(binding: Binding): boolean {
  const { required, requiredDigest } = localityOf(binding) ?? {}
  return (required ?? requiredDigest) !== undefined
}

interface Locality {
  state?: string
  since?: string
  required?: string[]
  requiredDigest?: string
  claims?: string[]
  returned?: { times: number }
}

function localityOf(binding: Binding | undefined): Locality | undefined {
  try {
    return JSON.parse(binding?.metadata.annotations?.['lodestone.dev/locality'] ?? '{}')
  } catch {
    return undefined // A user ruined the annotation.
  }
}

// The clusters of a binding's last narrowing to data that is required.
export function requiredIn(binding: Binding): readonly string[] {
  return localityOf(binding)?.required ?? []
}

// Whether a binding has clusters, or had them until an eviction.
export function isPlaced(binding: Binding | undefined): boolean {
  return !!binding?.spec.clusters?.length || !!binding?.spec.gracefulEvictionTasks?.length
}
