/**
 * Locates the data of a VolumeManager on a hub, as for a claim. The data is in the member clusters in which the VolumeManager is Running.
 */
import type { AggregatedStatusItem, BindingResource, ResourceBinding } from '../../api/karmada.ts'
import { objectKey } from '../../api/meta.ts'
import { type VolumeManager, volumeManagers } from '../../api/volume-manager.ts'
import { defined, sortedUnique } from '../../base/json.ts'
import { stringsAt, valuesAt } from '../../base/json-path.ts'
import type { Answer, ClaimAnswer } from '../data-source/locate.ts'

/** The use of a VolumeManager by a workload of its namespace, with the objects of the hub. */
export interface VolumeUse {
  namespace: string
  name: string
  enforcement: 'Required' | 'Preferred'
  /** Undefined when the VolumeManager does not exist on the hub. */
  manager: VolumeManager | undefined
  /** The ResourceBinding of the VolumeManager. */
  binding: ResourceBinding | undefined
  /** Whether a policy selects the VolumeManager, and Karmada has not placed it yet. */
  isSelected: boolean
  /** Whether the dependencies of the workload are propagated with it. */
  dependenciesFollow: boolean
}

/** Seconds that a workload waits for a policy of its VolumeManager. Users apply manifests together, and the policy may be the last one. */
const POLICY_TIMEOUT = 10

/**
 * Seconds that a binding waits for its workload to be cached. A watch is behind for moments only, and a binding without a workload must not
 * stay on hold.
 */
const WORKLOAD_TIMEOUT = 10

/** The defaults of a claim without a policy. */
const TERMS = { onUnresolved: 'Hold', onUnsatisfiable: 'Hold', rebalance: 'Auto' } as const

/** The answer for a workload that is not cached yet: unknown, because its pods may name VolumeManagers. */
export function locateUnread({ kind, namespace, name }: BindingResource): ClaimAnswer {
  return {
    claim: `${kind} ${objectKey(namespace, name)}`,
    enforcement: 'Required',
    ...TERMS,
    holdTimeoutSeconds: WORKLOAD_TIMEOUT,
    answer: { kind: 'unknown', reason: 'it was not read yet, and may use VolumeManagers' },
  }
}

/**
 * Locates the data of a VolumeManager, as for a claim. Returns undefined when Karmada propagates the VolumeManager as a dependency of its
 * workloads: it follows them, and so does not restrict them.
 */
export function locateVolumeManager(use: VolumeUse): ClaimAnswer | undefined {
  const { namespace, name, enforcement, manager, binding, isSelected, dependenciesFollow } = use
  const mayFollow = manager !== undefined && !binding?.spec.placement && !isSelected && dependenciesFollow
  if (mayFollow && binding?.spec.requiredBy?.some(({ clusters }) => clusters?.length)) return undefined
  return {
    claim: `${volumeManagers.kind} ${objectKey(namespace, name)}`,
    enforcement,
    ...TERMS,
    holdTimeoutSeconds: mayFollow ? POLICY_TIMEOUT : undefined,
    answer: volumeAnswer(use),
  }
}

function volumeAnswer({ manager, binding, isSelected }: VolumeUse): Answer {
  if (!manager) return { kind: 'unknown', reason: 'it is not on this hub yet' }
  if (manager.metadata.deletionTimestamp) return { kind: 'unknown', reason: 'it is being deleted' }
  const { state } = manager.spec ?? {}
  if (state === 'Completed' || state === 'Failed') return { kind: 'nowhere', reason: `its spec.state is ${state}` }
  if (!binding?.spec.placement) {
    return { kind: 'unknown', reason: isSelected ? 'Karmada has not placed it yet' : 'no policy propagates it yet' }
  }
  const members = binding.status?.aggregatedStatus ?? []
  const running = members.filter((member) => stateIn(member) === 'Running')
  if (running.length > 0) {
    return {
      kind: 'located',
      clusters: sortedUnique(running.map(({ clusterName }) => clusterName)),
      bytes: mostBytes(running),
    }
  }
  return { kind: 'unknown', reason: `it is Running in no member yet${described(members)}` }
}

function stateIn({ status }: AggregatedStatusItem): string {
  return memberState(status) ?? 'Pending'
}

/** A VolumeManager whose changes are not written back is Failed and Ready: its data is usable. */
function memberState(status: AggregatedStatusItem['status']): string | undefined {
  const [state] = stringsAt(status, 'state')
  return state === 'Failed' && stringsAt(readyCondition(status), 'status')[0] === 'True' ? 'Running' : state
}

function readyCondition(status: AggregatedStatusItem['status']): unknown {
  return valuesAt(status, 'conditions.*').find((each) => stringsAt(each, 'type')[0] === 'Ready')
}

/** Returns the largest size in any member: a member that still downloads reports fewer bytes. */
function mostBytes(members: readonly AggregatedStatusItem[]): number | undefined {
  const sums = members.flatMap(({ status }) => {
    const bytes = valuesAt(status, 'volumes.*.bytes').filter((value) => typeof value === 'number')
    return bytes.length > 0 ? [bytes.reduce((sum, value) => sum + value, 0)] : []
  })
  return sums.length > 0 ? Math.max(...sums) : undefined
}

function described(members: readonly AggregatedStatusItem[]): string {
  if (members.length === 0) return ''
  const each = members.map((member) => {
    const [message] = stringsAt(member.status, 'message')
    return `${member.clusterName} ${stateIn(member)}${message ? `: ${message}` : ''}`
  })
  return ` (${each.join(', ')})`
}

/** Returns the fields of a member's status on which the location depends. The hub caches only these. */
export function keepMemberStatus({ clusterName, status }: AggregatedStatusItem): AggregatedStatusItem {
  const state = memberState(status)
  // The condition names the reason. VCK's own message is general.
  const [message] = [...stringsAt(readyCondition(status), 'message'), ...stringsAt(status, 'message')]
  const bytes = valuesAt(status, 'volumes.*.bytes')
  return {
    clusterName,
    status: defined({
      state: state || undefined,
      message: message || undefined,
      volumes: bytes.length > 0 ? bytes.map((each) => ({ bytes: each })) : undefined,
    }),
  }
}
