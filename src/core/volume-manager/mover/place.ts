/** Where a mover is: its node, the directory that it has of it, and its lane. */
import { MOVER_LANE_LABEL } from '../../../api/lodestone.ts'
import type { Pod } from '../../../api/pod.ts'

/** The node that a mover is on, or is bound to come to; undefined for one that the scheduler has still to place. */
export function nodeOfMover({ spec }: Pod): string | undefined {
  if (spec?.nodeName) return spec.nodeName
  const [term] = spec?.affinity?.nodeAffinity?.requiredDuringSchedulingIgnoredDuringExecution?.nodeSelectorTerms ?? []
  const pin = term?.matchFields?.find(({ key, operator }) => key === 'metadata.name' && operator === 'In')
  return pin?.values?.[0]
}

export function directoryOfMover({ spec }: Pod): string | undefined {
  return spec?.volumes?.find(({ hostPath }) => hostPath !== undefined)?.hostPath?.path
}

/** Undefined for a mover without a number that can be read. */
export function laneOfMover({ metadata }: Pod): number | undefined {
  const lane = Number(metadata.labels?.[MOVER_LANE_LABEL])
  return Number.isInteger(lane) ? lane : undefined
}

/** Whether the scheduler has looked for a node and found none. */
export function isUnschedulable({ status }: Pod): boolean {
  return status?.conditions?.some(({ type, status: holds }) => type === 'PodScheduled' && holds === 'False') ?? false
}
