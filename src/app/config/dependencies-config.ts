/** The configuration of dependencies: which follow their workload, and the component that attaches them. */
import { type NeverPropagatedEntry, neverPropagatedSchema } from '../../core/dependencies/never-propagated.ts'
import type { PropagateDepsMode } from '../../core/propagation-policy/decide.ts'
import {
  type RelatedKindEntry,
  relatedKindsSchema,
  relatedNamesSchema,
} from '../../core/workload-kinds/related-kinds.ts'
import { choice, field, section } from './section.ts'

export const dependenciesSection = section({
  /** The policies for which Lodestone sets `propagateDeps`: those that select data-bound workloads, all, or none. */
  propagate: choice<PropagateDepsMode>(['dataBound', 'always', 'never'], 'dataBound'),
  /**
   * The component that attaches the dependencies of a workload to its clusters. `karmada`: its distributor, which queries Lodestone.
   * `builtin`: Lodestone, if the distributor is disabled. `none`: another tool; Lodestone releases the bindings that it attached.
   */
  distribution: choice(['karmada', 'builtin', 'none'], 'karmada'),
  /** The kinds whose objects follow a workload to which they relate: names of the shipped table. */
  related: field<string[], typeof relatedNamesSchema>(relatedNamesSchema, []),
  /** Further such kinds. */
  relatedKinds: field<RelatedKindEntry[], object>(relatedKindsSchema, []),
  /** Further objects that each cluster creates for itself, so that they never follow a workload. */
  neverPropagated: field<NeverPropagatedEntry[], object>(neverPropagatedSchema, []),
})
