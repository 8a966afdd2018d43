/** Tests how the page follows the server, and what it shows when the server answers something else. */
import { afterEach, beforeEach, expect, test, vi } from 'vitest'
import { fetchOverview, follow, LOGIN_NEEDED, RETRY_MS, SILENCE_MS } from './api.ts'

/** As browsers: only a lost connection is opened again. Another status than 200 ends it for good (WHATWG HTML, 9.2.3). */
class FakeSource extends EventTarget {
  static readonly CLOSED = 2
  static opened: FakeSource[] = []
  readyState = 1
  constructor() {
    super()
    FakeSource.opened.push(this)
  }
  close(): void {
    this.readyState = FakeSource.CLOSED
  }
  fail(readyState: number): void {
    this.readyState = readyState
    this.dispatchEvent(new Event('error'))
  }
  alive(): void {
    this.dispatchEvent(new MessageEvent('alive', { data: '{"unavailable":[]}' }))
  }
  state(): void {
    this.dispatchEvent(new MessageEvent('state', { data: '{"lists":{"claims":{}},"unavailable":[]}' }))
  }
}

/** The tab, which the user shows and hides. */
class FakeDocument extends EventTarget {
  hidden = false
  set(hidden: boolean): void {
    this.hidden = hidden
    this.dispatchEvent(new Event('visibilitychange'))
  }
}

const shown: string[] = []
let tab: FakeDocument
const listener = {
  changed: (lists: readonly string[]) => void shown.push(`changed ${lists}`),
  fresh: () => undefined,
  connected: (isConnected: boolean, reason?: string) =>
    void shown.push(isConnected ? 'connected' : `lost${reason === undefined ? '' : `: ${reason}`}`),
}

beforeEach(() => {
  shown.length = 0
  FakeSource.opened = []
  vi.useFakeTimers()
  vi.stubGlobal('EventSource', FakeSource)
  tab = new FakeDocument()
  vi.stubGlobal('document', tab)
})

afterEach(() => {
  vi.useRealTimers()
  vi.unstubAllGlobals()
})

function answers(...given: (Response | Error)[]): void {
  vi.stubGlobal('fetch', () => {
    const next = given.length > 1 ? given.shift() : given[0]
    return next instanceof Response ? Promise.resolve(next.clone()) : Promise.reject(next)
  })
}

const problem = (status: number, message: string, headers = {}) =>
  new Response(JSON.stringify({ error: { message } }), { status, headers })

test('a lost connection is opened again by the browser', async () => {
  follow(listener)
  FakeSource.opened[0]?.fail(0)
  await vi.advanceTimersByTimeAsync(10 * RETRY_MS)
  expect([FakeSource.opened.length, shown]).toEqual([1, ['lost']])
})

test('a connection that a proxy rejected is opened again', async () => {
  answers(new Response('<html>', { status: 502 }), new Response('{}'))
  follow(listener)
  FakeSource.opened[0]?.fail(2)
  await vi.advanceTimersByTimeAsync(RETRY_MS)
  expect(FakeSource.opened).toHaveLength(1)
  await vi.advanceTimersByTimeAsync(RETRY_MS)
  expect(FakeSource.opened).toHaveLength(2)
  FakeSource.opened[1]?.state()
  expect(shown).toEqual([
    'lost',
    'lost: the server answers HTTP 502 without JSON; is lodestone ui still running?',
    'connected',
    'changed claims',
  ])
})

test('a connection that ends without a word is opened again', async () => {
  answers(new Response('{}'))
  follow(listener)
  FakeSource.opened[0]?.state()
  await vi.advanceTimersByTimeAsync(SILENCE_MS - 1)
  FakeSource.opened[0]?.alive()
  await vi.advanceTimersByTimeAsync(SILENCE_MS - 1)
  expect(shown).toEqual(['connected', 'changed claims'])
  await vi.advanceTimersByTimeAsync(1)
  expect(shown.at(-1)).toBe('lost')
  await vi.advanceTimersByTimeAsync(RETRY_MS)
  expect(FakeSource.opened.map(({ readyState }) => readyState)).toEqual([FakeSource.CLOSED, 1])
})

test('a page that is paused does not miss a connection', async () => {
  const stop = follow(listener)
  FakeSource.opened[0]?.state()
  stop()
  await vi.advanceTimersByTimeAsync(2 * SILENCE_MS)
  expect([FakeSource.opened.length, shown.at(-1)]).toEqual([1, 'changed claims'])
})

test('a tab that is not shown leaves its connection to other tabs', async () => {
  const stop = follow(listener)
  FakeSource.opened[0]?.state()
  tab.set(true)
  await vi.advanceTimersByTimeAsync(2 * SILENCE_MS)
  expect(FakeSource.opened.map(({ readyState }) => readyState)).toEqual([FakeSource.CLOSED])
  tab.set(false)
  FakeSource.opened[1]?.state()
  expect(shown).toEqual(['connected', 'changed claims', 'connected', 'changed claims'])
  stop()
  tab.set(true)
  tab.set(false)
  expect(FakeSource.opened.map(({ readyState }) => readyState)).toEqual([FakeSource.CLOSED, FakeSource.CLOSED])
})

test('a tab that is opened in the background does not follow yet', () => {
  tab.set(true)
  follow(listener)
  expect(FakeSource.opened).toEqual([])
})

test('a tab that is hidden while the server is asked for a reason stays silent', async () => {
  const answer = Promise.withResolvers<Response>()
  vi.stubGlobal('fetch', () => answer.promise)
  follow(listener)
  FakeSource.opened[0]?.fail(2)
  await vi.advanceTimersByTimeAsync(RETRY_MS)
  tab.set(true)
  answer.resolve(problem(503, 'too many'))
  await vi.advanceTimersByTimeAsync(10 * RETRY_MS)
  expect([FakeSource.opened.length, shown]).toEqual([1, ['lost']])
})

test('a session that has ended shows the login', async () => {
  const needed = vi.fn()
  vi.stubGlobal('dispatchEvent', ({ type }: Event) => needed(type))
  answers(problem(401, 'log in', { 'www-authenticate': 'Bearer' }))
  const stop = follow(listener)
  FakeSource.opened[0]?.fail(2)
  await vi.advanceTimersByTimeAsync(RETRY_MS)
  expect(needed.mock.calls).toEqual([[LOGIN_NEEDED]])
  stop()
  await vi.advanceTimersByTimeAsync(10 * RETRY_MS)
  expect(needed.mock.calls).toHaveLength(1)
})

test('a page without a session says which link to open', async () => {
  answers(problem(401, 'no session; open the link that the command printed'))
  follow(listener)
  FakeSource.opened[0]?.fail(2)
  await vi.advanceTimersByTimeAsync(RETRY_MS)
  expect(shown).toEqual(['lost', 'lost: no session; open the link that the command printed'])
})

test('a reader that may not follow, but may read, sees the reason', async () => {
  vi.stubGlobal('fetch', async (path: string) =>
    path === '/v1/events' ? problem(503, 'eve follows the events 50 times') : new Response('{}'),
  )
  follow(listener)
  FakeSource.opened[0]?.fail(2)
  await vi.advanceTimersByTimeAsync(RETRY_MS)
  expect(shown).toEqual(['lost', 'lost: eve follows the events 50 times'])
})

test('a page that is paused opens no connection', async () => {
  answers(new Response('{}'))
  const stop = follow(listener)
  FakeSource.opened[0]?.fail(2)
  stop()
  await vi.advanceTimersByTimeAsync(10 * RETRY_MS)
  expect(FakeSource.opened).toHaveLength(1)
})

test.each([
  {
    name: 'HTML of a proxy',
    answer: new Response('<html>', { status: 504 }),
    message: 'the server answers HTTP 504 without JSON; is lodestone ui still running?',
  },
  {
    name: 'nothing',
    answer: new TypeError('network'),
    message: 'the server does not respond; is lodestone ui still running?',
  },
  { name: 'a problem', answer: problem(403, 'not permitted'), message: 'not permitted' },
])('an answer that is $name is shown as a sentence', async ({ answer, message }) => {
  answers(answer)
  await expect(fetchOverview()).rejects.toThrow(message)
})
