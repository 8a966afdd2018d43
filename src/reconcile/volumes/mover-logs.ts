/** Reads the logs of ended movers in the background, with a timeout, so that a log that is not available does not delay the loop. */
import type { Pod } from '../../api/pod.ts'
import { MOVER_CONTAINER } from '../../core/mover-contract/contract.ts'
import { lastLines, type MoverLogHead, moverLogHead } from '../../core/volume-manager/mover/log.ts'
import type { PodLogReader } from '../../store/store.ts'

export interface MoverLogObserver {
  /** Receives the last lines of the log of an ended mover. */
  collected(head: MoverLogHead, lines: readonly string[]): void
  /** Receives the reason why a log could not be read. */
  failed(head: MoverLogHead, error: unknown): void
}

export interface MoverLogsInput {
  /** Absent if pods have no logs, as in a folder. */
  read: PodLogReader | undefined
  observer: MoverLogObserver
  /** The timeout of one log, in ms; after that, the Pod is deleted without it. */
  timeoutMs?: number
}

export interface MoverLogs {
  /**
   * Starts to read the log of an ended mover in the first call for it.
   * @param lines how many of the last lines to read; with 0, no log is read.
   * @returns whether the Pod may be deleted: its log was read, or is not available
   */
  collect(pod: Pod, lines: number): boolean
  /** Forgets a deleted Pod. */
  forget(pod: Pod): void
  /** Starts no more reads; resolves when all reads have ended. */
  stop(): Promise<void>
}

const TIMEOUT_MS = 5_000
/** Each read may take a megabyte of memory. */
const MAX_AT_ONCE = 64

export function openMoverLogs({ read, observer, timeoutMs = TIMEOUT_MS }: MoverLogsInput): MoverLogs {
  const aborter = new AbortController()
  /** By the uid of the Pod; a promise is a read that has not ended. */
  const known = new Map<string, Promise<void> | 'done'>()
  const reading = () => [...known.values()].filter((one) => one !== 'done')

  async function fetch(from: PodLogReader, pod: Pod, lines: number): Promise<void> {
    const head = moverLogHead(pod)
    const { namespace, name = '' } = pod.metadata
    const signal = AbortSignal.any([aborter.signal, AbortSignal.timeout(timeoutMs)])
    try {
      const text = await from({ namespace, name, container: MOVER_CONTAINER, lines, signal })
      observer.collected(head, lastLines(text, lines))
    } catch (error) {
      if (!aborter.signal.aborted) observer.failed(head, error)
    }
    known.set(podLogKey(pod), 'done')
  }

  return {
    collect(pod, lines) {
      if (!read || lines <= 0 || aborter.signal.aborted) return true
      const state = known.get(podLogKey(pod))
      if (state !== undefined) return state === 'done'
      if (reading().length >= MAX_AT_ONCE) return true
      known.set(podLogKey(pod), fetch(read, pod, lines))
      return false
    },
    forget: (pod) => void known.delete(podLogKey(pod)),
    async stop() {
      aborter.abort()
      await Promise.all(reading())
    },
  }
}

function podLogKey({ metadata: { uid, namespace, name } }: Pod): string {
  return uid ?? `${namespace}/${name}`
}
