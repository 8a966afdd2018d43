/** The admission servers that are compared, and one review sent to them. */
import { readFileSync } from 'node:fs'
import { join } from 'node:path'
import { Client } from 'undici'
import type { ControlPlane } from '../../test/e2e/control-plane.ts'
import type { Lodestone } from '../../test/e2e/lodestone.ts'

export interface Server {
  name: string
  pid: number
  port: number
  ca: string
  path: string
}

/** Returns the text of a recorded review. */
export function readReview(name: string): string {
  return readFileSync(`test/data/reviews/${name}.json`, 'utf8').trim()
}

/** The requests of Karmada's detector: it creates a binding, and overwrites it with the placement of the policy. */
export const CREATE = readReview('005-ResourceBinding-CREATE-app-deployment')
export const UPDATE = readReview('011-ResourceBinding-UPDATE-app-deployment')

export function lodestoneServer(plane: ControlPlane, { pid, url }: Lodestone, program = 'lodestone'): Server {
  const ca = readFileSync(join(plane.dir, `${program}-certs`, 'ca.crt'), 'utf8')
  return { name: program, pid, port: Number(new URL(url).port), ca, path: '/mutate/resource-binding' }
}

/** Karmada's own webhook, which adds a label. */
export function karmadaServer(plane: ControlPlane): Server {
  const port = Number(new URL(plane.url('karmada-webhook')).port)
  const pid = plane.pidOf('karmada-webhook') ?? 0
  return { name: 'Karmada', pid, port, ca: plane.pki.caCertificate, path: '/mutate-resourcebinding' }
}

/** Opens one connection to a server on loopback. */
export function connectTo({ port, ca }: Server): Client {
  return new Client(`https://127.0.0.1:${port}`, { connect: { ca }, allowH2: false, keepAliveTimeout: 60_000 })
}

/** Sends a review. Throws if there is no answer in time. */
export async function post(client: Client, path: string, body: string, timeoutMs = 30_000) {
  const timeouts = { headersTimeout: timeoutMs, bodyTimeout: timeoutMs }
  const headers = { 'content-type': 'application/json' }
  const response = await client.request({ method: 'POST', path, headers, body, ...timeouts })
  return { status: response.statusCode, text: await response.body.text() }
}
