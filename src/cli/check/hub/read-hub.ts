/** Copies what a check needs from a hub into memory, with the stored workloads that the manifests concern. Reviews change only the copy. */
import pLimit from 'p-limit'
import { type DataSource, dataSources } from '../../../api/data-source.ts'
import { type DataSourceClaim, dataSourceClaims, type WorkloadReference } from '../../../api/data-source-claim.ts'
import { configMaps } from '../../../api/dependencies.ts'
import {
  bindingTypeIn,
  clusterPropagationPolicies,
  clusters,
  isPolicy,
  type PropagationPolicy,
  propagationPolicies,
} from '../../../api/karmada.ts'
import { type K8sObject, type ResourceType, referenceOf } from '../../../api/meta.ts'
import { namespaces } from '../../../api/namespace.ts'
import { persistentVolumeClaims } from '../../../api/persistent-volume.ts'
import { volumeManagers } from '../../../api/volume-manager.ts'
import type { Config } from '../../../app/config/config.ts'
import type { SystemsConfig } from '../../../app/config/systems-config.ts'
import { defined } from '../../../base/json.ts'
import { UserError } from '../../../base/user-error.ts'
import { workloadKey, workloadsOfClaim } from '../../../core/data-source-claim/keys.ts'
import { interpretWorkload } from '../../../core/dependencies/workload.ts'
import { selectorKeys, selects } from '../../../core/propagation-policy/select.ts'
import { bindingName } from '../../../core/resource-binding/derive.ts'
import type { AnyCachedKind } from '../../../store/any-kind.ts'
import { isForbidden } from '../../../store/cluster/api-error.ts'
import type { Manifest } from '../../../store/folder/manifests.ts'
import { queryKeyOfClaim, queryKeyOfSource } from '../../../store/kinds/query-key.ts'
import type { ObjectStore } from '../../../store/store.ts'
import type { Arguments, CommandIo } from '../../command.ts'
import { referencedTarget } from '../../explain/target.ts'
import { kindsOfPlacement } from '../../explain/workload.ts'
import { typeAmong } from '../../kinds.ts'
import { openSource } from '../../open-source.ts'
import { karmadaRulesOf } from '../../options/karmada-version.ts'
import { withoutVersion } from '../input/place-manifests.ts'
import { hasType, validateManifest } from '../input/validate-manifest.ts'
import {
  isTemplate,
  openSession,
  type ReviewContext,
  type ReviewSession,
  reviewedType,
  webhookFor,
} from '../review/review-object.ts'

/** A stored workload, and the first manifest that concerns it. */
export interface Concerned {
  template: K8sObject
  manifest: Manifest
}

export interface HubContent {
  concerned: Concerned[]
  /** The number of workloads that were not read, because there are too many. */
  notReviewed: number
}

/** An object of the hub cannot be read. */
class HubReadError extends UserError {
  override name = 'HubReadError'
  override readonly exitStatus = 1
}

/** Workloads that are read one by one. A policy may select every workload of a hub. */
const MAX_WORKLOADS = 1000
const MAX_CONCURRENT = 8

/** Returns a kind to cache from a hub. Policies are cached whole: a binding inherits fields that no other decision reads. */
export function withWholePolicies(kind: AnyCachedKind): AnyCachedKind {
  return isPolicy(kind.type.kind) ? { ...kind, keep: keepPolicy } : kind
}

function keepPolicy(policy: PropagationPolicy): PropagationPolicy {
  const { managedFields: _, ...metadata } = policy.metadata
  return { ...policy, metadata }
}

interface HubInput {
  hub: ObjectStore
  session: ReviewSession
  systems: SystemsConfig
  /** The most workloads that are read. Default: `MAX_WORKLOADS`. */
  maxWorkloads?: number
  signal: AbortSignal
}

/** Copies the objects on which the decisions on the manifests depend into the store of the session. */
export async function readHub(manifests: readonly Manifest[], input: HubInput): Promise<HubContent> {
  const reader = new HubReader(input)
  await reader.each(manifests, ({ object }) => reader.copyStored(object))
  const { maxWorkloads = MAX_WORKLOADS } = input
  const workloads = concernedBy(manifests, input)
  const templates = await reader.each(workloads.slice(0, maxWorkloads), async ([, { workload, manifest }]) => {
    const template = await reader.readTemplate(workload)
    return template ? [{ template, manifest }] : []
  })
  const concerned = templates.flat()
  const given = manifests.map(({ object }) => object).filter((object) => isTemplate(object, input.session))
  await reader.each([...given, ...concerned.map(({ template }) => template)], (template) => reader.copyAround(template))
  await reader.copyCommon(manifests.map(({ object }) => object))
  return { concerned, notReviewed: Math.max(0, workloads.length - maxWorkloads) }
}

/** The kinds of objects that concern workloads. */
const CONCERNING: readonly ResourceType[] = [
  dataSourceClaims,
  dataSources,
  propagationPolicies,
  clusterPropagationPolicies,
]

type Wanted = [key: string, { workload: WorkloadReference; manifest: Manifest }]

/** The workloads that the manifests concern in their new and in their stored form, without those that are given themselves. */
function concernedBy(manifests: readonly Manifest[], { hub, session }: HubInput): Wanted[] {
  const given = new Set(manifests.map(({ object }) => objectWorkloadKey(object)))
  const found = new Map<string, Wanted[1]>()
  for (const manifest of manifests) {
    const { object } = manifest
    const { namespace, name = '' } = object.metadata
    const type = typeAmong(CONCERNING, object)
    const stored = type && session.store.get(type, namespace, name)
    for (const version of [object, ...(stored ? [stored] : [])]) {
      for (const [key, workload] of workloadsConcerned(version, hub)) {
        if (!given.has(key) && !found.has(key)) found.set(key, { workload, manifest })
      }
    }
  }
  return [...found].filter(([, { workload }]) => hasScopeOfKind(workload, session))
}

/** A claim without `workload.namespace` may name a namespaced and a cluster-scoped workload. The kind tells which, if it is known. */
function hasScopeOfKind({ apiVersion, kind, namespace }: WorkloadReference, { workloads }: ReviewSession): boolean {
  const known = workloads.find(apiVersion, kind)
  return !known || known.type.namespaced === (namespace !== undefined)
}

function objectWorkloadKey(object: K8sObject): string {
  return workloadKey(referenceOf(object))
}

/** Copies objects of a hub into the store of a session. An object is copied once. */
class HubReader {
  readonly #input: HubInput
  readonly #copied = new Set<string>()
  readonly #limit = pLimit(MAX_CONCURRENT)
  readonly #namespaces = new Set<string>()

  constructor(input: HubInput) {
    this.#input = input
  }

  each<T, R>(all: readonly T[], run: (one: T) => Promise<R>): Promise<R[]> {
    return Promise.all(
      all.map((one) =>
        this.#limit(() => {
          this.#input.signal.throwIfAborted()
          return run(one)
        }),
      ),
    )
  }

  /** Copies the stored version of a given object, if admission reviews its kind. */
  async copyStored(object: K8sObject): Promise<void> {
    const { session } = this.#input
    if (webhookFor(object, session)) await this.#read(reviewedType(object, session), object.metadata)
  }

  /** Copies a stored workload, in the version of the reference or else in another one. */
  async readTemplate(reference: WorkloadReference): Promise<K8sObject | undefined> {
    const { type, namespace, name } = referencedTarget(reference, this.#input.session.workloads)
    return this.#read(type, { namespace, name })
  }

  /** Copies the claims of a workload with their sources, its binding, its VolumeManagers and the bindings of its PersistentVolumeClaims. */
  async copyAround(template: K8sObject): Promise<void> {
    const { hub, session } = this.#input
    const { namespace, name = '' } = template.metadata
    this.#namespaces.add(namespace ?? '')
    await this.#readBinding(template.kind, namespace, name)
    for (const claim of hub.byIndex(dataSourceClaims, 'workload', objectWorkloadKey(template)))
      await this.#copyClaim(claim)
    const { dependencies } = interpretWorkload(template, session.workloads)
    for (const manager of dependencies.volumeManagers) {
      await this.#read(volumeManagers, { namespace, name: manager })
      await this.#readBinding(volumeManagers.kind, namespace, manager)
    }
    for (const { kind, name: named } of dependencies.references)
      if (kind === persistentVolumeClaims.kind && named) await this.#readBinding(kind, namespace, named)
  }

  /** Copies what every decision may need: clusters, the policies and the namespaces of the workloads, and the sources of given claims. */
  async copyCommon(given: readonly K8sObject[]): Promise<void> {
    const { hub, systems } = this.#input
    for (const claim of given) {
      const isClaim = claim.kind === dataSourceClaims.kind && validateManifest(claim).length === 0
      if (isClaim) await this.#copySources(claim as DataSourceClaim)
    }
    for (const cluster of hub.list(clusters)) await this.#copy(clusters, cluster)
    for (const policy of hub.list(clusterPropagationPolicies)) await this.#copy(clusterPropagationPolicies, policy)
    for (const policy of hub.list(propagationPolicies)) {
      if (this.#namespaces.has(policy.metadata.namespace ?? '')) await this.#copy(propagationPolicies, policy)
    }
    await this.each([...this.#namespaces].filter(Boolean), (name) => this.#read(namespaces, { name }))
    if (systems.configMap) await this.#read(configMaps, systems.configMap)
  }

  async #copyClaim(claim: DataSourceClaim): Promise<void> {
    await this.#copy(dataSourceClaims, claim)
    await this.#copySources(claim)
  }

  async #copySources(claim: DataSourceClaim): Promise<void> {
    const { hub } = this.#input
    const bound = hub.get(dataSources, undefined, claim.status?.boundDataSource ?? '')
    const found: DataSource[] = [...hub.byIndex(dataSources, 'key', queryKeyOfClaim(claim)), ...(bound ? [bound] : [])]
    for (const source of found) await this.#copy(dataSources, source)
  }

  async #readBinding(kind: string, namespace: string | undefined, name: string): Promise<void> {
    const type = bindingTypeIn(namespace)
    await this.#read(type, { namespace, name: bindingName(kind, name) })
  }

  async #read(
    type: ResourceType,
    { namespace, name = '' }: { namespace?: string | undefined; name?: string },
  ): Promise<K8sObject | undefined> {
    const object = await this.#input.hub.read<K8sObject>(type, namespace, name).catch((error: Error) => {
      throw new HubReadError(`${error.message}; ${isForbidden(error) ? 'grant the user the verb get' : 'try again'}`)
    })
    if (object) await this.#copy(type, object)
    return object
  }

  async #copy(type: ResourceType, object: K8sObject): Promise<void> {
    const key = `${type.kind}.${objectWorkloadKey(object)}`
    if (this.#copied.has(key)) return
    this.#copied.add(key)
    await this.#input.session.store.create(type, withoutVersion(object))
  }
}

/**
 * Returns the workloads that an object concerns, by `workloadKey`. A malformed object concerns none. A policy concerns the workloads that it
 * names, and those that it selects and a claim names: the hub is not asked for all others.
 */
function workloadsConcerned(object: K8sObject, hub: ObjectStore): Map<string, WorkloadReference> {
  const found = validateManifest(object).length > 0 ? [] : concernedWorkloads(object, hub)
  return new Map(found.map((workload) => [workloadKey(workload), workload]))
}

function concernedWorkloads(object: K8sObject, hub: ObjectStore): WorkloadReference[] {
  if (hasType(dataSourceClaims, object)) return workloadsOfClaim(object as DataSourceClaim)
  if (hasType(dataSources, object)) return claimsOfSource(object as DataSource, hub).flatMap(workloadsOfClaim)
  if (hasType(propagationPolicies, object) || hasType(clusterPropagationPolicies, object))
    return workloadsOfPolicy(object as PropagationPolicy, hub)
  return []
}

function claimsOfSource(source: DataSource, hub: ObjectStore): DataSourceClaim[] {
  return [
    ...hub.byIndex(dataSourceClaims, 'source', queryKeyOfSource(source)),
    ...hub.byIndex(dataSourceClaims, 'bound', source.metadata.name ?? ''),
  ]
}

function workloadsOfPolicy(policy: PropagationPolicy, hub: ObjectStore): WorkloadReference[] {
  const claimed = selectorKeys(policy)
    .flatMap((key) => [...hub.byIndex(dataSourceClaims, 'selectable', key)])
    .flatMap(workloadsOfClaim)
    // The labels of a workload are not known yet.
    .filter((workload) => selects(policy, workload, undefined) !== false)
  const named = policy.spec.resourceSelectors.flatMap(({ apiVersion, kind, name, namespace = '' }) => {
    const place = policy.metadata.namespace || namespace
    return name ? [defined({ apiVersion, kind, name, namespace: place || undefined })] : []
  })
  return [...claimed, ...named]
}

/**
 * Copies the objects on which the decisions depend into the store of the context. Throws `UserError` if the API server does not respond, or
 * if the user lacks a permission. The decisions then follow the rules of the hub, unless the arguments have a version.
 */
export async function copyHub(
  manifests: readonly Manifest[],
  context: ReviewContext,
  config: Config,
  args: Arguments,
  io: CommandIo,
): Promise<HubContent> {
  const {
    store: hub,
    karmadaRules,
    close,
  } = await openSource('check', args, io, {
    kinds: kindsOfPlacement.map(withWholePolicies),
    workloads: context.workloads,
  })
  context.karmadaRules = karmadaRulesOf(args, config, karmadaRules)
  try {
    const { systems } = config
    return await readHub(manifests, { hub, session: openSession(context), systems, signal: io.signal })
  } finally {
    await close()
  }
}
