/** Reads from the message of Karmada's scheduler that it could not choose among clusters: this failure has no reason of its own. */
import { NO_SELECTION } from '../../api/karmada.ts'

/** Whether a message is about the choice among the clusters that the scheduler accepts (v1.18.1, pkg/scheduler/core/generic_scheduler.go, Schedule). */
export function isNoSelection(message: string | undefined): boolean {
  return message?.startsWith(NO_SELECTION) ?? false
}
