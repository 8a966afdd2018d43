/** The conditions that tools wait for: kstatus, which Flux uses, and health checks of Argo CD. */
import { type ConditionState, condition } from '../base/conditions.ts'

/** True while Lodestone waits for an action of a user, else absent: kstatus reports the object as failed. */
export const STALLED = 'Stalled'

interface Readiness {
  isReady: boolean
  /** Whether the object has failed. */
  isStalled: boolean
  reason: string
  message: string
}

/** Returns the condition Ready, and Stalled if it holds (sigs.k8s.io/cli-utils, pkg/kstatus). */
export function readiness({ isReady, isStalled, reason, message }: Readiness): ConditionState[] {
  return [
    condition('Ready', isReady, reason, message),
    ...(isStalled ? [condition(STALLED, true, reason, message)] : []),
  ]
}
