/** The configuration of dependencies: which follow their workload, and the component that attaches them. */
import { type NeverPropagatedEntry, neverPropagatedSchema } from '../../core/dependencies/never-propagated.ts'
import type { PropagateDepsMode } from '../../core/propagation-policy/decide.ts'
import {
  type RelatedKindEntry,
  relatedKindsSchema,
  relatedNamesSchema,
} from '../../core/workload-kinds/related-kinds.ts'

export interface DependenciesConfig {
  /** The policies for which Lodestone sets `propagateDeps`: those that select data-bound workloads, all, or none. */
  propagate: PropagateDepsMode
  /**
   * The component that attaches the dependencies of a workload to its clusters. `karmada`: its distributor, which queries Lodestone.
   * `builtin`: Lodestone, if the distributor is disabled. `none`: another tool; Lodestone releases the bindings that it attached.
   */
  distribution: 'karmada' | 'builtin' | 'none'
  /** The kinds whose objects follow a workload to which they relate: names of the shipped table. */
  related: string[]
  /** Further such kinds. */
  relatedKinds: RelatedKindEntry[]
  /** Further objects that each cluster creates for itself, so that they never follow a workload. */
  neverPropagated: NeverPropagatedEntry[]
}

export const DEFAULT_DEPENDENCIES: DependenciesConfig = {
  propagate: 'dataBound',
  distribution: 'karmada',
  related: [],
  relatedKinds: [],
  neverPropagated: [],
}

export const dependenciesSchema = {
  type: 'object',
  properties: {
    propagate: { enum: ['dataBound', 'always', 'never'] },
    distribution: { enum: ['karmada', 'builtin', 'none'] },
    related: relatedNamesSchema,
    relatedKinds: relatedKindsSchema,
    neverPropagated: neverPropagatedSchema,
  },
}
