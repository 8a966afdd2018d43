/** The Events of a mover, as objects: one for each reason, so that ten thousand reports of progress are one object that is patched. */
import type { K8sObject } from '../../api/meta.ts'
import { CONTRACT_VERSION, MOVER_REASONS, type MoverMoment } from './contract.ts'

export interface ObjectRef {
  apiVersion: string
  kind: string
  name: string
  namespace?: string
  uid?: string
}

/** The mover that reports: a Pod on a node. */
export interface MoverIdentity {
  pod: { name: string; namespace: string; uid?: string }
  node: string
  /** The object that the Events are about; default: the Pod. */
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
/** Kubernetes refuses what is longer. */
const MAX_MESSAGE = 1024

/** The Event of a report; `seq` counts the reports of this attempt, `count` those of this moment. */
export function moverEvent(
  { pod, node, about, attempt }: MoverIdentity,
  { moment, message, ...figures }: MoverReport,
  { seq, count, firstAt, now }: { seq: number; count: number; firstAt: number; now: number },
): MoverEvent {
  const reason = MOVER_REASONS[moment]
  const payload = (text: string) => JSON.stringify({ v: CONTRACT_VERSION, attempt, seq, ...figures, message: text })
  const tooMuch = payload(message).length - MAX_MESSAGE
  // An Event of a namespaced object has to be in its namespace.
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
    firstTimestamp: rfc3339(firstAt),
    lastTimestamp: rfc3339(now),
    count,
  }
}

/** Escapes make some characters two: as if all were. */
function shorten(message: string, tooMuch: number): string {
  return `${message.slice(0, Math.max(0, Math.floor((message.length - tooMuch) / 2)))}…`
}

function rfc3339(ms: number): string {
  return new Date(ms).toISOString().replace(/\.\d+Z$/, 'Z')
}
