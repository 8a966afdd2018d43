/** Server-sent events: the changes of lists, as they happen. */
import type { ServerResponse } from 'node:http'
import type { ResourceType } from '../../api/meta.ts'
import type { Clock } from '../../base/time/clock.ts'
import type { Viewer } from './access/viewer.ts'
import { visibleLists } from './access/visible.ts'
import { computeDelta, type Delta, type Rows } from './delta.ts'
import { type ListName, type Lists, rowsById, type Selection } from './lists.ts'
import type { Snapshot, View } from './view.ts'

/** How current the view is. */
export interface Freshness {
  /** Seconds since the API server last responded; absent for a folder. */
  ageSeconds?: number
  /** Sentences about kinds that cannot be read. */
  unavailable: string[]
}

export interface EventsInput {
  view: View
  lists: readonly ListName[]
  selection: Selection
  /** Returns the reader, as long as it has a session. */
  identify: () => Promise<Viewer | undefined>
  isServed: (kind: ResourceType) => boolean
  freshness: () => Freshness
  clock: Clock
}

/** Between two events `alive`, from which a reader sees that the connection and the view live. */
const ALIVE_MS = 5_000
/** Text that the reader has not taken yet. A reader that pauses longer is disconnected, and begins again. */
const MAX_BUFFERED = 4 * 1024 * 1024

/**
 * Writes events until the reader disconnects: `state` first, then `change` with a delta for each list that changed, and `alive`.
 *
 * @param response a response whose head is not sent yet
 */
export function sendEvents(
  response: ServerResponse,
  { view, lists, selection, identify, isServed, freshness, clock }: EventsInput,
): void {
  response.writeHead(200, {
    'content-type': 'text/event-stream',
    'cache-control': 'no-store',
    connection: 'keep-alive',
    // nginx would keep events until they fill a buffer, which takes minutes.
    'x-accel-buffering': 'no',
  })
  /** The rows of the last state, by list. */
  let last: Map<ListName, Rows> | undefined
  let newest: Snapshot | undefined
  let isSending = false
  let cancelAlive: () => void = () => undefined

  const send = (event: string, data: object) => {
    // The session may have ended while the rights were asked for.
    if (response.writableEnded) return
    response.write(`event: ${event}\ndata: ${JSON.stringify(data)}\n\n`)
    if (response.writableLength > MAX_BUFFERED) response.destroy()
  }
  const sendState = async ({ revision, lists: all }: Snapshot) => {
    const viewer = await identify()
    if (!viewer) return response.end()
    const current = await visibleLists(lists, { lists: all, viewer, isServed, namespace: selection.namespace })
    const before = last
    const after = new Map(lists.map((name) => [name, sharedRows(current, name, selection)]))
    last = after
    if (!before) {
      const totals = Object.fromEntries([...after].map(([name, rows]) => [name, { total: rows.size }]))
      return send('state', { revision, lists: totals, ...freshness() })
    }
    const deltas = [...after].flatMap(([name, rows]) => {
      const delta = sharedDelta(before.get(name) ?? new Map(), rows)
      return delta ? [[name, delta] as const] : []
    })
    if (deltas.length > 0) send('change', { revision, lists: Object.fromEntries(deltas) })
  }
  /** States that come while one is sent are left out, except for the newest. */
  const receive = async (snapshot: Snapshot) => {
    newest = snapshot
    if (isSending) return
    isSending = true
    try {
      while (newest) {
        const next: Snapshot = newest
        newest = undefined
        await sendState(next)
      }
    } catch {
      // The reader connects again, and then gets the error.
      response.destroy()
    } finally {
      isSending = false
    }
  }
  const stayAlive = () => {
    cancelAlive = clock.after(ALIVE_MS, () => {
      void identify().then(
        (viewer) => (viewer ? send('alive', freshness()) : response.end()),
        () => response.destroy(),
      )
      stayAlive()
    })
  }

  const unsubscribe = view.subscribe(receive)
  response.on('close', () => {
    unsubscribe()
    cancelAlive()
  })
  void view.current().then(
    (snapshot) => void (last || isSending || receive(snapshot)),
    () => response.destroy(),
  )
  stayAlive()
}

/** Readers of the same rows share their maps and deltas, so that many of them cost little more than one. */
const knownRows = new WeakMap<object, Map<string, Rows>>()
const knownDeltas = new WeakMap<Rows, { after: Rows; delta: Delta | undefined }>()

function sharedRows(lists: Lists, name: ListName, selection: Selection): Rows {
  const bySelection = knownRows.get(lists[name]) ?? new Map<string, Rows>()
  knownRows.set(lists[name], bySelection)
  const key = JSON.stringify([name, selection])
  const rows = bySelection.get(key) ?? rowsById(lists, name, selection)
  bySelection.set(key, rows)
  return rows
}

function sharedDelta(before: Rows, after: Rows): Delta | undefined {
  const known = knownDeltas.get(before)
  if (known?.after === after) return known.delta
  const delta = computeDelta(before, after)
  knownDeltas.set(before, { after, delta })
  return delta
}
