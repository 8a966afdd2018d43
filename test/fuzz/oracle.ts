/** Checks one answer against the rules that hold for every body. */
import { isDeepStrictEqual } from 'node:util'
import fastJsonPatch, { type Operation } from 'fast-json-patch'
import type { AdmissionRequest, AdmissionResponse } from '../../src/api/admission.ts'
import type { K8sObject } from '../../src/api/meta.ts'
import { newestRules } from '../../src/core/karmada-rules.ts'
import { SHIPPED_KINDS } from '../../src/core/workload-kinds/kinds.ts'
import type { ObjectStore } from '../../src/store/store.ts'
import { defaultSettings } from '../../src/webhooks/context.fake.ts'
import { type Webhook, webhookPath } from '../../src/webhooks/define.ts'
import { allWebhooks } from '../../src/webhooks/index.ts'
import { INTERPRETER_PATH } from '../../src/webhooks/interpreter.ts'
import { judgeBinding } from './binding-oracle.ts'
import type { HttpResponse, NoResponse } from './http-client.ts'
import type { Case } from './requests.ts'

const webhooks = allWebhooks(SHIPPED_KINDS)

/** A fault of an answer: its kind, which stays the same while a body is minimized, and a message. */
export interface Wrong {
  kind: string
  message: string
  /** The request whose answer showed the fault; other requests may contribute to it. */
  culprit?: Case | undefined
}

/** A review that was answered with a patch: the same is asked about its result. */
export interface Patched {
  request: AdmissionRequest
  result: K8sObject
}

export interface Judgement {
  wrong?: Wrong
  patched?: Patched
}

/** The sum that the API server allows for all annotations of an object (apimachinery, pkg/api/validation/objectmeta.go). */
const ANNOTATION_LIMIT = 256 * 1024

const byPath = new Map<string, Webhook>(webhooks.map((webhook) => [webhookPath(webhook), webhook]))

/** Paths of a patch that each webhook may touch. Validating ones touch nothing. */
const TOUCHED: Readonly<Record<string, RegExp>> = {
  binding: /^\/(metadata\/annotations|spec\/(placement|suspension|requiredBy))(\/|$)/,
  policy: /^\/(metadata\/annotations|spec\/propagateDeps)(\/|$)/,
  pod: /^\/(metadata\/(annotations|labels)|spec\/(containers|initContainers|volumes|affinity|schedulingGates))(\/|$)/,
  workload: /^\/(metadata|spec)\//,
}

export class Oracle {
  readonly #store: ObjectStore

  /** @param store the same objects as the server's, read by this process */
  constructor(store: ObjectStore) {
    this.#store = store
  }

  /** Checks the answer to a plain POST. */
  judge({ path, body }: Case, response: HttpResponse | NoResponse): Judgement {
    const wrong = wrongResponse(response)
    if (wrong) return { wrong }
    const { status, body: text } = response as HttpResponse
    if (status !== 200 || path === INTERPRETER_PATH) return {}
    const { request } = JSON.parse(body.toString()) as { request: AdmissionRequest }
    const { response: answer } = JSON.parse(text) as { response: AdmissionResponse }
    if (answer.uid !== request.uid) return found('another uid', `${answer.uid} instead of ${request.uid}`)
    if ((answer.patch === undefined) !== (answer.patchType === undefined)) return found('patch without type', text)
    const webhook = byPath.get(path)
    if (!webhook || answer.patch === undefined || !request.object) return {}
    try {
      return this.#judgePatch(webhook, request, answer.patch)
    } catch (error) {
      // Nested more deeply than this process can follow.
      if (error instanceof RangeError) return {}
      throw error
    }
  }

  #judgePatch(webhook: Webhook, request: AdmissionRequest, encoded: string): Judgement {
    const object = request.object as K8sObject
    const operations = JSON.parse(Buffer.from(encoded, 'base64').toString()) as Operation[]
    const touched = TOUCHED[webhook.name.replace(/^.*-(?=binding$|policy$)/, '')] ?? /^$/
    const stray = operations.find(({ path }) => webhook.type === 'validating' || !touched.test(path))
    if (stray) return found('stray operation', `${stray.op} ${stray.path}`)
    let result: K8sObject
    try {
      result = fastJsonPatch.applyPatch(structuredClone(object), structuredClone(operations), true, true, false)
        .newDocument as K8sObject
    } catch (error) {
      if (error instanceof RangeError) throw error
      return found(
        'patch does not apply',
        `${(error as Error).message.slice(0, 300)}; ${JSON.stringify(operations).slice(0, 500)}`,
      )
    }
    const [before, after] = [annotationBytes(object), annotationBytes(result)]
    if (after > ANNOTATION_LIMIT && before <= ANNOTATION_LIMIT)
      return found('annotations too large', `${before} bytes become ${after}`)
    // A base that is restored may have empty lists of its own.
    const isNoted = [object, request.oldObject].some((each) =>
      /\[\s*\]/.test(JSON.stringify(each?.metadata?.annotations ?? '')),
    )
    const emptied = isNoted ? undefined : emptiedList(object, result)
    if (emptied !== undefined) return found('emptied list', emptied)
    if (webhook.name.endsWith('binding')) {
      const wrong = judgeBinding(this.#store, request, result)
      if (wrong) return { wrong }
    }
    const decided = this.#decide(webhook, request)
    if (!isDeepStrictEqual(comparable(decided), comparable(result))) {
      return found(
        'not the decided object',
        `${JSON.stringify(operations).slice(0, 600)} is not ${JSON.stringify(decided).slice(0, 600)}`,
      )
    }
    return { patched: { request, result } }
  }

  /** The decision made here, by the same functions on the same objects. */
  #decide(webhook: Webhook, request: AdmissionRequest): unknown {
    const context = {
      ...defaultSettings,
      store: this.#store,
      now: Date.now(),
      karmadaRules: newestRules,
    }
    const outcome = webhook.review(request, context)
    return outcome.kind === 'patch' ? outcome.object : request.object
  }
}

/** Checks the answer to a request that is no plain POST: a 4xx in JSON, an accepted review, or a closed connection. */
export function judgeOdd(response: HttpResponse | NoResponse): Judgement {
  if (response.status === 0 && !(response as NoResponse).reason.startsWith('no answer')) return {}
  const wrong = wrongResponse(response)
  return wrong ? { wrong } : {}
}

/** Checks the answer to a review of a result: nothing changes any more. */
export function judgeAgain({ request, result }: Patched, response: HttpResponse | NoResponse): Judgement {
  const wrong = wrongResponse(response)
  if (wrong) return { wrong: { ...wrong, kind: `${wrong.kind}, asked again` } }
  if (response.status !== 200)
    return found('not idempotent', `asked again: ${(response as HttpResponse).body.slice(0, 300)}`)
  const { response: answer } = JSON.parse((response as HttpResponse).body) as { response: AdmissionResponse }
  if (answer.patch === undefined) return {}
  const operations = JSON.parse(Buffer.from(answer.patch, 'base64').toString()) as Operation[]
  const next = fastJsonPatch.applyPatch(structuredClone(result), operations, false, true, false).newDocument
  if (isDeepStrictEqual(next, result)) return {}
  return found(
    'not idempotent',
    `${request.operation} of ${request.kind.kind}, asked again: ${JSON.stringify(operations).slice(0, 800)}`,
  )
}

function wrongResponse(response: HttpResponse | NoResponse): Wrong | undefined {
  if ('reason' in response) return { kind: 'no answer', message: response.reason }
  const { status, headers, body } = response
  if (status >= 500 && !(status === 503 && headers['retry-after']))
    return { kind: `status ${status}`, message: body.slice(0, 600) }
  if (!headers['content-type']?.startsWith('application/json'))
    return { kind: 'not JSON', message: `${headers['content-type']}: ${body.slice(0, 200)}` }
  try {
    const parsed = JSON.parse(body) as { error?: { status?: unknown; message?: unknown }; response?: object }
    const isProblem = parsed.error?.status === status && typeof parsed.error.message === 'string'
    if (status === 200 ? parsed.response !== undefined : isProblem) return undefined
    return { kind: 'odd answer', message: `${status}: ${body.slice(0, 300)}` }
  } catch {
    return { kind: 'not JSON', message: body.slice(0, 300) }
  }
}

function found(kind: string, message: string): Judgement {
  return { wrong: { kind, message } }
}

function annotationBytes({ metadata }: K8sObject): number {
  const annotations: unknown = metadata?.annotations
  if (typeof annotations !== 'object' || annotations === null) return 0
  return Object.entries(annotations).reduce(
    (sum, [key, value]) => sum + Buffer.byteLength(key) + Buffer.byteLength(String(value)),
    0,
  )
}

/** The path of a list that had items and has none. */
function emptiedList(before: unknown, after: unknown, path = ''): string | undefined {
  if (typeof before !== 'object' || typeof after !== 'object' || before === null || after === null) return undefined
  if (Array.isArray(after)) {
    if (after.length === 0 && Array.isArray(before) && before.length > 0) return path
    if (after.length > 1_000) return undefined
  }
  for (const [key, value] of Object.entries(after)) {
    if (typeof value !== 'object' || !Object.hasOwn(before, key)) continue
    const emptied = emptiedList((before as Record<string, unknown>)[key], value, `${path}/${key}`)
    if (emptied !== undefined) return emptied
  }
  return undefined
}

/** As JSON has it, without times: that of a decision is in what it writes, and the two are not made at the same time. */
function comparable(object: unknown): unknown {
  const time = /\d{4}-\d\d-\d\dT\d\d:\d\d:\d\d\.\d{3}Z/g
  return JSON.parse(JSON.stringify(object).replaceAll(time, 'time'))
}
