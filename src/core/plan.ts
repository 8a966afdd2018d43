/** What a loop wants done: decided here as data, done in one place (reconcile/apply.ts). */
import type { K8sObject, ResourceType } from '../api/meta.ts'

export type Action = { kind: 'create' | 'update'; type: ResourceType; object: K8sObject }

export interface Plan {
  actions: Action[]
}
