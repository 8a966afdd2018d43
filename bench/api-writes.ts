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
  const { body } = await plane.api.request('GET', '/metrics')
  const writes: Writes = {}
  const add = (kind: string, count: number) => {
    writes[kind] = (writes[kind] ?? 0) + count
  }
  for (const [, list = '', value] of String(body).matchAll(/^apiserver_request_total\{(.*)\} (\S+)$/gm)) {
    const labels = Object.fromEntries([...list.matchAll(/(\w+)="([^"]*)"/g)].map(([, name, text]) => [name, text]))
    const { verb = '', resource = '', subresource, code } = labels
    if (!WRITES.includes(verb) || !RESOURCES.includes(resource)) continue
    add(`${verb} ${resource}${subresource ? `/${subresource}` : ''}`, Number(value))
    if (code === '409') add(CONFLICTS, Number(value))
  }
  return writes
}

/** What was written in between. */
export function writesBetween(before: Writes, after: Writes): Writes {
  const counts = Object.entries(after).map(([kind, count]) => [kind, count - (before[kind] ?? 0)] as const)
  return Object.fromEntries(counts.filter(([, count]) => count > 0).sort(([a], [b]) => (a < b ? -1 : 1)))
}
