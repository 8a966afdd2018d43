/** A control plane with the built Lodestone, and the requests that its API server counts. */
import { type ControlPlane, type ControlPlaneOptions, startControlPlane } from '../../test/e2e/control-plane.ts'
import { installLodestone, type Lodestone, type LodestoneOptions, startLodestone } from '../../test/e2e/lodestone.ts'
import { BUILT } from './process.ts'

export interface Installed {
  plane: ControlPlane
  /** Starts the built Lodestone with the rights of an installation. */
  start(options?: LodestoneOptions): Promise<Lodestone>
}

/** Starts a plane, installs Lodestone, runs `measure`, and stops the plane. */
export async function withPlane<T>(options: ControlPlaneOptions, measure: (on: Installed) => Promise<T>): Promise<T> {
  const plane = await startControlPlane(options)
  try {
    const kubeconfig = await installLodestone(plane)
    return await measure({
      plane,
      start: (more) => startLodestone(plane, { kubeconfig, entry: BUILT, readyTimeoutMs: 300_000, ...more }),
    })
  } finally {
    await plane.stopAll()
  }
}

/** Stops the controllers of Karmada, which would work on seeded bindings. */
export async function stopControllers(plane: ControlPlane): Promise<void> {
  for (const controller of ['karmada-controller-manager', 'karmada-scheduler'] as const) await plane.stop(controller)
}

/** Requests by verb and resource, such as `PATCH datasourceclaims/status`. */
export type Requests = Record<string, number>

export const WRITES = ['POST', 'PUT', 'PATCH', 'DELETE']

/** Counts the requests for these resources since the start of kube-apiserver, without watches. */
export async function countRequests(plane: ControlPlane, resources: string[], verbs?: string[]): Promise<Requests> {
  const { body } = await plane.api.request('GET', '/metrics')
  const requests: Requests = {}
  for (const [, labels = '', count] of String(body).matchAll(/^apiserver_request_total\{(.*)\} (\S+)$/gm)) {
    const of = Object.fromEntries([...labels.matchAll(/(\w+)="([^"]*)"/g)].map(([, name, value]) => [name, value]))
    const { verb = '', resource = '', subresource } = of
    if (verb === 'WATCH' || !resources.includes(resource) || verbs?.includes(verb) === false) continue
    const kind = `${verb} ${resource}${subresource ? `/${subresource}` : ''}`
    requests[kind] = (requests[kind] ?? 0) + Number(count)
  }
  return requests
}

export function requestsBetween(before: Requests, after: Requests): Requests {
  const counts = Object.entries(after).map(([kind, count]) => [kind, count - (before[kind] ?? 0)] as const)
  return Object.fromEntries(counts.filter(([, count]) => count > 0).sort(([a], [b]) => (a < b ? -1 : 1)))
}

/** The number of requests without Events, which clients send in addition to their limit. */
export function total(requests: Requests): number {
  return Object.entries(requests).reduce((sum, [kind, count]) => (kind.endsWith(' events') ? sum : sum + count), 0)
}
