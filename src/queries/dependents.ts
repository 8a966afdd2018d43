/** Finds the dependencies of a workload, and the workloads that need an object, with indexes only. */
import { type DataSourceClaim, dataSourceClaims } from '../api/data-source-claim.ts'
import {
  configMaps,
  type DependentObjectReference,
  endpointSlices,
  ingresses,
  type Service,
  secrets,
  serviceAccounts,
  services,
} from '../api/dependencies.ts'
import { clusters, type ResourceBinding } from '../api/karmada.ts'
import { groupOf, type K8sObject, keyOfObject, objectKey, type ResourceType, referenceOf } from '../api/meta.ts'
import { persistentVolumeClaims } from '../api/persistent-volume.ts'
import { volumeManagers } from '../api/volume-manager.ts'
import { matchesLabels } from '../base/selectors.ts'
import type { Dependent } from '../core/dependencies/dependent.ts'
import { interpretDependencies } from '../core/dependencies/interpret.ts'
import { dependencyKey } from '../core/dependencies/keys.ts'
import { propagates, refersTo } from '../core/dependencies/needs.ts'
import type { RelatedObjects } from '../core/dependencies/related.ts'
import { interpretWorkload, type Workload } from '../core/dependencies/workload.ts'
import { SHIPPED_KINDS, type WorkloadKinds } from '../core/workload-kinds/kinds.ts'
import { kindKey } from '../store/any-kind.ts'
import { labelKey, selectorKey } from '../store/kinds/dependencies.ts'
import type { ObjectStore } from '../store/store.ts'
import { type ClusterScope, claimsFor } from './permission.ts'
import { objectsRelatedTo, relatedTypes, relationTargets, workloadsSelectedBy } from './relations.ts'
import { bindingsOfClaim, bindingsOfWorkload } from './workload.ts'

/** The kinds that can be dependencies. */
const dependentTypes = new Map<string, ResourceType<Dependent>>(
  [
    configMaps,
    secrets,
    serviceAccounts,
    persistentVolumeClaims,
    services,
    ingresses,
    endpointSlices,
    volumeManagers,
    dataSourceClaims,
  ].map((type) => [kindKey(type), type]),
)

/** The names of these kinds; the enabled related kinds are dependencies too. */
export const DEPENDENT_KINDS: readonly string[] = [...dependentTypes.values()].map(({ kind }) => kind)

type WorkloadType = ResourceType<Workload>

/** The parts of the configuration that decide about dependencies; without them, its defaults apply. */
export interface DependencyRules {
  clusterScopedClaims?: ClusterScope
  kinds?: Pick<WorkloadKinds, 'isNeverPropagated'>
}

/** By kind only, since few groups have the same kind: a look-up in a hot path should not build a key. */
const workloadTypesByKind = new WeakMap<ObjectStore, Map<string, WorkloadType[]>>()

/** The kinds with dependencies that a store caches: those of the table of workload kinds. */
function workloadTypesOf(store: ObjectStore): readonly WorkloadType[] {
  return store.typesWithIndex('references') as readonly WorkloadType[]
}

/** Returns the type of a dependency; undefined for a kind that is never one. */
export function dependentType(
  object: { apiVersion: string; kind: string },
  store: ObjectStore,
): ResourceType<Dependent> | undefined {
  const key = kindKey({ group: groupOf(object.apiVersion), kind: object.kind })
  return dependentTypes.get(key) ?? relatedTypes(store).find((type) => kindKey(type) === key)
}

/** The look-ups of the interpreter, from the cache. */
function relatedObjects(
  store: ObjectStore,
  { clusterScopedClaims, kinds = SHIPPED_KINDS }: DependencyRules,
): RelatedObjects {
  return {
    servicesFor: (namespace, podLabels) =>
      Object.entries(podLabels)
        .flatMap((pair) => store.byIndex(services, 'selector', labelKey(namespace, pair)))
        .filter((service) => selects(service, podLabels)),
    relatedTo: (namespace, targets) => objectsRelatedTo(namespace, targets, store),
    ingressesOf: (namespace, service) =>
      store.byIndex(ingresses as ResourceType<Workload>, 'backends', objectKey(namespace, service)),
    serviceAccount: (namespace, name) => store.get(serviceAccounts, namespace, name),
    volumeManager: (namespace, name) => store.get(volumeManagers, namespace, name),
    claimsOf: (workload) => claimsFor(referenceOf(workload), store, clusterScopedClaims),
    memberServes: (type) => store.byIndex(clusters, 'serves', kindKey(type)).length > 0,
    isNeverPropagated: kinds.isNeverPropagated,
  }
}

/** Returns the dependencies of an object in a request. Throws `NotSyncedError` before the cache is complete. */
export function interpretObject(
  object: K8sObject,
  store: ObjectStore,
  kinds: WorkloadKinds,
  scope?: ClusterScope,
): DependentObjectReference[] {
  const rules = { clusterScopedClaims: scope, kinds }
  return interpretDependencies(interpretWorkload(object, kinds), relatedObjects(store, rules))
}

/**
 * Whether the cluster has this object, with the same uid, and its kind is interpreted. Only clients that can read the object know its uid.
 */
export function isStoredWorkload(object: K8sObject, store: ObjectStore): boolean {
  const type = workloadTypeOf(object, store)
  const { namespace, name = '', uid } = object.metadata
  return uid !== undefined && type !== undefined && store.get(type, namespace, name)?.metadata.uid === uid
}

/** Returns the type of a kind with dependencies, for any of its versions; undefined if the store does not cache it. */
export function workloadTypeOf(
  { apiVersion, kind }: { apiVersion: string; kind: string },
  store: ObjectStore,
): WorkloadType | undefined {
  let byKind = workloadTypesByKind.get(store)
  if (byKind === undefined) {
    byKind = Map.groupBy(workloadTypesOf(store), (type) => type.kind)
    workloadTypesByKind.set(store, byKind)
  }
  return byKind.get(kind)?.find(({ group }) => group === groupOf(apiVersion))
}

/** The workload of a binding; undefined if it does not exist or its kind is not interpreted. */
export function workloadOfBinding({ spec }: ResourceBinding, store: ObjectStore): Workload | undefined {
  const type = workloadTypeOf(spec.resource, store)
  return type && store.get(type, spec.resource.namespace, spec.resource.name)
}

/** Returns the existing objects that a workload needs. */
export function dependentsOf(workload: Workload, store: ObjectStore, rules: DependencyRules = {}): Dependent[] {
  const related = relatedObjects(store, rules)
  return interpretDependencies(workload, related).flatMap((reference) => {
    const type = dependentType(reference, store)
    if (!type) return []
    if (reference.name) return store.get(type, reference.namespace, reference.name) ?? []
    const candidates = store.byIndex(type, 'namespace', reference.namespace ?? '')
    return candidates.filter((object) => refersTo(reference, object) && !related.isNeverPropagated(referenceOf(object)))
  })
}

/** Returns the bindings with `propagateDeps` whose workloads need the object. The object need not exist: a workload may name it anyway. */
export function bindingsNeeding(object: K8sObject, store: ObjectStore, rules: DependencyRules = {}): ResourceBinding[] {
  const related = relatedObjects(store, rules)
  if (related.isNeverPropagated(referenceOf(object))) return []
  const isMeant = (reference: DependentObjectReference) => refersTo(reference, object)
  return [...workloadsAround(object, store)]
    .filter(
      // Most workloads name the object themselves; then the interpretation is not needed.
      (workload) =>
        workload.dependencies.references.some(isMeant) || interpretDependencies(workload, related).some(isMeant),
    )
    .flatMap((workload) => bindingsOfWorkload(referenceOf(workload), store))
    .filter((binding) => propagates(binding) && isWithinReach(binding, object))
}

/** Whether a binding can be attached to the object. The garbage collector deletes a binding whose owner is in another namespace. */
export function isWithinReach({ metadata }: ResourceBinding, object: K8sObject): boolean {
  return !metadata.namespace || metadata.namespace === object.metadata.namespace
}

/** Returns the workloads that may need the object, directly or through another dependency. */
export function workloadsAround(object: K8sObject, store: ObjectStore): Set<Workload> {
  const found = new Set<Workload>()
  const seen = new Set<string>()
  const visit = (current: K8sObject): void => {
    const key = dependencyKey(current)
    if (seen.has(key)) return
    seen.add(key)
    for (const workload of workloadsNaming(current, key, store)) {
      found.add(workload)
      // An Ingress names its Secrets, and is a dependency of the workloads behind its Services.
      if (dependentType(workload, store)) visit(workload)
    }
    for (const carrier of carriers[current.kind]?.(current, store) ?? []) visit(carrier)
    const related = relationTargets(current, workloadTypesOf(store), store)
    for (const workload of related.workloads) found.add(workload)
    for (const carrier of related.carriers) visit(carrier)
  }
  visit(object)
  return found
}

function workloadsNaming(object: K8sObject, key: string, store: ObjectStore): Workload[] {
  const naming = workloadTypesOf(store).flatMap((type) => store.byIndex(type, 'references', key))
  switch (object.kind) {
    case endpointSlices.kind:
      return naming.concat(
        workloadTypesOf(store).flatMap((type) => store.byIndex(type, 'selectors', selectorKey(object))),
      )
    case services.kind:
      return naming.concat(workloadsBehind(object, store))
    case dataSourceClaims.kind:
      return naming.concat(workloadsOfClaimObject(object as DataSourceClaim, store))
    default:
      return naming
  }
}

/** Kind → a function that returns the dependencies which add an object of this kind. */
const carriers: Record<string, (object: K8sObject, store: ObjectStore) => Iterable<K8sObject>> = {
  [ingresses.kind]: (ingress, store) =>
    (ingress as Workload).dependencies?.backends.flatMap(
      (name) => store.get(services, ingress.metadata.namespace, name) ?? [],
    ) ?? [],
  [secrets.kind]: (secret, store) =>
    [serviceAccounts, volumeManagers].flatMap((type: ResourceType) => [
      ...store.byIndex(type, 'secrets', keyOfObject(secret)),
    ]),
}

/** Returns the workloads whose pods the Service selects; a Service without a selector selects none. */
function workloadsBehind({ metadata, spec }: Service, store: ObjectStore): Workload[] {
  const { selector = {} } = spec ?? {}
  if (Object.keys(selector).length === 0) return []
  return workloadsSelectedBy({ matchLabels: selector }, metadata.namespace, workloadTypesOf(store), store)
}

function selects({ spec }: Service, podLabels: Record<string, string>): boolean {
  return matchesLabels({ matchLabels: spec?.selector ?? {} }, podLabels)
}

function workloadsOfClaimObject(claim: DataSourceClaim, store: ObjectStore): Workload[] {
  // A deleted claim is known only by name; its attached bindings are found by their labels.
  if (!claim.spec) return []
  return bindingsOfClaim(claim, store).flatMap((binding) => workloadOfBinding(binding, store) ?? [])
}
