/** Fetches the logs of movers that have ended, beside the loop: a log that cannot be had keeps nobody waiting for long. */
import type { Pod } from '../api/pod.ts'
import { lastLines, type MoverLogHead, moverLogHead } from '../core/volume-manager/mover/log.ts'
import type { PodLogReader } from '../store/store.ts'

export interface MoverLogObserver {
  /** The last lines of the log of a mover that has ended; or why there are none. */
  collected(head: MoverLogHead, lines: readonly string[]): void
  failed(head: MoverLogHead, error: unknown): void
}

export interface MoverLogsInput {
  /** Absent where pods have no logs, as in a folder. */
  read: PodLogReader | undefined
  observer: MoverLogObserver
  /** How long a log may take; then its pod goes without it. */
  timeoutMs?: number
}

export interface MoverLogs {
  /**
   * Asks for the log of a mover that has ended, the first time that it is called for it.
   *
   * @param lines how many of the last lines; with 0 nothing is asked
   * @returns whether there is nothing to wait for any more, so that the pod may go
   */
  collect(pod: Pod, lines: number): boolean
  /** The pod is gone. */
  forget(pod: Pod): void
  /** Asks for nothing more; resolves when what is under way has ended. */
  stop(): Promise<void>
}

const TIMEOUT_MS = 5_000
/** Each may hold a megabyte for a moment. */
const MAX_AT_ONCE = 64

export function openMoverLogs({ read, observer, timeoutMs = TIMEOUT_MS }: MoverLogsInput): MoverLogs {
  const aborter = new AbortController()
  /** By the uid of the pod; a promise is still under way. */
  const known = new Map<string, Promise<void> | 'done'>()
  const underWay = () => [...known.values()].filter((one) => one !== 'done')

  async function fetch(from: PodLogReader, pod: Pod, lines: number): Promise<void> {
    const head = moverLogHead(pod)
    const { namespace, name = '' } = pod.metadata
    const signal = AbortSignal.any([aborter.signal, AbortSignal.timeout(timeoutMs)])
    try {
      const text = await from({ namespace, name, container: 'mover', lines, signal })
      observer.collected(head, lastLines(text, lines))
    } catch (error) {
      if (!aborter.signal.aborted) observer.failed(head, error)
    }
    known.set(keyOf(pod), 'done')
  }

  return {
    collect(pod, lines) {
      if (!read || lines <= 0 || aborter.signal.aborted) return true
      const state = known.get(keyOf(pod))
      if (state !== undefined) return state === 'done'
      if (underWay().length >= MAX_AT_ONCE) return true
      known.set(keyOf(pod), fetch(read, pod, lines))
      return false
    },
    forget: (pod) => void known.delete(keyOf(pod)),
    async stop() {
      aborter.abort()
      await Promise.all(underWay())
    },
  }
}

function keyOf({ metadata: { uid, namespace, name } }: Pod): string {
  return uid ?? `${namespace}/${name}`
}
