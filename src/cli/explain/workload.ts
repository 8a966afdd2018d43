/** Explains one workload as a tree: claims, sources, policy, binding, dependencies. */
import type { DataSource } from '../../api/data-source.ts'
import type { DataSourceClaim } from '../../api/data-source-claim.ts'
import { dataSourceClaims } from '../../api/data-source-claim.ts'
import type { DependentObjectReference } from '../../api/dependencies.ts'
import {
  clusterPropagationPolicies,
  clusterResourceBindings,
  type PlacementAffinity,
  type PropagationPolicy,
  propagationPolicies,
  type ResourceBinding,
  resourceBindings,
} from '../../api/karmada.ts'
import { type K8sObject, keyOfObject, objectKey } from '../../api/meta.ts'
import { workloadKey } from '../../core/data-source-claim/keys.ts'
import { type Answer, type ClaimAnswer, locateClaim } from '../../core/data-source-claim/locate.ts'
import { affinityOf } from '../../core/placement/affinity.ts'
import { declineOf } from '../../core/propagation-policy/decide.ts'
import { formatBytes, formatSize } from '../../core/quantity.ts'
import { BASE_OF_POLICY, readAnnotations } from '../../core/resource-binding/annotations.ts'
import { decideBinding } from '../../core/resource-binding/decide.ts'
import { bindingName, deriveBinding, selectPolicy } from '../../core/resource-binding/derive.ts'
import type { BindingInput } from '../../core/resource-binding/input.ts'
import type { WorkloadKinds } from '../../core/workload-kinds/kinds.ts'
import { gatherBindingInput, policyOf } from '../../queries/binding.ts'
import { interpretObject } from '../../queries/dependents.ts'
import { type ClusterScope, refusalFor } from '../../queries/permission.ts'
import { sourceOf } from '../../queries/source.ts'
import { readVolumes } from '../../queries/usage.ts'
import type { ObjectStore } from '../../store/store.ts'
import { formatAge } from '../format.ts'
import type { TreeNode } from './tree.ts'

export interface Workload {
  apiVersion: string
  kind: string
  namespace?: string
  name: string
}

/** Claims, sources, policy and binding of a workload, with the current decision (`now` in ms since the epoch). */
export async function explainWorkload(
  workload: Workload,
  store: ObjectStore,
  now: number,
  { kinds, scope }: { kinds: WorkloadKinds; scope: ClusterScope },
): Promise<TreeNode> {
  const claims = store.byIndex(dataSourceClaims, 'workload', workloadKey(workload))
  const binding = await bindingOf(workload, store)
  const policy = findPolicy(workload, binding, store)
  const derived = binding ?? (policy && deriveBinding({ ...workload, metadata: metadataOf(workload) }, policy))
  const type = kinds.find(workload.apiVersion, workload.kind)?.type
  const object = type && (await store.read<K8sObject>(type, workload.namespace, workload.name))
  const volumes = object ? await readVolumes(object, derived?.spec.propagateDeps ?? false, store, kinds) : []
  return {
    text: `${workload.kind} ${objectKey(workload.namespace, workload.name)}`,
    children: [
      ...(claims.length + volumes.length === 0
        ? [{ text: 'no DataSourceClaim names it: it is placed by its policy alone' }]
        : []),
      ...claims.map((claim) =>
        claimNode(claim, sourceOf(claim, store), now, refusalFor(claim, workload, store, scope)),
      ),
      ...volumes.map(volumeNode),
      policy ? policyNode(policy) : { text: 'no policy selects it: Karmada creates no binding for it' },
      ...(derived
        ? [
            bindingNode(
              derived,
              gatherBindingInput(derived, binding, store, now, { clusterScopedClaims: scope, volumes }),
            ),
          ]
        : []),
      ...(object ? await dependencyNodes(workload, interpretObject(object, store, kinds, scope), store) : []),
    ],
  }
}

function claimNode(
  claim: DataSourceClaim,
  source: DataSource | undefined,
  now: number,
  refusal: string | undefined,
): TreeNode {
  const { enforcement, answer, claim: name } = locateClaim(claim, source, now)
  const { system, dataSourceType, dataSourceName } = claim.spec
  return {
    text: `DataSourceClaim ${name} (${enforcement}): ${system} ${dataSourceType} ${dataSourceName}`,
    children: [
      ...(refusal === undefined ? [] : [{ text: `not permitted, and ignored: ${refusal}` }]),
      source
        ? sourceNode(source, answer, now)
        : { text: answer.kind === 'unknown' ? `unknown: ${answer.reason}` : answer.kind },
    ],
  }
}

function sourceNode({ metadata, spec, status }: DataSource, answer: Answer, now: number): TreeNode {
  const { location, bytes, bytesAreMinimum } = spec.locality ?? {}
  const resolved = Date.parse(status?.lastResolvedTime ?? '')
  const facts = [
    ...(location ? [location] : []),
    ...(bytes === undefined ? [] : [formatSize(bytes, bytesAreMinimum)]),
    ...(Number.isNaN(resolved) ? [] : [`confirmed ${formatAge(now - resolved)} ago`]),
  ]
  return {
    text: `DataSource ${metadata.name}: ${whereOf(answer)}`,
    children: facts.length > 0 ? [{ text: facts.join(', ') }] : [],
  }
}

function whereOf(answer: Answer): string {
  return answer.kind === 'located' ? `located in ${answer.clusters.join(', ')}` : `${answer.kind}: ${answer.reason}`
}

function volumeNode({ claim, enforcement, answer }: ClaimAnswer): TreeNode {
  const size = answer.kind === 'located' && answer.bytes !== undefined ? `, ${formatBytes(answer.bytes)}` : ''
  return { text: `${claim} (${enforcement}): ${whereOf(answer)}${size}` }
}

function policyNode(policy: PropagationPolicy): TreeNode {
  const declined = declineOf(policy)
  return {
    text: `${policy.kind} ${keyOfObject(policy)}: ${describeAffinity(affinityOf(policy.spec.placement))}`,
    children: [
      ...(policy.spec.propagateDeps ? [{ text: 'dependencies follow: propagateDeps is set' }] : []),
      ...(declined ? [{ text: `dependencies do not follow: ${declined}` }] : []),
    ],
  }
}

function bindingNode(binding: ResourceBinding, input: BindingInput): TreeNode {
  const { stored } = input
  const { state, binding: decided, message } = decideBinding(input)
  const { base } = readAnnotations(decided.metadata.annotations)
  const known = base === BASE_OF_POLICY ? affinityOf(input.policy?.placement) : base
  const before = known ?? affinityOf(binding.spec.placement)
  const scheduled = binding.spec.clusters?.map(({ name }) => name).join(', ')
  const title = `${binding.kind} ${keyOfObject(binding)}`
  return {
    text: `${title}${stored ? '' : ' (as Karmada would create it)'}: ${state === 'Untouched' ? 'unchanged' : state}`,
    children: [
      ...(message ? [{ text: message }] : []),
      { text: `before: ${describeAffinity(before)}` },
      {
        text: `after:  ${state === 'OnHold' ? 'no cluster, until the hold ends' : describeAffinity(affinityOf(decided.spec.placement))}`,
      },
      ...(stored ? [{ text: `scheduled to: ${scheduled || 'none yet'}` }] : []),
    ],
  }
}

/** Dependencies of the workload, and the clusters to which they are attached. */
async function dependencyNodes(
  workload: Workload,
  references: readonly DependentObjectReference[],
  store: ObjectStore,
): Promise<TreeNode[]> {
  if (references.length === 0) return []
  const children = await Promise.all(
    references.map(async ({ kind, namespace, name }): Promise<TreeNode> => {
      if (!name) return { text: `${kind} of ${namespace} by label` }
      const attached = await bindingOf({ kind, name, ...(namespace && { namespace }) }, store)
      const entry = attached?.spec.requiredBy?.find(
        ({ name: noted, namespace: of }) =>
          // Attached bindings of a cluster-scoped workload are recorded under their own name.
          noted === (workload.namespace ? bindingName(workload.kind, workload.name) : attached.metadata.name) &&
          of === (workload.namespace ?? attached.metadata.namespace),
      )
      const clusters = entry?.clusters?.map((cluster) => cluster.name).join(', ')
      return { text: `${kind} ${objectKey(namespace, name)}: ${clusters ? `attached to ${clusters}` : 'not attached'}` }
    }),
  )
  return [{ text: 'dependencies', children }]
}

async function bindingOf(
  workload: Omit<Workload, 'apiVersion'>,
  store: ObjectStore,
): Promise<ResourceBinding | undefined> {
  const type = workload.namespace ? resourceBindings : clusterResourceBindings
  return store.read(type, workload.namespace, bindingName(workload.kind, workload.name))
}

/**
 * The policy of a workload: that of its binding, or one whose selectors match its kind and name. A policy with label selectors is found
 * through the binding only, since templates are not read.
 */
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
