/** Applies suppositions to an overlay of the objects of a fleet. Nothing is written. */
import { type DataSource, dataSources } from '../../api/data-source.ts'
import {
  type Cluster,
  clusterPropagationPolicies,
  clusterResourceBindings,
  clusters,
  isBinding,
  isPolicy,
  propagationPolicies,
  resourceBindings,
} from '../../api/karmada.ts'
import { groupOf, type K8sObject, keyOfObject, type ResourceType } from '../../api/meta.ts'
import { namespaces } from '../../api/namespace.ts'
import { defined } from '../../base/json.ts'
import { printable } from '../../base/printable.ts'
import { suggest } from '../../base/suggest.ts'
import { UserError } from '../../base/user-error.ts'
import { bindingName, deriveBinding, selectPolicy } from '../../core/resource-binding/derive.ts'
import { taintText } from '../../core/tolerations.ts'
import { leaveCluster, loseCluster, moveData, outdateSource, taintCluster } from '../../core/what-if/suppose.ts'
import { kindKey } from '../../store/any-kind.ts'
import { allKinds, placementKinds } from '../../store/kinds/cached-kinds.ts'
import { OverlayStore } from '../../store/overlay-store.ts'
import type { ObjectStore, StoreChange } from '../../store/store.ts'
import { placeManifests } from '../check/input/place-manifests.ts'
import { type GivenManifests, readManifests } from '../check/input/read-manifests.ts'
import { isTemplate, openSession, reviewObject, type SessionInput } from '../check/review/review-object.ts'
import { UsageError } from '../command.ts'
import { kindsNamed, knownKinds, readTarget, unknownKind } from '../kinds.ts'
import { scopesOf } from '../scope.ts'
import type { Supposition } from './options.ts'

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
  /** The suppositions, as sentences without a full stop. */
  sentences: string[]
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

/** Applies all suppositions, in order. Throws `UserError` if a name is unknown, or if admission would reject a manifest. */
export async function suppose(suppositions: readonly Supposition[], context: SupposeContext): Promise<Supposed> {
  const supposed = emptySupposition(context)
  for (const supposition of suppositions) await addSupposition(supposition, supposed, context)
  return supposed
}

/** An overlay without a change. */
export function emptySupposition({ store, workloads }: Pick<SupposeContext, 'store' | 'workloads'>): Supposed {
  return { store: new OverlayStore(store, allKinds(workloads)), changes: [], sentences: [], notes: [] }
}

/** Applies one more supposition. Throws as `suppose` does. */
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
      return putCluster(
        taintCluster(findCluster(cluster, supposed.store), taint),
        `${cluster} has the taint ${taintText(taint)}`,
        supposed,
      )
    }
    case 'untainted':
      return untaint(supposition, supposed)
    case 'dataMoved': {
      const { source, clusters: names } = supposition
      for (const name of names) findCluster(name, supposed.store)
      const found = findSource(source, supposed.store)
      const sentence = `the data of ${found.metadata.name} is in ${names.join(', ')}`
      return putSource(moveData(found, names, now), sentence, supposed)
    }
    case 'sourceStale':
      return supposeStale(findSource(supposition.source, supposed.store), supposed)
    case 'applied': {
      const { files, onlyPolicies } = supposition
      const given = await readManifests(files, context.signal)
      return applyManifests({ given, from: files.join(', '), onlyPolicies }, supposed, context)
    }
    case 'appliedTexts':
      return applyManifests({ given: supposition.given, from: 'the files', onlyPolicies: false }, supposed, context)
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

/** Supposes that the location of a source is older than every claim allows. */
export function supposeStale(source: DataSource, supposed: Supposed): void {
  putSource(outdateSource(source), `the location of ${source.metadata.name} is out of date`, supposed)
}

function putCluster(cluster: Cluster, sentence: string, { store, changes, sentences }: Supposed): void {
  changes.push(store.put(clusters, cluster))
  sentences.push(sentence)
}

function putSource(source: DataSource, sentence: string, { store, changes, sentences }: Supposed): void {
  changes.push(store.put(dataSources, source))
  sentences.push(sentence)
}

function untaint({ cluster, key }: Extract<Supposition, { kind: 'untainted' }>, supposed: Supposed): void {
  const found = findCluster(cluster, supposed.store)
  const taints = (found.spec?.taints ?? []).filter((taint) => taint.key !== key)
  if (taints.length === (found.spec?.taints ?? []).length)
    throw new SuppositionError(
      `${cluster} has no taint ${key}${suggest(
        key,
        (found.spec?.taints ?? []).map((taint) => taint.key),
      )}`,
    )
  putCluster({ ...found, spec: { ...found.spec, taints } }, `${cluster} has no taint ${key} any more`, supposed)
}

function findCluster(name: string, store: ObjectStore): Cluster {
  const found = store.get(clusters, undefined, name)
  if (found) return found
  const known = [...store.list(clusters)].map(({ metadata }) => metadata.name ?? '')
  throw new SuppositionError(`no Cluster ${name}${suggest(name, known)}`)
}

/** A source by its name, or by the name of its data if that is the only one. */
function findSource(name: string, store: ObjectStore): DataSource {
  const named = store.get(dataSources, undefined, name)
  if (named) return named
  const all = [...store.list(dataSources)]
  const [found, second] = all.filter(({ spec }) => spec.name === name)
  if (found && !second) return found
  const known = all.map(({ metadata }) => metadata.name ?? '')
  throw new SuppositionError(
    second
      ? `several DataSources have the data ${name}; give the name of one: ${known
          .filter((each) => each.includes(name))
          .slice(0, 5)
          .join(', ')}`
      : `no DataSource ${name}${suggest(name, [...known, ...all.map(({ spec }) => spec.name)])}`,
  )
}

interface Application {
  given: GivenManifests
  /** The files, for messages. */
  from: string
  onlyPolicies: boolean
}

async function applyManifests(
  { given, from, onlyPolicies }: Application,
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
  for (const { object, file } of placed) {
    signal.throwIfAborted()
    if (onlyPolicies && !isPolicy(object.kind))
      throw new UsageError(`${file}: ${object.kind} ${keyOfObject(object)} is no policy; use --manifest for it`)
    const { outcome, errors, after } = await reviewObject(object, session)
    if (outcome === 'denied')
      throw new SuppositionError(
        `${file}: admission would reject ${object.kind} ${keyOfObject(object)}: ${errors.map(({ path, message }) => `${path}: ${message}`).join('; ')}`,
        file,
      )
    sentences.push(printable(`${object.kind} ${keyOfObject(object)} is applied`))
    const type = types.find(({ kind, group }) => kind === object.kind && group === groupOf(object.apiVersion))
    if (type && isCached(type, store))
      changes.push(
        store.put(
          type,
          withStoredStatus(after, store.get(type, object.metadata.namespace, object.metadata.name ?? '')),
        ),
      )
    if (isTemplate(object, session) && !isPlacementKind(type)) templates.push(after)
    else if (!type) notes.push(`no decision reads ${object.kind} ${keyOfObject(object)}`)
  }
  // After all policies: the order of the manifests does not matter.
  for (const template of templates) bindTemplate(template, supposed)
}

/** Whether decisions read the kind itself: no policy has to select such an object. */
function isPlacementKind(type: ResourceType | undefined): boolean {
  return type !== undefined && placementKinds.some((kind) => kind.type === type)
}

/** Users do not write the status. */
function withStoredStatus(object: K8sObject, stored: K8sObject | undefined): K8sObject {
  const { status } = (stored ?? {}) as { status?: unknown }
  return { ...defined({ status }), ...object }
}

/** Adds the binding that Karmada's detector would create for a new workload. */
function bindTemplate(template: K8sObject, { store, changes, notes }: Supposed): void {
  const { namespace, name = '' } = template.metadata
  const type = namespace ? resourceBindings : clusterResourceBindings
  if (store.get(type, namespace, bindingName(template.kind, name))) return
  const policy = selectPolicy(template, store.list(propagationPolicies), store.list(clusterPropagationPolicies))
  if (policy) changes.push(store.put(type, deriveBinding(template, policy)))
  else notes.push(`no policy selects ${template.kind} ${keyOfObject(template)}, so Karmada does not schedule it`)
}

function deleteObject(text: string, supposed: Supposed, { workloads, namespace, now }: SupposeContext): void {
  const { kind, name } = readTarget([text])
  const { store, changes, sentences } = supposed
  const types = knownKinds(workloads)
  const named = kindsNamed(kind, types)
  if (named.length === 0) throw unknownKind(kind, types)
  const isFound = (type: ResourceType) =>
    isCached(type, store)
      ? store.get(type, inNamespace(type, namespace), name) !== undefined
      : findTemplateBinding(type, supposed, { namespace, name }) !== undefined
  const found = named.find(isFound)
  if (!found)
    throw new SuppositionError(
      `no ${named[0]?.kind} ${name}${named[0]?.namespaced ? ` in namespace ${namespace}` : ''}`,
    )
  if (found.kind === namespaces.kind)
    throw new UsageError(
      `--delete ${text}: give the objects in the Namespace that decide placements, such as its claims`,
    )
  if (found === clusters) {
    putCluster(leaveCluster(findCluster(name, store), now), `Cluster ${name} is deleted`, supposed)
    return
  }
  const within = inNamespace(found, namespace)
  const change = isCached(found, store) ? store.remove(found, within, name) : undefined
  if (change) changes.push(change)
  sentences.push(`${found.kind} ${within ? `${within}/` : ''}${name} is deleted`)
  if (isBinding(found.kind)) return
  // Karmada deletes the binding with its template.
  const bound = store.remove(within ? resourceBindings : clusterResourceBindings, within, bindingName(found.kind, name))
  if (bound) changes.push(bound)
}

/** The binding of a template. Of a workload whose kind is not cached, it shows that the workload exists. */
function findTemplateBinding(
  { kind, namespaced }: ResourceType,
  { store }: Supposed,
  { namespace, name }: { namespace: string; name: string },
): K8sObject | undefined {
  return namespaced
    ? store.get(resourceBindings, namespace, bindingName(kind, name))
    : store.get(clusterResourceBindings, undefined, bindingName(kind, name))
}

function inNamespace({ namespaced }: ResourceType, namespace: string): string | undefined {
  return namespaced ? namespace : undefined
}

function isCached(type: ResourceType, store: ObjectStore): boolean {
  return store.kinds().some((cached) => kindKey(cached) === kindKey(type))
}
