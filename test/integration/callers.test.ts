/** Tests which clients the server accepts when it requires client certificates: by CA, by name and by path. */
import { mkdtempSync, readFileSync, rmSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { beforeAll, describe, expect, onTestFinished, test } from 'vitest'
import { openClientCa } from '../../src/app/client-ca.ts'
import { ConfigError } from '../../src/app/config/config-file.ts'
import { recordLog } from '../../src/telemetry/logger.fake.ts'
import { INTERPRETER_PATH } from '../../src/webhooks/interpreter.ts'
import { createPki, type KeyAndCertificate, type Pki } from '../e2e/pki.ts'
import { temporaryFolder } from '../temporary-folder.ts'
import { REVIEW_PATH, type RunningServer, review, startServer } from './admission-server.ts'
import { type CallOptions, call } from './https-client.ts'

let pki: Pki
let otherPki: Pki
let apiServer: KeyAndCertificate
let stranger: KeyAndCertificate
let otherApiServer: KeyAndCertificate

beforeAll(async () => {
  const folder = mkdtempSync(join(tmpdir(), 'lodestone-callers-'))
  const otherFolder = mkdtempSync(join(tmpdir(), 'lodestone-callers-'))
  pki = await createPki(folder)
  otherPki = await createPki(otherFolder)
  apiServer = await pki.issue({ name: 'api', commonName: 'kube-apiserver', dnsNames: ['api.example.org'] })
  stranger = await pki.issue({ name: 'stranger', commonName: 'system:anyone' })
  otherApiServer = await otherPki.issue({ name: 'api', commonName: 'kube-apiserver' })
  return () => {
    rmSync(folder, { recursive: true })
    rmSync(otherFolder, { recursive: true })
  }
})

function post({ port, ca }: RunningServer, options: Partial<CallOptions>) {
  return call({ port, ca, path: REVIEW_PATH, body: review, ...options })
}

describe('with a client CA and names', () => {
  test.each<{ name: string; names: string[]; client: () => KeyAndCertificate }>([
    { name: 'the common name is accepted', names: ['a', 'kube-apiserver'], client: () => apiServer },
    { name: 'a DNS name is accepted', names: ['api.example.org'], client: () => apiServer },
    { name: 'without names every certificate is accepted', names: [], client: () => stranger },
  ])('$name', async ({ names, client }) => {
    const running = await startServer({ clientCa: pki.caCertificate, clientNames: names })
    const { status } = await post(running, { client: client() })
    expect(status).toBe(200)
  })

  test.each<{ name: string; names: string[]; client: () => KeyAndCertificate | undefined; want: RegExp }>([
    {
      name: 'another name is refused',
      names: ['kube-apiserver'],
      client: () => stranger,
      want: /names system:anyone; it has to name kube-apiserver$/,
    },
    {
      name: 'another CA is refused',
      names: ['kube-apiserver'],
      client: () => otherApiServer,
      want: /^the client certificate is not accepted: /,
    },
    {
      name: 'no certificate is refused',
      names: [],
      client: () => undefined,
      want: /^a client certificate is required$/,
    },
  ])('$name', async ({ names, client, want }) => {
    const running = await startServer({ clientCa: pki.caCertificate, clientNames: names })
    const shown = client()

    const { status, body } = await post(running, { ...(shown && { client: shown }) })

    expect(status).toBe(403)
    expect(JSON.parse(body).error.message).toMatch(want)
  })

  test('the resource interpreter requires no certificate, since Karmada has none', async () => {
    const interpreter = { types: [], isStored: () => false, interpret: () => [] }
    const running = await startServer({ clientCa: pki.caCertificate, interpreter })

    const { status, body } = await post(running, { path: INTERPRETER_PATH, body: '{}' })

    expect(status).toBe(400)
    expect(body).toContain('ResourceInterpreterContext')
  })

  test('another CA takes effect for new connections', async () => {
    const running = await startServer({ clientCa: pki.caCertificate })
    expect((await post(running, { client: otherApiServer })).status).toBe(403)

    running.useClientCa(otherPki.caCertificate)

    expect((await post(running, { client: otherApiServer })).status).toBe(200)
    expect((await post(running, { client: apiServer })).status).toBe(403)
  })
})

describe('the file of the client CA', () => {
  function open(given: string) {
    const folder = temporaryFolder()
    const file = join(folder, 'ca.crt')
    writeFileSync(file, given)
    const { log, lines } = recordLog()
    let changes = 0
    const start = () => {
      const clientCa = openClientCa({ file, log })
      clientCa.subscribe(() => changes++)
      onTestFinished(() => clientCa.stop())
      return clientCa
    }
    return { file, lines, start, changes: () => changes }
  }

  test('is read again when it changes; an invalid one leaves the last valid one in use', async () => {
    const { file, lines, start, changes } = open(pki.caCertificate)
    const clientCa = start()
    expect(clientCa.current()).toBe(pki.caCertificate)

    writeFileSync(file, 'nothing')
    await expect.poll(() => lines).toContainEqual(expect.objectContaining({ level: 'error' }))
    expect(clientCa.current()).toBe(pki.caCertificate)
    writeFileSync(file, otherPki.caCertificate)

    await expect.poll(() => clientCa.current()).toBe(otherPki.caCertificate)
    expect(changes()).toBe(1)
    expect(readFileSync(file, 'utf8')).toBe(clientCa.current())
  })

  test('is named when it has no certificate at the start', () => {
    const { file, start } = open('nothing')

    expect(() => start()).toThrow(ConfigError)
    expect(() => start()).toThrow(`server.clientCaFile: ${file}: has no certificate`)
  })

  test('is missed with one warning', () => {
    const { log, lines } = recordLog()

    expect(openClientCa({ file: undefined, log }).current()).toBeUndefined()

    expect(lines).toEqual([expect.objectContaining({ level: 'warn', msg: expect.stringContaining('clientCaFile') })])
  })
})
