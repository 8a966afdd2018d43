/** Chooses the claims of a pod: each claim is for one replica of a volume, so it also determines the node of the pod. */
import type { PodSpec } from '../../../api/pod.ts'
import { fnv1a } from '../../../base/hash.ts'
import { defined } from '../../../base/json.ts'
import type { WantedVolume } from '../requests/resolve.ts'
import type { ReplicaClaim } from './mountable-volumes.ts'

export interface ClaimChoice {
  /** The node that the pod is bound to already; undefined if the scheduler chooses. */
  node: string | undefined
  /** Whether the pod may run on a node; true for a node that is not known. */
  mayRun(node: string): boolean
  /** Identifies the pod: its number in its workload, or any text. Pods are spread over the replicas by it. */
  seed: string
}

/** A volume that pods mount by the claims of its replicas. */
type Claimed = WantedVolume & { volume: { claims: readonly ReplicaClaim[] } }

/**
 * Returns the volumes with the claims that a new pod mounts. All claims are on one node, if a node has all required volumes. Only ready
 * replicas count. If a required volume has none, the pod waits for one of those that are planned.
 *
 * The choice depends on the pod and the replicas alone: with the same input, admission and `check` choose the same claims.
 */
export function chooseClaims(wanted: readonly WantedVolume[], spec: PodSpec, choice: ClaimChoice): WantedVolume[] {
  if (!wanted.some(isClaimed)) return [...wanted]
  const node = nodeFor(wanted, spec, choice)
  return wanted.flatMap((one) => (isClaimed(one) ? (claimedAt(one, spec, node, choice.seed) ?? []) : one))
}

/**
 * Returns the volumes with the claims that a stored pod mounts. A volume is ready if the replica of its claim is. `isElsewhere` says
 * whether a claim no longer exists, or cannot be used together with the others.
 */
export function mountedClaims(wanted: readonly WantedVolume[], spec: PodSpec) {
  const found = wanted.map((one) => (isClaimed(one) ? { one, claim: mountedBy(one, spec) } : { one, claim: undefined }))
  const nodes = new Set(found.flatMap(({ claim }) => claim?.node ?? []))
  return {
    wanted: found.map(({ one, claim }) => (isClaimed(one) && claim ? withClaim(one, claim) : one)),
    isElsewhere: nodes.size > 1 || found.some(({ one, claim }) => isClaimed(one) && isLost(one, claim)),
  }
}

function isClaimed(one: WantedVolume): one is Claimed {
  return one.volume.claims !== undefined
}

/** Whether the replica of a claim is gone, or is not ready while another replica is. */
function isLost({ volume: { claims, state } }: Claimed, claim: ReplicaClaim | undefined): boolean {
  if (claim === undefined) return true
  return claim.node === undefined && state === 'Ready' && claims.some(({ node }) => node !== undefined)
}

/** The node of the pod; undefined if no ready replica determines it. */
function nodeFor(wanted: readonly WantedVolume[], spec: PodSpec, { node, mayRun, seed }: ClaimChoice) {
  if (node !== undefined) return node
  const mounted = wanted.filter(isClaimed).flatMap((one) => mountedBy(one, spec)?.node ?? [])
  if (mounted[0] !== undefined) return mounted[0]
  const required = wanted.filter(({ request }) => request.enforcement !== 'Preferred')
  const ofRequired = common(required.map(volumeNodes).filter((nodes) => nodes.length > 0))
  if (required.some(isClaimed)) {
    const allowed = ofRequired.filter(mayRun)
    // On a node that the pod excludes, the scheduler reports why the pod cannot run.
    return pick(allowed.length > 0 ? allowed : ofRequired, seed)
  }
  const preferred = wanted
    .filter((one) => isClaimed(one) && one.request.enforcement === 'Preferred')
    .flatMap(volumeNodes)
  const possible = ofRequired.length > 0 ? preferred.filter((one) => ofRequired.includes(one)) : preferred
  return pick(possible.filter(mayRun), seed)
}

/** The nodes that have a volume now; empty if they are not known, or the volume is on every node. */
function volumeNodes({ volume: { claims, nodes } }: WantedVolume): readonly string[] {
  return claims ? claims.flatMap(({ node }) => node ?? []) : nodes
}

function common(lists: readonly (readonly string[])[]): string[] {
  const [first = [], ...rest] = lists
  return first.filter((node) => rest.every((list) => list.includes(node)))
}

/** The volume with its claim on a node; undefined if the pod runs without it. */
function claimedAt(one: Claimed, spec: PodSpec, node: string | undefined, seed: string): WantedVolume | undefined {
  const { claims } = one.volume
  const onNode = mountedBy(one, spec) ?? claims.find((claim) => claim.node !== undefined && claim.node === node)
  if (onNode) return withClaim(one, onNode)
  if (one.request.enforcement === 'Preferred') return undefined
  const ready = claims.filter((claim) => claim.node !== undefined)
  const claim = pick(ready.length > 0 ? ready : claims, seed)
  return claim ? withClaim(one, claim) : { ...one, volume: { ...one.volume, state: 'Waiting' } }
}

/** The claim of the volume that the pod mounts already, as after an earlier injection or by its user. */
function mountedBy({ volume: { claims } }: Claimed, { volumes = [] }: PodSpec): ReplicaClaim | undefined {
  const names = new Set(volumes.flatMap(({ persistentVolumeClaim }) => persistentVolumeClaim?.claimName ?? []))
  return claims.find(({ claimName }) => names.has(claimName))
}

/**
 * The PersistentVolume determines the node, so the pod needs no node affinity. With one, it could not start after the node lost its label,
 * although its claim still exists for it.
 */
function withClaim(one: Claimed, { claimName, node }: ReplicaClaim): WantedVolume {
  const { volume } = one
  return {
    ...one,
    source: { persistentVolumeClaim: defined({ claimName, readOnly: volume.readOnly || undefined }) },
    volume: {
      ...volume,
      nodeAffinity: {},
      nodes: node === undefined ? [] : [node],
      state: node === undefined ? 'Waiting' : volume.state,
    },
  }
}

/** Consecutive numbers get consecutive items, so that the pods of a StatefulSet or an indexed Job are spread evenly. */
function pick<T>(items: readonly T[], seed: string): T | undefined {
  const number = /^\d{1,9}$/.test(seed) ? Number(seed) : Number.parseInt(fnv1a(seed).slice(-6), 36)
  return items[number % items.length]
}
