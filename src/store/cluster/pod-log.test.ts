import { expect, onTestFinished, test } from 'vitest'
import { pods } from '../../api/pod.ts'
import { createConnection } from './api-connection.ts'
import { ApiError } from './api-error.ts'
import { type Answer, hang, status } from './api-responses.fake.ts'
import { FakeApiServer } from './api-server.fake.ts'
import { openPodLogs } from './pod-log.ts'

async function open(answer: Answer) {
  const server = await new FakeApiServer([pods]).listen()
  const connection = createConnection({
    server: server.url,
    read: async () => ({ headers: {}, transport: { tls: {} } }),
    forget: () => {},
  })
  onTestFinished(async () => {
    await connection.close()
    await server.close()
  })
  server.misbehave(() => true, answer)
  const read = (signal = new AbortController().signal) =>
    openPodLogs(connection)({ namespace: 'default', name: 'm-1', container: 'mover', lines: 3, signal })
  return { server, read }
}

test('the last lines of one container are requested, and returned unchanged', async () => {
  const { server, read } = await open((response) => void response.end('{"msg":"a"}\nb\n'))

  expect(await read()).toBe('{"msg":"a"}\nb\n')
  const [request] = server.requests
  expect([request?.method, request?.path]).toEqual(['GET', '/api/v1/namespaces/default/pods/m-1/log'])
  expect(Object.fromEntries(request?.query ?? [])).toEqual({
    container: 'mover',
    tailLines: '3',
    limitBytes: '1048576',
  })
})

test('a rejection throws an ApiError', async () => {
  const { read } = await open(status(403, 'Forbidden'))

  await expect(read()).rejects.toBeInstanceOf(ApiError)
})

test('an aborted request does not wait for a node that does not respond', async () => {
  const { read } = await open(hang)
  const aborter = new AbortController()
  const reading = read(aborter.signal)
  aborter.abort()

  await expect(reading).rejects.toThrow('GET /api/v1/namespaces/default/pods/m-1/log')
})
