/** The settings of loops in tests: the defaults of the configuration, no data systems, the strictest Karmada, and a clock without jumps. */
import { DEFAULT_TIMING } from '../src/core/resource-binding/timing.ts'
import { SHIPPED_KINDS } from '../src/core/workload-kinds/kinds.ts'
import type { ReconcileContext } from '../src/reconcile/define.ts'

type LoopSettings = 'clusterScopedClaims' | 'timing' | 'kinds' | 'matrix' | 'karmadaRules' | 'jumps' | 'systems'

export const loopSettings: Pick<ReconcileContext, LoopSettings> = {
  clusterScopedClaims: 'forbidden',
  timing: DEFAULT_TIMING,
  kinds: SHIPPED_KINDS,
  matrix: undefined,
  karmadaRules: () => undefined,
  jumps: () => [],
  systems: { get: () => undefined, subscribe: () => () => undefined },
}
