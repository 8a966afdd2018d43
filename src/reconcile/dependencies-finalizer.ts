/** The loop that lets a workload's binding wait, when it is deleted, for what is attached to it. */
import { clusterResourceBindings, isBinding, type ResourceBinding, resourceBindings } from '../api/karmada.ts'
import { DEPENDENCIES_FINALIZER } from '../api/lodestone.ts'
import { objectKey } from '../api/meta.ts'
import { attachesAny, type Distribution, propagates } from '../core/dependencies/needs.ts'
import { planDependenciesFinalizer } from '../core/dependencies/plan-finalizer.ts'
