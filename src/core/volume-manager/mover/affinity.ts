/** Builds the affinity of a mover Pod, and reads the node, the directory and the per-node slot from a mover Pod. */

import { MOVER_SLOT_LABEL, VOLUME_LABEL } from '../../../api/lodestone.ts'
import {
  type NodeAffinity,
  type NodeSelectorRequirement,
  type NodeSelectorTerm,
  requiredTermsOf,
} from '../../../api/node.ts'
import type { Container, Pod, PodSpec, PodVolume } from '../../../api/pod.ts'
import { defined } from '../../../base/json.ts'
import { MOVER_CONTAINER } from '../../mover-contract/contract.ts'
import { HOSTNAME_LABEL, platformRequirements } from '../nodes/feasibility.ts'

/** Where a mover may run. */
export type MoverPlacement =
  /** On this node only. */
  | { on: string; anyTaint?: true }
  /** On every node that the affinity allows, except nodes with any of these labels, and except these nodes. */
  | { affinity: NodeAffinity | undefined; withoutLabels: readonly string[]; notOn: readonly string[] }

/** The name of the volume with the data, in the Pod of a mover. An admission webhook may add others. */
export const VOLUME = 'volume'

/**
 * Allows at most one mover of each volume, and one mover of each per-node slot, on a node. Slots are shared by all VolumeManagers: see
 * `apartFrom` for movers of other namespaces.
 *
 * @param key the `volumeKey` of the volume
 * @param architectures those of the image of the mover
 */
export function moverAffinity(
  placement: MoverPlacement,
  key: string,
  slot: number,
  architectures: readonly string[],
): NonNullable<PodSpec['affinity']> {
  return {
    nodeAffinity: requiredNodes(placement, platformRequirements(architectures)),
    podAntiAffinity: {
      requiredDuringSchedulingIgnoredDuringExecution: [
        { topologyKey: HOSTNAME_LABEL, labelSelector: { matchLabels: { [VOLUME_LABEL]: key } } },
        { topologyKey: HOSTNAME_LABEL, labelSelector: { matchLabels: { [MOVER_SLOT_LABEL]: String(slot) } } },
      ],
    },
  }
}

/**
 * Returns the mover with the namespaces in which the scheduler looks for movers of its slot: its own, and those of the active movers. In all
 * namespaces, a Pod of any tenant could block the slot. Later movers name the namespace of this one, and the scheduler applies required
 * anti-affinity in both directions.
 *
 * @param active the movers that have not ended, and those that start with this one
 */
export function apartFrom(active: readonly Pod[], mover: Pod): Pod {
  const namespaces = [...new Set([mover, ...active].flatMap(({ metadata }) => metadata.namespace ?? []))].sort()
  const { podAntiAffinity } = mover.spec.affinity ?? {}
  const terms = podAntiAffinity?.requiredDuringSchedulingIgnoredDuringExecution ?? []
  const withNamespaces = terms.map((term) =>
    term.labelSelector?.matchLabels?.[MOVER_SLOT_LABEL] === undefined ? term : { ...term, namespaces },
  )
  const apart = { ...podAntiAffinity, requiredDuringSchedulingIgnoredDuringExecution: withNamespaces }
  return { ...mover, spec: { ...mover.spec, affinity: { ...mover.spec.affinity, podAntiAffinity: apart } } }
}

function requiredNodes(placement: MoverPlacement, platform: readonly NodeSelectorRequirement[]): NodeAffinity {
  if ('on' in placement) {
    const byName: NodeSelectorRequirement = { key: 'metadata.name', operator: 'In', values: [placement.on] }
    return {
      requiredDuringSchedulingIgnoredDuringExecution: {
        nodeSelectorTerms: [withRequirements({}, platform, [byName])],
      },
    }
  }
  const { affinity, withoutLabels, notOn } = placement
  const expressions = [
    ...platform,
    ...withoutLabels.map((key): NodeSelectorRequirement => ({ key, operator: 'DoesNotExist' })),
  ]
  const fields = notOn.map(
    (node): NodeSelectorRequirement => ({
      key: 'metadata.name',
      operator: 'NotIn',
      values: [node],
    }),
  )
  const terms = requiredTermsOf(affinity) ?? [{}]
  return {
    ...affinity,
    requiredDuringSchedulingIgnoredDuringExecution: {
      nodeSelectorTerms: terms.map((term) => withRequirements(term, expressions, fields)),
    },
  }
}

/** Adds the requirements to every term, because one matching term is enough for the scheduler. */
function withRequirements(
  { matchExpressions = [], matchFields = [] }: NodeSelectorTerm,
  expressions: readonly NodeSelectorRequirement[],
  fields: readonly NodeSelectorRequirement[],
): NodeSelectorTerm {
  const allExpressions = [...matchExpressions, ...expressions]
  const allFields = [...matchFields, ...fields]
  return defined({
    matchExpressions: allExpressions.length > 0 ? allExpressions : undefined,
    matchFields: allFields.length > 0 ? allFields : undefined,
  })
}

/** The node that a mover runs on or is pinned to; undefined for a mover that the scheduler has not placed yet. */
export function nodeOfMover({ spec }: Pod): string | undefined {
  if (spec?.nodeName) return spec.nodeName
  const [term] = requiredTermsOf(spec?.affinity?.nodeAffinity) ?? []
  const pin = term?.matchFields?.find(({ key, operator }) => key === 'metadata.name' && operator === 'In')
  return pin?.values?.[0]
}

const TARGET_OPTION = '--target'

/**
 * The directory of the node on which a mover works; undefined for a mover without one. It is the mounted directory, or that of a `Local`
 * volume below it. It is read from fields of the Pod that its user cannot change.
 */
export function directoryOfMover({ spec }: Pod): string | undefined {
  const { path, type } = mountedDirectory(spec)
  if (path === undefined || type !== 'Directory') return path
  const { args = [], volumeMounts = [] } = spec.containers.find(({ name }) => name === MOVER_CONTAINER) ?? {}
  const at = volumeMounts.find(({ name }) => name === VOLUME)?.mountPath ?? ''
  const target = args[args.indexOf(TARGET_OPTION) + 1] ?? ''
  return target.startsWith(`${at}/`) ? path + target.slice(at.length) : path
}

/** The containers of a mover, reduced to the fields that `directoryOfMover` reads. */
export function directoryContainers(spec: PodSpec | undefined): Container[] {
  if (mountedDirectory(spec).type !== 'Directory') return []
  return (spec?.containers ?? [])
    .filter(({ name }) => name === MOVER_CONTAINER)
    .map(({ name, args = [], volumeMounts = [] }) => {
      const at = args.indexOf(TARGET_OPTION)
      const mounts = volumeMounts.filter((mount) => mount.name === VOLUME)
      return { name, args: at < 0 ? [] : args.slice(at, at + 2), volumeMounts: mounts }
    })
}

function mountedDirectory(spec: PodSpec | undefined): Partial<NonNullable<PodVolume['hostPath']>> {
  return spec?.volumes?.find(({ name }) => name === VOLUME)?.hostPath ?? {}
}

/** The number of a mover's slot on its node; undefined when its label is missing or is not an integer. */
export function slotOfMover({ metadata }: Pod): number | undefined {
  const slot = Number(metadata.labels?.[MOVER_SLOT_LABEL])
  return Number.isInteger(slot) ? slot : undefined
}

/** Whether the scheduler found no node for a Pod. */
export function isUnschedulable({ status }: Pod): boolean {
  return status?.conditions?.some(({ type, status: holds }) => type === 'PodScheduled' && holds === 'False') ?? false
}
