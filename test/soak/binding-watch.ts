// Follows every version of every binding at the API server, through its restarts and compactions.
import { setTimeout as sleep } from 'node:timers/promises'
import { Agent, request } from 'undici'
import type { ControlPlane } from '../e2e/control-plane.ts'
import type { SoakBinding } from './model.ts'

export interface BindingWatch {
  readonly current: ReadonlyMap<string, SoakBinding>
  readonly versions: number
  stop(): Promise<void>
}

interface Frame {
  type: 'ADDED' | 'MODIFIED' | 'DELETED' | 'BOOKMARK' | 'ERROR'
  object: SoakBinding
}

const path = '/apis/work.karmada.io/v1alpha2/resourcebindings'

// `seen` receives every version with its predecessor.
export async function watchBindings(
  plane: ControlPlane,
  seen: (binding: SoakBinding, before: SoakBinding | undefined) => void,
): Promise<BindingWatch> {
  const { certificate: cert, key } = await plane.pki.issueUser('binding-watch', ['system:masters'])
  const agent = new Agent({ connect: { ca: plane.pki.caCertificate, cert, key }, bodyTimeout: 0 })
  const current = new Map<string, SoakBinding>()
  const aborter = new AbortController()
  const state = { versions: 0 }

  function take(binding: SoakBinding): void {
    const before = current.get(binding.metadata.name)
    if (before?.metadata.resourceVersion === binding.metadata.resourceVersion) return
    current.set(binding.metadata.name, binding)
    state.versions++
    seen(binding, before?.metadata.uid === binding.metadata.uid ? before : undefined)
  }

  async function get(query: string) {
    const { statusCode, body } = await request(`${plane.server}${path}?${query}`, {
      dispatcher: agent,
      signal: aborter.signal,
    })
    if (statusCode !== 200) throw new Error(`GET ${path}: ${statusCode} ${await body.text()}`)
    return body
  }

  async function listAndWatch(): Promise<void> {
    const list = (await (await get('')).json()) as { metadata: { resourceVersion: string }; items: SoakBinding[] }
    const names = new Set(list.items.map(({ metadata }) => metadata.name))
    for (const name of current.keys()) if (!names.has(name)) current.delete(name)
    list.items.forEach(take)
    let rest = ''
    const body = await get(`watch=true&allowWatchBookmarks=true&resourceVersion=${list.metadata.resourceVersion}`)
    for await (const chunk of body.setEncoding('utf8')) {
      const lines = (rest + chunk).split('\n')
      rest = lines.pop() ?? ''
      for (const line of lines) {
        const { type, object } = JSON.parse(line) as Frame
        if (type === 'ERROR') return
        if (type === 'DELETED') current.delete(object.metadata.name)
        else if (type !== 'BOOKMARK') take(object)
      }
    }
  }

  async function follow(): Promise<void> {
    while (!aborter.signal.aborted) {
      // The API server is restarted by this test: whatever ends a watch, the next one begins with a list.
      await listAndWatch().catch(() => undefined)
      await sleep(200)
    }
  }

  const following = follow()
  return {
    current,
    get versions() {
      return state.versions
    },
    async stop() {
      aborter.abort()
      await following
      await agent.destroy()
    },
  }
}
