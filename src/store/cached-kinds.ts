/** The kinds that decisions read: what is kept of each, and by which keys it is found. */
import { type DataSource, dataSources } from '../api/data-source.ts'
import { type DataSourceClaim, dataSourceClaims } from '../api/data-source-claim.ts'
import { volumeManagers } from '../api/dependencies.ts'
import {
  BINDING_ID_LABEL,
  type BindingSpec,
  CLUSTER_BINDING_ID_LABEL,
  CLUSTER_POLICY_NAME_ANNOTATION,
  type Cluster,
  clusterPropagationPolicies,
  clusterResourceBindings,
  clusters,
  DEPENDENCIES_ANNOTATION,
  DEPENDED_BY_LABEL_PREFIX as KARMADA_DEPENDED_BY_LABEL_PREFIX,
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
  DEPENDED_BY_LABEL_PREFIX,
  DEPENDENCIES_FINALIZER,
  HOLD_ANNOTATION,
  LOCALITY_ANNOTATION,
  REQUIRES_CLAIM_ANNOTATION,
} from '../api/lodestone.ts'
import { groupOf, type ObjectMeta, objectKey, type ResourceType } from '../api/meta.ts'
import { sourceName } from '../core/data-source/name.ts'
import {
  questionOfClaim,
  sourceKeyOfClaim,
  sourceKeyOfSource,
  workloadKey,
  workloadKeysOfClaim,
} from '../core/data-source-claim/keys.ts'
import { hasNotes } from '../core/resource-binding/annotations.ts'
import { policyReferenceOf } from '../core/resource-binding/policy.ts'
import { dependencyKinds } from './dependency-kinds.ts'
import { createInterner } from './intern.ts'
import { type AnyCachedKind, kindKey } from './kinds.ts'
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

const OUR_GROUPS = [dataSourceClaims.group, volumeManagers.group]

const clusterKind: CachedKind<Cluster> = {
  type: clusters,
  keep: ({ apiVersion, kind, metadata, spec: { provider, region, zones } = {}, status }) => ({
    apiVersion,
    kind,
    metadata: { ...keepMetadata(metadata), ...(metadata.labels && { labels: metadata.labels }) },
    spec: { ...(provider && { provider }), ...(region && { region }), ...(zones && { zones }) },
    status: {
      apiEnablements: (status?.apiEnablements ?? []).filter(({ groupVersion }) =>
        OUR_GROUPS.includes(groupOf(groupVersion)),
      ),
    },
  }),
  // The kinds of ours that a member serves: of those only, since the others go to members anyway.
  indexes: {
    serves: ({ status }) =>
      (status?.apiEnablements ?? []).flatMap(({ groupVersion, resources = [] }) =>
        resources.map(({ kind }) => kindKey({ group: groupOf(groupVersion), kind })),
      ),
  },
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

const BINDING_ID_LABELS = [BINDING_ID_LABEL, CLUSTER_BINDING_ID_LABEL]

/**
 * There are by far the most bindings, and they are much alike: the same placements, policies and clusters again and again. Equal
 * parts are held once, which halves the memory of a hundred thousand of them.
 */
const intern = createInterner()

function keepBinding({ apiVersion, kind, metadata, spec }: ResourceBinding): ResourceBinding {
  const { resource } = spec
  const isAttached = spec.requiredBy !== undefined || spec.placement === undefined
  const { propagateDeps = false } = spec
  const { uid, ownerReferences, finalizers } = metadata
  return {
    apiVersion: intern.string(apiVersion),
    kind: intern.string(kind),
    metadata: {
      ...keepMetadata(
        metadata,
        propagateDeps ? [...BINDING_ANNOTATIONS, DEPENDENCIES_ANNOTATION] : BINDING_ANNOTATIONS,
        keptLabels(metadata.labels, propagateDeps),
      ),
      // kubectl finds the Events of an object by its uid; only bindings with a note of ours have any.
      ...(uid && (isAttached || hasNotes(metadata.annotations)) && { uid }),
      ...(isAttached && ownerReferences && { ownerReferences }),
      ...((propagateDeps || finalizers?.includes(DEPENDENCIES_FINALIZER)) && { finalizers: intern.json(finalizers) }),
    },
    spec: {
      resource: {
        apiVersion: intern.string(resource.apiVersion),
        kind: intern.string(resource.kind),
        ...(resource.namespace && { namespace: intern.string(resource.namespace) }),
        name: resource.name,
        ...(isAttached && resource.uid && { uid: resource.uid }),
        ...(isAttached && resource.resourceVersion && { resourceVersion: resource.resourceVersion }),
      },
      ...intern.json({
        ...(spec.placement && { placement: spec.placement }),
        // Those that depend on a binding copy its clusters as they are.
        ...(spec.clusters && { clusters: propagateDeps ? spec.clusters : spec.clusters.map(({ name }) => ({ name })) }),
        ...(spec.replicas && { replicas: spec.replicas }),
        ...(spec.suspension && { suspension: spec.suspension }),
        ...(spec.gracefulEvictionTasks && {
          gracefulEvictionTasks: spec.gracefulEvictionTasks.map(({ fromCluster }) => ({ fromCluster })),
        }),
        ...(propagateDeps && { propagateDeps }),
        ...((propagateDeps || isAttached) && strategyOf(spec)),
      }),
      ...(spec.requiredBy && { requiredBy: spec.requiredBy }),
    },
  }
}

/** How a dependency is put into members: what those that need it say, and what was made of it. */
function strategyOf({ conflictResolution, preserveResourcesOnDeletion }: BindingSpec): Partial<BindingSpec> {
  return {
    ...(conflictResolution !== undefined && { conflictResolution }),
    ...(preserveResourcesOnDeletion !== undefined && { preserveResourcesOnDeletion }),
  }
}

/** Ids by which others refer to a binding, and the notes of those that refer to it. */
function keptLabels(labels: Record<string, string> = {}, withId: boolean): string[] {
  return Object.keys(labels).filter(
    (label) =>
      label === MANAGED_BY_LABEL ||
      (withId && BINDING_ID_LABELS.includes(label)) ||
      label.startsWith(DEPENDED_BY_LABEL_PREFIX) ||
      label.startsWith(KARMADA_DEPENDED_BY_LABEL_PREFIX),
  )
}

function bindingKind(type: ResourceType<ResourceBinding>): CachedKind<ResourceBinding> {
  return {
    type,
    keep: keepBinding,
    indexes: {
      workload: ({ spec }) => [workloadKey(spec.resource)],
      // Of attached bindings: our notes of those that they are attached to.
      dependedBy: ({ metadata }) =>
        Object.keys(metadata.labels ?? {}).filter((label) => label.startsWith(DEPENDED_BY_LABEL_PREFIX)),
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
    keep: ({ apiVersion, kind, metadata, spec }) => ({
      apiVersion,
      kind,
      metadata: keepMetadata(metadata, [REQUIRES_CLAIM_ANNOTATION]),
      spec: {
        resourceSelectors: spec.resourceSelectors,
        ...(spec.placement && { placement: spec.placement }),
        ...(spec.activationPreference && { activationPreference: spec.activationPreference }),
      },
    }),
    indexes: {},
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

/** What every decision on a placement reads; claims and sources are ours and must be served, the others may be absent. */
export const placementKinds: readonly AnyCachedKind[] = [
  claimKind,
  sourceKind,
  clusterKind,
  bindingKind(resourceBindings),
  bindingKind(clusterResourceBindings),
  policyKind(propagationPolicies),
  policyKind(clusterPropagationPolicies),
]

/** Every kind that may be held in memory. */
export const cachedKinds: readonly AnyCachedKind[] = [...placementKinds, ...dependencyKinds]
