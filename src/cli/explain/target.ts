/** The object to explain, and the inputs of all explanations. */
import {
  apiVersionOf,
  type K8sObject,
  type ObjectReference,
  plainReference,
  type ResourceType,
} from '../../api/meta.ts'
import type { Config } from '../../app/config/config.ts'
import { defined } from '../../base/json.ts'
import type { KarmadaRules } from '../../core/karmada-rules.ts'
import type { WorkloadKinds } from '../../core/workload-kinds/kinds.ts'
import type { AnyCachedKind } from '../../store/any-kind.ts'
import type { ObjectStore } from '../../store/store.ts'
import { typeOfReference } from '../kinds.ts'
import type { TreeNode } from './tree.ts'

/** An object by its name; `namespace` is absent for a cluster-scoped kind. */
export interface Target {
  type: ResourceType
  namespace?: string
  name: string
}

export interface Context {
  store: ObjectStore
  /** In ms since the epoch. */
  now: number
  kinds: WorkloadKinds
  config: Config
  karmadaRules: KarmadaRules
  /** Whether the objects are those of a cluster that is not a hub: the hub decides on the placement. */
  isMember: boolean
  /** Whether the objects are those of a hub. */
  isHub: boolean
  /** Whether the objects are those of a folder: their files need not have what an API server adds, such as owners. */
  isFolder: boolean
  /** Where the objects are, for messages. */
  place: string
}

/** Explains the objects of one kind. */
export interface Explainer {
  /** The kinds to cache from an API server. A folder caches all kinds. */
  reads(kinds: WorkloadKinds): readonly AnyCachedKind[]
  /** Returns undefined if nothing is known about the object. */
  explain(target: Target, context: Context): Promise<TreeNode | undefined>
}

/** Returns the target for a kind, a namespace and a name. */
export function makeTarget(type: ResourceType, namespace: string | undefined, name: string): Target {
  return defined({ type, namespace: (type.namespaced && namespace) || undefined, name })
}

/** Returns the reference to a target. */
export function targetReference({ type, ...named }: Target): ObjectReference {
  return plainReference({ apiVersion: apiVersionOf(type), kind: type.kind, ...named })
}

/** Returns the type of a kind, with the version of the reference first. */
export function referencedType(
  { apiVersion, kind }: { apiVersion: string; kind: string },
  kinds: WorkloadKinds,
): ResourceType {
  const given = typeOfReference({ apiVersion, kind })
  const known = kinds.find(apiVersion, kind)?.type
  if (!known) return given
  const otherVersions = [known.version, ...(known.otherVersions ?? [])].filter((version) => version !== given.version)
  return { ...known, version: given.version, otherVersions }
}

/** Returns the object to which a complete reference leads: without a namespace, it is cluster-scoped. */
export function referencedTarget(reference: ObjectReference, kinds: WorkloadKinds): Target {
  const { namespace, name } = reference
  return makeTarget({ ...referencedType(reference, kinds), namespaced: namespace !== undefined }, namespace, name)
}

/** The object, read without the cache; undefined if it does not exist. */
export function readTarget({ type, namespace, name }: Target, store: ObjectStore): Promise<K8sObject | undefined> {
  return store.read<K8sObject>(type, namespace, name)
}
