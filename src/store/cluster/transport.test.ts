import { createServer } from 'node:http'
import type { AddressInfo } from 'node:net'
import { expect, onTestFinished, test } from 'vitest'
import { until } from '../../base/time/clock.fake.ts'
import { ApiTransport, readText } from './transport.ts'

test('equal TLS material shares an agent, changed material gets a new one beside it', async () => {
  let answer: (() => void) | undefined
  const server = createServer((_request, response) => {
    answer = () => void response.end('late')
  })
  await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve))
  onTestFinished(() => void server.close())
  const origin = `http://127.0.0.1:${(server.address() as AddressInfo).port}`
  const transport = new ApiTransport()
  onTestFinished(() => transport.close())
  const old = transport.agentFor({ tls: { key: Buffer.from('first') } })
  expect(transport.agentFor({ tls: { key: Buffer.from('first') } })).toBe(old)
  const running = old.request({ origin, path: '/', method: 'GET' })
  await until(() => answer !== undefined)
  expect(transport.agentFor({ tls: { key: Buffer.from('second') } })).not.toBe(old)
  answer?.()
  expect(await readText((await running).body, 100)).toBe('late')
})

test('an unknown type of proxy throws without a direct connection or the password', () => {
  expect(() => new ApiTransport().agentFor({ tls: {}, proxyUrl: 'ftp://me:secret@proxy' })).toThrow(
    new Error('proxy-url of the kubeconfig has another scheme; use http, https or socks5'),
  )
})

test('the agent stays open while a changed kubeconfig cannot give another one', async () => {
  const server = createServer((_request, response) => void response.end('here'))
  await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve))
  onTestFinished(() => void server.close())
  const origin = `http://127.0.0.1:${(server.address() as AddressInfo).port}`
  const transport = new ApiTransport()
  onTestFinished(() => transport.close())
  transport.agentFor({ tls: {} })

  expect(() => transport.agentFor({ tls: {}, proxyUrl: 'ftp://proxy' })).toThrow('another scheme')
  const { body } = await transport.agentFor({ tls: {} }).request({ origin, path: '/', method: 'GET' })

  expect(await readText(body, 100)).toBe('here')
})

test('a response above the limit throws', async () => {
  async function* endless(): AsyncGenerator<Uint8Array> {
    for (;;) yield new Uint8Array(60)
  }
  await expect(readText(endless(), 100)).rejects.toThrow('larger than 100 bytes')
})
