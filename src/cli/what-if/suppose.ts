/** Applies suppositions to an overlay of the objects of a fleet. Nothing is written. */
import { type DataSource, dataSources } from '../../api/data-source.ts'
import type { Cluster } from '../../api/karmada.ts'
import type { Taint } from '../../api/node.ts'
import { isSameSet, sortedUnique } from '../../base/json.ts'
import { isLabelKey, isLabelValue } from '../../base/names.ts'
import { suggest } from '../../base/suggest.ts'
import { taintText } from '../../core/tolerations.ts'
import { loseCluster, moveData, outdateSource, taintCluster } from '../../core/what-if/suppose.ts'
import type { ObjectStore } from '../../store/store.ts'
import { applyManifests } from './apply-manifests.ts'
import { deleteObject } from './delete-object.ts'
import type { Supposition } from './options.ts'
import {
  emptySupposition,
  findCluster,
  putCluster,
  type SupposeContext,
  type Supposed,
  SuppositionError,
  UnknownNameError,
} from './supposed.ts'

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
      const found = findCluster(cluster, supposed.store)
      checkTaintedOnce(cluster, taint, supposed)
      return putCluster(taintCluster(found, taint), `${cluster} has the taint ${taintText(taint)}`, supposed)
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

/** Throws `SuppositionError` for a second value of a taint: only the last one would count. */
function checkTaintedOnce(cluster: string, taint: Taint, { tainted }: Supposed): void {
  const slot = JSON.stringify([cluster, taint.key, taint.effect])
  const before = tainted.get(slot)
  const text = taintText(taint)
  if (before !== undefined && before !== text)
    throw new SuppositionError(
      `${cluster} has the taint ${before} already; a cluster has one taint with this key and effect`,
    )
  tainted.set(slot, text)
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
