/** Hooks that keep what a view shows current. */
import { useEffect, useMemo, useRef, useState } from 'preact/hooks'
import type { Delta } from '../cli/ui/delta.ts'
import type { ListName } from '../cli/ui/lists.ts'
import { fetchList, type ListPage, type ListQuery, ProblemError, queryText, RETRY_MS, type Row } from './api.ts'
import { onChange } from './live.ts'

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

/** Whether a read that failed may succeed later: not if the server rejects the request. */
function mayPass(error: Error): boolean {
  return !(error instanceof ProblemError && error.status >= 400 && error.status < 500 && error.status !== 429)
}

/**
 * Reads again when `key` or `version` changes, and after a failure that may pass. The last data stays until the next is there.
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
        const waitMs = await readOnce()
        await new Promise((resolve) => setTimeout(resolve, waitMs))
      }
      isReading = false
    }
    /** Returns how long to wait before the next read. */
    const readOnce = async () => {
      try {
        const data = await read(abort.signal)
        if (!abort.signal.aborted) setLoaded({ data, key, group })
      } catch (thrown) {
        const error = thrown as Error
        if (abort.signal.aborted) return 0
        setLoaded((last) => ({ ...(last.key === key ? last : {}), key, group, problem: error.message }))
        // Otherwise the view would keep the problem until something changes.
        if (mayPass(error)) {
          isOutdated = true
          return RETRY_MS
        }
      }
      return MIN_INTERVAL_MS
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

/** The most pages of replicas that are read for one view. */
const MAX_PAGES = 4
const PAGE_SIZE = 500

type Replica = Row<'replicas'>
type Replicas = ListPage<'replicas'>

/** Reads the first replicas, up to `MAX_PAGES` pages. */
async function fetchReplicas(query: ListQuery, signal: AbortSignal): Promise<Replicas> {
  const page = (at: number) =>
    fetchList('replicas', { ...query, offset: String(at * PAGE_SIZE), limit: String(PAGE_SIZE) }, signal)
  const first = await page(0)
  const count = Math.min(MAX_PAGES, Math.ceil(first.total / PAGE_SIZE))
  const others = await Promise.all(Array.from({ length: Math.max(0, count - 1) }, (_, i) => page(i + 1)))
  return { ...first, items: [first, ...others].flatMap(({ items }) => items) }
}

/**
 * Reads replicas, and replaces single rows as their bytes change. A row that did not change stays the same object. All are read again after a
 * change of which replicas there are, or of their states.
 */
export function useReplicas(query: ListQuery): Loaded<Replicas> {
  const [version, setVersion] = useState(0)
  const loaded = useLoaded(`replicas${queryText(query)}`, version, (signal) => fetchReplicas(query, signal))
  const [changed, setChanged] = useState<ReadonlyMap<string, { row: Replica; revision: number }>>(new Map())
  const { data } = loaded
  const shown = useRef(data)
  shown.current = data
  useEffect(
    () =>
      onChange((lists, change) => {
        if (!lists.includes('replicas')) return
        const delta: Partial<Delta> = change?.lists.replicas ?? { reset: true }
        const { upserted = [], removed = [], reset } = delta
        const known = new Map(shown.current?.items.map((row) => [row.id, row.state]))
        const rows = upserted as Replica[]
        const isInPlace = !reset && removed.length === 0 && rows.every(({ id, state }) => known.get(id) === state)
        if (!isInPlace) return setVersion((last) => last + 1)
        const revision = change?.revision ?? 0
        setChanged((last) => {
          // Those that the last answer has are not needed any more.
          const newer = [...last].filter(([, change]) => change.revision > (shown.current?.revision ?? 0))
          return new Map([...newer, ...rows.map((row) => [row.id, { row, revision }] as const)])
        })
      }),
    [],
  )
  return useMemo(() => {
    if (!data) return loaded
    const items = data.items.map((row) => {
      const newer = changed.get(row.id)
      return newer && newer.revision > data.revision ? newer.row : row
    })
    return { ...loaded, data: { ...data, items } }
  }, [loaded, changed])
}
