/** Plans the labels of nodes that have data: added before the status shows the data, and removed before its deletion. */
import { type Node, nodes as nodeType } from '../../api/node.ts'
import type { ReplicaStatus } from '../../api/volume-status.ts'
import type { Write } from '../plan.ts'
import type { VolumeManagerInput } from './input.ts'
import { isUsable } from './replica/download.ts'
import type { VolumePlan } from './replica/volume-plan.ts'
import { nodeLabelsFor, ownerKey, ownerOfNodeLabel } from './rules/names.ts'

/**
 * Returns one patch for each node with missing or surplus labels of this VolumeManager. Each patch has the uid of the node, so that it
 * fails when the node was replaced since.
 */
export function planNodeLabels({ manager, nodes }: VolumeManagerInput, plans: readonly VolumePlan[]): Write[] {
  const wanted = new Map<string, Set<string>>()
  for (const { id, config, set } of plans) {
    for (const replica of set.replicas) {
      if (replica.node === undefined || !keepsLabel(replica, config?.sourceType)) continue
      const labels = wanted.get(replica.node) ?? new Set()
      for (const label of nodeLabelsFor(manager, id)(replica)) labels.add(label)
      wanted.set(replica.node, labels)
    }
  }
  const names = new Set([...wanted.keys(), ...nodes.labelled().flatMap(({ metadata }) => metadata.name ?? [])])
  return [...names].sort().flatMap((name) => {
    const node = nodes.get(name)
    return node ? (patchOf(node, ownerKey(manager), wanted.get(name) ?? new Set()) ?? []) : []
  })
}

/** A node that is not ready may recover with its data. */
function keepsLabel(replica: ReplicaStatus, sourceType: string | undefined): boolean {
  return replica.state === 'Unreachable' || isUsable(replica, sourceType)
}

function patchOf({ metadata }: Node, owner: string, wanted: ReadonlySet<string>): Write | undefined {
  const { name = '', uid, labels = {} } = metadata
  const missing = [...wanted].filter((label) => labels[label] === undefined)
  const stray = Object.keys(labels).filter((label) => ownerOfNodeLabel(label) === owner && !wanted.has(label))
  if (missing.length + stray.length === 0) return undefined
  const changes = [...missing.map((label) => [label, 'true']), ...stray.map((label) => [label, null])]
  return {
    kind: 'patch',
    of: { type: nodeType, name },
    patch: { metadata: { ...(uid && { uid }), labels: Object.fromEntries(changes) } },
  }
}
