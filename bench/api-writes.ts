/** What kube-apiserver counted of writes, by what was written. */
import type { ControlPlane } from '../test/e2e/control-plane.ts'

/** By kind, such as `PATCH datasourceclaims/status`; those that lost a race are besides under `conflicts`. */
export type Writes = Record<string, number>

const WRITES = ['POST', 'PUT', 'PATCH', 'DELETE']
const RESOURCES = [
  'datasourceclaims',
  'datasources',
  'resourcebindings',
  'clusterresourcebindings',
  'propagationpolicies',
  'clusterpropagationpolicies',
  'events',
]
export const CONFLICTS = 'conflicts'

/** The writes that loops make, since the server began. */
export async function countWrites(plane: ControlPlane): Promise<Writes> {
  const writes: Writes = {}
  for (const { kind, verb, resource, code, count } of await requestsServed(plane)) {
    if (!WRITES.includes(verb) || !RESOURCES.includes(resource)) continue
    writes[kind] = (writes[kind] ?? 0) + count
    if (code === '409') writes[CONFLICTS] = (writes[CONFLICTS] ?? 0) + count
  }
  return writes
}

/** All requests for these resources, watches excepted, since the server began. */
export async function countRequests(plane: ControlPlane, resources: string[]): Promise<Writes> {
  const requests: Writes = {}
  for (const { kind, verb, resource, count } of await requestsServed(plane)) {
    if (verb !== 'WATCH' && resources.includes(resource)) requests[kind] = (requests[kind] ?? 0) + count
  }
  return requests
}

async function requestsServed(plane: ControlPlane) {
  const { body } = await plane.api.request('GET', '/metrics')
  return [...String(body).matchAll(/^apiserver_request_total\{(.*)\} (\S+)$/gm)].map(([, list = '', value]) => {
    const labels = Object.fromEntries([...list.matchAll(/(\w+)="([^"]*)"/g)].map(([, name, text]) => [name, text]))
    const { verb = '', resource = '', subresource, code } = labels
    return {
      kind: `${verb} ${resource}${subresource ? `/${subresource}` : ''}`,
      verb,
      resource,
      code,
      count: Number(value),
    }
  })
}

/** The writes in between. */
export function writesBetween(before: Writes, after: Writes): Writes {
  const counts = Object.entries(after).map(([kind, count]) => [kind, count - (before[kind] ?? 0)] as const)
  return Object.fromEntries(counts.filter(([, count]) => count > 0).sort(([a], [b]) => (a < b ? -1 : 1)))
}
