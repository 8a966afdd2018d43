/** Watches a collection and reports when each change arrived, without polling, which would slow the measured programs. */
import { Agent, request } from 'undici'
import type { KubeObject } from '../test/e2e/api-client.ts'
import type { ControlPlane } from '../test/e2e/control-plane.ts'
import { log } from './log.ts'

/** Told of every object that is there, then of every change; `at` is performance.now() when the bytes came. */
export type Listener = (object: KubeObject, at: number) => void

/** Watches until the plane goes down. Resolves when the server has begun to answer. */
export async function watch(plane: ControlPlane, resource: string, listener: Listener): Promise<void> {
  const { certificate, key } = await plane.pki.issueUser(`watch-${resource}`, ['system:masters'])
  const dispatcher = new Agent({ connect: { ca: plane.pki.caCertificate, cert: certificate, key }, bodyTimeout: 0 })
  plane.onStop(() => dispatcher.destroy())
  const path = await plane.api.collection(resource, 'default')
  const take = (line: string, at: number) => {
    const { type, object } = JSON.parse(line)
    if (type === 'ADDED' || type === 'MODIFIED') listener(object, at)
  }
  async function open(): Promise<void> {
    const body = await plane.eventually(`a watch of ${resource}`, async () => {
      const response = await request(`${plane.server}${path}?watch=true`, { dispatcher })
      if (response.statusCode === 200) return response.body
      // 429 while the server's cache of a new kind is being filled.
      throw new Error(`${response.statusCode} ${await response.body.text()}`)
    })
    body.on('data', splitLines(take))
    body.on('error', () => undefined) // The plane goes down.
    // The server ends the watch of a client that cannot follow. A new one begins with everything that is there.
    body.on('end', () => {
      log(`the watch of ${resource} has ended and begins again; its events may be late`)
      open().catch((error) => log(String(error)))
    })
  }
  await open()
}

/** Events are one line each, in pieces of any size. */
function splitLines(take: (line: string, at: number) => void): (piece: Buffer) => void {
  let pieces: Buffer[] = []
  return (piece) => {
    const at = performance.now()
    let begin = 0
    for (let end = piece.indexOf(10); end >= 0; end = piece.indexOf(10, begin)) {
      pieces.push(piece.subarray(begin, end))
      take(Buffer.concat(pieces).toString(), at)
      pieces = []
      begin = end + 1
    }
    if (begin < piece.length) pieces.push(piece.subarray(begin))
  }
}
