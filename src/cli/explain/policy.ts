/** Explains a policy: its clusters, why its dependencies follow, and the workloads that it places. */
import type { DataSourceClaim } from '../../api/data-source-claim.ts'
import { dataSourceClaims } from '../../api/data-source-claim.ts'
import type { PropagationPolicy, ResourceSelector } from '../../api/karmada.ts'
import { groupOf, keyOfObject, objectKey, type ResourceType, referenceOf, referenceTitle } from '../../api/meta.ts'
import { workloadKey } from '../../core/data-source-claim/keys.ts'
import { effectiveAffinity } from '../../core/placement/affinity.ts'
import { decidePolicy, declineReason } from '../../core/propagation-policy/decide.ts'
import { selectorKeys, selects } from '../../core/propagation-policy/select.ts'
import { gatherPolicyInput } from '../../queries/policy.ts'
import { firstNodes } from './lists.ts'
import { placeWorkload, workloadSummary } from './placed.ts'
import { describeAffinity } from './placement.ts'
import {
  type Context,
  type Explainer,
  makeTarget,
  referencedTarget,
  referencedType,
  type Target,
  targetReference,
} from './target.ts'
import type { TreeNode } from './tree.ts'
import { kindsOfPlacement, workloadOfClaim } from './workload.ts'

export const policyExplainer: Explainer = {
  reads: () => kindsOfPlacement,
  async explain({ type, namespace, name }, context) {
    const policy = await context.store.read(type as ResourceType<PropagationPolicy>, namespace, name)
    return policy && explainPolicy(policy, context)
  },
}

async function explainPolicy(policy: PropagationPolicy, context: Context): Promise<TreeNode> {
  const reference = referenceOf(policy)
  const claims = claimsUnder(policy, context)
  const candidates = uniqueTargets([
    ...claims.map((claim) => workloadOfClaim(claim, context.kinds)),
    ...namedTargets(policy, context),
    ...cachedTargets(policy, context),
  ])
  const workloads = await firstNodes(candidates, (target) => workloadNode(target, policy, claims, context))
  return {
    ...reference,
    text: `${referenceTitle(reference)}: ${describeAffinity(effectiveAffinity(policy.spec.placement))}`,
    children: [
      dependenciesNode(policy, context),
      ...policy.spec.resourceSelectors.map(selectorNode),
      ...(workloads.length > 0 ? workloads : [{ text: 'no known workload is placed by it' }]),
    ],
  }
}

/** Whether the dependencies of its workloads follow, and why. */
function dependenciesNode(policy: PropagationPolicy, { store, config }: Context): TreeNode {
  const declined = declineReason(policy)
  if (declined) return { text: `dependencies do not follow: ${declined}`, state: 'Declined', reason: declined }
  const { propagateDeps, ...spec } = policy.spec
  // The reason for a field that is set already is that for which Lodestone would set it.
  const open = { ...policy, spec }
  const input = gatherPolicyInput(open, undefined, config.dependencies.propagate, {
    store,
    clusterScopedClaims: config.claims.clusterScoped,
  })
  const { state, message } = decidePolicy(input)
  const reason = state === 'Propagated' ? { reason: message } : {}
  const because = message ? `: ${message}` : ''
  if (propagateDeps)
    return { text: `dependencies follow: propagateDeps is set${because}`, state: 'Propagated', ...reason }
  return state === 'Propagated'
    ? { text: `dependencies follow when admission sets propagateDeps${because}`, state, ...reason }
    : { text: 'dependencies do not follow: it selects no workload with data', state: 'Untouched' }
}

function selectorNode({ apiVersion, kind, namespace, name, labelSelector }: ResourceSelector): TreeNode {
  const which = name ? objectKey(namespace, name) : labelSelector ? 'that its labels match' : 'of any name'
  const inNamespace = !name && namespace ? ` in namespace ${namespace}` : ''
  return { text: `selects ${kind} ${which}${inNamespace} (${apiVersion})` }
}

/** One workload, with its decision and its claims; undefined if another policy places it, or if it is not known. */
async function workloadNode(
  target: Target,
  policy: PropagationPolicy,
  claims: readonly DataSourceClaim[],
  context: Context,
): Promise<TreeNode | undefined> {
  const placed = await placeWorkload(target, context)
  if (!placed?.policy || placed.policy.kind !== policy.kind || keyOfObject(placed.policy) !== keyOfObject(policy))
    return undefined
  const own = claims.filter((claim) => placed.claims.some((each) => keyOfObject(each) === keyOfObject(claim)))
  return {
    ...workloadSummary(placed),
    children: own.map((claim) => ({ ...referenceOf(claim), text: `DataSourceClaim ${keyOfObject(claim)}` })),
  }
}

/** The claims whose workloads the policy may select. */
function claimsUnder(policy: PropagationPolicy, { store }: Context): DataSourceClaim[] {
  const found = selectorKeys(policy).flatMap((key) => [...store.byIndex(dataSourceClaims, 'selectable', key)])
  return [...new Set(found)]
}

/** The objects that selectors name. */
function namedTargets({ metadata, spec }: PropagationPolicy, { kinds }: Context): Target[] {
  return spec.resourceSelectors.flatMap(({ apiVersion, kind, namespace, name }) => {
    const type = referencedType({ apiVersion, kind }, kinds)
    const place = metadata.namespace || namespace
    return name && (place || !type.namespaced) ? [makeTarget(type, place, name)] : []
  })
}

/** The workloads of a folder that the policy selects. An API server is not asked for all of them. */
function cachedTargets(policy: PropagationPolicy, { store, kinds }: Context): Target[] {
  const selected = new Set(
    policy.spec.resourceSelectors.map(({ apiVersion, kind }) => `${groupOf(apiVersion)}/${kind}`),
  )
  return store
    .typesWithIndex('references')
    .filter(({ group, kind }) => selected.has(`${group}/${kind}`))
    .flatMap((type) => [...store.list(type)])
    .filter((object) => selects(policy, referenceOf(object), object.metadata.labels ?? {}))
    .map((object) => referencedTarget(referenceOf(object), kinds))
}

function uniqueTargets(targets: readonly Target[]): Target[] {
  return [...new Map(targets.map((target) => [workloadKey(targetReference(target)), target])).values()]
}
