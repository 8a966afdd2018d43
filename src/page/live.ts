/** How current the page is, and a counter for each list that grows with its changes. */
import { useEffect, useState } from 'preact/hooks'
import { defined } from '../base/json.ts'
import type { Freshness } from '../cli/ui/events.ts'
import type { ListName } from '../cli/ui/lists.ts'
import { type Change, follow } from './api.ts'

export interface Live {
  isConnected: boolean
  freshness: Freshness
  /** When the connection was lost, in ms since the epoch. */
  lostAt?: number
  /** Why the server does not let the reader follow, if it answers. */
  reason?: string
  versions: Partial<Record<ListName, number>>
}

const START: Live = { isConnected: true, freshness: { unavailable: [] }, versions: {} }

type ChangeListener = (lists: readonly ListName[], change: Change | undefined) => void

const listeners = new Set<ChangeListener>()

/** Calls the listener with each change of lists, until the returned function is called. */
export function onChange(listener: ChangeListener): () => void {
  listeners.add(listener)
  return () => void listeners.delete(listener)
}

/** Follows the server. While the user pauses, the lists stay as they are. */
export function useLive(isPaused: boolean): Live {
  const [live, setLive] = useState(START)
  useEffect(() => {
    if (isPaused) return undefined
    return follow({
      changed: (lists, change) => {
        for (const listener of listeners) listener(lists, change)
        setLive((last) => ({
          ...last,
          versions: {
            ...last.versions,
            ...Object.fromEntries(lists.map((name) => [name, (last.versions[name] ?? 0) + 1])),
          },
        }))
      },
      fresh: (freshness) => setLive((last) => ({ ...last, freshness })),
      connected: (isConnected, reason) =>
        setLive(({ lostAt, reason: _reason, ...last }) =>
          isConnected
            ? { ...last, isConnected }
            : defined({ ...last, isConnected, lostAt: lostAt ?? Date.now(), reason }),
        ),
    })
  }, [isPaused])
  return live
}

/** Renders again each second, for ages. */
export function useNow(): number {
  const [now, setNow] = useState(Date.now)
  useEffect(() => {
    const timer = setInterval(() => setNow(Date.now()), 1000)
    return () => clearInterval(timer)
  }, [])
  return now
}
