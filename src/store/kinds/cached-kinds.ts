/** The table of cached kinds, with the cached fields and the indexes of each. */
import { type DataSource, dataSources } from '../../api/data-source.ts'
import { type DataSourceClaim, dataSourceClaims } from '../../api/data-source-claim.ts'
import { ingresses, serviceAccounts, services } from '../../api/dependencies.ts'
import {
  type Cluster,
  COMPLETE_APIS,
  clusterPropagationPolicies,
  clusters,
  type PropagationPolicy,
  propagationPolicies,
} from '../../api/karmada.ts'
import {
  ALLOW_CLAIMS_FROM_ANNOTATION,
  ENFORCE_LABEL,
  PROPAGATE_DEPS_ANNOTATION,
  PROPAGATE_DEPS_SET_ANNOTATION,
  REQUIRES_CLAIM_ANNOTATION,
} from '../../api/lodestone.ts'
import { type Condition, groupOf, type ResourceType } from '../../api/meta.ts'
import { namespaces } from '../../api/namespace.ts'
import { volumeManagers } from '../../api/volume-manager.ts'
import { defined } from '../../base/json.ts'
import { droppedFields } from '../../core/data-source-claim/dropped-fields.ts'
import { type GrantingNamespace, readClaimGrant } from '../../core/data-source-claim/grant.ts'
import { otherNamespaceOf, queryOfClaim, workloadKeysOfClaim } from '../../core/data-source-claim/keys.ts'
import { declaredPropagateDeps } from '../../core/propagation-policy/declared.ts'
import { withPlacementDefaults } from '../../core/propagation-policy/defaults.ts'
import { takesWorkloadsOver } from '../../core/propagation-policy/preemption.ts'
import { selectableKeysOfClaim, selectorKeys } from '../../core/propagation-policy/select.ts'
import { keptFailover } from '../../core/resource-binding/rebalance.ts'
import { SHIPPED_KINDS, type WorkloadKinds } from '../../core/workload-kinds/kinds.ts'
import { type AnyCachedKind, kindKey } from '../any-kind.ts'
import { intern } from '../cache/intern.ts'
import type { CachedKind } from '../store.ts'
import { bindingKinds } from './bindings.ts'
import { cachedWorkloadKinds, dependencyKinds } from './dependencies.ts'
import { keepMetadata } from './keep-metadata.ts'
import { kueueKinds, multiKueueKinds } from './kueue.ts'
import { nodeKinds } from './nodes.ts'
import { volumeClaimKinds } from './persistent-volumes.ts'
import { nameOfSource, queryKeyOfClaim, queryKeyOfSource } from './query-key.ts'
import { relatedKindsOf } from './related.ts'
import { injectionKinds } from './volumes.ts'

const claimKind: CachedKind<DataSourceClaim> = {
  type: dataSourceClaims,
  keep(claim) {
    const dropped = droppedFields(claim)
    return dropped.length > 0 ? { ...keepOwn(claim), dropped } : keepOwn(claim)
  },
  indexes: {
    workload: workloadKeysOfClaim,
    selectable: selectableKeysOfClaim,
    source: (claim) => [queryKeyOfClaim(claim)],
    sourceName: (claim) => [nameOfSource(queryOfClaim(claim))],
    otherNamespace: (claim) => [otherNamespaceOf(claim) ?? []].flat(),
    bound: ({ status }) => (status?.boundDataSource ? [status.boundDataSource] : []),
  },
  absence: 'confirm',
}

const sourceKind: CachedKind<DataSource> = {
  type: dataSources,
  keep: keepOwn,
  indexes: { key: (source) => [queryKeyOfSource(source)] },
  absence: 'confirm',
}

/** A hub has thousands of namespaces. Most are cached with their name only. */
const namespaceKind: CachedKind<GrantingNamespace> = {
  type: namespaces,
  keep({ apiVersion, kind, metadata }) {
    const claimGrant = readClaimGrant({ apiVersion, kind, metadata })
    return defined({
      apiVersion,
      kind,
      metadata: {
        ...keepMetadata(metadata, [ALLOW_CLAIMS_FROM_ANNOTATION], [ENFORCE_LABEL]),
        // Events about a namespace that is being deleted are found by its uid.
        ...defined({ uid: (metadata.deletionTimestamp && metadata.uid) || undefined }),
      },
      claimGrant,
    })
  },
  indexes: {},
  metadataOnly: true,
  optional: true,
  absence: 'keep',
}

const OUR_GROUPS = [dataSourceClaims.group, volumeManagers.group]

const clusterKind: CachedKind<Cluster> = {
  type: clusters,
  keep({ apiVersion, kind, metadata, spec: { syncMode, provider, region, zone, zones, taints } = {}, status }) {
    return defined({
      apiVersion,
      kind,
      metadata: { ...keepMetadata(metadata), ...defined({ labels: metadata.labels }) },
      spec: defined({
        // Most clusters are in Push mode.
        syncMode: syncMode === 'Pull' ? syncMode : undefined,
        provider: provider || undefined,
        region: region || undefined,
        // The API server of Karmada moves the deprecated field (pkg/apis/cluster/mutation, migrateZoneToZones). A manifest still has it.
        zones: zones?.length || !zone ? zones : [zone],
        taints: taints?.length
          ? taints.map(({ key, value, effect }) => defined({ key, value: value || undefined, effect }))
          : undefined,
      }),
      status: status && keptStatus(status),
    })
  },
  // The kinds of Lodestone that a member serves. Other kinds are propagated to members without this check.
  indexes: {
    serves: ({ status }) =>
      (status?.apiEnablements ?? [])
        .filter(({ groupVersion }) => OUR_GROUPS.includes(groupOf(groupVersion)))
        .flatMap(({ groupVersion, resources = [] }) =>
          resources.map(({ kind }) => kindKey({ group: groupOf(groupVersion), kind })),
        ),
  },
  optional: true,
  // Served by karmada-aggregated-apiserver, without a CRD.
  absence: 'keep',
}

/** The APIs that a member serves, and whether their list is complete. The list is shared: most members serve the same APIs. */
function keptStatus({ apiEnablements, conditions }: NonNullable<Cluster['status']>): NonNullable<Cluster['status']> {
  const served = apiEnablements?.map(({ groupVersion, resources = [] }) => ({
    groupVersion,
    resources: resources.map(({ kind }) => ({ kind })),
  }))
  const complete = conditions?.filter(({ type }) => type === COMPLETE_APIS)
  return defined({
    apiEnablements: served && intern.json(served),
    conditions: complete?.length ? intern.json(complete) : undefined,
  })
}

const POLICY_ANNOTATIONS = [REQUIRES_CLAIM_ANNOTATION, PROPAGATE_DEPS_ANNOTATION, PROPAGATE_DEPS_SET_ANNOTATION]

function policyKind(type: ResourceType<PropagationPolicy>): CachedKind<PropagationPolicy> {
  return {
    type,
    keep(policy) {
      const { apiVersion, kind, metadata, spec } = policy
      const propagateDeps = declaredPropagateDeps(policy)
      return {
        apiVersion,
        kind,
        metadata: {
          ...keepMetadata(metadata, POLICY_ANNOTATIONS),
          // kubectl finds the Events of an object by its uid.
          ...defined({ uid: metadata.uid || undefined }),
        },
        spec: defined({
          resourceSelectors: spec.resourceSelectors,
          // A manifest may lack what the API server of Karmada adds.
          placement: spec.placement && withPlacementDefaults(spec.placement),
          priority: spec.priority,
          preemption: takesWorkloadsOver(policy) ? spec.preemption : undefined,
          activationPreference: spec.activationPreference || undefined,
          preserveResourcesOnDeletion: spec.preserveResourcesOnDeletion || undefined,
          suspension: spec.suspension,
          failover: keptFailover(spec.failover),
          propagateDeps,
        }),
      }
    },
    indexes: { selects: selectorKeys },
    optional: true,
    absence: 'confirm',
  }
}

/** Keeps the whole object of Lodestone's own kinds, except for metadata that the loops do not need for writes and references. */
function keepOwn<T extends DataSourceClaim | DataSource>({ apiVersion, kind, metadata, spec, status }: T) {
  const { uid, generation, finalizers } = metadata
  return defined({
    apiVersion: intern.string(apiVersion),
    kind: intern.string(kind),
    metadata: {
      ...keepMetadata(metadata),
      ...defined({
        uid: uid || undefined,
        generation: generation || undefined,
        finalizers: finalizers && intern.json(finalizers),
      }),
    },
    spec,
    status: status && { ...status, ...defined({ conditions: status.conditions?.map(sharedCondition) }) },
  }) as T
}

/** A hub has hundreds of thousands of conditions, with few types, reasons and times. Messages often name the object. */
function sharedCondition(condition: Condition): Condition {
  const { type, reason, lastTransitionTime } = condition
  return {
    ...condition,
    ...defined({
      type: intern.json(type),
      reason: intern.json(reason),
      lastTransitionTime: intern.json(lastTransitionTime),
    }),
  }
}

/** The kinds that every decision on a placement reads. The API server must serve claims and sources; the other kinds are optional. */
export const placementKinds: readonly AnyCachedKind[] = [
  claimKind,
  sourceKind,
  namespaceKind,
  clusterKind,
  ...bindingKinds,
  policyKind(propagationPolicies),
  policyKind(clusterPropagationPolicies),
]

const volumeKinds = [...injectionKinds, ...volumeClaimKinds, ...nodeKinds]

/** Returns every kind that may be cached. */
export function allKinds(workloads: WorkloadKinds): AnyCachedKind[] {
  return [
    ...placementKinds,
    ...cachedWorkloadKinds(workloads),
    ...dependencyKinds,
    ...relatedKindsOf(workloads),
    ...volumeKinds,
  ]
}

/** Every kind that may be cached without configured workload kinds. */
export const cachedKinds: readonly AnyCachedKind[] = allKinds(SHIPPED_KINDS)

interface Features {
  workloads: WorkloadKinds
  dependencies: boolean
  movesData: boolean
  /** Whether the AdmissionChecks of Kueue are answered. Default: false. */
  kueue?: boolean
  /** Whether Lodestone is the dispatcher of MultiKueue. Default: false. */
  multiKueue?: boolean
}

/** The kinds to cache from an API server for the enabled features. */
export function kindsFor({
  workloads,
  dependencies,
  movesData,
  kueue = false,
  multiKueue = false,
}: Features): AnyCachedKind[] {
  const kinds = [
    ...placementKinds,
    // Workloads name volumes, and are placed where the data of these is.
    ...cachedWorkloadKinds(workloads),
    ...injectionKinds,
    ...(dependencies ? [...dependencyKinds, ...relatedKindsOf(workloads), ...volumeClaimKinds] : []),
    ...(movesData ? [...volumeClaimKinds, ...nodeKinds] : []),
    ...(kueue ? kueueKinds : []),
    ...(multiKueue ? multiKueueKinds : []),
  ]
  return [...new Set(kinds)]
}

/** The kinds that the interpretation of one workload reads besides the workload. */
export function relatedKinds(workloads: WorkloadKinds): AnyCachedKind[] {
  return allKinds(workloads).filter(({ type }) =>
    [ingresses, services, serviceAccounts, volumeManagers, ...workloads.related.map((related) => related.type)].some(
      (related) => kindKey(related) === kindKey(type),
    ),
  )
}
