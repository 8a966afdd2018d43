/** References of two kinds that no path can express. */
import { type DependentObjectReference, endpointSlices, secrets, services } from '../../api/dependencies.ts'
import { apiVersionOf, type K8sObject } from '../../api/meta.ts'
import { defined } from '../../base/json.ts'
import { stringsAt, valuesAt } from '../../base/json-path.ts'
import { referenceTo } from './references.ts'

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
