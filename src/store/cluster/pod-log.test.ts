import { expect, test } from 'vitest'
import { pods } from '../../api/pod.ts'
import { connectToFake } from './api-connection.fake.ts'
import { ApiError } from './api-error.ts'
import { type Answer, hang, status } from './api-responses.fake.ts'
import { openPodLogs } from './pod-log.ts'

async function open(answer: Answer) {
  const { server, connection } = await connectToFake([pods])
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
