/** Explains one workload: claims, sources, policy, binding, dependencies. It is also the explanation of its claims and bindings. */
import { type DataSourceClaim, dataSourceClaims } from '../../api/data-source-claim.ts'
import type { DependentObjectReference } from '../../api/dependencies.ts'
import { isBinding, type ResourceBinding } from '../../api/karmada.ts'
import { plainReference, type ResourceType, referenceTitle } from '../../api/meta.ts'
import { defined } from '../../base/json.ts'
import { noEffect } from '../../core/data-source-claim/effect.ts'
import { bindingName } from '../../core/resource-binding/derive.ts'
import type { WorkloadKinds } from '../../core/workload-kinds/kinds.ts'
import { interpretObject } from '../../queries/dependents.ts'
import { refusalFor } from '../../queries/permission.ts'
import { readObjectBinding } from '../../queries/workload.ts'
import { placementKinds, relatedKinds } from '../../store/kinds/cached-kinds.ts'
import type { ObjectStore } from '../../store/store.ts'
import { answerOfClaim } from '../claim-answer.ts'
import { candidateNodes } from './candidates.ts'
import { claimNode, volumeNode } from './data.ts'
import { firstNames } from './lists.ts'
import { explainInMember } from './member.ts'
import { type Placed, placeWorkload } from './placed.ts'
import { placementNodes } from './placement.ts'
import { type Context, type Explainer, makeTarget, referencedTarget, referencedType, type Target } from './target.ts'
import type { TreeNode } from './tree.ts'

/** Bindings are read one by one: a hub has 100,000 of them, and few are needed. */
export const kindsOfPlacement = placementKinds.filter(({ type }) => !isBinding(type.kind))

function readsOfWorkload(kinds: WorkloadKinds) {
  return [...kindsOfPlacement, ...relatedKinds(kinds)]
}

export const workloadExplainer: Explainer = {
  reads: readsOfWorkload,
  explain: (target, context) => (context.isMember ? explainInMember : explainWorkload)(target, context),
}

/** A claim is explained by its workload. */
export const claimExplainer: Explainer = {
  reads: readsOfWorkload,
  async explain({ namespace, name }, context) {
    const claim = context.store.get(dataSourceClaims, namespace, name)
    return claim && explainWorkload(workloadOfClaim(claim, context.kinds), context)
  },
}

/** A binding is explained by its workload. */
export const bindingExplainer: Explainer = {
  reads: readsOfWorkload,
  async explain({ type, namespace, name }, context) {
    const binding = await context.store.read(type as ResourceType<ResourceBinding>, namespace, name)
    return binding && explainWorkload(referencedTarget(binding.spec.resource, context.kinds), context)
  },
}

/** The workload of a claim. Without `workload.namespace`, a kind with namespaces is in that of the claim. */
export function workloadOfClaim({ metadata, spec }: DataSourceClaim, kinds: WorkloadKinds): Target {
  return makeTarget(
    referencedType(spec.workload, kinds),
    spec.workload.namespace ?? metadata.namespace,
    spec.workload.name,
  )
}

/** Claims, sources, policy and binding of a workload, with the current decision. */
async function explainWorkload(target: Target, context: Context): Promise<TreeNode | undefined> {
  const placed = await placeWorkload(target, context)
  if (!placed) return undefined
  const { workload, claims, volumes, placement } = placed
  return {
    ...workload,
    text: referenceTitle(workload),
    state: placement?.decision.state ?? (placed.isPartial ? 'Unknown' : 'NotSelected'),
    children: [
      ...absentWorkload(placed, context),
      ...(claims.length + volumes.length === 0
        ? [{ text: 'no DataSourceClaim names it: it is placed by its policy alone' }]
        : []),
      ...claims.map((claim) => {
        const refusal = refusalFor(claim, workload, context.store, context.config.claims.clusterScoped)
        return claimNode(claim, answerOfClaim(claim, context.store, context.now), context.now, refusal)
      }),
      ...volumes.map(volumeNode),
      ...effectNodes(placed),
      ...placementNodes(placed),
      ...candidateNodes(placed, context),
      ...(await dependencyNodes(placed, context)),
    ],
  }
}

/** Why the claims have no effect, if the stored binding of the workload has no placement. */
function effectNodes({ claims, placement }: Placed): TreeNode[] {
  const [claim] = claims
  const stored = placement?.input.stored
  const effect = claim && stored && noEffect(claim, [stored])
  return effect
    ? [{ text: `the claim has no effect: ${effect.message}`, state: 'NoEffect', reason: effect.message }]
    : []
}

/** A workload that does not exist, although other objects name it. */
function absentWorkload({ object, workload, claims, placement }: Placed, { place }: Context): TreeNode[] {
  if (object) return []
  const others = [...(placement?.input.stored ? ['its binding'] : []), ...(claims.length > 0 ? ['its claims'] : [])]
  const text = `there is no ${referenceTitle(workload)} ${place}: explained from ${others.join(' and ')} alone`
  return [{ text, state: 'NotFound' }]
}

/** Dependencies of the workload, and the clusters to which they are attached. */
async function dependencyNodes({ object, workload, other }: Placed, context: Context): Promise<TreeNode[]> {
  const { store, kinds, config } = context
  if (!object || !kinds.find(workload.apiVersion, workload.kind)) return []
  const references = interpretObject(object, store, kinds, config.claims.clusterScoped)
  if (references.length === 0) return []
  const children = await Promise.all(
    references.map((reference) => dependencyNode(reference, { workload, other }, store)),
  )
  return [{ text: 'dependencies', children }]
}

async function dependencyNode(
  { apiVersion, kind, namespace, name }: DependentObjectReference,
  { workload, other }: Pick<Placed, 'workload' | 'other'>,
  store: ObjectStore,
): Promise<TreeNode> {
  if (!name)
    return defined({ text: `${kind} of ${namespace} by label`, apiVersion, kind, namespace: namespace || undefined })
  const reference = plainReference({ apiVersion, kind, namespace, name })
  const attached = await readObjectBinding(reference, store)
  const entry = attached?.spec.requiredBy?.find(
    ({ name: noted, namespace: of }) =>
      !other &&
      // Attached bindings of a cluster-scoped workload are recorded under their own name.
      noted === (workload.namespace ? bindingName(workload.kind, workload.name) : attached.metadata.name) &&
      of === (workload.namespace ?? attached.metadata.namespace),
  )
  const clusters = entry?.clusters?.map((cluster) => cluster.name) ?? []
  return {
    ...reference,
    text: `${referenceTitle({ kind, namespace, name })}: ${clusters.length > 0 ? `attached to ${firstNames(clusters)}` : 'not attached'}`,
    state: clusters.length > 0 ? 'Attached' : 'NotAttached',
    clusters,
  }
}
