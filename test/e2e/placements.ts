// Records where workloads are scheduled, and which members have them: each state, also one that lasts for milliseconds.
import type { KubeObject, Watch, WatchEvent } from './api-client.ts'
import type { ControlPlane } from './control-plane.ts'
import { type BindingObject, bindings, finishDeletion, isDeleted, memberOf, type Work } from './hub.ts'
import { eventually } from './poll.ts'

interface PlacementState {
  at: number
  clusters: string
  members: string
  reason: string
}

// The states of a workload since the record began. Each list has a value once for all states in a row that have it.
export interface PlacementRecord {
  readonly states: readonly PlacementState[]
  // Of the binding, such as `member1,member2`; empty without clusters.
  readonly clusters: string[]
  // The members that are to have the workload. Karmada removes it from its old members before it gives it to new ones.
  readonly members: string[]
  // Of the condition Scheduled, such as `Success`. `NoClusterFit`: the scheduler emptied the binding.
  readonly reasons: string[]
}

export interface Placements {
  // Records from now on.
  follow(workload: KubeObject): PlacementRecord
  // Until the scheduler is done with a workload, and it is in these clusters.
  isIn(workload: KubeObject, clusters: string): Promise<true>
  stop(): Promise<void>
}

/** Watches all bindings and Works of a plane. Deleted Works go, as if members had agents: a workload can come back only then. */
export async function watchPlacements(plane: ControlPlane): Promise<Placements> {
  const found = new Map<string, Pick<PlacementState, 'clusters' | 'reason'>>()
  // The workload of each Work that is not deleted.
  const works = new Map<string, { key: string; member: string }>()
  const followers: { key: string; states: PlacementState[] }[] = []
  const deletions: Promise<void>[] = []

  function present(key: string): PlacementState {
    const members = [...works.values()].filter((work) => work.key === key).map(({ member }) => member)
    return { at: Date.now(), clusters: '', reason: '', ...found.get(key), members: listed(members) }
  }

  function record(key: string): void {
    for (const follower of followers) if (follower.key === key) follower.states.push(present(key))
  }

  function takeBinding({ type, object }: WatchEvent): void {
    const { spec, status } = object as WatchedBinding
    const key = keyOf(spec.resource)
    const reason = status?.conditions?.find((condition) => condition.type === 'Scheduled')?.reason ?? ''
    if (type === 'DELETED') found.delete(key)
    else found.set(key, { clusters: listed((spec.clusters ?? []).map(({ name }) => name)), reason })
    record(key)
  }

  function takeWork({ type, object }: WatchEvent): void {
    const { metadata, spec } = object as Work
    const [manifest] = spec.workload.manifests
    if (!manifest) return
    const [id, key] = [`${metadata.namespace}/${metadata.name}`, keyOf({ kind: manifest.kind, ...manifest.metadata })]
    if (type === 'DELETED' || isDeleted(metadata)) works.delete(id)
    else works.set(id, { key, member: memberOf(metadata.namespace) })
    record(key)
    if (type !== 'DELETED' && isDeleted(metadata)) deletions.push(finishDeletion(plane, object))
  }

  const watches: Watch[] = await Promise.all([
    plane.api.watch(bindings, takeBinding),
    plane.api.watch('works.work.karmada.io', takeWork),
  ])
  return {
    follow: ({ kind, metadata }) => {
      const key = keyOf({ kind, ...metadata })
      const states = [present(key)]
      followers.push({ key, states })
      const each = (field: 'clusters' | 'members' | 'reason') =>
        states.map((state) => state[field]).filter((value, i, all) => value !== all[i - 1])
      return {
        states,
        get clusters() {
          return each('clusters')
        },
        get members() {
          return each('members')
        },
        get reasons() {
          return each('reason')
        },
      }
    },
    isIn: ({ kind, metadata }, wanted) =>
      eventually(`${kind} ${metadata.name} is in ${wanted}`, async () => {
        const { clusters, members, reason } = present(keyOf({ kind, ...metadata }))
        if (clusters === wanted && members === wanted && reason === 'Success') return true
        throw new Error(`it is scheduled to ${clusters || 'none'} (${reason}), and in ${members || 'none'}`)
      }),
    stop: async () => {
      await Promise.all(watches.map((watch) => watch.stop()))
      await Promise.all(deletions)
    },
  }
}

interface WatchedBinding extends BindingObject {
  spec: BindingObject['spec'] & { resource: WorkloadReference }
  status?: { conditions?: { type: string; reason: string }[] }
}

interface WorkloadReference {
  kind: string
  namespace?: string
  name: string
}

function keyOf({ kind, namespace = '', name }: WorkloadReference): string {
  return `${kind} ${namespace}/${name}`
}

function listed(names: string[]): string {
  return [...new Set(names)].sort().join()
}
