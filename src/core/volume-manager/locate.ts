/** Locates the data of a VolumeManager on a hub, as for a claim: it is in the members in which the VolumeManager is Running. */
import type { AggregatedStatusItem, BindingResource, ResourceBinding } from '../../api/karmada.ts'
import { objectKey } from '../../api/meta.ts'
import { type VolumeManager, volumeManagers } from '../../api/volume-manager.ts'
import type { Answer, ClaimAnswer } from '../data-source-claim/locate.ts'
import { stringsAt, valuesAt } from '../dependencies/json-path.ts'
import { sortedUnique } from '../json.ts'

/** The use of a VolumeManager by a workload of its namespace, with the objects of the hub. */
export interface VolumeUse {
  namespace: string
  name: string
  enforcement: 'Required' | 'Preferred'
  /** Undefined when it does not exist. */
  manager: VolumeManager | undefined
  /** Of the VolumeManager. */
  binding: ResourceBinding | undefined
  /** Whether a policy selects it, and Karmada has not placed it yet. */
  isSelected: boolean
  /** Whether the dependencies of the workload are propagated with it. */
  dependenciesFollow: boolean
}

/** In seconds: manifests are applied together, and the policy of the VolumeManager may be the last one. */
const POLICY_TIMEOUT = 10

/** In seconds: a watch is behind for moments only, and a binding without a workload must not stay on hold. */
const WORKLOAD_TIMEOUT = 10

/** The defaults of a claim without a policy. */
const TERMS = { onUnresolved: 'Hold', onUnsatisfiable: 'Hold', rebalance: 'Auto' } as const

/** The location for a workload that is not cached yet: its pods may name VolumeManagers. */
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
 * Where the data is, as for a claim. Undefined for a VolumeManager without a placement of its own: it is a dependency, follows its
 * workloads, and so does not restrict them.
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
    answer: answerOf(use),
  }
}

function answerOf({ manager, binding, isSelected }: VolumeUse): Answer {
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
  return stringsAt(status, 'state')[0] ?? 'Pending'
}

/** A member that still downloads reports fewer bytes than the others. */
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

/** The part of a member's status of a VolumeManager that the hub caches: all that its location depends on. */
export function keepMemberStatus({ clusterName, status }: AggregatedStatusItem): AggregatedStatusItem {
  const [state] = stringsAt(status, 'state')
  // The condition has the reason; VCK's message beside it is general.
  const ready = valuesAt(status, 'conditions.*').find((each) => stringsAt(each, 'type')[0] === 'Ready')
  const [message] = [...stringsAt(ready, 'message'), ...stringsAt(status, 'message')]
  const bytes = valuesAt(status, 'volumes.*.bytes')
  return {
    clusterName,
    status: {
      ...(state && { state }),
      ...(message && { message }),
      ...(bytes.length > 0 && { volumes: bytes.map((each) => ({ bytes: each })) }),
    },
  }
}
