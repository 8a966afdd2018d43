/** The affinity of a mover's pod: where it may run, and whom it keeps away from. */
import { MOVER_LANE_LABEL, VOLUME_LABEL } from '../../../api/lodestone.ts'
import type { NodeAffinity, NodeSelectorRequirement, NodeSelectorTerm } from '../../../api/node.ts'
import type { PodSpec } from '../../../api/pod.ts'

/** Where a mover may run. */
export type Placement =
  /** On this node only. */
  | { on: string; anyTaint?: true }
  /** Wherever the affinity allows, but not where any of these labels is, and not on these nodes. */
  | { affinity: NodeAffinity | undefined; withoutLabels: readonly string[]; notOn: readonly string[] }

const HOSTNAME = 'kubernetes.io/hostname'

/**
 * No two movers of one volume share a node, nor do two of one lane, whoever they work for.
 *
 * @param key the volume's (`volumeKey`)
 */
export function affinityOf(placement: Placement, key: string, lane: number): NonNullable<PodSpec['affinity']> {
  return {
    nodeAffinity: nodeAffinityOf(placement),
    podAntiAffinity: {
      requiredDuringSchedulingIgnoredDuringExecution: [
        { topologyKey: HOSTNAME, labelSelector: { matchLabels: { [VOLUME_LABEL]: key } } },
        {
          topologyKey: HOSTNAME,
          labelSelector: { matchLabels: { [MOVER_LANE_LABEL]: String(lane) } },
          namespaceSelector: {},
        },
      ],
    },
  }
}

function nodeAffinityOf(placement: Placement): NodeAffinity {
  if ('on' in placement) {
    return {
      requiredDuringSchedulingIgnoredDuringExecution: {
        nodeSelectorTerms: [{ matchFields: [{ key: 'metadata.name', operator: 'In', values: [placement.on] }] }],
      },
    }
  }
  const { affinity, withoutLabels, notOn } = placement
  const expressions = withoutLabels.map((key): NodeSelectorRequirement => ({ key, operator: 'DoesNotExist' }))
  const fields = notOn.map(
    (node): NodeSelectorRequirement => ({
      key: 'metadata.name',
      operator: 'NotIn',
      values: [node],
    }),
  )
  const given = affinity?.requiredDuringSchedulingIgnoredDuringExecution?.nodeSelectorTerms
  // A term without requirements matches no node.
  if (expressions.length + fields.length === 0) return affinity ?? {}
  const terms = given ?? [{}]
  return {
    ...affinity,
    requiredDuringSchedulingIgnoredDuringExecution: {
      nodeSelectorTerms: terms.map((term) => withRequirements(term, expressions, fields)),
    },
  }
}

/** Into every term, since any of them is enough for the scheduler. */
function withRequirements(
  { matchExpressions = [], matchFields = [] }: NodeSelectorTerm,
  expressions: readonly NodeSelectorRequirement[],
  fields: readonly NodeSelectorRequirement[],
): NodeSelectorTerm {
  const allExpressions = [...matchExpressions, ...expressions]
  const allFields = [...matchFields, ...fields]
  return {
    ...(allExpressions.length > 0 && { matchExpressions: allExpressions }),
    ...(allFields.length > 0 && { matchFields: allFields }),
  }
}
