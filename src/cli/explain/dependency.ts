/** Explains a dependency, such as a Secret: the workloads that need it, and the clusters to which it follows them. */
import { type BindingSnapshot, bindingTypeIn, MANAGED_BY_LABEL, type ResourceBinding } from '../../api/karmada.ts'
import {
  type K8sObject,
  keyOfObject,
  type ObjectReference,
  objectKey,
  plainReference,
  referenceOf,
  referenceTitle,
} from '../../api/meta.ts'
import { isObject } from '../../base/json.ts'
import { targetClusters } from '../../core/placement/binding-state.ts'
import { policyReferenceOf } from '../../core/resource-binding/policy.ts'
import { workloadsAround } from '../../queries/dependents.ts'
import { readObjectBinding } from '../../queries/workload.ts'
import type { ObjectStore } from '../../store/store.ts'
import { firstNames, firstNodes } from './lists.ts'
import { HUB_DECIDES } from './member.ts'
import { type Context, type Explainer, readTarget, type Target, targetReference } from './target.ts'
import type { TreeNode } from './tree.ts'

/** From an API server, it reads only the binding of the dependency and the bindings that require it. */
export const dependencyExplainer: Explainer = {
  reads: () => [],
  async explain(target, context) {
    const reference = targetReference(target)
    const object = await readTarget(target, context.store)
    if (context.isMember)
      return object && { ...reference, text: referenceTitle(reference), children: [{ text: HUB_DECIDES }] }
    const binding = await readObjectBinding(reference, context.store)
    const needing = workloadsNeeding(target, object, context.store)
    if (!object && !binding && needing.length === 0) return undefined
    return explainDependency({ reference, object, binding, needing }, context)
  },
}

const NEVER = 'it is never propagated: each cluster creates its own'

interface Dependency {
  reference: ObjectReference
  object: K8sObject | undefined
  binding: ResourceBinding | undefined
  /** The workloads of a folder that need it. */
  needing: readonly ObjectReference[]
}

async function explainDependency(
  { reference, object, binding, needing }: Dependency,
  { store, place, kinds }: Context,
): Promise<TreeNode> {
  const { requiredBy } = binding?.spec ?? {}
  const snapshots = Array.isArray(requiredBy) ? requiredBy.filter(isObject) : []
  const attached = await firstNodes(snapshots as unknown as BindingSnapshot[], (snapshot) =>
    referrerNode(snapshot, store),
  )
  const isAttached = (workload: ObjectReference) =>
    attached.some(
      (node) => node.kind === workload.kind && node.name === workload.name && node.namespace === workload.namespace,
    )
  const others = needing.filter((workload) => !isAttached(workload))
  const isNeverPropagated = kinds.isNeverPropagated(reference)
  return {
    ...reference,
    text: referenceTitle(reference),
    state: attached.length > 0 ? 'Attached' : 'NotAttached',
    children: [
      ...(object ? [] : [{ text: `there is no ${referenceTitle(reference)} ${place}`, state: 'NotFound' }]),
      ...(isNeverPropagated ? [{ text: NEVER, state: 'NeverPropagated' }] : []),
      ...attached,
      ...(isNeverPropagated ? [] : await firstNodes(others, (workload) => unattachedNode(workload, store))),
      ...(attached.length + others.length === 0 && !isNeverPropagated
        ? [{ text: 'no binding of a workload requires it', state: 'Unused' }]
        : []),
      ...(binding?.spec.placement ? [ownPlacement(binding)] : []),
    ],
  }
}

/** The workload of a binding that requires the dependency. */
async function referrerNode(
  { namespace, name, clusters = [] }: BindingSnapshot,
  store: ObjectStore,
): Promise<TreeNode> {
  const binding = await store.read(bindingTypeIn(namespace), namespace, name)
  const names = clusters.map((cluster) => cluster.name)
  const where = names.length > 0 ? `attached to ${firstNames(names)}` : 'attached to no cluster yet'
  const state = { state: 'Attached', clusters: names }
  if (!binding) return { text: `binding ${objectKey(namespace, name)}: ${where}`, ...state }
  const reference = plainReference(binding.spec.resource)
  return { ...reference, text: `${referenceTitle(reference)}: ${where}`, ...state }
}

/** A workload that needs the dependency, whose binding does not require it. */
async function unattachedNode(workload: ObjectReference, store: ObjectStore): Promise<TreeNode> {
  const binding = await readObjectBinding(workload, store)
  const why = !binding
    ? 'it has no binding'
    : binding.spec.propagateDeps
      ? 'Karmada or Lodestone has not attached it yet'
      : 'propagateDeps is not set'
  return { ...workload, text: `${referenceTitle(workload)}: not attached: ${why}`, state: 'NotAttached', reason: why }
}

function ownPlacement(binding: ResourceBinding): TreeNode {
  const clusters = targetClusters(binding.spec)
  const where = clusters.length > 0 ? `scheduled to ${firstNames(clusters)}` : 'not scheduled yet'
  return {
    ...referenceOf(binding),
    text: `${placedBy(binding)}: ${binding.kind} ${keyOfObject(binding)}, ${where}`,
    clusters,
  }
}

/** The origin of the placement of a binding. Karmada creates the binding of a Service for its MultiClusterService too. */
function placedBy({ metadata }: ResourceBinding): string {
  const owner = metadata.labels?.[MANAGED_BY_LABEL]
  if (owner) return `a ${owner} places it`
  return policyReferenceOf(metadata) ? 'a policy selects it' : 'no policy selects it any more'
}

/** The workloads that need the object. Only a folder caches workloads: to list those of a hub takes too long. */
function workloadsNeeding(target: Target, object: K8sObject | undefined, store: ObjectStore): ObjectReference[] {
  if (store.typesWithIndex('references').length === 0) return []
  const { apiVersion, kind, ...metadata } = targetReference(target)
  const cached = object && store.get(target.type, target.namespace, target.name)
  return [...workloadsAround(cached ?? { apiVersion, kind, metadata }, store)].map(referenceOf)
}
