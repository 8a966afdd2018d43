/** Narrows the base of a binding to clusters of which Karmada's scheduler accepts at least one. */
import type { PlacementAffinity } from '../../api/karmada.ts'
import { refusalOf } from '../placement/acceptance.ts'
import { withAffinity } from '../placement/affinity.ts'
import type { DataConstraint } from '../placement/constraint.ts'
import { misfitOf } from '../placement/fit.ts'
import { nameGroups } from '../placement/group-names.ts'
import { narrowPlacement } from '../placement/narrow.ts'
import { spreadCheck } from '../placement/spread.ts'
import type { ParsedInput } from './parse-input.ts'
import { roundOf } from './placement-decision.ts'

/** A narrowing for which the scheduler would find a cluster, or why there is none. */
export type FittingNarrowing =
  | { kind: 'narrowed'; affinity: PlacementAffinity; allowed: string[] | undefined; round: number }
  /** No cluster that the base allows has the data. */
  | { kind: 'unsatisfiable'; reason: string }
  /** The scheduler would refuse each cluster with the data. */
  | { kind: 'unfit'; reason: string }

/** Narrows a base. If the scheduler would skip the only groups that fit, the groups get new names, and it begins with the first. */
export function narrowToFit(input: ParsedInput, base: PlacementAffinity, constraint: DataConstraint): FittingNarrowing {
  const { binding, clusters, isWorkload, observedGroup } = input
  const placement = withAffinity(binding.spec.placement ?? {}, base)
  const narrowing = narrowPlacement({ base: placement, constraint, clusters, isWorkload })
  if (narrowing.kind === 'unsatisfiable') return narrowing
  const round = roundOf(input)
  const affinity = nameGroups(narrowing.affinity, round)
  // Without required data, the groups of the base follow the preferred ones.
  if (narrowing.allowed === undefined) return { ...narrowing, affinity, round }
  const fit = { refuses: refusalOf(binding.spec, clusters), spread: spreadCheck(placement, clusters), isWorkload }
  const misfit = misfitOf({ ...fit, affinity, observedGroup })
  if (misfit === undefined) return { ...narrowing, affinity, round }
  if (misfitOf({ ...fit, affinity, observedGroup: undefined }) !== undefined) return { kind: 'unfit', reason: misfit }
  return { ...narrowing, affinity: nameGroups(narrowing.affinity, round + 1), round: round + 1 }
}
