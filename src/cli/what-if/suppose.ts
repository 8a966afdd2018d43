/** Applies suppositions to an overlay of the objects of a fleet. Nothing is written. */
import { type DataSource, dataSources } from '../../api/data-source.ts'
import {
  bindingTypeIn,
  type Cluster,
  clusterResourceBindings,
  clusters,
  isBinding,
  isPolicy,
  type PropagationPolicy,
  type ResourceBinding,
  resourceBindings,
} from '../../api/karmada.ts'
import {
  apiVersionOf,
  groupOf,
  type K8sObject,
  keyOfObject,
  type ObjectReference,
  plainReference,
  type ResourceType,
  referenceOf,
} from '../../api/meta.ts'
import { namespaces } from '../../api/namespace.ts'
import type { Taint } from '../../api/node.ts'
import { defined, isSameSet, sortedUnique } from '../../base/json.ts'
import { isLabelKey, isLabelValue, listNames } from '../../base/names.ts'
import { suggest } from '../../base/suggest.ts'
import { UserError } from '../../base/user-error.ts'
import { isDivided } from '../../core/placement/binding-state.ts'
import { PREEMPTION_GATE, takesWorkloadsOver } from '../../core/propagation-policy/preemption.ts'
import { closeness, kindOfKey, selectorKeys } from '../../core/propagation-policy/select.ts'
import { deriveBinding, otherBindingClause, templateReplicas } from '../../core/resource-binding/derive.ts'
import { taintText } from '../../core/tolerations.ts'
import { leaveCluster, loseCluster, moveData, outdateSource, taintCluster } from '../../core/what-if/suppose.ts'
import { matchedPolicy } from '../../queries/policy.ts'
import { objectBinding, otherBinding } from '../../queries/workload.ts'
import { isCached } from '../../store/any-kind.ts'
import { forEachInSlices } from '../../store/for-each-in-slices.ts'
import { allKinds, placementKinds } from '../../store/kinds/cached-kinds.ts'
import { OverlayStore } from '../../store/overlay-store.ts'
import type { ObjectName, ObjectStore, StoreChange } from '../../store/store.ts'
import { objectTitle, placeManifests } from '../check/input/place-manifests.ts'
import { applyManifest, keptNames } from '../check/review/apply-manifest.ts'
import {
  isTemplate,
  openSession,
  reviewedType,
  reviewObject,
  type SessionInput,
} from '../check/review/review-object.ts'
import { UsageError } from '../command.ts'
import { readTarget, typeAmong, typesNamed } from '../kinds.ts'
import { nameHint } from '../name-hint.ts'
import { scopesOf } from '../scope.ts'
import type { AppliedManifests, Supposition } from './options.ts'

/** The inputs of suppositions: the objects of the fleet, and the settings of reviews. */
export interface SupposeContext extends SessionInput {
  /** The namespace of manifests without one, and of objects to delete. */
  namespace: string
  signal: AbortSignal
}

/** A supposed world, as an overlay of the present one. */
export interface Supposed {
  store: OverlayStore
  changes: StoreChange[]
  /** The keys of the bindings whose workloads are written. */
  written: Set<string>
  /** The clusters of the data that moves, by the name of its source. */
  moved: Map<string, readonly string[]>
  /** The suppositions, as sentences without a full stop: an object that is applied twice has one. */
  sentences: Set<string>
  /** Limits of the answer, as sentences without a full stop. */
  notes: string[]
}

/** An object that a question names does not exist, or would be rejected. */
export class SuppositionError extends UserError {
  override name = 'SuppositionError'
  override readonly exitStatus = 1
  /** The file of the manifest; undefined for a name. */
  readonly file: string | undefined
  constructor(message: string, file?: string) {
    super(message)
    this.file = file
  }
}

/** A name that this hub does not have. Another hub may have it. */
export class UnknownNameError extends SuppositionError {
  override name = 'UnknownNameError'
}

/**
 * Applies all suppositions, in order, except those about names that the hub does not have: returns them with their errors. Throws `UserError` if
 * admission would reject a manifest.
 */
export async function supposeKnown(
  suppositions: readonly Supposition[],
  context: SupposeContext,
): Promise<{ supposed: Supposed; unknown: ReadonlyMap<Supposition, UnknownNameError> }> {
  const supposed = emptySupposition(context)
  const unknown = new Map<Supposition, UnknownNameError>()
  for (const supposition of suppositions) {
    try {
      await addSupposition(supposition, supposed, context)
    } catch (error) {
      if (!(error instanceof UnknownNameError)) throw error
      unknown.set(supposition, error)
    }
  }
  return { supposed, unknown }
}

/** An overlay without a change. */
export function emptySupposition({ store, workloads }: Pick<SupposeContext, 'store' | 'workloads'>): Supposed {
  return {
    store: new OverlayStore(store, allKinds(workloads)),
    changes: [],
    written: new Set(),
    moved: new Map(),
    sentences: new Set(),
    notes: [],
  }
}

/** Applies one more supposition. Throws `UserError` for a name that the hub does not have, and for a manifest that admission would reject. */
export async function addSupposition(
  supposition: Supposition,
  supposed: Supposed,
  context: SupposeContext,
): Promise<void> {
  const { now } = context
  switch (supposition.kind) {
    case 'clusterLost':
      return supposeLost(findCluster(supposition.cluster, supposed.store), supposed)
    case 'tainted': {
      const { cluster, taint } = supposition
      checkTaint(taint)
      return putCluster(
        taintCluster(findCluster(cluster, supposed.store), taint),
        `${cluster} has the taint ${taintText(taint)}`,
        supposed,
      )
    }
    case 'untainted':
      return untaint(supposition, supposed)
    case 'dataMoved':
      return supposeMoved(supposition, supposed, now)
    case 'sourceStale':
      return supposeStale(findSource(supposition.source, supposed.store), supposed)
    case 'applied':
      return applyManifests(supposition, supposed, context)
    case 'deleted':
      return deleteObject(supposition.object, supposed, context)
    default:
      throw new Error(`unknown supposition ${supposition satisfies never}`)
  }
}

/** Supposes that a cluster does not respond any more. */
export function supposeLost(cluster: Cluster, supposed: Supposed): void {
  putCluster(loseCluster(cluster), `${cluster.metadata.name} is lost`, supposed)
}

/** Throws `SuppositionError` for data that moves to two places: only the last one would count. */
function supposeMoved(
  { source, clusters: names }: Extract<Supposition, { kind: 'dataMoved' }>,
  supposed: Supposed,
  now: number,
): void {
  for (const name of names) findCluster(name, supposed.store)
  const found = findSource(source, supposed.store)
  const { name = '' } = found.metadata
  const before = supposed.moved.get(name)
  if (before && isSameSet(before, names)) return
  if (before)
    throw new SuppositionError(
      `the data of ${name} is in ${before.join(', ')} already; name all of its clusters at once, as ${sortedUnique([...before, ...names]).join(',')}`,
    )
  supposed.moved.set(name, names)
  putSource(moveData(found, names, now), `the data of ${name} is in ${names.join(', ')}`, supposed)
}

/** Supposes that the location of a source is older than every claim allows. */
export function supposeStale(source: DataSource, supposed: Supposed): void {
  putSource(outdateSource(source), `the location of ${source.metadata.name} is out of date`, supposed)
}

/** Throws `SuppositionError` for a taint that no API server stores. */
function checkTaint(taint: Taint): void {
  const problem = !isLabelKey(taint.key)
    ? 'the key must be the key of a label, e.g. example.com/maintenance'
    : isLabelValue(taint.value ?? '')
      ? undefined
      : 'the value must be the value of a label'
  if (problem) throw new SuppositionError(`taint ${taintText(taint)}: ${problem}`)
}

function putCluster(cluster: Cluster, sentence: string, { store, changes, sentences }: Supposed): void {
  changes.push(store.put(clusters, cluster))
  sentences.add(sentence)
}

function putSource(source: DataSource, sentence: string, { store, changes, sentences }: Supposed): void {
  changes.push(store.put(dataSources, source))
  sentences.add(sentence)
}

function untaint({ cluster, key }: Extract<Supposition, { kind: 'untainted' }>, supposed: Supposed): void {
  const found = findCluster(cluster, supposed.store)
  const sentence = `${cluster} has no taint ${key} any more`
  if (supposed.sentences.has(sentence)) return
  const stored = found.spec?.taints ?? []
  const keys = stored.map((taint) => taint.key)
  if (!keys.includes(key)) throw new UnknownNameError(`${cluster} has no taint ${key}${suggest(key, keys)}`)
  const taints = stored.filter((taint) => taint.key !== key)
  putCluster({ ...found, spec: { ...found.spec, taints } }, sentence, supposed)
}

function findCluster(name: string, store: ObjectStore): Cluster {
  const found = store.get(clusters, undefined, name)
  if (found) return found
  const known = [...store.list(clusters)].map(({ metadata }) => metadata.name ?? '')
  const hint = known.length > 0 ? suggest(name, known) : ', and no other one is known'
  throw new UnknownNameError(`no Cluster ${name}${hint}`)
}

/** A source by its name, or by the name of its data if that is the only one. */
function findSource(name: string, store: ObjectStore): DataSource {
  const named = store.get(dataSources, undefined, name)
  if (named) return named
  const all = [...store.list(dataSources)]
  const [found, second] = all.filter(({ spec }) => spec.name === name)
  if (found && !second) return found
  const known = all.map(({ metadata }) => metadata.name ?? '')
  if (second) {
    const named = known.filter((each) => each.includes(name)).slice(0, 5)
    throw new SuppositionError(`several DataSources have the data ${name}; give the name of one: ${named.join(', ')}`)
  }
  const similar = suggest(name, [...known, ...all.map(({ spec }) => spec.name)])
  throw new UnknownNameError(`no DataSource ${name}${similar || '; give its name, or that of its data'}`)
}

async function applyManifests(
  { given, from, onlyPolicies }: AppliedManifests,
  supposed: Supposed,
  context: SupposeContext,
): Promise<void> {
  const { workloads, namespace, signal } = context
  const { store, changes, sentences, notes } = supposed
  const types = allKinds(workloads).map(({ type }) => type)
  const scopes = scopesOf(
    types,
    given.manifests.map(({ object }) => object),
  )
  const { placed, findings } = placeManifests(given.manifests, scopes, namespace)
  const [problem] = [...given.problems, ...findings.filter(({ id }) => id === 'invalid-manifest')]
  if (problem) throw new SuppositionError(`${problem.file ?? from}: ${problem.message}`, problem.file)
  if (placed.length === 0) throw new SuppositionError(`no manifest in ${from}`)
  const session = openSession({ ...context, store })
  const templates: K8sObject[] = []
  const policies: PropagationPolicy[] = []
  for (const { object, file } of placed) {
    signal.throwIfAborted()
    if (onlyPolicies && !isPolicy(object.kind))
      throw new UsageError(`${file}: ${objectTitle(object)} is no policy; use --manifest for it`)
    const { namespace: within, name = '' } = object.metadata
    const stored = await store.read(reviewedType(object, session), within, name)
    const applied = applyManifest(object, stored)
    const { outcome, errors, after } = await reviewObject(applied, session, stored)
    if (outcome === 'denied')
      throw new SuppositionError(
        `${file}: admission would reject ${objectTitle(object)}: ${errors.map(({ path, message }) => `${path}: ${message}`).join('; ')}`,
        file,
      )
    sentences.add(`${objectTitle(object)} is applied`)
    const type = typeAmong(types, object)
    if (type && isCached(type, store)) changes.push(store.put(type, after))
    const kept = keptNames(object, applied)
    if (kept.length > 0) notes.push(keptNote(object, kept))
    if (isPolicy(object.kind)) policies.push(after as PropagationPolicy)
    if (isTemplate(object, session) && !isPlacementKind(type)) templates.push(after)
    else if (!type) notes.push(`no decision reads ${objectTitle(object)}`)
  }
  // After all policies: the order of the manifests does not matter.
  for (const template of templates) {
    const binding = objectBinding(referenceOf(template), store)
    if (binding) {
      supposed.written.add(keyOfObject(binding))
      if (movesReplicas(template, binding)) notes.push(replicasNote(template))
    } else bindTemplate(template, supposed)
  }
  await bindSelected(policies, supposed, context)
  notes.push(...policies.flatMap((policy) => (takesWorkloadsOver(policy) ? [preemptionNote(policy)] : [])))
}

/** Whether a manifest gives a divided workload another number of replicas. One without a number leaves them as they are. */
function movesReplicas(template: K8sObject, { spec }: ResourceBinding): boolean {
  const given = (template as K8sObject & { spec?: { replicas?: number; parallelism?: number } }).spec
  if (given?.replicas === undefined && given?.parallelism === undefined) return false
  const replicas = templateReplicas(template)
  if (replicas === undefined || replicas === (spec.replicas ?? 0)) return false
  return isDivided(spec) || isDivided({ ...spec, replicas })
}

function replicasNote(template: K8sObject): string {
  return `${objectTitle(template)} gets another number of replicas, and the clusters that these go to or leave do not count`
}

function keptNote(object: K8sObject, names: readonly string[]): string {
  return `${objectTitle(object)} keeps ${listNames(names, 5)}, which its manifest lacks, as with kubectl apply`
}

function preemptionNote(policy: PropagationPolicy): string {
  return `${objectTitle(policy)} takes workloads over only if Karmada has the feature gate ${PREEMPTION_GATE}`
}

/**
 * Adds the bindings of the workloads that no policy has selected before. Karmada's detector keeps them in its waiting list. Only workloads with pod
 * templates are cached.
 */
async function bindSelected(
  policies: readonly PropagationPolicy[],
  supposed: Supposed,
  { workloads, signal }: SupposeContext,
): Promise<void> {
  const { store } = supposed
  const selected = new Set(policies.flatMap(selectorKeys).map(kindOfKey))
  const types = workloads.all.map(({ type }) => type).filter((type) => selected.has(`${type.group}/${type.kind}`))
  for (const type of types.filter((each) => isCached(each, store))) {
    await forEachInSlices(store.list(type), (workload) => {
      signal.throwIfAborted()
      const { labels = {}, deletionTimestamp } = workload.metadata
      const isSelected = policies.some((policy) => closeness(referenceOf(workload), labels, policy) > 0)
      if (!isSelected || deletionTimestamp !== undefined) return
      // A lazy policy waits for a change of the workload.
      if (matchedPolicy(workload, store)?.spec.activationPreference !== 'Lazy') bindTemplate(workload, supposed)
    })
  }
}

/** Whether decisions read the kind itself: no policy has to select such an object. */
function isPlacementKind(type: ResourceType | undefined): boolean {
  return type !== undefined && placementKinds.some((kind) => kind.type === type)
}

/** Adds the binding that Karmada's detector would create for a new workload. */
function bindTemplate(template: K8sObject, { store, changes, notes }: Supposed): void {
  const reference = referenceOf(template)
  if (objectBinding(reference, store)) return
  const type = bindingTypeIn(template.metadata.namespace)
  const policy = matchedPolicy(template, store)
  const other = otherBinding(reference, store)
  if (policy && other) {
    const note = `Karmada does not schedule ${objectTitle(template)}: ${otherBindingClause(other)}`
    // A manifest and its policy both lead here.
    if (!notes.includes(note)) notes.push(note)
  } else if (policy) changes.push(store.put(type, deriveBinding(template, policy)))
  else notes.push(`no policy selects ${objectTitle(template)}, so Karmada does not schedule it`)
}

function deleteObject(text: string, supposed: Supposed, { workloads, namespace, now }: SupposeContext): void {
  const { kind, name } = readTarget([text])
  const { store, changes, sentences } = supposed
  const named = typesNamed(kind, { store, kinds: workloads })
  // The binding of a template shows that a workload exists that is not cached, or whose manifest is not in the folder.
  const isFound = (type: ResourceType) => {
    const within = inNamespace(type, namespace)
    return (
      (isCached(type, store) && store.get(type, within, name) !== undefined) ||
      objectBinding(referenceIn(type, within, name), store) !== undefined
    )
  }
  const sentenceOf = (type: ResourceType) => {
    const within = inNamespace(type, namespace)
    return `${type.kind} ${within ? `${within}/` : ''}${name} is deleted`
  }
  if (named.some((type) => sentences.has(sentenceOf(type)))) return
  const found = named.find(isFound)
  if (!found) {
    const where = named[0]?.namespaced ? ` in namespace ${namespace}` : ''
    const hint = nameHint({ namespace, name }, namesOf(named, store))
    throw new UnknownNameError(`no ${named[0]?.kind} ${name}${where}${hint}`)
  }
  if (found.kind === namespaces.kind)
    throw new UsageError(
      `--delete ${text}: give the objects in the Namespace that decide placements, such as its claims`,
    )
  if (found === clusters) {
    putCluster(leaveCluster(findCluster(name, store), now), sentenceOf(clusters), supposed)
    return
  }
  const within = inNamespace(found, namespace)
  const change = isCached(found, store) ? store.remove(found, within, name) : undefined
  if (change) changes.push(change)
  sentences.add(sentenceOf(found))
  if (isBinding(found.kind)) return
  // Karmada deletes the binding with its template.
  const binding = objectBinding(referenceIn(found, within, name), store)
  const bound = binding && store.remove(bindingTypeIn(within), within, binding.metadata.name ?? '')
  if (bound) changes.push(bound)
}

/** The names of all objects of these kinds: the cached ones, and the workloads that have a binding. */
function namesOf(types: readonly ResourceType[], store: ObjectStore): ObjectName[] {
  const cached = types.filter((type) => isCached(type, store)).flatMap((type) => [...store.list(type)])
  const bound = [resourceBindings, clusterResourceBindings]
    .flatMap((type) => [...store.list(type)])
    .map(({ spec: { resource } }) => resource)
    .filter(({ apiVersion, kind }) => types.some((type) => type.kind === kind && type.group === groupOf(apiVersion)))
  return [...cached.map(({ metadata: { namespace, name = '' } }) => ({ namespace, name })), ...bound]
}

function referenceIn(type: ResourceType, namespace: string | undefined, name: string): ObjectReference {
  return plainReference({ apiVersion: apiVersionOf(type), kind: type.kind, ...defined({ namespace }), name })
}

function inNamespace({ namespaced }: ResourceType, namespace: string): string | undefined {
  return namespaced ? namespace : undefined
}
