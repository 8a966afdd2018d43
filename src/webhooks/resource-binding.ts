/** Admission of bindings: narrows their cluster affinity to where the workload's data is. */
import type { AdmissionRequest } from '../api/admission.ts'
import { type DataSource, dataSources } from '../api/data-source.ts'
import { type DataSourceClaim, dataSourceClaims } from '../api/data-source-claim.ts'
import {
  CLUSTER_POLICY_NAME_ANNOTATION,
  clusterPropagationPolicies,
  clusterResourceBindings,
  clusters,
  POLICY_NAME_ANNOTATION,
  POLICY_NAMESPACE_ANNOTATION,
  type PropagationPolicy,
  propagationPolicies,
  type ResourceBinding,
  resourceBindings,
} from '../api/karmada.ts'
import type { ResourceType } from '../api/meta.ts'
import { sourceKeyOfClaim, workloadKey } from '../core/data-source-claim/keys.ts'
import { locateClaim } from '../core/data-source-claim/locate.ts'
import { describeErrors, type FieldError } from '../core/field-errors.ts'
import { cut, type Outcome } from '../core/outcome.ts'
import type { ClusterLookup } from '../core/placement/affinity.ts'
import { answerBinding, decideBinding } from '../core/resource-binding/decide.ts'
import { type BindingInput, viewPolicy } from '../core/resource-binding/input.ts'
import { validateBinding } from '../core/resource-binding/validate.ts'
import type { ObjectStore } from '../store/store.ts'
import { defineWebhook, type GatherContext, type Webhook } from './define.ts'

export const resourceBinding = bindingWebhook('resource-binding', resourceBindings)
export const clusterResourceBinding = bindingWebhook('cluster-resource-binding', clusterResourceBindings)

function bindingWebhook(name: string, resource: ResourceType<ResourceBinding>): Webhook {
  return defineWebhook({
    name,
    type: 'mutating',
    resource,
    operations: ['CREATE', 'UPDATE'],
    failurePolicy: 'FailWhereEnforced',
    // Attached bindings have no placement: they follow their parents.
    matchCondition: { name: 'has-a-placement', expression: 'has(object.spec.placement)' },
    gather: gatherBinding,
    decide: (input) => ('errors' in input ? leaveMalformed(input.errors) : answerBinding(decideBinding(input), input)),
  })
}

function gatherBinding(
  { object, oldObject }: AdmissionRequest,
  { store, now }: GatherContext,
): BindingInput | { errors: FieldError[] } {
  const binding = object as ResourceBinding
  const errors = validateBinding(binding)
  if (errors.length > 0) return { errors }
  return gatherBindingInput(binding, (oldObject ?? undefined) as ResourceBinding | undefined, store, now)
}

/**
 * A binding that is not even one: the API server's own validation, which runs after us, says so best. It is never refused here, since
 * Karmada may come to allow what this version does not know.
 */
function leaveMalformed(errors: FieldError[]): Outcome {
  return { kind: 'allow', warnings: [cut(`lodestone: not looked at: ${describeErrors(errors)}`)] }
}

/** Collects from memory what the decision on a binding needs; the loops and the command line ask the same way. */
export function gatherBindingInput(
  binding: ResourceBinding,
  stored: ResourceBinding | undefined,
  store: ObjectStore,
  now: number,
): BindingInput {
  const policy = policyOf(binding, store)
  return {
    binding,
    stored,
    claims: claimsOf(binding, store).map((claim) => locateClaim(claim, sourceOf(claim, store), now)),
    policy: policy && viewPolicy(policy),
    clusters: clusterLookup(store),
    now,
  }
}

/** The claims for the bound workload; none for a malformed binding. */
function claimsOf({ spec }: ResourceBinding, store: ObjectStore): readonly DataSourceClaim[] {
  return store
    .byIndex(dataSourceClaims, 'workload', workloadKey(spec.resource))
    .filter(({ metadata }) => metadata.deletionTimestamp === undefined)
}

/** The source that a claim is bound to, else the one that answers the same question. */
export function sourceOf(claim: DataSourceClaim, store: ObjectStore): DataSource | undefined {
  const bound = claim.status?.boundDataSource
  const source = bound ? store.get(dataSources, undefined, bound) : undefined
  return source ?? store.byIndex(dataSources, 'key', sourceKeyOfClaim(claim))[0]
}

/** The policy that a binding says it came from, where it is known. */
export function policyOf({ metadata }: ResourceBinding, store: ObjectStore): PropagationPolicy | undefined {
  const { annotations } = metadata
  const name = annotations?.[POLICY_NAME_ANNOTATION]
  const clusterName = annotations?.[CLUSTER_POLICY_NAME_ANNOTATION]
  if (name) return store.get(propagationPolicies, annotations?.[POLICY_NAMESPACE_ANNOTATION], name)
  return clusterName ? store.get(clusterPropagationPolicies, undefined, clusterName) : undefined
}

/** Nothing where the Cluster objects cannot be read, as in a folder without them. */
function clusterLookup(store: ObjectStore): ClusterLookup | undefined {
  return store.size(clusters) > 0 ? (name) => store.get(clusters, undefined, name) : undefined
}
