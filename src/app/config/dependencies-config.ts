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
  propagate: choice<PropagateDepsMode>(
    ['dataBound', 'always', 'never'],
    'dataBound',
    'Which policies get `propagateDeps: true`. `dataBound`: those that select a workload with a claim or volumes.',
  ),
  distribution: choice(
    ['karmada', 'builtin', 'none'],
    'karmada',
    'The distributor of dependencies, see the table below.',
  ),
  related: field<string[], typeof relatedNamesSchema>(
    relatedNamesSchema,
    [],
    'Kinds whose objects follow a workload to which they relate, see [below](#related-objects).',
  ),
  relatedKinds: field<RelatedKindEntry[], object>(
    relatedKindsSchema,
    [],
    'Further such kinds, see [below](#related-objects).',
  ),
  neverPropagated: field<NeverPropagatedEntry[], object>(
    neverPropagatedSchema,
    [],
    'Objects that each cluster creates for itself, see [below](#objects-that-never-follow).',
  ),
})
