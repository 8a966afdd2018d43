/** The loop of Workloads of Kueue: answers their checks `lodestone.dev/data-ready`. */
import { kueueWorkloads } from '../../api/kueue.ts'
import { keyOfObject, splitObjectKey } from '../../api/meta.ts'
import { type CheckDecision, decideCheck, openChecks, planWorkloadChecks } from '../../core/kueue/decide-check.ts'
import { checkFault } from '../../core/kueue/plan-admission-check.ts'
import { dataCheckNamed, gatherCheckInput, workloadsConcerned } from '../../queries/kueue.ts'
import { applyPlan } from '../apply.ts'
import type { ReconcileLoop } from '../define.ts'
import { bindingContextOf } from '../present.ts'

export const kueueWorkloadLoop: ReconcileLoop = {
  name: 'kueue-workload',
  concurrency: 4,
  keysForChange: workloadsConcerned,
  allKeys: (store) => [...store.list(kueueWorkloads)].map(keyOfObject),
  async reconcile(key, context) {
    const { store } = context
    const { namespace, name } = splitObjectKey(key)
    const workload = store.get(kueueWorkloads, namespace, name)
    if (!workload) return undefined
    const open = openChecks(workload, (check) => dataCheckNamed(check, store) !== undefined)
    if (open.length === 0) return undefined
    const present = bindingContextOf(context)
    const { input, requeueAfterMs } = gatherCheckInput(workload, present)
    const ofData = decideCheck(input)
    const decisions = new Map(
      open.map((check): [string, CheckDecision] => {
        const admissionCheck = dataCheckNamed(check.name, store)
        const fault = admissionCheck && checkFault(admissionCheck)
        return [check.name, fault === undefined ? ofData : { state: 'Pending', message: fault }]
      }),
    )
    await applyPlan(context, planWorkloadChecks(workload, decisions, present.now))
    return requeueAfterMs
  },
}
