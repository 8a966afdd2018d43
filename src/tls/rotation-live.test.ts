import { once } from 'node:events'
import { Agent, createServer, get, type Server } from 'node:https'
import type { AddressInfo } from 'node:net'
import { afterAll, expect, test } from 'vitest'
import { openMemoryStorage } from './memory-storage.ts'
import { CA_LIFE_MS } from './renew.ts'
import { openCertificates } from './rotation.ts'

const MINUTE = 60_000
const DAY = 24 * 60 * MINUTE
const closers: (() => void)[] = []
afterAll(() => {
  for (const close of closers) close()
})

test('a caller with the previous bundle can connect at every step without interruption', async () => {
  // OpenSSL uses the real clock. The rotation begins in the past, so that its certificates are due about now.
  let clock = Date.now() - CA_LIFE_MS * 0.7
  const storage = openMemoryStorage()
  const first = await openCertificates({ storage, hosts: ['localhost'], now: () => clock })
  first.stop()
  clock = Date.now() - 61 * DAY
  const source = await openCertificates({ storage, hosts: ['localhost'], now: () => clock })
  const { certPem, keyPem, caBundlePem: firstBundle = '' } = source.current()
  const server = createServer({ cert: certPem, key: keyPem }, (_request, response) => response.end('served'))
  source.subscribe((now) => server.setSecureContext({ cert: now.certPem, key: now.keyPem }))
  server.listen(0, '127.0.0.1')
  await once(server, 'listening')
  const patient = new Agent({ keepAlive: true, maxSockets: 1 })
  closers.push(
    () => source.stop(),
    () => patient.destroy(),
    () => server.close(),
  )
  const serials = new Set([await serialSeenBy(server, firstBundle, patient)])

  const steps: { name: string; bundle: string }[] = []
  let published = firstBundle
  for (const [name, pass] of [
    ['leaf and CA are due', 61 * DAY],
    ['the new CA waits', MINUTE],
    ['the new CA signs', 2 * MINUTE],
    ['no change', MINUTE],
  ] as const) {
    clock += pass
    await source.check()
    serials.add(await serialSeenBy(server, published))
    published = source.current().caBundlePem ?? ''
    steps.push({ name, bundle: published })
  }

  expect(serials.size).toBe(3)
  expect(steps[0]?.bundle).not.toBe(firstBundle)
  // A caller without the new CA cannot connect any more, which is the reason for the overlap.
  await expect(serialSeenBy(server, firstBundle)).rejects.toThrow(/certificate|issuer/)
  const agentSockets = Object.values(patient.freeSockets).flat().length
  expect(agentSockets).toBe(1)
  await serialSeenBy(server, firstBundle, patient)
})

/** Calls the server as the API server does, with `ca` as the only trusted CA. Returns the serial number of the served certificate. */
async function serialSeenBy(server: Server, ca: string, agent?: Agent): Promise<string> {
  const { port } = server.address() as AddressInfo
  const request = get({ host: '127.0.0.1', servername: 'localhost', port, ca, agent: agent ?? false })
  const [response] = await once(request, 'response')
  const { serialNumber } = response.socket.getPeerCertificate()
  response.resume()
  await once(response, 'end')
  return serialNumber
}
