/** Every loop of Lodestone over domain objects. The registration of webhooks has one of its own (app/app.ts). */
import type { PropagateDepsMode } from '../core/propagation-policy/decide.ts'
import { openDataSourceLoop } from './data-source.ts'
import { dataSourceClaimLoop } from './data-source-claim.ts'
import type { ReconcileLoop } from './define.ts'
import { openPropagationPolicyLoop } from './propagation-policy.ts'
import { resourceBindingLoop } from './resource-binding.ts'

export function openLoops({ propagateDeps }: { propagateDeps: PropagateDepsMode }): readonly ReconcileLoop[] {
  return [dataSourceClaimLoop, openDataSourceLoop(), resourceBindingLoop, openPropagationPolicyLoop(propagateDeps)]
}
