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

const nodeKind: CachedKind<Node> = {
  type: nodes,
  keep({ apiVersion, kind, metadata: { name, uid, creationTimestamp, labels, annotations = {} }, spec, status }) {
    const ours = Object.entries(annotations).filter(([key]) => NODE_PREFIXES.some((prefix) => key.startsWith(prefix)))
    const conditions = status?.conditions?.filter(({ type }) => CONDITIONS.includes(type))
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
      status: conditions?.length
        ? {
            conditions: conditions.map(({ type, status: holds, lastTransitionTime }) =>
              defined({ type, status: holds, lastTransitionTime: lastTransitionTime || undefined }),
            ),
          }
        : undefined,
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
