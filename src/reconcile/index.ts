/** Every loop of Lodestone over domain objects. The registration of webhooks has one of its own (app/app.ts). */
import type { Distribution } from '../core/dependencies/needs.ts'
import { openAttachedBindingLoop } from './attached-binding.ts'
import { openDataSourceLoop } from './data-source.ts'
import { dataSourceClaimLoop } from './data-source-claim.ts'
import type { ReconcileLoop } from './define.ts'
import { openDependenciesLoop } from './dependencies.ts'
import { resourceBindingLoop } from './resource-binding.ts'

/** `distribution` says which dependencies are ours to attach; `none` leaves all of them to others. */
export function openLoops(distribution: Distribution | 'none'): readonly ReconcileLoop[] {
  return [
    dataSourceClaimLoop,
    openDataSourceLoop(),
    resourceBindingLoop,
    ...(distribution === 'none' ? [] : [openDependenciesLoop(distribution), openAttachedBindingLoop(distribution)]),
  ]
}
