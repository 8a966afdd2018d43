// Stands for metrics-server, for `kubectl top pods`: each pod uses the same.
import { createServer } from 'node:https'
import type { AddressInfo } from 'node:net'
import { aggregatedApi } from './aggregated-api.ts'
import type { KubeObject } from './api-client.ts'
import type { ControlPlane } from './control-plane.ts'

const [group, version, host] = ['metrics.k8s.io', 'v1beta1', 'metrics-server.kube-system.svc']
const apiVersion = `${group}/${version}`

/** Starts it, until the plane stops. Returns once kube-apiserver serves its API. */
export async function startMetricsServer(plane: ControlPlane): Promise<void> {
  const { certificate, key } = await plane.pki.issue({ name: 'metrics-server', commonName: host, dnsNames: [host] })
  const server = createServer({ cert: certificate, key }, async (request, response) => {
    const body = await answer(plane, request.url ?? '').catch(() => undefined)
    response.writeHead(body ? 200 : 404, { 'content-type': 'application/json' })
    response.end(JSON.stringify(body ?? {}))
  })
  await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve))
  plane.onStop(async () => {
    server.close()
    server.closeAllConnections()
  })
  const { port } = server.address() as AddressInfo
  await plane.apply(aggregatedApi(plane.pki, { group, version, host, port }))
  await plane.eventually('kube-apiserver serves the metrics of pods', () =>
    plane.api.expect('GET', `/apis/${apiVersion}/namespaces/default/pods`),
  )
}

async function answer(plane: ControlPlane, url: string): Promise<object | undefined> {
  const [path = ''] = url.split('?')
  const [, namespace] = /^\/apis\/metrics.k8s.io\/v1beta1\/namespaces\/([^/]+)\/pods$/.exec(path) ?? []
  if (namespace !== undefined) {
    const pods = await plane.listJson('pods', namespace)
    return { kind: 'PodMetricsList', apiVersion, metadata: {}, items: pods.map(metricsOf) }
  }
  if (path !== `/apis/${apiVersion}`) return undefined
  const resource = { name: 'pods', singularName: '', namespaced: true, kind: 'PodMetrics', verbs: ['get', 'list'] }
  return { kind: 'APIResourceList', apiVersion: 'v1', groupVersion: apiVersion, resources: [resource] }
}

function metricsOf({ metadata }: KubeObject): object {
  const { name, namespace } = metadata
  const usage = { cpu: '100m', memory: '100Mi' }
  const containers = [{ name: 'main', usage }]
  return { metadata: { name, namespace }, timestamp: new Date().toISOString(), window: '30s', containers }
}
