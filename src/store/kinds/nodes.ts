/** The cached kind of nodes: their labels, taints and conditions, and what Lodestone wrote into their annotations. */
import { DISK_PREFIX, LEFTOVER_PREFIX } from '../../api/lodestone.ts'
import { type Node, nodes } from '../../api/node.ts'
import { defined } from '../../base/json.ts'
import { leftoverDigests } from '../../core/volume-manager/nodes/leftovers.ts'
import { ownerOfNodeLabel } from '../../core/volume-manager/rules/names.ts'
import type { AnyCachedKind } from '../any-kind.ts'
import type { CachedKind } from '../store.ts'

const CONDITIONS = ['Ready', 'DiskPressure']

/** The annotations of nodes that Lodestone reads. */
const NODE_PREFIXES = [LEFTOVER_PREFIX, DISK_PREFIX]

/** The conditions that decisions read, and the boot of the machine. */
function keepStatus({ conditions = [], nodeInfo }: NonNullable<Node['status']> = {}): Node['status'] {
  const kept = conditions
    .filter(({ type }) => CONDITIONS.includes(type))
    .map(({ type, status, lastTransitionTime }) =>
      defined({ type, status, lastTransitionTime: lastTransitionTime || undefined }),
    )
  const { bootID } = nodeInfo ?? {}
  const known = defined({
    conditions: kept.length > 0 ? kept : undefined,
    nodeInfo: bootID ? { bootID } : undefined,
  })
  return Object.keys(known).length > 0 ? known : undefined
}

const nodeKind: CachedKind<Node> = {
  type: nodes,
  keep({ apiVersion, kind, metadata: { name, uid, creationTimestamp, labels, annotations = {} }, spec, status }) {
    const ours = Object.entries(annotations).filter(([key]) => NODE_PREFIXES.some((prefix) => key.startsWith(prefix)))
    const { unschedulable, taints } = spec ?? {}
    const kept = defined({
      unschedulable: unschedulable || undefined,
      taints: taints?.length ? taints.map(({ key, value, effect }) => defined({ key, value, effect })) : undefined,
    })
    return defined({
      apiVersion,
      kind,
      // Without resourceVersion: the kubelet writes nodes all the time, and Lodestone only patches their labels and annotations.
      metadata: defined({
        name: name || undefined,
        uid: uid || undefined,
        creationTimestamp: creationTimestamp || undefined,
        labels,
        annotations: ours.length > 0 ? Object.fromEntries(ours) : undefined,
      }),
      spec: Object.keys(kept).length > 0 ? kept : undefined,
      status: keepStatus(status),
    })
  },
  indexes: {
    owner: ({ metadata }) => Object.keys(metadata.labels ?? {}).flatMap((label) => ownerOfNodeLabel(label) ?? []),
    // Nodes with data of deleted VolumeManagers.
    leftover: (node) => (leftoverDigests(node).length > 0 ? ['all'] : []),
  },
  optional: true,
}

/** The kinds that are cached only when data is moved. */
export const nodeKinds: readonly AnyCachedKind[] = [nodeKind]
