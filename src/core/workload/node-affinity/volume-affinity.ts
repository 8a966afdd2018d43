/** The node affinity of a pod for its volumes: required nodes, preferred nodes and their limits. */
import {
  type NodeAffinity,
  type NodeSelectorTerm,
  type PreferredSchedulingTerm,
  requiredTermsOf,
} from '../../../api/node.ts'
import { defined } from '../../../base/json.ts'
import { MAX_REQUIREMENTS, MAX_TERMS } from '../requests/limits.ts'
import type { WantedVolume } from '../requests/resolve.ts'
import { addPreferences, narrowTerms } from './affinity.ts'

/** Whether an object with these terms may not fit into etcd. */
export function isTooLarge(terms: readonly NodeSelectorTerm[]): boolean {
  if (terms.length > MAX_TERMS) return true
  const count = ({ matchExpressions = [], matchFields = [] }: NodeSelectorTerm) =>
    matchExpressions.length + matchFields.length
  return terms.reduce((sum, term) => sum + count(term), 0) > MAX_REQUIREMENTS
}

/** Narrows terms to the nodes of the required volumes; undefined if every node matches. */
export function narrowToVolumes(
  own: readonly NodeSelectorTerm[] | undefined,
  wanted: readonly WantedVolume[],
): readonly NodeSelectorTerm[] | undefined {
  let terms = own
  for (const volume of wanted.filter(isRequired)) {
    const required = volumeTerms(volume)
    if (required.length > 0) terms = narrowTerms(terms, required)
    // Stops before the cross product of the terms is too large to compute.
    if (terms && isTooLarge(terms)) break
  }
  return terms
}

/** Narrows the affinity to the nodes of required volumes. Nodes of preferred volumes get a weight by their share of the bytes. */
export function narrowAffinity(
  own: NodeAffinity | undefined,
  wanted: readonly WantedVolume[],
): NodeAffinity | undefined {
  const before = requiredTermsOf(own)
  const terms = narrowToVolumes(before, wanted)
  const preferences = own?.preferredDuringSchedulingIgnoredDuringExecution ?? []
  const preferred = addPreferences(preferences, [
    ...weighed(wanted.filter((volume) => !isRequired(volume))),
    ...wanted.flatMap(({ volume }) => volume.nodeAffinity.preferredDuringSchedulingIgnoredDuringExecution ?? []),
  ])
  if (isSameList(terms, before) && preferred === preferences) return own
  return {
    ...own,
    ...defined({
      requiredDuringSchedulingIgnoredDuringExecution: terms && {
        ...own?.requiredDuringSchedulingIgnoredDuringExecution,
        nodeSelectorTerms: [...terms],
      },
      preferredDuringSchedulingIgnoredDuringExecution: preferred.length > 0 ? [...preferred] : undefined,
    }),
  }
}

function weighed(wanted: readonly WantedVolume[]): PreferredSchedulingTerm[] {
  const total = wanted.reduce((sum, { volume }) => sum + (volume.bytes ?? 0), 0)
  const areKnown = total > 0 && wanted.every(({ volume }) => volume.bytes !== undefined)
  return wanted.flatMap((one) => {
    const share = areKnown ? (one.volume.bytes ?? 0) / total : 1 / wanted.length
    const weight = Math.max(1, Math.round(100 * share))
    return volumeTerms(one).map((preference) => ({ weight, preference }))
  })
}

function volumeTerms({ volume }: WantedVolume): readonly NodeSelectorTerm[] {
  return requiredTermsOf(volume.nodeAffinity) ?? []
}

function isSameList(one: readonly unknown[] | undefined, other: readonly unknown[] | undefined): boolean {
  return one === other || (one?.length === other?.length && (one ?? []).every((item, i) => item === other?.[i]))
}

function isRequired({ request }: WantedVolume): boolean {
  return request.enforcement !== 'Preferred'
}
