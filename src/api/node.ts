/** Nodes and the affinities to them, as far as Lodestone reads and writes them. */
import type { K8sObject, ResourceType } from './meta.ts'

export interface NodeSelectorRequirement {
  key: string
  operator: string
  values?: string[]
}

/** All of its requirements have to hold; one without any matches no node. */
export interface NodeSelectorTerm {
  matchExpressions?: NodeSelectorRequirement[]
  matchFields?: NodeSelectorRequirement[]
}

/** Any of its terms is enough. */
export interface NodeSelector {
  nodeSelectorTerms: NodeSelectorTerm[]
}

export interface PreferredSchedulingTerm {
  weight: number
  preference: NodeSelectorTerm
}

export interface NodeAffinity {
  requiredDuringSchedulingIgnoredDuringExecution?: NodeSelector
  preferredDuringSchedulingIgnoredDuringExecution?: PreferredSchedulingTerm[]
}

export interface Toleration {
  key?: string
  operator?: string
  value?: string
  effect?: string
  tolerationSeconds?: number
}

export interface NodeCondition {
  type: string
  status: string
  lastTransitionTime?: string
}

export interface Node extends K8sObject {
  status?: { conditions?: NodeCondition[] }
}

export const nodes: ResourceType<Node> = { group: '', version: 'v1', kind: 'Node', plural: 'nodes', namespaced: false }
