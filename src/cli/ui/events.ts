/** Server-sent events: the changes of lists, as they happen. */
import type { ServerResponse } from 'node:http'
import type { Clock } from '../../base/time/clock.ts'
import { deltaOf, type Rows } from './delta.ts'
import { type ListName, rowsById, type Selection } from './lists.ts'
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
export function sendEvents(response: ServerResponse, { view, lists, selection, freshness, clock }: EventsInput): void {
  response.writeHead(200, {
    'content-type': 'text/event-stream',
    'cache-control': 'no-store',
    connection: 'keep-alive',
  })
  /** The rows of the last state, by list. */
  let last: Map<ListName, Rows> | undefined
  let cancelAlive: () => void = () => undefined

  const send = (event: string, data: object) => {
    response.write(`event: ${event}\ndata: ${JSON.stringify(data)}\n\n`)
    if (response.writableLength > MAX_BUFFERED) response.destroy()
  }
  const receive = ({ revision, lists: current }: Snapshot) => {
    const before = last
    const after = new Map(lists.map((name) => [name, rowsById(current, name, selection)]))
    last = after
    if (!before) {
      const totals = Object.fromEntries([...after].map(([name, rows]) => [name, { total: rows.size }]))
      send('state', { revision, lists: totals, ...freshness() })
      return
    }
    const deltas = [...after].flatMap(([name, rows]) => {
      const delta = deltaOf(before.get(name) ?? new Map(), rows)
      return delta ? [[name, delta] as const] : []
    })
    if (deltas.length > 0) send('change', { revision, lists: Object.fromEntries(deltas) })
  }
  const stayAlive = () => {
    cancelAlive = clock.after(ALIVE_MS, () => {
      send('alive', freshness())
      stayAlive()
    })
  }

  const unsubscribe = view.subscribe(receive)
  response.on('close', () => {
    unsubscribe()
    cancelAlive()
  })
  void view.current().then(
    (snapshot) => !last && receive(snapshot),
    () => response.destroy(),
  )
  stayAlive()
}
