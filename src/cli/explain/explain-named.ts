/** Answers what is known about an object that a word names, for `explain` and the page. */
import { dataSourceClaims } from '../../api/data-source-claim.ts'
import { groupOf, type ResourceType, referenceTitle } from '../../api/meta.ts'
import { defined } from '../../base/json.ts'
import type { WorkloadKinds } from '../../core/workload-kinds/kinds.ts'
import { type AnyCachedKind, isCached } from '../../store/any-kind.ts'
import type { ObjectName } from '../../store/store.ts'
import { describeHidden } from '../hidden-kinds.ts'
import { kindsNamed, knownKinds, typesNamed } from '../kinds.ts'
import { nameHint } from '../name-hint.ts'
import { type Context, makeTarget, type Target } from './target.ts'
import { explainerOf } from './targets.ts'
import type { TreeNode } from './tree.ts'
import { workloadExplainer, workloadOfClaim } from './workload.ts'

/** An object as a user names it. `kind` is any form that kubectl accepts, and may mean several kinds. */
export interface NamedObject {
  kind: string
  /** Ignored for kinds without namespaces. */
  namespace: string
  name: string
}

/** The explanation, or a sentence that says why there is none. */
export type ExplainAnswer = { tree: TreeNode; problem?: never } | { tree?: never; problem: string }

/** Returns the kinds to cache from an API server to explain an object of this kind. Throws `UsageError` for a kind without explanation. */
export function kindsToExplain(kind: string, kinds: WorkloadKinds): AnyCachedKind[] {
  const named = kindsNamed(kind, knownKinds(kinds))
  // Only policies and claims have the kinds that no table has. The explanation of a workload reads them.
  const explainers = named.length > 0 ? named.map((type) => explainerOf(type, kinds)) : [workloadExplainer]
  return [...new Set(explainers.flatMap((explainer) => explainer.reads(kinds)))]
}

/** Whether a kind of this word may have objects in namespaces. A word that no table has may mean a kind of either scope. */
export function mayHaveNamespace(kind: string, kinds: WorkloadKinds): boolean {
  const named = kindsNamed(kind, knownKinds(kinds))
  return named.length === 0 || named.some(({ namespaced }) => namespaced)
}

/**
 * Explains the first object with this name. Throws `UsageError` for an unknown kind, and for one without explanation.
 */
export async function explainNamed({ kind, namespace, name }: NamedObject, context: Context): Promise<ExplainAnswer> {
  return explainTargets(
    typesNamed(kind, context).map((type) => makeTarget(type, namespace, name)),
    context,
  )
}

/** Explains the first of these objects that is known. They have one name, and one namespace if their kinds have one. */
export async function explainTargets(targets: readonly Target[], context: Context): Promise<ExplainAnswer> {
  for (const target of targets) {
    const tree = await explainerOf(target.type, context.kinds).explain(target, context)
    const hidden = describeHidden(context.store)
    if (tree && hidden) return { tree: { ...tree, children: [{ text: hidden }, ...(tree.children ?? [])] } }
    if (tree) return { tree }
  }
  return { problem: describeMissing(targets, context) }
}

/** Where the objects are, for messages. */
export function objectsPlace(folder: string | undefined, isMember: boolean): string {
  if (folder !== undefined) return `in folder ${folder}`
  return `on this API server${isMember ? ', which is not a hub' : ''}`
}

/**
 * Describes an object that does not exist: with a similar name, or the namespaces that have an object of this name.
 *
 * @param targets the kinds that the word may mean, in one namespace and with one name
 */
function describeMissing(targets: readonly Target[], context: Context): string {
  const [{ namespace, name } = { name: '' }] = targets
  const titles = targets.map(({ type, namespace: own }) =>
    referenceTitle(defined({ kind: type.kind, namespace: own || undefined, name })),
  )
  const known = targets.flatMap(({ type }) => knownNames(type, context))
  const hint = nameHint({ namespace, name }, known)
  return `${[...new Set(titles)].join(' and ')} not found ${context.place}${hint}`
}

/** The known names of a kind: of the cached objects, and those in claims. */
function knownNames(type: ResourceType, { store, kinds }: Context): ObjectName[] {
  const objects = isCached(type, store) ? [...store.list(type)].map(({ metadata }) => metadata) : []
  const claims = isCached(dataSourceClaims, store) ? [...store.list(dataSourceClaims)] : []
  const claimed = claims.filter(
    ({ spec: { workload } }) => workload.kind === type.kind && groupOf(workload.apiVersion) === type.group,
  )
  return [
    ...objects.map(({ namespace, name = '' }) => ({ namespace, name })),
    ...claimed.map((claim) => workloadOfClaim(claim, kinds)),
  ]
}
