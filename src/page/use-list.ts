/** Hooks that keep what a view shows current. */
import { useEffect, useRef, useState } from 'preact/hooks'
import type { ListName } from '../cli/ui/lists.ts'
import { fetchList, type ListPage, type ListQuery, queryText } from './api.ts'

export interface Loaded<Data> {
  /** The last data; absent before the first answer. */
  data?: Data
  /** Why the last read failed. The data before it stays. */
  problem?: string
  /** Whether the data is that of another key, until the first answer to this one. */
  isBusy?: boolean
}

/** Between two reads of the same data, so that a fleet with many changes leaves the browser and the server idle. */
const MIN_INTERVAL_MS = 1000

/**
 * Reads again when `key` or `version` changes. The last data stays until the next is there.
 *
 * @param key names what is read: a read of another key is given up. A read of the same key ends before the next one begins. Otherwise changes
 *   that are faster than the answers would prevent all of them.
 * @param group the data of another key of the same group stays until the answer is there, so that a filter does not empty the view
 */
export function useLoaded<Data>(
  key: string,
  version: number,
  read: (signal: AbortSignal) => Promise<Data>,
  group = key,
): Loaded<Data> {
  const [loaded, setLoaded] = useState<Loaded<Data> & { key?: string; group?: string }>({})
  const reader = useRef<{ again: () => void }>(undefined)
  useEffect(() => {
    const abort = new AbortController()
    let isReading = false
    let isOutdated = false
    const again = async () => {
      isOutdated = true
      if (isReading) return
      isReading = true
      while (isOutdated && !abort.signal.aborted) {
        isOutdated = false
        const next = await read(abort.signal).then(
          (data) => () => setLoaded({ data, key, group }),
          (error: Error) => () =>
            setLoaded((last) => ({ ...(last.key === key ? last : {}), key, group, problem: error.message })),
        )
        if (abort.signal.aborted) return
        next()
        await new Promise((resolve) => setTimeout(resolve, MIN_INTERVAL_MS))
      }
      isReading = false
    }
    reader.current = { again }
    return () => abort.abort()
  }, [key])
  useEffect(() => reader.current?.again(), [key, version])
  if (loaded.key === key) return loaded
  return loaded.group === group && loaded.data ? { data: loaded.data, isBusy: true } : {}
}

/** Reads a page of a list, and again after each change. */
export function useList<Name extends ListName>(name: Name, query: ListQuery, version: number): Loaded<ListPage<Name>> {
  return useLoaded(`${name}${queryText(query)}`, version, (signal) => fetchList(name, query, signal), name)
}
