/** Narrows the node affinity of a DaemonSet to the nodes with its volumes: its controller places pods by the template alone. */
import { NODE_REQUIREMENTS_ANNOTATION } from '../../api/lodestone.ts'
import type { K8sObject, ResourceType } from '../../api/meta.ts'
import type { NodeSelectorRequirement, NodeSelectorTerm } from '../../api/node.ts'
import type { PodSpec } from '../../api/pod.ts'
import { defined, isObject, parseJson } from '../../base/json.ts'
import type { Outcome } from '../outcome.ts'
import { NOTHING, type Plan, patchInto } from '../plan.ts'
import { ownerOfNodeLabel } from '../volume-manager/rules/names.ts'
import { requirementKey, termKey } from './node-affinity/requirement-key.ts'
import { narrowToVolumes } from './node-affinity/volume-affinity.ts'
import type { WantedVolume } from './requests/resolve.ts'
import { type PlacedPodSpec, withValueAt } from './requests/templates.ts'

/** Whether the controller of a kind creates one pod for each node that its pod template allows: apps/v1, and Kruise's own kind. */
export function isDaemonSet({ kind }: Pick<K8sObject, 'kind'>): boolean {
  return kind === 'DaemonSet'
}

/**
 * Returns the DaemonSet with a template for the nodes that have its required volumes. The controller follows the labels of nodes
 * (pkg/controller/daemon, NodeShouldRunDaemonPod), so pods come and go with the data.
 *
 * An annotation records the added requirements. They are replaced when the data gets other nodes. It keeps earlier node labels, since
 * `kubectl rollout undo` brings a template with them back.
 *
 * @param stored the stored DaemonSet: it has the annotation if the request removed all annotations
 * @param hadCopy whether admission completed this template earlier. Then its node labels were added too, whatever the annotation says.
 */
export function narrowDaemonSet<T extends K8sObject>(
  object: T,
  { keys, spec: { affinity } }: PlacedPodSpec,
  wanted: readonly WantedVolume[],
  { stored, hadCopy = false }: { stored?: K8sObject | undefined; hadCopy?: boolean } = {},
): T {
  const required = affinity?.nodeAffinity?.requiredDuringSchedulingIgnoredDuringExecution
  const recorded = addedTo(object, stored)
  const known = new Set(recorded.map(requirementKey))
  const isAdded = (one: NodeSelectorRequirement) => known.has(requirementKey(one)) || (hadCopy && isNodeLabel(one))
  const own = withoutAdded(required?.nodeSelectorTerms, isAdded)
  const terms = narrowToVolumes(own, wanted)
  const added = addedRequirements(own ?? [], terms ?? [])
  const { [NODE_REQUIREMENTS_ANNOTATION]: before, ...annotations } = object.metadata.annotations ?? {}
  const note = added.length > 0 ? JSON.stringify([...earlierLabels(recorded, added), ...added]) : undefined
  const sameTerms = isSame(required?.nodeSelectorTerms, terms)
  if (sameTerms && before === note) return object
  const noted = note === undefined ? annotations : { ...annotations, [NODE_REQUIREMENTS_ANNOTATION]: note }
  const annotated = { ...object, metadata: { ...object.metadata, annotations: noted } }
  return sameTerms ? annotated : withValueAt(annotated, [...keys, 'affinity'], withTerms(affinity, terms))
}

/** Returns an affinity with other required terms; undefined if nothing is left. */
function withTerms(affinity: PodSpec['affinity'] = {}, terms?: readonly NodeSelectorTerm[]): PodSpec['affinity'] {
  const { nodeAffinity = {}, ...others } = affinity
  const { requiredDuringSchedulingIgnoredDuringExecution: required, ...preferred } = nodeAffinity
  const wanted = terms
    ? { ...preferred, requiredDuringSchedulingIgnoredDuringExecution: { ...required, nodeSelectorTerms: [...terms] } }
    : preferred
  if (Object.keys(wanted).length > 0) return { ...others, nodeAffinity: wanted }
  return Object.keys(others).length > 0 ? others : undefined
}

/** Plans the change of a stored DaemonSet by the decision of admission, which may not have known the volumes. */
export function planDaemonSet(type: ResourceType, object: K8sObject, outcome: Outcome): Plan {
  const patch = outcome.kind === 'patch' ? patchInto(type, object, outcome.object) : undefined
  return patch ? { actions: [patch] } : NOTHING
}

/** The requirements that were added earlier. Of an annotation that a user damaged, only valid requirements count. */
function addedTo(...objects: readonly (K8sObject | undefined)[]): NodeSelectorRequirement[] {
  const notes = objects.flatMap((object) => object?.metadata.annotations?.[NODE_REQUIREMENTS_ANNOTATION] ?? [])
  const added = parseJson(notes[0])
  return Array.isArray(added) ? added.filter(isRequirement) : []
}

function isRequirement(item: unknown): item is NodeSelectorRequirement {
  if (!isObject(item) || typeof item['key'] !== 'string' || typeof item['operator'] !== 'string') return false
  const { values = [] } = item
  return Array.isArray(values) && values.every((value) => typeof value === 'string')
}

/** The most earlier node labels in the annotation. Kubernetes keeps 10 revisions of a DaemonSet by default. */
const MAX_EARLIER = 40

/** The recorded node labels that are not added now, the latest last. */
function earlierLabels(recorded: readonly NodeSelectorRequirement[], added: readonly NodeSelectorRequirement[]) {
  const now = new Set(added.map(requirementKey))
  return recorded.filter((one) => isNodeLabel(one) && !now.has(requirementKey(one))).slice(-MAX_EARLIER)
}

/** Whether a requirement selects the nodes with the data of a VolumeManager. */
function isNodeLabel({ key, operator }: NodeSelectorRequirement): boolean {
  return operator === 'Exists' && ownerOfNodeLabel(key) !== undefined
}

/** The terms of the user. Narrowing may have copied a term for several alternatives; these copies are equal again. */
function withoutAdded(
  terms: readonly NodeSelectorTerm[] | undefined,
  isAdded: (requirement: NodeSelectorRequirement) => boolean,
) {
  if (!terms?.flatMap(termRequirements).some(isAdded)) return terms
  const isOwn = (requirement: NodeSelectorRequirement) => !isAdded(requirement)
  const stripped = terms.flatMap(({ matchExpressions = [], matchFields = [] }): NodeSelectorTerm[] => {
    const expressions = matchExpressions.filter(isOwn)
    const fields = matchFields.filter(isOwn)
    if (expressions.length + fields.length === 0) return []
    return [
      defined({
        matchExpressions: expressions.length > 0 ? expressions : undefined,
        matchFields: fields.length > 0 ? fields : undefined,
      }),
    ]
  })
  const distinct = [...new Map(stripped.map((term) => [termKey(term), term])).values()]
  return distinct.length > 0 ? distinct : undefined
}

function addedRequirements(own: readonly NodeSelectorTerm[], terms: readonly NodeSelectorTerm[]) {
  const known = new Set(own.flatMap(termRequirements).map(requirementKey))
  const added = new Map(terms.flatMap(termRequirements).map((one) => [requirementKey(one), one]))
  return [...added].filter(([key]) => !known.has(key)).map(([, requirement]) => requirement)
}

function termRequirements({ matchExpressions = [], matchFields = [] }: NodeSelectorTerm): NodeSelectorRequirement[] {
  return [...matchExpressions, ...matchFields]
}

function isSame(one: readonly NodeSelectorTerm[] | undefined, other: readonly NodeSelectorTerm[] | undefined): boolean {
  if (one === undefined || other === undefined) return one === other
  return one.length === other.length && one.every((term, i) => termKey(term) === termKey(other[i] ?? {}))
}
