/** Plans the migration of one object from volcano-global: removes what its controllers and its webhook wrote. */
import { dataSources } from '../../api/data-source.ts'
import { dataSourceClaims } from '../../api/data-source-claim.ts'
import { type ClusterAffinity, type Placement, type ResourceBinding, resourceBindings } from '../../api/karmada.ts'
import type { K8sObject } from '../../api/meta.ts'
import { isSuspended } from '../placement/binding-state.ts'
import { readAnnotations } from '../resource-binding/annotations.ts'
import {
  ASSOCIATED_BINDINGS_ANNOTATION,
  EXCLUDED_CLUSTERS_ANNOTATION,
  isSuspendedKind,
  PLACEMENT_INJECTED_ANNOTATION,
  UPSTREAM_CLAIM_FINALIZER,
  UPSTREAM_SOURCE_FINALIZER,
} from './volcano-global.ts'

/** The changes of one object, in words, and the merge patch that makes them. */
export interface Migration {
  changes: string[]
  patch: { metadata: Record<string, unknown>; spec?: Record<string, unknown> }
}

export interface MigrationInput {
  object: K8sObject
  /** The placement of the binding's policy; undefined if the object is no binding or the policy is unknown. */
  policy: Placement | undefined
  /** Whether suspensions of scheduling stay, because another controller may have set them. */
  keepsSuspensions: boolean
}

/** One removal: its words, and its part of the patch. */
interface Change {
  words: string
  metadata?: Record<string, unknown>
  spec?: Record<string, unknown>
}

/** Plans one object, for the resourceVersion that was read. Returns undefined if nothing of volcano-global is in it. */
export function planMigration(input: MigrationInput): Migration | undefined {
  const { object } = input
  const changes = changesOf(input)
  if (changes.length === 0) return undefined
  const metadata = { resourceVersion: object.metadata.resourceVersion }
  const spec = Object.assign({}, ...changes.map((change) => change.spec))
  return {
    changes: changes.map(({ words }) => words),
    patch: {
      metadata: Object.assign(metadata, ...changes.map((change) => change.metadata)),
      ...(Object.keys(spec).length > 0 && { spec }),
    },
  }
}

function changesOf(input: MigrationInput): Change[] {
  const { object } = input
  switch (object.kind) {
    case dataSourceClaims.kind:
      return [...finalizer(object, UPSTREAM_CLAIM_FINALIZER), ...annotations(object, [ASSOCIATED_BINDINGS_ANNOTATION])]
    case dataSources.kind:
      return finalizer(object, UPSTREAM_SOURCE_FINALIZER)
    case resourceBindings.kind:
      return bindingChanges(input, object as ResourceBinding)
    default:
      return []
  }
}

function finalizer({ metadata }: K8sObject, name: string): Change[] {
  const { finalizers = [], deletionTimestamp } = metadata
  if (!finalizers.includes(name)) return []
  const rest = finalizers.filter((one) => one !== name)
  const isLast = deletionTimestamp !== undefined && rest.length === 0
  const words = `remove finalizer ${name}${isLast ? ', which completes the deletion' : ''}`
  return [{ words, metadata: { finalizers: rest } }]
}

function annotations({ metadata }: K8sObject, names: readonly string[]): Change[] {
  const found = names.filter((name) => metadata.annotations?.[name] !== undefined)
  if (found.length === 0) return []
  const words = `remove annotation${found.length > 1 ? 's' : ''} ${found.join(', ')}`
  return [{ words, metadata: { annotations: Object.fromEntries(found.map((name) => [name, null])) } }]
}

function bindingChanges({ policy, keepsSuspensions }: MigrationInput, binding: ResourceBinding): Change[] {
  return [
    ...annotations(binding, [PLACEMENT_INJECTED_ANNOTATION, EXCLUDED_CLUSTERS_ANNOTATION]),
    ...exclusions(binding, policy),
    ...(keepsSuspensions ? [] : suspension(binding)),
  ]
}

/**
 * Removes the exclusions that the annotation records, except those of the policy. The affinity itself is removed if nothing is left of it:
 * volcano-global adds one beside `clusterAffinities`, which Karmada then ignores.
 */
function exclusions({ metadata, spec }: ResourceBinding, policy: Placement | undefined): Change[] {
  const recorded = new Set((metadata.annotations?.[EXCLUDED_CLUSTERS_ANNOTATION] ?? '').split(','))
  const ofPolicy = new Set(policy?.clusterAffinity?.exclude)
  const affinity = spec.placement?.clusterAffinity
  const all = affinity?.exclude ?? []
  const kept = all.filter((name) => !recorded.has(name) || ofPolicy.has(name))
  const removed = all.length - kept.length
  if (affinity === undefined || removed === 0) return []
  return [
    {
      words: `remove ${removed} excluded cluster${removed > 1 ? 's' : ''}`,
      spec: { placement: { clusterAffinity: affinityPatch(affinity, kept, policy) } },
    },
  ]
}

function affinityPatch(affinity: ClusterAffinity, kept: string[], policy: Placement | undefined): object | null {
  if (kept.length > 0) return { exclude: kept }
  const { exclude: _theirs, ...rest } = affinity
  return Object.keys(rest).length > 0 || policy?.clusterAffinity !== undefined ? { exclude: null } : null
}

/** Removes a suspension of scheduling, unless it is a hold of Lodestone. */
function suspension({ metadata, spec }: ResourceBinding): Change[] {
  const { scheduling: _theirs, ...rest } = spec.suspension ?? {}
  const { hold } = readAnnotations(metadata.annotations)
  const isOurs = hold !== undefined && !hold.released
  if (!isSuspended(spec) || isOurs || !isSuspendedKind(spec.resource)) return []
  const words = 'resume scheduling'
  return [{ words, spec: { suspension: Object.keys(rest).length > 0 ? { scheduling: null } : null } }]
}
