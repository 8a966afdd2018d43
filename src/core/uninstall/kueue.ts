/** Deactivates the AdmissionChecks of Kueue that Lodestone answers. They are objects of users, and stay. */
import { type AdmissionCheck, admissionChecks } from '../../api/kueue.ts'
import { deactivateCheck } from '../kueue/plan-admission-check.ts'
import { NOTHING_TO_REMOVE, type RemovalRule } from './removal.ts'

/** @param now in ms since the epoch */
export function checkRule(now: number): RemovalRule {
  return {
    type: admissionChecks,
    plan(object) {
      const write = deactivateCheck(object as AdmissionCheck, now)
      return write ? { write, removes: ['condition Active=True'], keeps: [] } : NOTHING_TO_REMOVE
    },
  }
}
