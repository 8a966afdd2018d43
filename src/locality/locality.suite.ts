/** Tests the contract of plugins that use HTTP. The test of each plugin runs this suite with a real server. */
import { afterEach, beforeEach, describe, expect, test } from 'vitest'
import { SkippingClock } from '../base/time/clock.fake.ts'
import { parseSystemConfig } from './config/config.ts'
import { type DataRequest, DataServer, type Fault, type Serve } from './http/data-server.fake.ts'
import {
  type LocalityAnswer,
  LocalityError,
  type LocalityPlugin,
  type LocalityQuery,
  type LocatedAnswer,
} from './locality.ts'
import { plugins } from './plugins/index.ts'

/** The time for a response of a server on this machine, which may be busy. */
const PATIENT = '20s'

/** Opens a plugin with its configuration. By default, it does not retry. */
export function openPlugin(
  given: { system: string; [key: string]: unknown },
  clock = new SkippingClock(),
): LocalityPlugin {
  // The field `plugin` makes it a file of Lodestone. In a file of volcano-global, `maxRetries: 0` means all defaults, with a timeout of 30 s.
  const document = { plugin: given.system, retryConfig: { maxRetries: 0, timeout: PATIENT }, ...given }
  const config = parseSystemConfig('system.json', JSON.stringify(document), plugins)
  const plugin = plugins[config.plugin]?.open(config, clock)
  if (plugin === undefined) throw new Error(`the test opens ${config.plugin}, which is no plugin`)
  return plugin
}

export function locate(plugin: LocalityPlugin, query: LocalityQuery): Promise<LocalityAnswer> {
  return plugin.locate(query, new AbortController().signal)
}

/** Returns the error of a query that must fail. */
export async function queryError(answer: Promise<unknown>): Promise<LocalityError> {
  const error = await answer.then(
    (value) => new Error(`there is an answer: ${JSON.stringify(value)}`),
    (reason) => reason,
  )
  if (error instanceof LocalityError) return error
  throw error
}

export interface PluginCase {
  system: string
  /** Further fields of the configuration. */
  config?: Record<string, unknown>
  query: LocalityQuery
  /** The result of the query with another type; default: rejected. */
  wantOtherType?: 'located' | 'rejected'
  /** Names of data in another system, of which this system has no knowledge; and names that are no names of it. */
  otherNames: readonly string[]
  located: Serve
  wantLocated: LocatedAnswer
  /** Requests that only measure: the location stays, whatever their responses are. Default: none. */
  isOptional?: (request: DataRequest) => boolean
  /** Valid responses without a usable size: the location stays. */
  unmeasured?: Readonly<Record<string, Serve>>
  nowhere: Serve
  /** Responses that do not prove that the data does not exist, beside those of FAULTS. */
  unproven: Readonly<Record<string, Serve>>
  /** A response with HTTP 200 and an error in the body, and its error. Absent if only optional requests have responses with a body. */
  errorInside?: { answer: Exclude<Fault, string>; want: string }
}

const SECRET = 'hunter2'
const HTML = { headers: { 'content-type': 'application/json' }, body: `<html><body>Login ${SECRET}</body></html>` }

const FAULTS: { name: string; fault: Fault; want: string; wantRetryAfterMs?: number; timeout?: string }[] = [
  { name: '401', fault: { status: 401 }, want: 'unauthorized' },
  { name: '403', fault: { status: 403 }, want: 'unauthorized' },
  { name: '419', fault: { status: 419 }, want: 'unauthorized' },
  {
    name: '429 with Retry-After in seconds',
    fault: { status: 429, headers: { 'retry-after': '7' } },
    want: 'throttled',
    wantRetryAfterMs: 7000,
  },
  {
    name: '429 with Retry-After as a date',
    fault: { status: 429, headers: { 'retry-after': 'Thu, 01 Jan 2026 00:01:30 GMT' } },
    want: 'throttled',
    wantRetryAfterMs: 90_000,
  },
  { name: '503', fault: { status: 503, headers: { 'retry-after': '2' } }, want: 'unavailable', wantRetryAfterMs: 2000 },
  { name: '500', fault: { status: 500 }, want: 'serverError' },
  { name: '502 with a page', fault: { status: 502, ...HTML }, want: 'unavailable' },
  { name: 'a redirect', fault: { status: 302, headers: { location: 'http://127.0.0.1:1/' } }, want: 'rejected' },
  { name: '404 with a page', fault: { status: 404, ...HTML }, want: 'rejected' },
  { name: 'no answer', fault: 'hang', want: 'timeout', timeout: '400ms' },
  { name: 'a closed connection', fault: 'reset', want: 'unreachable' },
]

const BODY_FAULTS: typeof FAULTS = [
  { name: 'a body that does not end', fault: 'hang-body', want: 'timeout', timeout: '250ms' },
  { name: 'HTML instead of JSON', fault: HTML, want: 'invalidResponse' },
  { name: 'an empty answer', fault: { body: '' }, want: 'invalidResponse' },
  { name: 'JSON of something else', fault: { body: { hello: SECRET } }, want: 'invalidResponse' },
  { name: 'a body of 9 MiB', fault: { body: ' '.repeat(9 * 1024 * 1024) }, want: 'invalidResponse' },
]

const isBodyless = ({ method }: DataRequest) => method === 'HEAD'

export function describePlugin(given: PluginCase): void {
  describe(`the plugin ${given.system}, as every plugin`, () => {
    let server: DataServer
    let plugin: LocalityPlugin | undefined

    beforeEach(async () => {
      server = await new DataServer(given.located).listen()
    })
    afterEach(async () => {
      await plugin?.close()
      plugin = undefined
      await server.close()
    })

    function open(config: Record<string, unknown> = {}): LocalityPlugin {
      plugin = openPlugin({ system: given.system, endpoint: { url: server.url }, ...given.config, ...config })
      return plugin
    }

    test('locates', async () => {
      expect(await locate(open(), given.query)).toEqual(given.wantLocated)
    })

    test('returns nowhere when the system has no such data', async () => {
      server.serve = given.nowhere
      const answer = await locate(open(), given.query)
      expect(answer).toEqual({ kind: 'nowhere', reason: expect.any(String) })
    })

    test.each(FAULTS)('throws $want on $name', async ({ fault, want, wantRetryAfterMs, timeout = PATIENT }) => {
      server.fault = () => fault
      const error = await queryError(locate(open({ retryConfig: { maxRetries: 0, timeout } }), given.query))

      expect(error.code).toBe(want)
      expect(error.retryAfterMs).toBe(wantRetryAfterMs)
      expect(error.message).not.toContain(SECRET)
      // maxRetries is 0.
      const sent = server.requests.map(({ method, url }) => `${method} ${url}`)
      expect(sent).toEqual([...new Set(sent)])
    })

    const isOptional = (request: DataRequest) => given.isOptional?.(request) === true
    const withErrorInside = given.errorInside && {
      name: '200 with an error in the body',
      fault: given.errorInside.answer,
      want: given.errorInside.want,
      timeout: PATIENT,
    }
    const bodyFaults = withErrorInside === undefined ? [] : [...BODY_FAULTS, withErrorInside]
    test.each(bodyFaults)('throws $want on $name', async ({ fault, want, timeout = PATIENT }) => {
      server.fault = (request) => (isBodyless(request) || isOptional(request) ? undefined : fault)
      const error = await queryError(locate(open({ retryConfig: { maxRetries: 0, timeout } }), given.query))

      expect(error.code).toBe(want)
      expect(error.message).not.toContain(SECRET)
    })

    test('throws unreachable when no server listens', async () => {
      await server.close()
      expect((await queryError(locate(open(), given.query))).code).toBe('unreachable')
    })

    const { bytes: _bytes, bytesAreMinimum: _isMinimum, ...unmeasured } = given.wantLocated

    const measuring = given.isOptional === undefined ? [] : [...FAULTS, ...BODY_FAULTS]
    const locatesUnmeasured = async ({ fault, timeout = PATIENT }: (typeof FAULTS)[number]) => {
      server.fault = (request) => (isOptional(request) ? fault : undefined)
      const answer = await locate(open({ retryConfig: { maxRetries: 0, timeout } }), given.query)
      expect(answer).toEqual(unmeasured)
    }
    test.each(measuring.filter(({ timeout }) => timeout === undefined))(
      'locates without a size when measuring fails with $name',
      locatesUnmeasured,
    )
    // On a busy machine, the other requests of the query may need more than its short time too.
    test.each(measuring.filter(({ timeout }) => timeout !== undefined))(
      'locates without a size when measuring fails with $name',
      { retry: 5 },
      locatesUnmeasured,
    )

    test.each(Object.entries(given.unmeasured ?? {}))('locates without a size for %s', async (_name, serve) => {
      server.serve = serve
      expect(await locate(open(), given.query)).toEqual(unmeasured)
    })

    test.each(Object.entries(given.unproven))('does not take %s for absence', async (_name, serve) => {
      server.serve = serve
      expect(await queryError(locate(open(), given.query))).toBeInstanceOf(LocalityError)
    })

    test.each(given.otherNames)('rejects the name %j of another system, without a request', async (name) => {
      const error = await queryError(locate(open(), { ...given.query, name }))
      expect([error.code, server.requests]).toEqual(['rejected', []])
      expect(error.message).not.toContain(SECRET)
    })

    test('ends with the reason of an abort', async () => {
      const aborter = new AbortController()
      server.fault = () => {
        aborter.abort(new Error('enough'))
        return 'hang'
      }
      await expect(open().locate(given.query, aborter.signal)).rejects.toThrow('enough')
    })

    test('another type is located or rejected', async () => {
      const result = await locate(open(), { ...given.query, type: 'mystery' }).then(
        ({ kind }) => kind,
        ({ code }) => code,
      )
      expect(result).toBe(given.wantOtherType ?? 'rejected')
    })

    test('does not retry queries, even if the configuration allows retries', async () => {
      server.fault = () => ({ status: 503 })
      const error = await queryError(locate(open({ retryConfig: { maxRetries: 2 } }), given.query))
      expect([error.code, server.requests.length]).toEqual(['unavailable', 1])
    })

    test('is healthy when its system is, and unhealthy otherwise', async () => {
      const opened = open()
      const { signal } = new AbortController()
      await expect(opened.health(signal)).resolves.toBeUndefined()
      server.fault = () => ({ status: 503 })
      expect((await queryError(opened.health(signal))).code).toBe('unavailable')
      server.fault = () => HTML
      expect((await queryError(opened.health(signal))).code).toBe('invalidResponse')
    })

    test('closes its connections', async () => {
      const opened = open()
      await locate(opened, given.query)
      await opened.close()
      await server.drained()
    })
  })
}
