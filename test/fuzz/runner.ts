/** Sends batches to one server and says what was wrong with the answers: the checks of a body, crashes and stalls. */
import type { ObjectStore } from '../../src/store/store.ts'
import type { Mode } from './batches.ts'
import { baselineMs } from './cpu-time.ts'
import { hasInfiniteNumber, isNestedTooDeeply, stringify } from './encode.ts'
import { Connection, type HttpResponse, type NoResponse } from './http-client.ts'
import { judgeAgain, judgeOdd, Oracle, type Patched, type Wrong } from './oracle.ts'
import { type Case, encodeRequest } from './requests.ts'
import type { ServerProcess } from './server-process.ts'

const MIB = 1024 * 1024
/** A review may keep the server from others for so many times the CPU time of the baseline, which is measured next to it. */
const MAX_BASELINES = { normal: 10, large: 20, largeBytes: 3 * MIB }
const ANSWER_MS = 60_000
/** How often a body that seems to stall is asked again: what a busy machine adds is not added every time. */
const STALL_RUNS = 5

export class Runner {
  readonly server: ServerProcess
  readonly #oracle: Oracle
  /** The bodies of a batch that takes longer are measured one by one. */
  readonly #suspiciousMs = MAX_BASELINES.normal * baselineMs()
  #pool: Connection[] = []
  bodies = 0
  /** The most that the CPU time of a body was of its limit, among the bodies that were measured one by one. */
  longestShare = 0
  readonly statuses = new Map<number, number>()

  constructor(server: ServerProcess, store: ObjectStore) {
    this.server = server
    this.#oracle = new Oracle(store)
  }

  /** Sends a batch, and then the reviews of what it was patched to; gives the first thing that is wrong. */
  async run(mode: Mode, cases: readonly Case[]): Promise<Wrong | undefined> {
    const before = this.server.mainThreadMs()
    const responses = await this.#send(mode, cases)
    if (!this.server.isRunning) return this.#crashed()
    const judgements = cases.map((each, i) => {
      const response = responses[i] as HttpResponse | NoResponse
      return each.form === undefined ? this.#oracle.judge(each, response) : judgeOdd(response)
    })
    const at = judgements.findIndex(({ wrong }) => wrong)
    const wrong = judgements[at]?.wrong
    if (wrong) return (await this.#hasEnded()) ? this.#crashed() : { ...wrong, culprit: cases[at] }
    const again = await this.#askAgain(
      mode,
      cases,
      judgements.map(({ patched }) => patched),
    )
    if (again) return (await this.#hasEnded()) ? this.#crashed() : again
    const spentMs = this.server.mainThreadMs() - before
    return spentMs > this.#suspiciousMs ? this.#findStall(cases) : undefined
  }

  close(): void {
    for (const connection of this.#pool.splice(0)) connection.close()
  }

  async #askAgain(
    mode: Mode,
    cases: readonly Case[],
    results: readonly (Patched | undefined)[],
  ): Promise<Wrong | undefined> {
    const asked = cases.flatMap((each, i) => {
      const patched = results[i]
      if (!patched || hasInfiniteNumber(each.body)) return []
      const { request, result } = patched
      const review = {
        apiVersion: 'admission.k8s.io/v1',
        kind: 'AdmissionReview',
        request: { ...request, object: result },
      }
      const body = Buffer.from(stringify(review))
      return isNestedTooDeeply(body) ? [] : [{ patched, each, again: { path: each.path, body } }]
    })
    if (asked.length === 0) return undefined
    const responses = await this.#send(
      mode,
      asked.map(({ again }) => again),
    )
    if (!this.server.isRunning) return this.#crashed()
    for (const [i, { patched, each }] of asked.entries()) {
      const { wrong } = judgeAgain(patched, responses[i] as HttpResponse | NoResponse)
      if (wrong) return { ...wrong, culprit: each }
    }
    return undefined
  }

  /** The bodies of a batch that took long, one by one: CPU time of the main thread in baselines, the least of several runs. */
  async #findStall(cases: readonly Case[]): Promise<Wrong | undefined> {
    for (const each of cases) {
      let least = Number.POSITIVE_INFINITY
      const limit = each.body.length > MAX_BASELINES.largeBytes ? MAX_BASELINES.large : MAX_BASELINES.normal
      for (let run = 0; run < STALL_RUNS && least > limit; run++) {
        const baseline = baselineMs()
        const before = this.server.mainThreadMs()
        await this.#send('pipelined', [each])
        if (!this.server.isRunning) return this.#crashed()
        least = Math.min(least, (this.server.mainThreadMs() - before) / baseline)
      }
      this.longestShare = Math.max(this.longestShare, least / limit)
      if (least > limit) {
        const message = `${each.body.length} bytes need ${least.toFixed(1)} times the CPU time of the baseline, more than ${limit}`
        return { kind: 'stall', message, culprit: each }
      }
    }
    return undefined
  }

  async #send(mode: Mode, cases: readonly Case[]): Promise<(HttpResponse | NoResponse)[]> {
    this.bodies += cases.length
    const isOdd = cases.some(({ form }) => form !== undefined)
    const options = { timeoutMs: ANSWER_MS, end: isOdd }
    let responses: (HttpResponse | NoResponse)[]
    try {
      if (mode === 'parallel') {
        const connections = await this.#connections(cases.length)
        responses = (
          await Promise.all(cases.map((each, i) => (connections[i] as Connection).send([encodeRequest(each)], options)))
        ).flat()
      } else {
        const [connection] = isOdd
          ? [await Connection.open(this.server.port, this.server.ca)]
          : await this.#connections(1)
        responses = await (connection as Connection).send(cases.map(encodeRequest), options)
        if (isOdd) connection?.close()
        else if (cases.length > 1) responses = await this.#sendUnanswered(cases, responses)
      }
    } catch (error) {
      // The port is closed: the server has ended, or does not accept connections.
      responses = cases.map(() => ({ status: 0, reason: (error as Error).message }))
    }
    if (responses.some(({ status }) => status === 0)) await this.#hasEnded()
    for (const { status } of responses) this.statuses.set(status, (this.statuses.get(status) ?? 0) + 1)
    return responses
  }

  /**
   * Node closes a connection when its HTTP parser is paused between pipelined requests (HPE_PAUSED). So this sends the unanswered
   * requests again, each on its own.
   */
  async #sendUnanswered(
    cases: readonly Case[],
    responses: readonly (HttpResponse | NoResponse)[],
  ): Promise<(HttpResponse | NoResponse)[]> {
    const answered = [...responses]
    for (const [i, each] of cases.entries()) {
      if (answered[i]?.status !== 0 || !this.server.isRunning) continue
      const [connection] = await this.#connections(1)
      const [again] = await (connection as Connection).send([encodeRequest(each)], { timeoutMs: ANSWER_MS })
      answered[i] = again as HttpResponse | NoResponse
    }
    return answered
  }

  async #connections(count: number): Promise<Connection[]> {
    this.#pool = this.#pool.filter((connection) => connection.isOpen)
    while (this.#pool.length < count) this.#pool.push(await Connection.open(this.server.port, this.server.ca))
    return this.#pool.slice(0, count)
  }

  /** A process that ends closes its connections a moment before that is known. */
  async #hasEnded(): Promise<boolean> {
    await new Promise((resolve) => setTimeout(resolve, this.server.isRunning ? 100 : 0))
    return !this.server.isRunning
  }

  #crashed(): Wrong {
    return { kind: 'the server ended', message: this.server.lastWords() }
  }
}
