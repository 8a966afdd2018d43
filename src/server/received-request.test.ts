import type { IncomingHttpHeaders, IncomingMessage } from 'node:http'
import { Readable } from 'node:stream'
import type { FastifyReply } from 'fastify'
import { expect, test } from 'vitest'
import { type ReceivedBody, receiveBody } from './body.ts'
import { type ByteBudget, openByteBudget } from './byte-budget.ts'
import { busy } from './problem.ts'
import { ReceivedRequest } from './received-request.ts'

function receive(text: string, budget: ByteBudget): Promise<ReceivedBody | undefined> {
  const message = Object.assign(Readable.from([Buffer.from(text)]), { headers: {} }) as unknown as IncomingMessage
  return new Promise((resolve, reject) =>
    receiveBody(message, 1000, budget, (error, body) => (error ? reject(error) : resolve(body))),
  )
}

/** Receives a request of 80 bytes, and records what is done with it. */
async function open(budget: ByteBudget, headers: IncomingHttpHeaders = {}) {
  const told: string[] = []
  const serve = (body: string, traceparent?: string) => {
    told.push(['decide', body.length, traceparent].filter(Boolean).join(' '))
    return { status: 200, body: 'answer' }
  }
  const reply = { request: { headers, body: await receive('x'.repeat(80), budget) } } as unknown as FastifyReply
  const request = new ReceivedRequest(reply, serve, {
    respond: (_reply, { body }) => void told.push(`respond ${body}`),
    reject: (_reply, { status, message }) => void told.push(`reject ${status}: ${message}`),
    abort: () => void told.push('abort'),
    drain: () => undefined,
  })
  return { request, told }
}

test('the body of a request counts in the byte budget until its decision', async () => {
  const budget = openByteBudget(100, () => 0)
  const { request, told } = await open(budget)
  expect([request.size, budget.used()]).toEqual([80, 80])

  expect(request.decide()).toEqual({ status: 200, body: 'answer' })

  expect(budget.used()).toBe(0)
  await receive('y'.repeat(100), budget)
  expect(told).toEqual(['decide 80'])
})

test('a request whose body the budget drops is rejected once, and is not decided', async () => {
  const budget = openByteBudget(100, () => 0)
  const { request, told } = await open(budget)

  await receive('y'.repeat(60), budget)

  expect(request.decide()).toBeUndefined()
  expect(told).toEqual(['reject 503: too many bytes of requests in flight; retry'])
  expect(budget.used()).toBe(60)
})

test('a rejected request frees its body, and is not decided', async () => {
  const budget = openByteBudget(100, () => 0)
  const { request, told } = await open(budget)

  request.reject(busy('in-flight', 'more than 256 requests in flight; retry'))

  expect([budget.used(), request.decide()]).toEqual([0, undefined])
  expect(told).toEqual(['reject 503: more than 256 requests in flight; retry'])
})

const TRACE = '00-0af7651916cd43dd8448eb211c80319c-b7ad6b7169203331-01'

test.each([
  { name: 'of a caller that traces', traceparent: TRACE, want: `decide 80 ${TRACE}` },
  { name: 'of another version', traceparent: TRACE.replace('00', 'cc'), want: 'decide 80' },
  { name: 'with a line break', traceparent: `${TRACE}\n{"level":"error"}`, want: 'decide 80' },
  { name: 'that is too long', traceparent: `${TRACE}-${'0'.repeat(10_000)}`, want: 'decide 80' },
])('the trace $name is given to the decision only if it is valid', async ({ traceparent, want }) => {
  const { request, told } = await open(
    openByteBudget(100, () => 0),
    { traceparent },
  )
  request.decide()
  expect(told).toEqual([want])
})
