/** Nodes and node affinity, with the fields that Lodestone reads and writes. */
import type { K8sObject, ResourceType } from './meta.ts'

/** The operators of requirements on nodes. */
export const NODE_OPERATORS: readonly string[] = ['In', 'NotIn', 'Exists', 'DoesNotExist', 'Gt', 'Lt']

export interface NodeSelectorRequirement {
  key: string
  operator: string
  values?: string[]
}

/** All requirements must match; a term without requirements matches no node. */
export interface NodeSelectorTerm {
  matchExpressions?: NodeSelectorRequirement[]
  matchFields?: NodeSelectorRequirement[]
}

/** One matching term is enough. */
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

/** Returns the required terms of an affinity; undefined if it requires no node. */
export function requiredTermsOf(affinity: NodeAffinity | undefined): readonly NodeSelectorTerm[] | undefined {
  return affinity?.requiredDuringSchedulingIgnoredDuringExecution?.nodeSelectorTerms
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

export interface Taint {
  key: string
  value?: string
  effect: string
}

export interface Node extends K8sObject {
  spec?: { unschedulable?: boolean; taints?: Taint[] }
  status?: {
    conditions?: NodeCondition[]
    /** `bootID` changes with each boot of the machine. */
    nodeInfo?: { bootID?: string }
  }
}

export const nodes: ResourceType<Node> = { group: '', version: 'v1', kind: 'Node', plural: 'nodes', namespaced: false }
