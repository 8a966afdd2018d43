/** The cached kinds of bindings. Most cached objects are bindings, so only fields that decisions read are kept. */
import {
  type AggregatedStatusItem,
  APPLIED_PLACEMENT_ANNOTATION,
  BINDING_ID_LABEL,
  type BindingSpec,
  type BindingStatus,
  CLUSTER_BINDING_ID_LABEL,
  CLUSTER_POLICY_NAME_ANNOTATION,
  clusterResourceBindings,
  DEPENDENCIES_ANNOTATION,
  type EvictionTask,
  DEPENDED_BY_LABEL_PREFIX as KARMADA_DEPENDED_BY_LABEL_PREFIX,
  MANAGED_BY_LABEL,
  NO_SELECTION,
  POLICY_NAME_ANNOTATION,
  POLICY_NAMESPACE_ANNOTATION,
  type ResourceBinding,
  resourceBindings,
  SCHEDULED_CONDITION,
  UNSCHEDULABLE,
} from '../../api/karmada.ts'
import {
  BASE_AFFINITY_ANNOTATION,
  DEPENDED_BY_LABEL_PREFIX,
  DEPENDENCIES_FINALIZER,
  HOLD_ANNOTATION,
  LOCALITY_ANNOTATION,
} from '../../api/lodestone.ts'
import { objectKey, type ResourceType } from '../../api/meta.ts'
import { persistentVolumeClaims } from '../../api/persistent-volume.ts'
import { volumeManagers } from '../../api/volume-manager.ts'
import { defined } from '../../base/json.ts'
import { workloadKey } from '../../core/data-source-claim/keys.ts'
import { keepMemberStatus } from '../../core/dependencies/locate-volume-manager.ts'
import { ANY_REFERRER } from '../../core/dependencies/names.ts'
import { hasNoChoice, hasTarget, isPurgedAtOnce, schedulingFailure } from '../../core/placement/binding-state.ts'
import { ANY_CLUSTER, hasOurAnnotations, isWaiting, readDecision } from '../../core/resource-binding/annotations.ts'
import { policyReferenceOf } from '../../core/resource-binding/policy.ts'
import { keptFailover } from '../../core/resource-binding/rebalance.ts'
import { EXCLUDED_CLUSTERS_ANNOTATION } from '../../core/resource-binding/volcano-global.ts'
import { intern } from '../cache/intern.ts'
import type { CachedKind } from '../store.ts'
import { keepMetadata } from './keep-metadata.ts'

const BINDING_ANNOTATIONS = [
  BASE_AFFINITY_ANNOTATION,
  LOCALITY_ANNOTATION,
  HOLD_ANNOTATION,
  POLICY_NAMESPACE_ANNOTATION,
  POLICY_NAME_ANNOTATION,
  CLUSTER_POLICY_NAME_ANNOTATION,
  EXCLUDED_CLUSTERS_ANNOTATION,
]

const BINDING_ID_LABELS = [BINDING_ID_LABEL, CLUSTER_BINDING_ID_LABEL]

function keepBinding(binding: ResourceBinding): ResourceBinding {
  const { apiVersion, kind, metadata, spec } = binding
  const { resource } = spec
  const isAttached = spec.requiredBy !== undefined || spec.placement === undefined
  const { propagateDeps = false } = spec
  const { generateName, uid, ownerReferences, finalizers } = metadata
  const isReferrer = propagateDeps || finalizers?.includes(DEPENDENCIES_FINALIZER) === true
  return {
    apiVersion: intern.string(apiVersion),
    kind: intern.string(kind),
    metadata: {
      ...keepMetadata(metadata, keptAnnotations(binding), keptLabels(metadata.labels, isReferrer)),
      // kubectl finds the Events of an object by its uid. Only bindings with annotations of Lodestone have Events.
      ...defined({
        generateName: generateName || undefined,
        uid: uid && (isAttached || hasOurAnnotations(metadata.annotations)) ? uid : undefined,
        ownerReferences: isAttached ? ownerReferences : undefined,
        finalizers: isReferrer && finalizers ? intern.json(finalizers) : undefined,
      }),
    },
    spec: {
      resource: defined({
        apiVersion: intern.string(resource.apiVersion),
        kind: intern.string(resource.kind),
        namespace: resource.namespace ? intern.string(resource.namespace) : undefined,
        name: resource.name,
        uid: (isAttached && resource.uid) || undefined,
        resourceVersion: (isAttached && resource.resourceVersion) || undefined,
      }),
      ...intern.json({
        ...defined({
          placement: spec.placement,
          clusters: keptClusters(spec),
          replicas: spec.replicas || undefined,
          // Of a workload without replicas, decisions read only whether it has requirements, and one or more components.
          replicaRequirements: !spec.replicas && spec.replicaRequirements != null ? {} : undefined,
          components: spec.components?.length ? spec.components.slice(0, 2).map(() => ({})) : undefined,
          suspension: spec.suspension,
          gracefulEvictionTasks: spec.gracefulEvictionTasks?.map(keptEviction),
          propagateDeps: propagateDeps || undefined,
          preserveResourcesOnDeletion: spec.preserveResourcesOnDeletion || undefined,
          failover: keptFailover(spec.failover),
        }),
        ...((propagateDeps || isAttached) && keptStrategy(spec)),
      }),
      ...defined({ requiredBy: spec.requiredBy }),
    },
    ...keptStatus(binding),
  }
}

/**
 * Attached bindings copy the clusters of the binding that they depend on, with all fields. Of the replicas in other clusters, decisions read only
 * whether there are some.
 */
function keptClusters({ clusters, propagateDeps }: BindingSpec): BindingSpec['clusters'] {
  return propagateDeps
    ? clusters
    : clusters?.map(({ name, replicas = 0 }) => (replicas > 0 ? { name, replicas: 1 } : { name }))
}

/** Of the purge modes, decisions read only whether the workload leaves at once. */
function keptEviction(task: EvictionTask): EvictionTask {
  const { fromCluster, purgeMode } = task
  return defined({ fromCluster, purgeMode: isPurgedAtOnce(task) ? purgeMode : undefined })
}

/** The placement that the scheduler applied counts while it differs from that of the binding. */
function keptAnnotations({ metadata: { generation }, spec, status }: ResourceBinding): string[] {
  const kept = spec.propagateDeps ? [...BINDING_ANNOTATIONS, DEPENDENCIES_ANNOTATION] : BINDING_ANNOTATIONS
  return generation === status?.schedulerObservedGeneration ? kept : [...kept, APPLIED_PLACEMENT_ANNOTATION]
}

/** The fields of the status that a decision reads. Most bindings have no annotation of Lodestone and no groups, and need none. */
function keptStatus(binding: ResourceBinding): Pick<ResourceBinding, 'status'> {
  const aggregatedStatus = keptMembers(binding)
  const { lastScheduledTime, schedulerObservingAffinityName } = binding.status ?? {}
  const isOurs = hasOurAnnotations(binding.metadata.annotations)
  const status = defined({
    conditions: keptConditions(binding),
    lastScheduledTime: (isOurs && lastScheduledTime) || undefined,
    schedulerObservingAffinityName: schedulerObservingAffinityName
      ? intern.string(schedulerObservingAffinityName)
      : undefined,
    aggregatedStatus,
  })
  return Object.keys(status).length > 0 ? { status } : {}
}

/** Why the scheduler failed. Of the message, a decision reads only whether it is about the choice among clusters. */
function keptConditions(binding: ResourceBinding): BindingStatus['conditions'] {
  const reason = schedulingFailure(binding)
  if (reason === undefined) return undefined
  const message = hasNoChoice(binding) && reason !== UNSCHEDULABLE ? NO_SELECTION : undefined
  return intern.json([defined({ type: SCHEDULED_CONDITION, status: 'False' as const, reason, message })])
}

/** The status of the members: of VolumeManagers, and of workloads that were scheduled on hold. */
function keptMembers({ metadata, spec, status }: ResourceBinding): AggregatedStatusItem[] | undefined {
  const members = status?.aggregatedStatus
  if (!members) return undefined
  if (spec.resource.kind === volumeManagers.kind) return members.map(keepMemberStatus)
  if (!metadata.annotations?.[HOLD_ANNOTATION] || !hasTarget(spec)) return undefined
  return members.filter((member) => member.applied).map(({ clusterName }) => ({ clusterName, applied: true }))
}

/** The fields that decide how a dependency is applied to members. */
function keptStrategy({ conflictResolution, preserveResourcesOnDeletion }: BindingSpec): Partial<BindingSpec> {
  return defined({ conflictResolution, preserveResourcesOnDeletion })
}

/** The labels with the id of a binding, and those that refer to the ids of other bindings. */
function keptLabels(labels: Record<string, string> = {}, withId: boolean): string[] {
  return Object.keys(labels).filter(
    (label) => label === MANAGED_BY_LABEL || (withId && BINDING_ID_LABELS.includes(label)) || isReferrerLabel(label),
  )
}

function isReferrerLabel(label: string): boolean {
  return label.startsWith(DEPENDED_BY_LABEL_PREFIX) || label.startsWith(KARMADA_DEPENDED_BY_LABEL_PREFIX)
}

function bindingKind(type: ResourceType<ResourceBinding>): CachedKind<ResourceBinding> {
  return {
    type,
    keep: keepBinding,
    indexes: {
      workload: ({ spec }) => [workloadKey(spec.resource)],
      // Labels of attached bindings refer to cluster-scoped bindings by id.
      id: ({ metadata }) => [metadata.labels?.[CLUSTER_BINDING_ID_LABEL] ?? ''].filter((id) => id !== ''),
      // Labels of attached bindings refer to the bindings that they are attached to.
      dependedBy: ({ metadata }) =>
        Object.keys(metadata.labels ?? {}).filter((label) => label.startsWith(DEPENDED_BY_LABEL_PREFIX)),
      // Attached PersistentVolumeClaims, by the same labels and those of Karmada's distributor, and by namespace.
      volumeClaimOf: ({ metadata, spec }) => {
        const isClaim = spec.resource.kind === persistentVolumeClaims.kind
        const labels = isClaim ? Object.keys(metadata.labels ?? {}).filter(isReferrerLabel) : []
        return labels.length > 0 ? [...labels, metadata.namespace ?? '', ANY_REFERRER] : []
      },
      // Bindings whose decision waits for a cluster that can take the workload.
      waiting: ({ metadata, spec }) =>
        isWaiting(readDecision(metadata.annotations), spec.clusters) ? [ANY_CLUSTER] : [],
      // Only for bindings on hold, which are few: a change of their policy can release them.
      onHoldByPolicy: ({ metadata }) => {
        const policy = metadata.annotations?.[HOLD_ANNOTATION] ? policyReferenceOf(metadata) : undefined
        return policy ? [objectKey(policy.namespace, policy.name)] : []
      },
      // Only bindings into which Karmada may not write `propagateDeps` of their policy in time, which are few.
      awaitsPropagateDeps: ({ metadata, spec }) => {
        const mayWait = !metadata.namespace || (!spec.propagateDeps && hasOurAnnotations(metadata.annotations))
        const policy = mayWait ? policyReferenceOf(metadata) : undefined
        return policy ? [objectKey(policy.namespace, policy.name)] : []
      },
    },
    optional: true,
    // No decision follows from the deletion of a binding, and a hub deletes many.
    absence: 'keep',
  }
}

export const bindingKinds = [bindingKind(resourceBindings), bindingKind(clusterResourceBindings)]
