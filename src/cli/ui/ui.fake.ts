/** Starts `ui` on a folder in the process of a test, and reads its API as a browser does. */
import { once } from 'node:events'
import { readFileSync } from 'node:fs'
import { type IncomingHttpHeaders, request } from 'node:http'
import { join } from 'node:path'
import { Ajv, type ValidateFunction } from 'ajv'
import { onTestFinished } from 'vitest'
import { makeBinding } from '../../../test/builders.ts'
import type { ResourceBinding } from '../../api/karmada.ts'
import { SHIPPED_KINDS } from '../../core/workload-kinds/kinds.ts'
import type { FolderStore } from '../../store/folder/folder.ts'
import { makeFolder } from '../cli.fake.ts'
import { runCli } from '../index.ts'
import { openFolder } from '../open-folder.ts'

export interface HttpAnswer {
  status: number
  headers: IncomingHttpHeaders
  text: string
  /** The body as JSON. */
  json: () => never
}

export interface Page {
  folder: string
  /** The printed link. */
  link: string
  origin: string
  /** The cookie of the session. */
  cookie: string
  errors: () => string
  /** Sends a request with the cookie of an opened link. Headers override those of a browser. */
  send(
    path: string,
    options?: { method?: string; body?: string; headers?: Record<string, string> },
  ): Promise<HttpAnswer>
  /** Stops the command and returns its exit status. */
  stop(): Promise<number>
}

/** Starts the page for these objects until the end of the test. */
export async function openPage(
  objects: unknown[],
  words: string[] = [],
  env: Record<string, string> = {},
): Promise<Page> {
  const folder = makeFolder({ 'fleet.yaml': objects })
  return { folder, ...(await startPage(['--folder', folder, ...words], env)) }
}

/** Starts the page with these arguments until the end of the test. */
export async function startPage(words: string[], env: Record<string, string> = {}): Promise<Omit<Page, 'folder'>> {
  const abort = new AbortController()
  let stderr = ''
  const { promise, resolve, reject } = Promise.withResolvers<string>()
  const exit = runCli(['ui', ...words], {
    stdout: { write: (text) => resolve(/http:\S+/.exec(`${text}`)?.[0] ?? '') },
    stderr: { write: (text) => (stderr += text) },
    env,
    signal: abort.signal,
    now: () => Date.parse('2026-11-20T12:00:00Z'),
  })
  exit.then(() => reject(new Error(`ended: ${stderr}`)), reject)
  const stop = () => {
    abort.abort()
    return exit
  }
  onTestFinished(async () => void (await stop()))
  const link = await promise
  const { origin } = new URL(link)
  const opened = await sendTo(link)
  const cookie = opened.headers['set-cookie']?.[0]?.split(';')[0] ?? ''
  return {
    link,
    origin,
    cookie,
    errors: () => stderr,
    send: (path, { headers, ...options } = {}) =>
      sendTo(`${origin}${path}`, { ...options, headers: { cookie, ...headers } }),
    stop,
  }
}

interface SendOptions {
  method?: string
  body?: string
  headers?: Record<string, string>
}

/** `fetch` sets some headers itself, such as Host. */
export async function sendTo(
  url: string,
  { method = 'GET', body, headers = {} }: SendOptions = {},
): Promise<HttpAnswer> {
  const sent = request(url, {
    method,
    headers: { ...(body !== undefined && { 'content-type': 'application/json' }), ...headers },
  })
  sent.end(body)
  const [response] = await once(sent, 'response')
  const chunks: Buffer[] = await response.toArray()
  const text = Buffer.concat(chunks).toString()
  return { status: response.statusCode, headers: response.headers, text, json: () => JSON.parse(text) as never }
}

const SCHEMA = join(import.meta.dirname, '..', '..', '..', 'docs', 'ui.schema.json')

/** Compiled once: that takes more time than most tests of the page. */
let validate: ValidateFunction | undefined

/** Returns what an answer has that the published schema does not allow. */
export function schemaErrors(answer: unknown): unknown[] {
  validate ??= new Ajv({ strict: false }).compile(JSON.parse(readFileSync(SCHEMA, 'utf8')) as object)
  return validate(answer) ? [] : (validate.errors ?? [])
}

/** Opens an empty store in memory until the end of the test. */
export async function openMemory(): Promise<FolderStore> {
  const store = openFolder(undefined, { workloads: SHIPPED_KINDS })
  await store.start(new AbortController().signal)
  onTestFinished(() => store.stop())
  return store
}

/** A binding that Lodestone narrowed from these clusters to member2, by claim default/sales. */
export function makeNarrowedBinding(allowed: readonly string[]): ResourceBinding {
  const locality = {
    state: 'Narrowed',
    message: 'default/sales is in member2',
    claims: ['default/sales'],
    required: ['member2'],
  }
  return makeBinding(
    { clusters: [{ name: 'member2' }], placement: { clusterAffinity: { clusterNames: ['member2'] } } },
    {
      annotations: {
        'lodestone.dev/base-affinity': JSON.stringify({ clusterAffinity: { clusterNames: allowed } }),
        'lodestone.dev/locality': JSON.stringify(locality),
      },
    },
  )
}
