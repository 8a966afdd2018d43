/** The table of workload kinds: the shipped file, with the kinds of the configuration. */

import { configMaps, secrets, serviceAccounts, services } from '../../api/dependencies.ts'
import { groupOf, type ResourceType } from '../../api/meta.ts'
import { persistentVolumeClaims } from '../../api/persistent-volume.ts'
import { defined } from '../../base/json.ts'
import { type NeverPropagated, type NeverPropagatedEntry, neverPropagated } from '../dependencies/never-propagated.ts'
import { configurationReferences, type NameFinder } from './configuration-references.ts'
import type { REFERENCED_KINDS, WorkloadKindEntry } from './entry.ts'
import { computedReferences, type ReferenceFinder } from './references.ts'
import type { RelatedKind } from './related-kinds.ts'
import { divideEntry, keyOfKind, type TypeEntry } from './type-entry.ts'
import shipped from './workload-kinds.json' with { type: 'json' }

/** A kind of the table, prepared for look-ups. */
export interface WorkloadKind extends Omit<WorkloadKindEntry, keyof TypeEntry | 'scope' | 'references'> {
  type: ResourceType
  /** Single names, with the kind of the named object. */
  names: readonly (readonly [ResourceType, string])[]
  /** The paths of all objects with the labels and annotations of pods: `podMetadata`, `allPods`, and the metadata of templates. */
  allPodMetadata: readonly string[]
  /** Finds names that no path can express. */
  moreNames?: NameFinder
  /** Finds references that no path can express. */
  more?: ReferenceFinder
}

export interface WorkloadKinds {
  readonly all: readonly WorkloadKind[]
  /** The enabled kinds whose objects follow a workload to which they relate. */
  readonly related: readonly RelatedKind[]
  /** Whether each cluster creates an object for itself, so that it never follows a workload. */
  readonly isNeverPropagated: NeverPropagated
  /** Returns the entry of a kind, for any of its versions; undefined if the table does not have the kind. */
  find(apiVersion: string, kind: string): WorkloadKind | undefined
}

const REFERENCED: Readonly<Record<(typeof REFERENCED_KINDS)[number], ResourceType>> = {
  ConfigMap: configMaps,
  PersistentVolumeClaim: persistentVolumeClaims,
  Secret: secrets,
  Service: services,
  ServiceAccount: serviceAccounts,
}

/** The entries of the shipped file. */
export const SHIPPED_ENTRIES = shipped as readonly WorkloadKindEntry[]

/**
 * Returns the shipped table with the given entries, related kinds and objects that are never propagated. An entry of a shipped kind replaces
 * it.
 */
export function buildWorkloadKinds(
  configured: readonly WorkloadKindEntry[] = [],
  related: readonly RelatedKind[] = [],
  never: readonly NeverPropagatedEntry[] = [],
): WorkloadKinds {
  const byKey = new Map([...SHIPPED_ENTRIES, ...configured].map((entry) => [keyOfKind(entry), buildKind(entry)]))
  return {
    all: [...byKey.values()],
    related,
    isNeverPropagated: neverPropagated(never),
    find: (apiVersion, kind) => byKey.get(keyOfKind({ group: groupOf(apiVersion), kind })),
  }
}

/** The table without configuration. */
export const SHIPPED_KINDS = buildWorkloadKinds()

function buildKind(entry: WorkloadKindEntry): WorkloadKind {
  const namespaced = entry.scope !== 'Cluster'
  const { type, rest } = divideEntry(entry, namespaced)
  const { scope: _, references = [], ...places } = rest
  const more = computedReferences[keyOfKind(entry)]
  return defined({
    namespace: namespaced ? 'metadata.namespace' : undefined,
    ...places,
    type,
    names: references.map((reference) => [REFERENCED[reference.kind], reference.path] as const),
    allPodMetadata: podMetadataPaths(entry),
    moreNames: configurationReferences[keyOfKind(entry)],
    more,
  })
}

/** Whether pods can get volumes from a workload of this kind: admission reviews it. */
export function hasPods({ type, templates, podMetadata, allPods }: WorkloadKind): boolean {
  return type.namespaced && [templates, podMetadata, allPods].some((places) => places !== undefined)
}

function podMetadataPaths({ templates = [], podMetadata = [], allPods }: WorkloadKindEntry): string[] {
  const inTemplates = templates.map((path) => (path === '' ? 'metadata' : `${path}.metadata`))
  return [...new Set([...inTemplates, ...podMetadata, ...(allPods === undefined ? [] : [allPods])])]
}
