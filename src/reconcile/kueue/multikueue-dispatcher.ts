/** The loop of the MultiKueue dispatcher `lodestone.dev/dispatcher`: nominates worker clusters that have the data of a Workload. */

import { kueueWorkloads } from '../../api/kueue.ts'
import { keyOfObject, splitObjectKey } from '../../api/meta.ts'
import { earliest } from '../../base/time/earliest.ts'
import { decideNomination } from '../../core/kueue/decide-nomination.ts'
import {
  isOverruled,
  type NominationMemory,
  planNomination,
  planOverruled,
  rememberChange,
} from '../../core/kueue/plan-nomination.ts'
import { nominatedClusters } from '../../core/kueue/workload-state.ts'
import { gatherNomination, nominationsConcerned } from '../../queries/multikueue.ts'
import { applyPlan } from '../apply.ts'
import type { ReconcileLoop } from '../define.ts'
import { bindingContextOf } from '../present.ts'

/** @param roundMs how long the clusters of one tier are nominated before those of the next tier */
export function openMultiKueueDispatcherLoop(roundMs: number): ReconcileLoop {
  /** By Workload that waits for a worker cluster. */
  const memories = new Map<string, NominationMemory>()

  return {
    name: 'multikueue-dispatcher',
    concurrency: 4,
    keysForChange: nominationsConcerned,
    allKeys: (store) => [...store.list(kueueWorkloads)].map(keyOfObject),
    async reconcile(key, context) {
      const { store } = context
      const { namespace, name } = splitObjectKey(key)
      const workload = store.get(kueueWorkloads, namespace, name)
      const present = bindingContextOf(context)
      const { now } = present
      const gathered = workload && gatherNomination(workload, present, roundMs)
      if (!gathered) {
        memories.delete(key)
        return undefined
      }
      const decision = decideNomination(gathered.input)
      const requeueAfterMs = earliest(gathered.requeueAfterMs, decision.requeueAfterMs)
      if (planNomination(workload, decision, now).actions.length === 0) return requeueAfterMs
      // The cache lacks the managed fields. A later version comes as a change.
      const current = await store.read(kueueWorkloads, namespace, name)
      if (!current || current.metadata.resourceVersion !== workload.metadata.resourceVersion) return requeueAfterMs
      const memory = rememberChange(memories.get(key), gathered.since, nominatedClusters(current))
      if (isOverruled(memory)) {
        await applyPlan(context, planOverruled(current, now))
        return requeueAfterMs
      }
      await applyPlan(context, planNomination(current, decision, now))
      memories.set(key, { ...memory, written: decision.clusters })
      return requeueAfterMs
    },
  }
}
