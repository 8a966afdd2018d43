/** Hooks that keep what a view shows current. */
import { useEffect, useState } from 'preact/hooks'
import type { ListName } from '../cli/ui/lists.ts'
import { fetchList, type ListPage, type ListQuery, queryText } from './api.ts'

export interface Loaded<Data> {
  /** The last data; absent before the first answer. */
  data?: Data
  /** Why the last read failed. The data before it stays. */
  problem?: string
}

/** Reads again when `key` or `version` changes. The last data stays until the next is there. */
export function useLoaded<Data>(
  key: string,
  version: number,
  read: (signal: AbortSignal) => Promise<Data>,
): Loaded<Data> {
  const [loaded, setLoaded] = useState<Loaded<Data> & { key?: string }>({})
  useEffect(() => {
    const abort = new AbortController()
    read(abort.signal).then(
      (data) => !abort.signal.aborted && setLoaded({ data, key }),
      (error: Error) => {
        if (abort.signal.aborted) return
        setLoaded((last) => ({ ...(last.key === key ? last : {}), problem: error.message }))
      },
    )
    return () => abort.abort()
  }, [key, version])
  return loaded.key === key || loaded.problem !== undefined ? loaded : {}
}

/** Reads a page of a list, and again after each change. */
export function useList<Name extends ListName>(name: Name, query: ListQuery, version: number): Loaded<ListPage<Name>> {
  return useLoaded(`${name}${queryText(query)}`, version, (signal) => fetchList(name, query, signal))
}
