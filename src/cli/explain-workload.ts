/** The story of one workload as a tree: what it needs, where that is, what the policy allows, what came of both. */
import type { DataSource } from '../api/data-source.ts'
import type { DataSourceClaim } from '../api/data-source-claim.ts'
import { dataSourceClaims } from '../api/data-source-claim.ts'
import {
  clusterPropagationPolicies,
  clusterResourceBindings,
  type PlacementAffinity,
  type PropagationPolicy,
  propagationPolicies,
  type ResourceBinding,
  resourceBindings,
} from '../api/karmada.ts'
import { objectKey } from '../api/meta.ts'
import { workloadKey } from '../core/data-source-claim/keys.ts'
import { type Answer, locateClaim } from '../core/data-source-claim/locate.ts'
import { affinityOf } from '../core/placement/affinity.ts'
import { declineOf } from '../core/propagation-policy/decide.ts'
import { formatBytes } from '../core/quantity.ts'
import { readNotes } from '../core/resource-binding/annotations.ts'
import { decideBinding } from '../core/resource-binding/decide.ts'
import { bindingName, deriveBinding, selectPolicy } from '../core/resource-binding/derive.ts'
import { gatherBindingInput, policyOf, sourceOf } from '../store/gather-binding.ts'
import type { ObjectStore } from '../store/store.ts'
import { formatAge } from './format.ts'
import type { TreeNode } from './tree.ts'

export interface Workload {
  apiVersion: string
  kind: string
  namespace?: string
  name: string
}

/** Claims, sources, policy and binding of a workload, and what the decision is right now (`now` in ms since the epoch). */
export async function explainWorkload(workload: Workload, store: ObjectStore, now: number): Promise<TreeNode> {
  const claims = store.byIndex(dataSourceClaims, 'workload', workloadKey(workload))
  const binding = await bindingOf(workload, store)
  const policy = findPolicy(workload, binding, store)
  const derived = binding ?? (policy && deriveBinding({ ...workload, metadata: metadataOf(workload) }, policy))
  return {
    text: `${workload.kind} ${objectKey(workload.namespace, workload.name)}`,
    children: [
      ...(claims.length === 0 ? [{ text: 'no DataSourceClaim names it: it is placed by its policy alone' }] : []),
      ...claims.map((claim) => claimNode(claim, sourceOf(claim, store), now)),
      policy ? policyNode(policy) : { text: 'no policy selects it: Karmada makes no binding for it' },
      ...(derived ? [bindingNode(derived, binding, store, now)] : []),
    ],
  }
}

function claimNode(claim: DataSourceClaim, source: DataSource | undefined, now: number): TreeNode {
  const { enforcement, answer, claim: name } = locateClaim(claim, source, now)
  const { system, dataSourceType, dataSourceName } = claim.spec
  return {
    text: `DataSourceClaim ${name} (${enforcement}): ${system} ${dataSourceType} ${dataSourceName}`,
    children: [
      source
        ? sourceNode(source, answer, now)
        : { text: answer.kind === 'unknown' ? `unknown: ${answer.reason}` : answer.kind },
    ],
  }
}

function sourceNode({ metadata, spec, status }: DataSource, answer: Answer, now: number): TreeNode {
  const { location, bytes } = spec.locality ?? {}
  const resolved = Date.parse(status?.lastResolvedTime ?? '')
  const facts = [
    ...(location ? [location] : []),
    ...(bytes === undefined ? [] : [formatBytes(bytes)]),
    ...(Number.isNaN(resolved) ? [] : [`confirmed ${formatAge(now - resolved)} ago`]),
  ]
  const where =
    answer.kind === 'located' ? `located in ${answer.clusters.join(', ')}` : `${answer.kind}: ${answer.reason}`
  return {
    text: `DataSource ${metadata.name}: ${where}`,
    children: facts.length > 0 ? [{ text: facts.join(', ') }] : [],
  }
}

function policyNode(policy: PropagationPolicy): TreeNode {
  const { namespace, name = '' } = policy.metadata
  const declined = declineOf(policy)
  return {
    text: `${policy.kind} ${objectKey(namespace, name)}: ${describeAffinity(affinityOf(policy.spec.placement))}`,
    children: [
      ...(policy.spec.propagateDeps ? [{ text: 'dependencies follow: propagateDeps is set' }] : []),
      ...(declined ? [{ text: `dependencies do not follow: ${declined}` }] : []),
    ],
  }
}

function bindingNode(
  binding: ResourceBinding,
  stored: ResourceBinding | undefined,
  store: ObjectStore,
  now: number,
): TreeNode {
  const { state, binding: decided, message } = decideBinding(gatherBindingInput(binding, stored, store, now))
  const before = readNotes(decided.metadata.annotations).base ?? affinityOf(binding.spec.placement)
  const scheduled = binding.spec.clusters?.map(({ name }) => name).join(', ')
  const title = `${binding.kind} ${objectKey(binding.metadata.namespace, binding.metadata.name ?? '')}`
  return {
    text: `${title}${stored ? '' : ' (as Karmada would make it)'}: ${state === 'Untouched' ? 'left as it is' : state}`,
    children: [
      ...(message ? [{ text: message }] : []),
      { text: `before: ${describeAffinity(before)}` },
      {
        text: `after:  ${state === 'Held' ? 'no cluster, until it is released' : describeAffinity(affinityOf(decided.spec.placement))}`,
      },
      ...(stored ? [{ text: `scheduled to: ${scheduled || 'nothing yet'}` }] : []),
    ],
  }
}

async function bindingOf(workload: Workload, store: ObjectStore): Promise<ResourceBinding | undefined> {
  const type = workload.namespace ? resourceBindings : clusterResourceBindings
  return store.read(type, workload.namespace, bindingName(workload.kind, workload.name))
}

/** By its selectors, as the detector has it; a policy that selects by label is known by the binding only, as we do not read templates. */
function findPolicy(
  workload: Workload,
  binding: ResourceBinding | undefined,
  store: ObjectStore,
): PropagationPolicy | undefined {
  const template = { ...workload, metadata: metadataOf(workload) }
  const noted = binding && policyOf(binding, store)
  return noted ?? selectPolicy(template, store.list(propagationPolicies), store.list(clusterPropagationPolicies))
}

function metadataOf({ namespace, name }: Workload) {
  return { name, ...(namespace && { namespace }) }
}

function describeAffinity({ clusterAffinity, clusterAffinities }: PlacementAffinity): string {
  if (clusterAffinities)
    return clusterAffinities.map((term) => `${term.affinityName} [${describeTerm(term)}]`).join(', then ')
  return clusterAffinity ? describeTerm(clusterAffinity) : 'every cluster'
}

function describeTerm({
  clusterNames,
  exclude,
  labelSelector,
  fieldSelector,
}: NonNullable<PlacementAffinity['clusterAffinity']>): string {
  return [
    clusterNames?.length ? clusterNames.join(', ') : 'every cluster',
    ...(labelSelector || fieldSelector ? ['that its selectors match'] : []),
    ...(exclude?.length ? [`except ${exclude.join(', ')}`] : []),
  ].join(' ')
}
