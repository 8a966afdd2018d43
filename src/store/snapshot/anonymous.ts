/**
 * Replaces the names of tenants in the objects of a snapshot. Names of clusters, kinds and data systems stay, and so do placements: decisions
 * on an anonymous snapshot are the same. Only known fields are taken, so that nothing else of a tenant is in the file.
 */
import { randomBytes } from 'node:crypto'
import { type DataSource, dataSources } from '../../api/data-source.ts'
import type { DataSourceClaim } from '../../api/data-source-claim.ts'
import {
  APPLIED_PLACEMENT_ANNOTATION,
  BINDING_ID_LABEL,
  type BindingSnapshot,
  bindingTypeIn,
  CLUSTER_BINDING_ID_LABEL,
  CLUSTER_POLICY_NAME_ANNOTATION,
  type Cluster,
  DEPENDED_BY_LABEL_PREFIX as KARMADA_DEPENDED_BY_LABEL_PREFIX,
  POLICY_NAME_ANNOTATION,
  POLICY_NAMESPACE_ANNOTATION,
  type PropagationPolicy,
  type ResourceBinding,
} from '../../api/karmada.ts'
import {
  ALLOW_CLAIMS_FROM_ANNOTATION,
  BASE_AFFINITY_ANNOTATION,
  DEPENDED_BY_LABEL_PREFIX,
  HOLD_ANNOTATION,
  LOCALITY_ANNOTATION,
  VOLUMES_ANNOTATION,
} from '../../api/lodestone.ts'
import type { Condition, K8sObject, ObjectMeta } from '../../api/meta.ts'
import type { VolumeManager } from '../../api/volume-manager.ts'
import { defined, isObject, sortedUnique, without } from '../../base/json.ts'
import type { GrantingNamespace } from '../../core/data-source-claim/grant.ts'
import { queryOfClaim } from '../../core/data-source-claim/keys.ts'
import { dependedByLabel } from '../../core/dependencies/names.ts'
import type { Workload } from '../../core/dependencies/workload.ts'
import {
  BASE_OF_POLICY,
  type HoldAnnotation,
  type LocalityAnnotation,
  parseAnnotation,
  readAnnotations,
} from '../../core/resource-binding/annotations.ts'
import { bindingName } from '../../core/resource-binding/derive.ts'
import { nameOfSource, queryKeyOfSource } from '../kinds/query-key.ts'
import type { ObjectStore } from '../store.ts'
import { Pseudonyms } from './pseudonyms.ts'
import { clusterLabelsInUse, referrersByHash } from './references.ts'

/** A text for an annotation that cannot be read, and stays so. */
const UNREADABLE = 'null'
/** The field of a placement that names labels of workloads. Decisions do not read it. */
const WORKLOAD_AFFINITY = 'workloadAffinity'
/** The value of the annotation of a namespace that is malformed, and allows nothing. */
const MALFORMED = '-'

/** Returns the function that replaces the names in the objects of a store. Each call has another salt. */
export function anonymizer(store: ObjectStore): (object: K8sObject) => K8sObject {
  const anonymous = new Anonymizer(store, new Pseudonyms(randomBytes(32).toString('hex')))
  return (object) => anonymous.object(object)
}

class Anonymizer {
  readonly #store: ObjectStore
  readonly #names: Pseudonyms
  readonly #clusterLabels: ReadonlySet<string>
  readonly #referrers: ReadonlyMap<string, BindingSnapshot>

  constructor(store: ObjectStore, names: Pseudonyms) {
    this.#store = store
    this.#names = names
    this.#clusterLabels = clusterLabelsInUse(store)
    this.#referrers = referrersByHash(store)
  }

  object(object: K8sObject): K8sObject {
    switch (object.kind) {
      case 'Cluster':
        return this.#cluster(object as Cluster)
      case 'Namespace':
        return this.#namespace(object)
      case 'ResourceBinding':
      case 'ClusterResourceBinding':
        return this.#binding(object as ResourceBinding)
      case 'PropagationPolicy':
      case 'ClusterPropagationPolicy':
        return this.#policy(object as PropagationPolicy)
      case 'DataSourceClaim':
        return this.#claim(object as DataSourceClaim)
      case 'DataSource':
        return this.#source(object as DataSource)
      case 'VolumeManager':
        return this.#volumeManager(object as VolumeManager)
      default:
        return this.#workload(object as Workload)
    }
  }

  #metadata({ name = '', namespace, generation, deletionTimestamp }: ObjectMeta): ObjectMeta {
    return defined({
      name: this.#names.of(name),
      namespace: this.#names.ofOptional(namespace),
      generation,
      deletionTimestamp,
    })
  }

  #labels({ labels }: ObjectMeta): Pick<ObjectMeta, 'labels'> {
    return labels ? { labels: this.#names.ofEntries(labels) } : {}
  }

  /** Labels that no placement selects may name the owner of a cluster. */
  #cluster(cluster: Cluster): Cluster {
    const { labels, ...metadata } = cluster.metadata
    const used = Object.entries(labels ?? {}).filter(([name]) => this.#clusterLabels.has(name))
    const { status } = cluster
    const conditions = status?.conditions?.map(withoutMessage)
    return {
      ...cluster,
      metadata: { ...metadata, ...(labels && { labels: Object.fromEntries(used) }) },
      ...(status && { status: { ...status, ...(conditions && { conditions }) } }),
    }
  }

  #namespace({ apiVersion, kind, metadata, claimGrant }: GrantingNamespace): K8sObject {
    const { labels, annotations } = metadata
    const allowed = annotations?.[ALLOW_CLAIMS_FROM_ANNOTATION]
    const names = allowed?.split(',').map((name) => (name.trim() === '*' ? '*' : this.#names.of(name.trim())))
    const text = claimGrant?.kind === 'invalid' ? MALFORMED : names?.join(',')
    return {
      apiVersion,
      kind,
      metadata: {
        ...this.#metadata(metadata),
        ...defined({ labels, annotations: text === undefined ? undefined : { [ALLOW_CLAIMS_FROM_ANNOTATION]: text } }),
      },
    }
  }

  #policy({ apiVersion, kind, metadata, spec }: PropagationPolicy): PropagationPolicy {
    const { annotations } = metadata
    const flags = Object.entries(annotations ?? {}).map(([name, value]) => [name, isFlag(value) ? value : ''])
    return {
      apiVersion,
      kind,
      metadata: { ...this.#metadata(metadata), ...(annotations && { annotations: Object.fromEntries(flags) }) },
      spec: {
        ...spec,
        ...defined({ placement: this.#placement(spec.placement) }),
        resourceSelectors: spec.resourceSelectors.map(({ apiVersion, kind, namespace, name, labelSelector }) =>
          defined({
            apiVersion,
            kind,
            namespace: this.#names.ofOptional(namespace),
            name: this.#names.ofOptional(name),
            labelSelector: labelSelector && this.#names.ofSelector(labelSelector),
          }),
        ),
      },
    }
  }

  /** The scheduler groups workloads by a label, whose key a tenant has chosen. */
  #placement<T extends object | undefined>(placement: T): T {
    if (placement === undefined || !(WORKLOAD_AFFINITY in placement)) return placement
    return { ...placement, [WORKLOAD_AFFINITY]: this.#names.ofTexts(placement[WORKLOAD_AFFINITY]) }
  }

  #workload({ apiVersion, kind, metadata, dependencies }: Workload): Workload {
    const { volumeManagers, preferredVolumeManagers, claimTemplates } = dependencies
    const names = (all: readonly string[]) => sortedUnique(all.map((name) => this.#names.of(name)))
    // The requests of a workload whose pods inherit them: only their names are read.
    const requests = names(volumeManagers).map((name) => ({ name }))
    const inherits = metadata.annotations?.[VOLUMES_ANNOTATION] !== undefined
    return {
      apiVersion,
      kind,
      metadata: {
        ...this.#metadata(metadata),
        ...this.#labels(metadata),
        ...(inherits && { annotations: { [VOLUMES_ANNOTATION]: JSON.stringify(requests) } }),
      },
      dependencies: {
        ...dependencies,
        volumeManagers: names(volumeManagers),
        preferredVolumeManagers: names(preferredVolumeManagers),
        ...defined({ claimTemplates: claimTemplates && names(claimTemplates) }),
      },
    }
  }

  #volumeManager({ apiVersion, kind, metadata, spec }: VolumeManager): VolumeManager {
    return { apiVersion, kind, metadata: { ...this.#metadata(metadata), ...this.#labels(metadata) }, spec }
  }

  #claim({ apiVersion, kind, metadata, spec, status }: DataSourceClaim): DataSourceClaim {
    const { namespace, name, ...workload } = spec.workload
    const { phase, boundDataSource, conditions } = status ?? {}
    return {
      apiVersion,
      kind,
      metadata: this.#metadata(metadata),
      spec: defined({
        system: spec.system,
        dataSourceType: spec.dataSourceType,
        dataSourceName: this.#names.of(spec.dataSourceName),
        attributes: spec.attributes && this.#names.ofEntries(spec.attributes),
        workload: defined({
          apiVersion: workload.apiVersion,
          kind: workload.kind,
          name: this.#names.of(name),
          namespace: this.#names.ofOptional(namespace),
        }),
        policy: spec.policy,
      }),
      ...(status && {
        status: defined({
          phase,
          boundDataSource: boundDataSource === undefined ? undefined : this.#sourceName(boundDataSource, spec),
          conditions,
        }),
      }),
    }
  }

  #source({ apiVersion, kind, metadata, spec, status }: DataSource): DataSource {
    const { locality } = spec
    const { phase, lastResolvedTime, observedGeneration, conditions } = status ?? {}
    return {
      apiVersion,
      kind,
      metadata: { ...this.#metadata(metadata), name: this.#nameOfSource(metadata.name ?? '', spec) },
      spec: defined({
        ...this.#query(spec),
        locality: locality && defined({ ...locality, location: this.#names.ofOptional(locality.location) }),
      }),
      ...(status && {
        status: defined({
          phase,
          lastResolvedTime,
          observedGeneration,
          conditions: conditions?.map(withoutMessage),
        }),
      }),
    }
  }

  #query({ system, type, name, attributes }: DataSource['spec']): DataSource['spec'] {
    return defined({
      system,
      type,
      name: this.#names.of(name),
      attributes: attributes && this.#names.ofEntries(attributes),
    })
  }

  /** The pseudonym of the source that a claim is bound to. */
  #sourceName(name: string, claim: DataSourceClaim['spec']): string {
    const source = this.#store.get(dataSources, undefined, name)
    return this.#nameOfSource(name, source?.spec ?? queryOfClaim({ spec: claim } as DataSourceClaim))
  }

  /**
   * The pseudonym of a source. A name that Lodestone generated for its query is generated from the new query: claims prefer that source. Among
   * several others of a query, claims prefer the lowest name, so the pseudonyms have the same order.
   */
  #nameOfSource(name: string, spec: DataSource['spec']): string {
    if (name === nameOfSource(spec)) return nameOfSource(this.#query(spec))
    const key = queryKeyOfSource({ spec })
    const names = this.#store.byIndex(dataSources, 'key', key).map(({ metadata }) => metadata.name ?? '')
    const others = names.filter((other) => other !== nameOfSource(spec)).sort()
    const pseudonyms = others.map((other) => this.#names.of(other)).sort()
    return pseudonyms[others.indexOf(name)] ?? this.#names.of(name)
  }

  #binding({ apiVersion, kind, metadata, spec, status }: ResourceBinding): ResourceBinding {
    const { resource, requiredBy, ...rest } = spec
    const { generateName, labels, annotations } = metadata
    const { aggregatedStatus, ...times } = status ?? {}
    return {
      apiVersion,
      kind,
      metadata: {
        ...this.#metadata(metadata),
        ...defined({
          name: this.#bindingName(metadata.name ?? '', resource),
          generateName: this.#names.ofOptional(generateName),
          labels: labels && this.#bindingLabels(labels),
          annotations: annotations && this.#bindingAnnotations(annotations),
        }),
      },
      spec: {
        resource: defined({
          apiVersion: resource.apiVersion,
          kind: resource.kind,
          namespace: this.#names.ofOptional(resource.namespace),
          name: this.#names.of(resource.name),
        }),
        ...rest,
        ...defined({ placement: this.#placement(rest.placement) }),
        ...(requiredBy && { requiredBy: requiredBy.map((referrer) => this.#referrer(referrer)) }),
      },
      ...(status && {
        status: defined({
          ...times,
          aggregatedStatus: aggregatedStatus?.map(({ status, ...member }) =>
            defined({
              ...member,
              status: status === undefined ? undefined : without(status as { message?: string }, 'message'),
            }),
          ),
        }),
      }),
    }
  }

  /** The name that Karmada generates contains that of the resource. */
  #bindingName(name: string, { kind, name: resource }: { kind: string; name: string }): string {
    return name === bindingName(kind, resource) ? bindingName(kind, this.#names.of(resource)) : this.#names.of(name)
  }

  #referrer({ namespace, name, clusters }: BindingSnapshot): BindingSnapshot {
    const resource = this.#store.get(bindingTypeIn(namespace), namespace, name)?.spec.resource
    return defined({
      namespace: this.#names.ofOptional(namespace),
      name: resource ? this.#bindingName(name, resource) : this.#names.of(name),
      clusters,
    })
  }

  /** Labels of attached bindings have a hash of the name of their referrer, and its id as their value. */
  #bindingLabels(labels: Record<string, string>): Record<string, string> {
    const changed = Object.entries(labels).map(([label, value]) => {
      if (label === BINDING_ID_LABEL || label === CLUSTER_BINDING_ID_LABEL) return [label, this.#names.of(value)]
      const prefix = [DEPENDED_BY_LABEL_PREFIX, KARMADA_DEPENDED_BY_LABEL_PREFIX].find((each) => label.startsWith(each))
      if (prefix === undefined) return [label, value]
      const hash = label.slice(prefix.length)
      const referrer = this.#referrers.get(hash)
      const { namespace, name } = referrer ? this.#referrer(referrer) : { name: this.#names.of(hash) }
      const hashed = dependedByLabel({ namespace, name }).slice(DEPENDED_BY_LABEL_PREFIX.length)
      return [`${prefix}${hashed}`, this.#names.of(value)]
    })
    return Object.fromEntries(changed)
  }

  #locality({
    state,
    claims,
    required,
    requiredDigest,
    preferred,
    rankedFrom,
    since,
    round,
  }: LocalityAnnotation): LocalityAnnotation {
    const names = sortedUnique(claims.map((claim) => this.#names.ofClaim(claim)))
    return defined({ state, message: '', claims: names, required, requiredDigest, preferred, rankedFrom, since, round })
  }

  #bindingAnnotations(annotations: Record<string, string>): Record<string, string> {
    const { base, locality, hold } = readAnnotations(annotations)
    const changed = Object.entries(annotations).map(([name, value]) => {
      switch (name) {
        case POLICY_NAMESPACE_ANNOTATION:
        case POLICY_NAME_ANNOTATION:
        case CLUSTER_POLICY_NAME_ANNOTATION:
          return [name, this.#names.of(value)]
        case BASE_AFFINITY_ANNOTATION:
          return [name, base === undefined ? UNREADABLE : base === BASE_OF_POLICY ? base : JSON.stringify(base)]
        case LOCALITY_ANNOTATION:
          return [name, locality ? JSON.stringify(this.#locality(locality)) : UNREADABLE]
        case HOLD_ANNOTATION:
          return [name, hold ? JSON.stringify(withoutNames(hold)) : UNREADABLE]
        case APPLIED_PLACEMENT_ANNOTATION: {
          const applied = parseAnnotation(value)
          return [name, isObject(applied) ? JSON.stringify(this.#placement(applied)) : UNREADABLE]
        }
        default:
          // The clusters that volcano-global excluded.
          return [name, value]
      }
    })
    return Object.fromEntries(changed)
  }
}

function withoutNames({ reason, since, released }: HoldAnnotation): HoldAnnotation {
  return defined({ message: '', reason, since, released })
}

function isFlag(value: string): boolean {
  return value === 'true' || value === 'false'
}

/** Messages of data systems name tables and places, and those of clusters may name kinds of tenants. */
function withoutMessage(condition: Condition): Condition {
  return { ...condition, message: '' }
}
