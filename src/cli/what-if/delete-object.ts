/** Supposes that an object is deleted, with the binding of its workload. */
import { dataSources } from '../../api/data-source.ts'
import { bindingTypeIn, clusters, isBinding } from '../../api/karmada.ts'
import { apiVersionOf, groupOf, type ObjectReference, plainReference, type ResourceType } from '../../api/meta.ts'
import { namespaces } from '../../api/namespace.ts'
import { defined } from '../../base/json.ts'
import { leaveCluster } from '../../core/what-if/suppose.ts'
import { allBindings, objectBinding } from '../../queries/workload.ts'
import { isCached } from '../../store/any-kind.ts'
import type { ObjectName, ObjectStore } from '../../store/store.ts'
import { UsageError } from '../command.ts'
import { readTarget, typesNamed } from '../kinds.ts'
import { nameHint } from '../name-hint.ts'
import { findCluster, putCluster, type SupposeContext, type Supposed, UnknownNameError } from './supposed.ts'

/**
 * Deletes the object of a text such as `dsc/sales`, in the namespace of the context. A second time changes nothing. Throws `UnknownNameError` if there
 * is none, and `UsageError` for a Namespace.
 */
export function deleteObject(text: string, supposed: Supposed, { workloads, namespace, now }: SupposeContext): void {
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
    const hint = dataHint(name, named, store) ?? nameHint({ namespace, name }, namesOf(named, store))
    // Of a kind that is not cached, such as ConfigMap, only bindings are known.
    const what = named.some((type) => isCached(type, store)) ? '' : 'binding of '
    throw new UnknownNameError(`no ${what}${named[0]?.kind} ${name}${where}${hint}`)
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

/** Other suppositions take the name of data for its source. Several sources may have the same data, so the user names the one. */
function dataHint(data: string, types: readonly ResourceType[], store: ObjectStore): string | undefined {
  if (!types.includes(dataSources)) return undefined
  const sources = [...store.list(dataSources)].filter(({ spec }) => spec.name === data)
  const names = sources.slice(0, 5).map(({ metadata }) => metadata.name ?? '')
  return names.length === 0 ? undefined : `; the data ${data} is that of ${names.join(', ')}`
}

/** The names of all objects of these kinds: the cached ones, and the workloads that have a binding. */
function namesOf(types: readonly ResourceType[], store: ObjectStore): ObjectName[] {
  const cached = types.filter((type) => isCached(type, store)).flatMap((type) => [...store.list(type)])
  const bound = [...allBindings(store)]
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
