/** The loop of AdmissionChecks of Kueue: their condition Active says whether Lodestone answers them. */
import { admissionChecks } from '../../api/kueue.ts'
import { keyOfObject } from '../../api/meta.ts'
import { isDataCheck, planAdmissionCheck } from '../../core/kueue/plan-admission-check.ts'
import { whyDataUnknown } from '../../queries/kueue.ts'
import { applyPlan } from '../apply.ts'
import type { ReconcileLoop } from '../define.ts'

export const admissionCheckLoop: ReconcileLoop = {
  name: 'admission-check',
  concurrency: 1,
  keysForChange: ({ type, after }) => (type.kind === admissionChecks.kind && after ? [keyOfObject(after)] : []),
  *allKeys(store) {
    for (const check of store.list(admissionChecks)) yield isDataCheck(check) ? keyOfObject(check) : undefined
  },
  async reconcile(key, { store, events, now }) {
    const check = store.get(admissionChecks, undefined, key)
    if (check) await applyPlan({ store, events }, planAdmissionCheck(check, whyDataUnknown(store), now()))
    return undefined
  },
}
