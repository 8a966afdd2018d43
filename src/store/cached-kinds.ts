/** The kinds that decisions read: what is kept of each, and by which keys it is found. */
import { type DataSource, dataSources } from '../api/data-source.ts'
import { type DataSourceClaim, dataSourceClaims } from '../api/data-source-claim.ts'
import {
  CLUSTER_POLICY_NAME_ANNOTATION,
  type Cluster,
  clusterPropagationPolicies,
  clusterResourceBindings,
  clusters,
  MANAGED_BY_LABEL,
  POLICY_NAME_ANNOTATION,
  POLICY_NAMESPACE_ANNOTATION,
  type PropagationPolicy,
  propagationPolicies,
  type ResourceBinding,
  resourceBindings,
} from '../api/karmada.ts'
import {
  BASE_AFFINITY_ANNOTATION,
  HOLD_ANNOTATION,
  LOCALITY_ANNOTATION,
  PROPAGATE_DEPS_ANNOTATION,
  REQUIRES_CLAIM_ANNOTATION,
} from '../api/lodestone.ts'
import { type ObjectMeta, objectKey, type ResourceType } from '../api/meta.ts'
import { sourceName } from '../core/data-source/name.ts'
import {
  questionOfClaim,
  sourceKeyOfClaim,
  sourceKeyOfSource,
  workloadKey,
  workloadKeysOfClaim,
} from '../core/data-source-claim/keys.ts'
import { saidPropagateDeps } from '../core/propagation-policy/said.ts'
import { selectableKeysOfClaim, selectorKeys } from '../core/propagation-policy/select.ts'
import { hasNotes } from '../core/resource-binding/annotations.ts'
import { policyReferenceOf } from '../core/resource-binding/policy.ts'
import { createInterner } from './intern.ts'
import type { AnyCachedKind } from './kinds.ts'
import type { CachedKind } from './store.ts'

const claimKind: CachedKind<DataSourceClaim> = {
  type: dataSourceClaims,
  keep: ({ apiVersion, kind, metadata, spec, status }) => ({
    apiVersion,
    kind,
    metadata: keepOwnMetadata(metadata),
    spec,
    ...(status && { status }),
  }),
  indexes: {
    workload: workloadKeysOfClaim,
    selectable: selectableKeysOfClaim,
    source: (claim) => [sourceKeyOfClaim(claim)],
    sourceName: (claim) => [sourceName(questionOfClaim(claim))],
    bound: ({ status }) => (status?.boundDataSource ? [status.boundDataSource] : []),
  },
}

const sourceKind: CachedKind<DataSource> = {
  type: dataSources,
  keep: ({ apiVersion, kind, metadata, spec, status }) => ({
    apiVersion,
    kind,
    metadata: keepOwnMetadata(metadata),
    spec,
    ...(status && { status }),
  }),
  indexes: { key: (source) => [sourceKeyOfSource(source)] },
}

const clusterKind: CachedKind<Cluster> = {
  type: clusters,
  keep: ({ apiVersion, kind, metadata, spec: { provider, region, zones } = {} }) => ({
    apiVersion,
    kind,
    metadata: { ...keepMetadata(metadata), ...(metadata.labels && { labels: metadata.labels }) },
    spec: { ...(provider && { provider }), ...(region && { region }), ...(zones && { zones }) },
  }),
  indexes: {},
  optional: true,
}

const BINDING_ANNOTATIONS = [
  BASE_AFFINITY_ANNOTATION,
  LOCALITY_ANNOTATION,
  HOLD_ANNOTATION,
  POLICY_NAMESPACE_ANNOTATION,
  POLICY_NAME_ANNOTATION,
  CLUSTER_POLICY_NAME_ANNOTATION,
]

/**
 * There are by far the most bindings, and they are much alike: the same placements, policies and clusters again and again. Equal
 * parts are held once, which halves the memory of a hundred thousand of them.
 */
const intern = createInterner()

function keepBinding({ apiVersion, kind, metadata, spec }: ResourceBinding): ResourceBinding {
  const { resource } = spec
  return {
    apiVersion: intern.string(apiVersion),
    kind: intern.string(kind),
    metadata: {
      ...keepMetadata(metadata, BINDING_ANNOTATIONS, [MANAGED_BY_LABEL]),
      // kubectl finds the Events of an object by its uid; only bindings with a note of ours have any.
      ...(metadata.uid && hasNotes(metadata.annotations) && { uid: metadata.uid }),
    },
    spec: {
      resource: {
        apiVersion: intern.string(resource.apiVersion),
        kind: intern.string(resource.kind),
        ...(resource.namespace && { namespace: intern.string(resource.namespace) }),
        name: resource.name,
      },
      ...intern.json({
        ...(spec.placement && { placement: spec.placement }),
        ...(spec.clusters && { clusters: spec.clusters.map(({ name }) => ({ name })) }),
        ...(spec.replicas && { replicas: spec.replicas }),
        ...(spec.suspension && { suspension: spec.suspension }),
        ...(spec.gracefulEvictionTasks && {
          gracefulEvictionTasks: spec.gracefulEvictionTasks.map(({ fromCluster }) => ({ fromCluster })),
        }),
      }),
    },
  }
}

function bindingKind(type: ResourceType<ResourceBinding>): CachedKind<ResourceBinding> {
  return {
    type,
    keep: keepBinding,
    indexes: {
      workload: ({ spec }) => [workloadKey(spec.resource)],
      // Only of the few that are held: what a policy asks for can release them.
      heldByPolicy: ({ metadata }) => {
        const policy = metadata.annotations?.[HOLD_ANNOTATION] ? policyReferenceOf(metadata) : undefined
        return policy ? [objectKey(policy.namespace, policy.name)] : []
      },
    },
    optional: true,
  }
}

function policyKind(type: ResourceType<PropagationPolicy>): CachedKind<PropagationPolicy> {
  return {
    type,
    keep(policy) {
      const { apiVersion, kind, metadata, spec } = policy
      const propagateDeps = saidPropagateDeps(policy)
      return {
        apiVersion,
        kind,
        metadata: {
          ...keepMetadata(metadata, [REQUIRES_CLAIM_ANNOTATION, PROPAGATE_DEPS_ANNOTATION]),
          // kubectl finds the Events of an object by its uid.
          ...(metadata.uid && { uid: metadata.uid }),
        },
        spec: {
          resourceSelectors: spec.resourceSelectors,
          ...(spec.placement && { placement: spec.placement }),
          ...(spec.activationPreference && { activationPreference: spec.activationPreference }),
          ...(propagateDeps !== undefined && { propagateDeps }),
        },
      }
    },
    indexes: { selects: selectorKeys },
    optional: true,
  }
}

function keepMetadata(
  { name, namespace, resourceVersion, deletionTimestamp, annotations, labels }: ObjectMeta,
  keptAnnotations: readonly string[] = [],
  keptLabels: readonly string[] = [],
): ObjectMeta {
  const ourAnnotations = pick(annotations, keptAnnotations)
  const ourLabels = pick(labels, keptLabels)
  return {
    ...(name && { name }),
    ...(namespace && { namespace: intern.string(namespace) }),
    ...(resourceVersion && { resourceVersion }),
    ...(deletionTimestamp && { deletionTimestamp }),
    ...(ourAnnotations && { annotations: intern.json(ourAnnotations) }),
    ...(ourLabels && { labels: intern.json(ourLabels) }),
  }
}

/** Of our own kinds, what the loops write by and refer to is kept as well. */
function keepOwnMetadata(metadata: ObjectMeta): ObjectMeta {
  const { uid, generation, finalizers } = metadata
  return {
    ...keepMetadata(metadata),
    ...(uid && { uid }),
    ...(generation && { generation }),
    ...(finalizers && { finalizers }),
  }
}

function pick(values: Record<string, string> | undefined, keys: readonly string[]): Record<string, string> | undefined {
  const entries = keys.flatMap((key) => (values?.[key] === undefined ? [] : [[key, values[key]] as const]))
  return entries.length === 0 ? undefined : Object.fromEntries(entries)
}

/** Every kind that is held in memory; claims and sources are ours and must be served, the others may be absent. */
export const cachedKinds: readonly AnyCachedKind[] = [
  claimKind,
  sourceKind,
  clusterKind,
  bindingKind(resourceBindings),
  bindingKind(clusterResourceBindings),
  policyKind(propagationPolicies),
  policyKind(clusterPropagationPolicies),
]
