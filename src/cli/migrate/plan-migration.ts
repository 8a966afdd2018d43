/** Plans the migration of one object from volcano-global: removes what its controllers and its webhook wrote. */
import { dataSources } from '../../api/data-source.ts'
import { dataSourceClaims } from '../../api/data-source-claim.ts'
import {
  type ClusterAffinity,
  type Placement,
  type PlacementAffinity,
  type ResourceBinding,
  resourceBindings,
} from '../../api/karmada.ts'
import { BASE_AFFINITY_ANNOTATION } from '../../api/lodestone.ts'
import type { K8sObject } from '../../api/meta.ts'
import { defined, without } from '../../base/json.ts'
import { formatCount } from '../../base/quantity.ts'
import { isSuspended } from '../../core/placement/binding-state.ts'
import { BASE_OF_POLICY, readAnnotations } from '../../core/resource-binding/annotations.ts'
import {
  ASSOCIATED_BINDINGS_ANNOTATION,
  EXCLUDED_CLUSTERS_ANNOTATION,
  excludedClusters,
  isSuspendedKind,
  PLACEMENT_INJECTED_ANNOTATION,
  UPSTREAM_CLAIM_FINALIZER,
  UPSTREAM_SOURCE_FINALIZER,
} from '../../core/resource-binding/volcano-global.ts'

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
  finalizers?: string[]
  annotations?: Record<string, string | null>
  spec?: Record<string, unknown>
}

/** Plans one object, for the resourceVersion that was read. Returns undefined if nothing of volcano-global is in it. */
export function planMigration(input: MigrationInput): Migration | undefined {
  const { object } = input
  const changes = plannedChanges(input)
  if (changes.length === 0) return undefined
  const { resourceVersion } = object.metadata
  const finalizers = changes.find((change) => change.finalizers)?.finalizers
  const annotations = Object.assign({}, ...changes.map((change) => change.annotations))
  const spec = Object.assign({}, ...changes.map((change) => change.spec))
  return {
    changes: changes.map(({ words }) => words),
    patch: defined({
      metadata: {
        resourceVersion,
        ...defined({ finalizers, annotations: Object.keys(annotations).length > 0 ? annotations : undefined }),
      },
      spec: Object.keys(spec).length > 0 ? spec : undefined,
    }),
  }
}

function plannedChanges(input: MigrationInput): Change[] {
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
  return [{ words, finalizers: rest }]
}

function annotations({ metadata }: K8sObject, names: readonly string[]): Change[] {
  const found = names.filter((name) => metadata.annotations?.[name] !== undefined)
  if (found.length === 0) return []
  const words = `remove annotation${found.length > 1 ? 's' : ''} ${found.join(', ')}`
  return [{ words, annotations: Object.fromEntries(found.map((name) => [name, null])) }]
}

function bindingChanges({ policy, keepsSuspensions }: MigrationInput, binding: ResourceBinding): Change[] {
  return [
    ...annotations(binding, [PLACEMENT_INJECTED_ANNOTATION, EXCLUDED_CLUSTERS_ANNOTATION]),
    ...exclusions(binding, policy),
    ...(keepsSuspensions ? [] : suspension(binding)),
  ]
}

/**
 * Removes the exclusions that the annotation records, except those of the policy. They are in the base too, if Lodestone has decided on the
 * binding before.
 */
function exclusions({ metadata, spec }: ResourceBinding, policy: Placement | undefined): Change[] {
  const recorded = excludedClusters(metadata.annotations)
  const affinity = spec.placement?.clusterAffinity
  if (affinity === undefined) return []
  const rest = withoutExclusions(affinity, recorded, policy)
  const removed = (affinity.exclude?.length ?? 0) - (rest?.exclude?.length ?? 0)
  if (removed === 0) return []
  const { base } = readAnnotations(metadata.annotations)
  const ofBase = base === BASE_OF_POLICY ? undefined : base?.clusterAffinity
  return [
    defined({
      words: `remove ${formatCount(removed, 'excluded cluster')}`,
      spec: { placement: { clusterAffinity: rest ? { exclude: rest.exclude ?? null } : null } },
      annotations: ofBase && {
        [BASE_AFFINITY_ANNOTATION]: JSON.stringify({
          ...(base as PlacementAffinity),
          clusterAffinity: withoutExclusions(ofBase, recorded, policy),
        }),
      },
    }),
  ]
}

/**
 * Returns undefined if nothing is left of the affinity, and the policy has none: volcano-global adds one beside `clusterAffinities`, which
 * Karmada then ignores.
 */
function withoutExclusions(
  { exclude = [], ...rest }: ClusterAffinity,
  recorded: ReadonlySet<string>,
  policy: Placement | undefined,
): ClusterAffinity | undefined {
  const ofPolicy = new Set(policy?.clusterAffinity?.exclude)
  const kept = exclude.filter((name) => !recorded.has(name) || ofPolicy.has(name))
  if (kept.length > 0) return { ...rest, exclude: kept }
  return Object.keys(rest).length > 0 || policy?.clusterAffinity !== undefined ? rest : undefined
}

/** Removes a suspension of scheduling, unless it is a hold of Lodestone. */
function suspension({ metadata, spec }: ResourceBinding): Change[] {
  const rest = without(spec.suspension ?? {}, 'scheduling')
  const { hold } = readAnnotations(metadata.annotations)
  const isOurs = hold !== undefined && !hold.released
  if (!isSuspended(spec) || isOurs || !isSuspendedKind(spec.resource)) return []
  const words = 'resume scheduling'
  return [{ words, spec: { suspension: Object.keys(rest).length > 0 ? { scheduling: null } : null } }]
}
