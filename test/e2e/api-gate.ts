// A proxy between Lodestone and the API server that counts and forwards every request. A test can stop a request on its way there or
// on its way back, to kill Lodestone at just that moment. It can also delay an answer.
import { writeFile } from 'node:fs/promises'
import { createServer, type IncomingMessage, type ServerResponse } from 'node:http'
import { Agent, request } from 'node:https'
import type { AddressInfo } from 'node:net'
import { join } from 'node:path'
import { text } from 'node:stream/consumers'
import { stringify } from 'yaml'
import type { ControlPlane } from './control-plane.ts'

export interface GatedRequest {
  method: string
  // With the query.
  path: string
  body: string
}

export interface ApiGate {
  // The file of a kubeconfig that leads through the gate.
  readonly kubeconfig: string
  // The next request that matches goes no further than to the gate (`there`), or is carried out and not answered (`back`). Gives the moment
  // when it has happened.
  stopAt(matches: (request: GatedRequest) => boolean, when: 'there' | 'back'): Promise<GatedRequest>
  // The next request that matches is carried out, and its answer waits at the gate. Gives a function that sends the answer.
  holdAnswer(matches: (request: GatedRequest) => boolean): Promise<() => void>
  // The gate answers a request itself when `decide` returns an answer; `reset` closes the connection. Ends with the returned function.
  intercept(decide: (request: GatedRequest) => GateAnswer | undefined): () => void
  // Every request so far, watches included.
  readonly requests: readonly GatedRequest[]
}

export type GateAnswer = 'reset' | { status: number; headers?: Record<string, string>; body: unknown }

interface Trap {
  matches: (request: GatedRequest) => boolean
  when: 'there' | 'back' | 'held back'
  sprung: (request: GatedRequest, sendAnswer: () => void) => void
}

// Its requests are made as the user, and it stops with the plane.
export async function startApiGate(plane: ControlPlane, user: string): Promise<ApiGate> {
  const { certificate, key } = await plane.pki.issueUser(user, [])
  const agent = new Agent({ ca: plane.pki.caCertificate, cert: certificate, key, keepAlive: true })
  const requests: GatedRequest[] = []
  let trap: Trap | undefined
  let intercepts: ((request: GatedRequest) => GateAnswer | undefined) | undefined

  async function pass(incoming: IncomingMessage, outgoing: ServerResponse): Promise<void> {
    const { method = 'GET', url: path = '/', headers } = incoming
    const seen: GatedRequest = { method, path, body: await text(incoming) }
    requests.push(seen)
    const own = intercepts?.(seen)
    if (own === 'reset') return void incoming.socket.destroy()
    if (own) {
      outgoing.writeHead(own.status, { 'content-type': 'application/json', ...own.headers })
      return void outgoing.end(JSON.stringify(own.body))
    }
    const caught = trap?.matches(seen) ? trap : undefined
    if (caught) trap = undefined
    if (caught?.when === 'there') return caught.sprung(seen, () => undefined)
    const { host: _host, 'transfer-encoding': _encoding, ...forwarded } = headers
    const forward = request(new URL(path, plane.server), { method, headers: forwarded, agent }, (response) => {
      if (caught?.when === 'back') {
        response.resume().once('end', () => caught.sprung(seen, () => undefined))
        return
      }
      const answer = () => {
        outgoing.writeHead(response.statusCode ?? 502, response.rawHeaders)
        outgoing.flushHeaders()
        response.on('error', () => outgoing.destroy()).pipe(outgoing)
      }
      if (caught) caught.sprung(seen, answer)
      else answer()
    })
    forward.on('error', () => outgoing.destroy())
    outgoing.on('close', () => forward.destroy())
    forward.end(seen.body)
  }

  const gate = createServer((incoming, outgoing) => {
    pass(incoming, outgoing).catch(() => outgoing.destroy())
  })
  await new Promise<void>((resolve) => gate.listen(0, '127.0.0.1', resolve))
  const url = `http://127.0.0.1:${(gate.address() as AddressInfo).port}`
  const kubeconfig = join(plane.dir, 'gate.kubeconfig')
  const access = {
    apiVersion: 'v1',
    kind: 'Config',
    clusters: [{ name: 'gate', cluster: { server: url } }],
    users: [{ name: 'gate', user: {} }],
    contexts: [{ name: 'gate', context: { cluster: 'gate', user: 'gate' } }],
    'current-context': 'gate',
  }
  await writeFile(kubeconfig, stringify(access))
  plane.onStop(async () => {
    agent.destroy()
    const closed = new Promise<void>((resolve) => gate.close(() => resolve()))
    gate.closeAllConnections()
    await closed
  })
  return {
    kubeconfig,
    requests,
    intercept: (decide) => {
      intercepts = decide
      return () => {
        intercepts = undefined
      }
    },
    stopAt: (matches, when) => {
      const { promise, resolve } = Promise.withResolvers<GatedRequest>()
      trap = { matches, when, sprung: resolve }
      return promise
    },
    holdAnswer: (matches) => {
      const { promise, resolve } = Promise.withResolvers<() => void>()
      trap = { matches, when: 'held back', sprung: (_request, sendAnswer) => resolve(sendAnswer) }
      return promise
    },
  }
}
