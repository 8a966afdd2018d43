/** One HTTP request over a keep-alive agent: bounded in time, in size and in number, with failures made into `LocalityError`s. */
import { readFileSync } from 'node:fs'
import { Agent, request as send } from 'undici'
import { TokenBucket } from '../core/token-bucket.ts'
import { withSignals } from './abort.ts'
import type { Clock } from './clock.ts'
import { errorOfFailure } from './http-error.ts'
import { LocalityError } from './plugin.ts'
import { Slots } from './slots.ts'

export interface HttpRequest {
  method: 'GET' | 'HEAD' | 'POST'
  url: string
  headers?: Readonly<Record<string, string>>
  body?: string
  /** Signed requests: where this one goes, if elsewhere than the others. */
  region?: string
}

export interface HttpResponse {
  /** The request as messages name it: method, host and path, without the query, which may hold a credential. */
  what: string
  status: number
  headers: Readonly<Record<string, string>>
  text: string
}

export interface TlsFiles {
  caFile?: string
  certFile?: string
  keyFile?: string
  insecureSkipVerify: boolean
}

export interface TransportOptions {
  tls: TlsFiles
  /** For each request, from the moment it has a slot to the last byte. */
  timeoutMs: number
  maxConcurrent: number
  maxRequestsPerSecond: number
  clock: Clock
}

/** Answers about one table or bucket are far smaller; what is larger is not what was asked for. */
const MAX_BODY_BYTES = 8 * 1024 * 1024

export interface Transport {
  /** Resolves with whatever the server answers. Throws a `LocalityError`, or the signal's reason once that has aborted. */
  exchange(request: HttpRequest, signal: AbortSignal): Promise<HttpResponse>
  /** Takes no more requests and waits for those under way. */
  close(): Promise<void>
}

/** Opens a transport. Throws when a TLS file cannot be read. */
export function openTransport(options: TransportOptions): Transport {
  const { tls, timeoutMs, maxConcurrent, maxRequestsPerSecond, clock } = options
  const connect = { ...readTls(tls), timeout: timeoutMs }
  // Redirects are not followed, and only the operator names hosts: an answer must not send us elsewhere inside the network.
  const agent = new Agent({ connect, headersTimeout: 0, bodyTimeout: 0, allowH2: false })
  const slots = new Slots(maxConcurrent)
  const bucket = new TokenBucket({ perSecond: maxRequestsPerSecond, burst: maxRequestsPerSecond }, clock.now())
  let closed: Promise<void> | undefined

  /** A whole fleet that is due at once, as after a restart, must not be what brings a catalog down. */
  async function pace(signal: AbortSignal): Promise<void> {
    for (let waitMs = bucket.take(clock.now()); waitMs > 0; waitMs = bucket.take(clock.now())) {
      await clock.sleep(waitMs, signal)
      signal.throwIfAborted()
    }
  }

  async function exchange(request: HttpRequest, signal: AbortSignal): Promise<HttpResponse> {
    const what = nameOf(request)
    const limit = new AbortController()
    const timer = setTimeout(() => limit.abort(), timeoutMs)
    try {
      return await withSignals([signal, limit.signal], async (either) => {
        const { statusCode, headers, body } = await send(request.url, {
          dispatcher: agent,
          method: request.method,
          headers: { accept: 'application/json', ...request.headers },
          body: request.body ?? null,
          signal: either,
        })
        return { what, status: statusCode, headers: flatten(headers), text: await readBody(body, what) }
      })
    } catch (error) {
      signal.throwIfAborted()
      if (limit.signal.aborted)
        throw new LocalityError('timeout', `${what}: no answer within ${timeoutMs} ms`, { cause: error })
      throw errorOfFailure(what, error)
    } finally {
      clearTimeout(timer)
    }
  }

  return {
    exchange: (request, signal) => slots.run(signal, () => pace(signal).then(() => exchange(request, signal))),
    close: () => {
      closed ??= agent.close()
      return closed
    },
  }
}

function readTls({ caFile, certFile, keyFile, insecureSkipVerify }: TlsFiles) {
  return {
    ...(caFile !== undefined && { ca: readFileSync(caFile, 'utf8') }),
    ...(certFile !== undefined && { cert: readFileSync(certFile, 'utf8') }),
    ...(keyFile !== undefined && { key: readFileSync(keyFile, 'utf8') }),
    rejectUnauthorized: !insecureSkipVerify,
  }
}

function nameOf({ method, url }: HttpRequest): string {
  const { origin, pathname } = new URL(url)
  return `${method} ${origin}${pathname}`
}

function flatten(headers: Readonly<Record<string, string | string[] | undefined>>): Record<string, string> {
  return Object.fromEntries(
    Object.entries(headers).flatMap(([name, value]) =>
      value === undefined ? [] : [[name, Array.isArray(value) ? value.join(', ') : value]],
    ),
  )
}

async function readBody(body: AsyncIterable<Uint8Array>, what: string): Promise<string> {
  const chunks: Uint8Array[] = []
  let bytes = 0
  for await (const chunk of body) {
    bytes += chunk.length
    if (bytes > MAX_BODY_BYTES) throw new LocalityError('nonsense', `${what}: the answer is larger than 8 MiB`)
    chunks.push(chunk)
  }
  return Buffer.concat(chunks).toString('utf8')
}
