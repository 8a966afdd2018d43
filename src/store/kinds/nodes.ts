/** The cached kind of nodes: their labels, taints and conditions, and what Lodestone wrote into their annotations. */
import { DISK_PREFIX, LEFTOVER_PREFIX } from '../../api/lodestone.ts'
import { type Node, nodes } from '../../api/node.ts'
import { leftoversOf } from '../../core/volume-manager/nodes/leftovers.ts'
import { ownerOfNodeLabel } from '../../core/volume-manager/rules/names.ts'
import type { AnyCachedKind } from '../any-kind.ts'
import type { CachedKind } from '../store.ts'

const CONDITIONS = ['Ready', 'DiskPressure']

/** The annotations of nodes that Lodestone reads. */
const NODE_PREFIXES = [LEFTOVER_PREFIX, DISK_PREFIX]

const nodeKind: CachedKind<Node> = {
  type: nodes,
  keep({ apiVersion, kind, metadata: { name, uid, labels, annotations = {} }, spec, status }) {
    const ours = Object.entries(annotations).filter(([key]) => NODE_PREFIXES.some((prefix) => key.startsWith(prefix)))
    const conditions = status?.conditions?.filter(({ type }) => CONDITIONS.includes(type))
    const { unschedulable, taints } = spec ?? {}
    const kept = {
      ...(unschedulable && { unschedulable }),
      ...(taints?.length && {
        taints: taints.map(({ key, value, effect }) => ({ key, ...(value !== undefined && { value }), effect })),
      }),
    }
    return {
      apiVersion,
      kind,
      // Without resourceVersion: the kubelet writes nodes all the time, and Lodestone only patches their labels and annotations.
      metadata: {
        ...(name && { name }),
        ...(uid && { uid }),
        ...(labels && { labels }),
        ...(ours.length > 0 && { annotations: Object.fromEntries(ours) }),
      },
      ...(Object.keys(kept).length > 0 && { spec: kept }),
      ...(conditions?.length && {
        status: {
          conditions: conditions.map(({ type, status: holds, lastTransitionTime }) => ({
            type,
            status: holds,
            ...(lastTransitionTime && { lastTransitionTime }),
          })),
        },
      }),
    }
  },
  indexes: {
    owner: ({ metadata }) => Object.keys(metadata.labels ?? {}).flatMap((label) => ownerOfNodeLabel(label) ?? []),
    // Nodes with data of deleted VolumeManagers.
    leftover: (node) => (leftoversOf(node).length > 0 ? ['all'] : []),
  },
  optional: true,
}

// A configured table cannot replace the entries of these two: their paths are those of Kubernetes.

/** The kinds that are cached only when data is moved. */
export const nodeKinds: readonly AnyCachedKind[] = [nodeKind]
