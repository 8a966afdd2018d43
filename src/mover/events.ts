/** Reports the progress of a mover as Events, in order and without delaying the work. */
import { setTimeout as sleep } from 'node:timers/promises'
import type { MoverMoment } from '../core/mover-contract/contract.ts'
import { type MoverEvent, type MoverIdentity, type MoverReport, moverEvent } from './event.ts'

/** Creates or updates an Event. */
export type EventSink = (event: MoverEvent) => Promise<void>

export interface EventReporter {
  /** Never throws and never waits. */
  report(report: MoverReport): void
  /** Resolves when every report is written, or after `timeoutMs`. */
  flush(timeoutMs: number): Promise<void>
}

export interface EventReporterInput {
  sink: EventSink
  identity: MoverIdentity
  now: () => number
  /** Called with the error when an Event could not be written. */
  failed: (error: unknown) => void
}

export function openEventReporter({ sink, identity, now, failed }: EventReporterInput): EventReporter {
  const counts = new Map<MoverMoment, { count: number; firstAt: number }>()
  const waiting = new Map<MoverMoment, MoverEvent>()
  let seq = 0
  let writing: Promise<void> | undefined

  async function writeAll(): Promise<void> {
    for (const [moment, event] of waiting) {
      waiting.delete(moment)
      await sink(event).catch(failed)
    }
    writing = undefined
  }

  return {
    report(report) {
      const { count, firstAt } = counts.get(report.moment) ?? { count: 0, firstAt: now() }
      counts.set(report.moment, { count: count + 1, firstAt })
      seq += 1
      // A newer report of the same moment replaces the waiting one, and keeps its position.
      waiting.set(report.moment, moverEvent(identity, report, { seq, count: count + 1, firstAt, now: now() }))
      writing ??= writeAll()
    },
    async flush(timeoutMs) {
      const giveUp = new AbortController()
      const timeout = sleep(timeoutMs, undefined, { signal: giveUp.signal }).catch(() => undefined)
      await Promise.race([writing ?? Promise.resolve(), timeout])
      giveUp.abort()
    },
  }
}
