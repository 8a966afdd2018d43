import { once } from 'node:events'
import { createServer, get, IncomingMessage, ServerResponse } from 'node:http'
import { type AddressInfo, Socket } from 'node:net'
import { expect, onTestFinished, test } from 'vitest'
import { TestClock } from '../../base/time/clock.fake.ts'
import { OWNER, type Viewer } from './access/viewer.ts'
import { sendEvents } from './events.ts'
import { EMPTY_LISTS } from './lists.fake.ts'
import type { Snapshot, View } from './view.ts'

/** Sends the events of a view that the test changes, to one reader as long as it has a session. */
async function follow() {
  let session: Viewer | undefined = OWNER
  const listeners = new Set<(snapshot: Snapshot) => void>()
  let revision = 0
  const snapshot = (text = ''): Snapshot => ({
    revision: ++revision,
    lists: { ...EMPTY_LISTS, clusters: text === '' ? [] : [{ name: 'member1', region: text }] },
  })
  const view: View = {
    current: async () => snapshot(),
    subscribe(listener) {
      listeners.add(listener)
      return () => listeners.delete(listener)
    },
    close: () => undefined,
  }
  const server = createServer((_request, response) => {
    sendEvents(response, {
      view,
      lists: ['clusters'],
      selection: {},
      clock: new TestClock(),
      identify: async () => session,
      isServed: () => true,
      freshness: () => ({ unavailable: [] }),
    })
  })
  server.listen(0, '127.0.0.1')
  onTestFinished(() => void server.close())
  await once(server, 'listening')
  const request = get({ port: (server.address() as AddressInfo).port })
  request.on('error', () => undefined)
  const [response] = (await once(request, 'response')) as [IncomingMessage]
  response.on('error', () => undefined)
  return {
    request,
    response,
    readers: () => listeners.size,
    endSession() {
      session = undefined
    },
    changeRights(viewer: Viewer) {
      session = viewer
    },
    change(text: string) {
      for (const listener of listeners) listener(snapshot(text))
    },
  }
}

test('a proxy is asked to pass each event on at once', async () => {
  const { response } = await follow()
  expect(response.headers).toMatchObject({ 'x-accel-buffering': 'no', 'cache-control': 'no-store' })
})

test('a reader that takes no events is disconnected, and no later change reaches it', async () => {
  const { response, readers, change } = await follow()
  response.pause()
  const megabyte = 'x'.repeat(2 ** 20)
  // Sockets of the machine hold some megabytes.
  for (let i = 0; readers() > 0 && i < 200; i++) {
    change(`${i} ${megabyte}`)
    change(`again ${i}`)
    await new Promise(setImmediate)
  }
  expect(readers()).toBe(0)
})

test('a reader that ends is forgotten', async () => {
  const { request, readers } = await follow()
  expect(readers()).toBe(1)
  request.destroy()
  await expect.poll(readers).toBe(0)
})

test('a reader whose session ended gets no further event', async () => {
  const { response, change, endSession } = await follow()
  const text = response.setEncoding('utf8').toArray()
  endSession()
  change('eu')
  expect((await text).join('')).not.toContain('eu')
})

test('a session that ends while its rights are reviewed does not end the process', async () => {
  const clock = new TestClock()
  const asked = Promise.withResolvers<void>()
  const answer = Promise.withResolvers<boolean>()
  const may = () => {
    asked.resolve()
    return answer.promise
  }
  const readers: (Viewer | undefined)[] = [{ may }, undefined]
  // Without a socket, it never finishes, as that of a reader that takes nothing.
  const response = new ServerResponse(new IncomingMessage(new Socket()))
  const errors: Error[] = []
  response.on('error', (error) => errors.push(error))
  const snapshot = { revision: 1, lists: EMPTY_LISTS }
  sendEvents(response, {
    lists: ['clusters'],
    selection: {},
    clock,
    view: { current: async () => snapshot, subscribe: () => () => undefined, close: () => undefined },
    identify: async () => readers.shift(),
    isServed: () => true,
    freshness: () => ({ unavailable: [] }),
  })
  await asked.promise
  clock.advance(5_000)
  await expect.poll(() => response.writableEnded).toBe(true)
  answer.resolve(true)
  await new Promise(setImmediate)

  expect(errors).toEqual([])
  response.destroy()
})

test('rows that a reader may no longer list are removed at the next change', async () => {
  const { response, change, changeRights, request } = await follow()
  let text = ''
  response.setEncoding('utf8').on('data', (chunk: string) => {
    text += chunk
  })
  change('eu')
  await expect.poll(() => text).toContain('"upserted":[{"id":"member1"')
  changeRights({ may: async () => false })
  change('asia')
  await expect.poll(() => text).toContain('"removed":["member1"]')
  expect(text).not.toContain('asia')
  request.destroy()
})
