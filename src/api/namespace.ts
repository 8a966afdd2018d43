/** Namespaces: Lodestone reads only one annotation. */
import type { ResourceType } from './meta.ts'

export const namespaces: ResourceType = {
  group: '',
  version: 'v1',
  kind: 'Namespace',
  plural: 'namespaces',
  namespaced: false,
}

/** Every Namespace has its name as this label. */
export const NAMESPACE_NAME_LABEL = 'kubernetes.io/metadata.name'
