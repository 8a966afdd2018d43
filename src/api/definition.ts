/** CustomResourceDefinitions, of which Lodestone reads the state. */
import { clusters } from './karmada.ts'
import { apiVersionOf, type K8sObject, type ResourceType } from './meta.ts'

export interface CustomResourceDefinition extends K8sObject {
  status?: { conditions?: { type: string; status: string }[] }
}

export const definitions: ResourceType<CustomResourceDefinition> = {
  group: 'apiextensions.k8s.io',
  version: 'v1',
  kind: 'CustomResourceDefinition',
  plural: 'customresourcedefinitions',
  namespaced: false,
}

/** Returns the name of the CustomResourceDefinition of a kind. */
export function definitionName({ plural, group }: ResourceType): string {
  return `${plural}.${group}`
}

/** Returns the CustomResourceDefinition of a kind, without its content. */
export function definitionOf(type: ResourceType): K8sObject {
  return { apiVersion: apiVersionOf(definitions), kind: definitions.kind, metadata: { name: definitionName(type) } }
}

/** Returns the object by which an API server serves a kind: its CRD, or the APIService of a kind without a CRD. */
export function servedBy(type: ResourceType): K8sObject {
  if (type.group.includes('.') && type.kind !== clusters.kind) return definitionOf(type)
  const name = `${type.version}.${type.group}`
  return { apiVersion: 'apiregistration.k8s.io/v1', kind: 'APIService', metadata: { name } }
}
