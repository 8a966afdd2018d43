/** Completes the names and namespaces of manifests, as an API server and kubectl do, and finds manifests of the same object. */
import { groupOf, type K8sObject, keyOfObject } from '../../../api/meta.ts'
import { defined } from '../../../base/json.ts'
import { printable } from '../../../base/printable.ts'
import type { FolderStore } from '../../../store/folder/folder.ts'
import { generatedName } from '../../../store/folder/identity.ts'
import type { Manifest } from '../../../store/folder/manifests.ts'
import { DEFAULT_NAMESPACE } from '../../options/namespace.ts'
import { type Scope, scopesOf } from '../../scope.ts'
import { type Finding, finding, type Place } from '../findings/findings.ts'

/**
 * Returns the manifests with their namespaces, and what is wrong with these. A kind whose scope is not known is namespaced.
 *
 * @param namespace the namespace of manifests without one; `default` if absent, with a finding for each
 */
export function placeManifests(
  manifests: readonly Manifest[],
  scopeOf: (object: K8sObject) => Scope | undefined,
  namespace: string | undefined,
): { placed: Manifest[]; findings: Finding[] } {
  const findings: Finding[] = []
  const first = new Map<string, Manifest>()
  const placed: Manifest[] = []
  for (const manifest of manifests) {
    const scope = scopeOf(manifest.object)
    const object = withName(placeObject(manifest.object, scope, namespace), placed.length)
    const here = { ...manifest, object }
    if (scope === 'Namespaced' && !manifest.object.metadata.namespace && namespace === undefined) {
      const message = `metadata.namespace is missing, and ${DEFAULT_NAMESPACE} is assumed; set it, or use -n`
      findings.push(finding('no-namespace', message, fieldPlace(here, 'metadata'), objectTitle(object)))
    }
    const key = `${groupOf(object.apiVersion)}/${object.kind}/${keyOfObject(object)}`
    const other = first.get(key)
    if (other) {
      const message = `is already in ${other.file}:${other.line}, which is used; remove one of them`
      findings.push(finding('invalid-manifest', message, manifest, objectTitle(object)))
      continue
    }
    first.set(key, here)
    placed.push(here)
  }
  return { placed, findings }
}

/** Returns the object in its namespace, or without one if its kind is cluster-scoped. */
export function placeObject(
  object: K8sObject,
  scope: Scope | undefined,
  namespace: string = DEFAULT_NAMESPACE,
): K8sObject {
  const { namespace: given, ...metadata } = object.metadata
  if (scope === 'Cluster') return given === undefined ? object : { ...object, metadata }
  return given ? object : { ...object, metadata: { ...metadata, namespace } }
}

/** Returns copies of the objects of a folder, in their namespaces and without versions, for a store in memory. */
export function copiesOf(folder: FolderStore): K8sObject[] {
  const stored = folder.objects().map(({ object }) => withoutVersion(object))
  const scopeOf = scopesOf(folder.kinds(), stored)
  return stored.map((object) => placeObject(object, scopeOf(object)))
}

/** Returns an object of a store without the version of that store. Another store gives its own versions. */
export function withoutVersion<T extends K8sObject>(object: T): T {
  const { resourceVersion: _, ...metadata } = object.metadata
  return { ...object, metadata }
}

/** Returns the object with a name that an API server could generate from its `generateName`. It is the same in every run. */
function withName(object: K8sObject, attempt: number): K8sObject {
  const { name, generateName } = object.metadata
  if (name || !generateName) return object
  return { ...object, metadata: { ...object.metadata, name: generatedName(generateName, attempt) } }
}

/** The place of a field of a manifest, or of its nearest ancestor in the file. */
export function fieldPlace(manifest: Manifest, path: string) {
  return { file: manifest.file, ...(manifest.positionOf?.(path) ?? manifest) }
}

/** The place of a field of a given manifest; of an object that is not given, its own place. */
export function placeOf(given: Manifest | undefined, path: string, { file, line, column }: Place): Place {
  return given
    ? fieldPlace(given, path)
    : defined({ file: file || undefined, line: line || undefined, column: column || undefined })
}

/** `Kind namespace/name`, in one line. */
export function objectTitle(object: K8sObject): string {
  return printable(`${object.kind} ${keyOfObject(object)}`)
}
