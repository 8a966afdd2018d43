/** The inputs of decisions that change while the process runs, as they are in one run of a loop. */
import type { Present } from '../base/time/clock-jumps.ts'
import type { BindingContext } from '../queries/binding.ts'
import type { ReconcileContext } from './define.ts'

/** Returns the time of the run, with the jumps of the clock before it. */
export function presentOf({ now, jumps }: Pick<ReconcileContext, 'now' | 'jumps'>): Present {
  return { now: now(), jumps: jumps() }
}

/** Returns what the decisions of the run on bindings read. */
export function bindingContextOf(context: ReconcileContext): BindingContext {
  const { store, clusterScopedClaims, timing, kinds, matrix, karmadaRules } = context
  return { store, clusterScopedClaims, timing, kinds, matrix, karmadaRules: karmadaRules(), ...presentOf(context) }
}
