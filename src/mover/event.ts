/** Builds the Events of a mover. Each reason has one Event, which is patched: ten thousand progress reports are one object. */
import type { K8sObject } from '../api/meta.ts'
import { firstCharacters } from '../base/first-characters.ts'
import { toTime } from '../base/time/timestamp.ts'
import { CONTRACT_VERSION, MOVER_REASONS, type MoverMoment } from '../core/mover-contract/contract.ts'

export interface ObjectRef {
  apiVersion: string
  kind: string
  name: string
  namespace?: string
  uid?: string
}

/** The mover that reports: its Pod and node. */
export interface MoverIdentity {
  pod: { name: string; namespace: string; uid?: string }
  node: string
  /** The object that the Events are about. Default: the Pod. */
  about?: ObjectRef
  attempt: number
}

export interface MoverReport {
  moment: MoverMoment
  message: string
  totalBytes: number
  doneBytes: number
  totalFiles: number
  doneFiles: number
}

export interface MoverEvent extends K8sObject {
  involvedObject: ObjectRef
  type: 'Normal' | 'Warning'
  reason: string
  message: string
  source: { component: string; host: string }
  reportingComponent: string
  reportingInstance: string
  firstTimestamp: string
  lastTimestamp: string
  count: number
}

const COMPONENT = 'lodestone-mover'
/** In characters. Kubernetes rejects a longer message. */
const MAX_MESSAGE = 1024

/** Builds the Event of a report. `seq` counts the reports of this attempt; `count` counts those with this reason. */
export function moverEvent(
  { pod, node, about, attempt }: MoverIdentity,
  { moment, message, ...counts }: MoverReport,
  { seq, count, firstAt, now }: { seq: number; count: number; firstAt: number; now: number },
): MoverEvent {
  const reason = MOVER_REASONS[moment]
  const payload = (text: string) => JSON.stringify({ v: CONTRACT_VERSION, attempt, seq, ...counts, message: text })
  const tooMuch = payload(message).length - MAX_MESSAGE
  // Kubernetes requires that the Event of a namespaced object is in its namespace.
  const namespace = about?.namespace ?? pod.namespace
  return {
    apiVersion: 'v1',
    kind: 'Event',
    metadata: { name: `${pod.name}.${reason.toLowerCase()}`.slice(-253).replace(/^[^a-z0-9]+/, ''), namespace },
    involvedObject: about ?? { apiVersion: 'v1', kind: 'Pod', ...pod },
    type: moment === 'failed' ? 'Warning' : 'Normal',
    reason,
    message: tooMuch > 0 ? payload(shorten(message, tooMuch)) : payload(message),
    source: { component: COMPONENT, host: node },
    reportingComponent: COMPONENT,
    reportingInstance: pod.name,
    firstTimestamp: toTime(firstAt),
    lastTimestamp: toTime(now),
    count,
  }
}

/** Escaping can double the length of a character. This assumes that it does for every character. */
function shorten(message: string, tooMuch: number): string {
  return `${firstCharacters(message, Math.max(0, Math.floor((message.length - tooMuch) / 2)))}…`
}
