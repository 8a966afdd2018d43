/** The kinds that are dependencies of workloads, with the fields that Lodestone reads: for most only the metadata. */
import type { K8sObject, LabelSelector, ResourceType } from './meta.ts'

/** A dependency, as Karmada's interpreter returns it: one object by name, or all objects that match a selector. */
export interface DependentObjectReference {
  apiVersion: string
  kind: string
  namespace?: string
  name?: string
  labelSelector?: LabelSelector
}

export interface Service extends K8sObject {
  spec?: { selector?: Record<string, string> }
}

export interface ServiceAccount extends K8sObject {
  imagePullSecrets?: { name?: string }[]
  secrets?: { name?: string }[]
}

export const configMaps = core('ConfigMap', 'configmaps')
export const secrets = core('Secret', 'secrets')
export const serviceAccounts: ResourceType<ServiceAccount> = core('ServiceAccount', 'serviceaccounts')
export const services: ResourceType<Service> = core('Service', 'services')

export const ingresses: ResourceType = {
  group: 'networking.k8s.io',
  version: 'v1',
  kind: 'Ingress',
  plural: 'ingresses',
  namespaced: true,
}

export const endpointSlices: ResourceType = {
  group: 'discovery.k8s.io',
  version: 'v1',
  kind: 'EndpointSlice',
  plural: 'endpointslices',
  namespaced: true,
}

function core(kind: string, plural: string): ResourceType {
  return { group: '', version: 'v1', kind, plural, namespaced: true }
}
