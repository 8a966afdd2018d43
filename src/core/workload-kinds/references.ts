/** Builds and sorts references to dependencies, and finds those of two kinds that no path can express. */
import { type DependentObjectReference, endpointSlices, secrets, services } from '../../api/dependencies.ts'
import { apiVersionOf, type K8sObject, type ResourceType } from '../../api/meta.ts'
import { defined } from '../../base/json.ts'
import { stringsAt, valuesAt } from '../../base/json-path.ts'

/** An object by kind and name. The object that names it determines the namespace. */
export interface NamedObject {
  type: ResourceType
  name: string
}

/** Returns the named objects. No object has an invalid name, such as a placeholder that a controller replaces in each pod. */
export function named(type: ResourceType, names: Iterable<string>): NamedObject[] {
  return [...names].filter(isValidName).map((name) => ({ type, name }))
}

/** Whether a name is a DNS subdomain (apimachinery, IsDNS1123Subdomain); some kinds allow `:` too. */
function isValidName(name: string): boolean {
  return name.length <= 253 && OBJECT_NAME.test(name)
}

/** The pattern of the names of objects. */
export const OBJECT_NAME = /^[a-z0-9]([-a-z0-9.:]*[a-z0-9])?$/

/** Returns the reference to an object in a namespace; without one, the object is cluster-scoped. */
export function referenceTo({ type, name }: NamedObject, namespace: string | undefined): DependentObjectReference {
  return defined({ apiVersion: apiVersionOf(type), kind: type.kind, namespace: namespace || undefined, name })
}

/** Sorts references by apiVersion, kind, namespace and name, and removes duplicates: the same set always gives the same bytes. */
export function sortedReferences(references: Iterable<DependentObjectReference>): DependentObjectReference[] {
  const byOrder = new Map<string, DependentObjectReference>()
  for (const reference of references) byOrder.set(referenceSortKey(reference), reference)
  return [...byOrder].sort(([a], [b]) => (a < b ? -1 : 1)).map(([, reference]) => reference)
}

/** NUL sorts before every character of a name, so the parts are compared one by one. */
function referenceSortKey({
  apiVersion,
  kind,
  namespace = '',
  name = '',
  labelSelector,
}: DependentObjectReference): string {
  return [apiVersion, kind, namespace, name, labelSelector ? JSON.stringify(labelSelector) : ''].join('\0')
}

export type ReferenceFinder = (object: K8sObject) => DependentObjectReference[]

/** By `group/kind`. */
export const computedReferences: Readonly<Record<string, ReferenceFinder>> = {
  'multicluster.x-k8s.io/ServiceImport': derivedService,
  '/PersistentVolume': volumeSecrets,
}

/** Karmada derives a Service and its EndpointSlices from a ServiceImport. */
function derivedService(object: K8sObject): DependentObjectReference[] {
  const [namespace] = stringsAt(object, 'metadata.namespace')
  return stringsAt(object, 'metadata.name').flatMap((name) => [
    referenceTo({ type: services, name: `derived-${name}` }, namespace),
    defined({
      apiVersion: apiVersionOf(endpointSlices),
      kind: endpointSlices.kind,
      namespace: namespace || undefined,
      labelSelector: { matchLabels: { 'kubernetes.io/service-name': `derived-${name}` } },
    }),
  ])
}

/** Each Secret reference of a PersistentVolume has a namespace. If it is missing, the namespace of the bound claim applies. */
function volumeSecrets(volume: K8sObject): DependentObjectReference[] {
  const azure = valuesAt(volume, 'spec.azureFile').map((source) => ({
    name: stringsAt(source, 'secretName')[0],
    namespace: stringsAt(source, 'secretNamespace')[0],
  }))
  const named = ['spec.*.secretRef', 'spec.csi.*SecretRef'].flatMap((path) => valuesAt(volume, path))
  return [...azure, ...named].flatMap((secret) => {
    const [name] = stringsAt(secret, 'name')
    const [namespace] = [...stringsAt(secret, 'namespace'), ...stringsAt(volume, 'spec.claimRef.namespace')]
    return name && namespace ? [referenceTo({ type: secrets, name }, namespace)] : []
  })
}
