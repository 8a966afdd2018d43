/** The settings of decisions on bindings: what they read of the configuration. */
import type { ClusterScopedClaims } from '../data-source-claim/permission.ts'
import type { TransferMatrix } from '../transfer-cost/matrix.ts'
import type { WorkloadKinds } from '../workload-kinds/kinds.ts'
import type { PlacementTiming } from './timing.ts'

export interface DecisionSettings {
  /** Whether claims apply to cluster-scoped workloads. */
  clusterScopedClaims: ClusterScopedClaims
  /** The waiting times of scheduled workloads. */
  timing: PlacementTiming
  /** The table of workload kinds. */
  kinds: WorkloadKinds
  /** The price matrix; undefined if none is configured. */
  matrix: TransferMatrix | undefined
}
