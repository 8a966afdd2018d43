// Registers an API server on loopback at the aggregation layer of kube-apiserver.
import type { KubeObject } from './api-client.ts'
import type { Pki } from './pki.ts'

export interface AggregatedApi {
  group: string
  version: string
  // `NAME.NAMESPACE.svc`, as in its certificate.
  host: string
  port: number
}

// The aggregation layer reaches the API server through a Service that is only a DNS name. The address of the loopback interface passes for a
// DNS name, and the certificate is checked against the Service's own name.
export function aggregatedApi({ caBundle }: Pki, { group, version, host, port }: AggregatedApi): KubeObject[] {
  const [name = '', namespace = ''] = host.split('.')
  return [
    {
      apiVersion: 'v1',
      kind: 'Service',
      metadata: { name, namespace },
      spec: { type: 'ExternalName', externalName: '127.0.0.1', ports: [{ port }] },
    },
    {
      apiVersion: 'apiregistration.k8s.io/v1',
      kind: 'APIService',
      metadata: { name: `${version}.${group}` },
      spec: {
        group,
        version,
        groupPriorityMinimum: 2000,
        versionPriority: 10,
        service: { name, namespace, port },
        caBundle,
      },
    },
  ]
}
