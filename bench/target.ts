/** The targets of reviews: Lodestone, Karmada's own webhook, and a server that does the least that can be done. */
import { execFile, fork } from 'node:child_process'
import { once } from 'node:events'
import { readFileSync } from 'node:fs'
import { request } from 'node:https'
import { join } from 'node:path'
import { promisify } from 'node:util'
import type { ControlPlane } from '../test/e2e/control-plane.ts'
import type { Lodestone } from '../test/e2e/lodestone.ts'

const run = promisify(execFile)

export interface Target {
  target: string
  pid: number
  port: number
  ca: string
  path: string
}

/** A review of a recorded conversation, by its file's name. */
export function readReview(name: string): string {
  return readFileSync(`test/data/reviews/${name}.json`, 'utf8').trim()
}

export function lodestoneTarget(plane: ControlPlane, lodestone: Lodestone): Target {
  return {
    target: '(b) Lodestone',
    pid: lodestone.pid,
    port: Number(new URL(lodestone.url).port),
    ca: readFileSync(join(plane.dir, 'lodestone-certs', 'ca.crt'), 'utf8'),
    path: '/mutate/resource-binding',
  }
}

export function karmadaTarget(plane: ControlPlane): Target {
  return {
    target: '(c) karmada-webhook',
    pid: plane.pidOf('karmada-webhook') ?? 0,
    port: Number(new URL(plane.url('karmada-webhook')).port),
    ca: plane.pki.caCertificate,
    path: '/mutate-resourcebinding',
  }
}

/** Starts a bare HTTPS server that answers every review with this patch; it goes with the plane. */
export async function startBaseline(plane: ControlPlane, patch: string): Promise<Target> {
  const folder = join(plane.dir, 'baseline-certs')
  // Not synchronously: the server drops a watch of ours that is not read meanwhile.
  await run(process.execPath, ['src/main.ts', 'certs', '--directory', folder])
  const child = fork('bench/baseline.ts', [join(folder, 'tls.crt'), join(folder, 'tls.key'), patch])
  plane.onStop(async () => void child.kill())
  const [port] = await once(child, 'message')
  const ca = readFileSync(join(folder, 'ca.crt'), 'utf8')
  return { target: '(a) bare node:https', pid: child.pid ?? 0, port: Number(port), ca, path: '/' }
}

/** What a target answers, so that the baseline sends just as many bytes. Throws for an answer without a patch. */
export async function answeredPatch({ target, port, ca, path }: Target, body: string): Promise<string> {
  const headers = { 'content-type': 'application/json' }
  const outgoing = request({ host: '127.0.0.1', port, ca, path, method: 'POST', headers })
  outgoing.end(body)
  const [response] = await once(outgoing, 'response')
  let text = ''
  for await (const chunk of response) text += chunk
  const { patch } = JSON.parse(text).response
  if (!patch) throw new Error(`${target} did not patch the review: ${text}`)
  return patch
}
