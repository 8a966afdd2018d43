// Worker clusters of MultiKueue: each a kube-apiserver with its own controller manager of Kueue, to which the manager cluster copies jobs.
import { readFile } from 'node:fs/promises'
import type { KubeObject } from './api-client.ts'
import { type ControlPlane, startControlPlane } from './control-plane.ts'
import { KUEUE_NAMESPACE, queues, startKueue } from './kueue.ts'

const API = 'kueue.x-k8s.io/v1beta2'

interface WorkerOptions {
  namespaces: string[]
  // The quota of each queue, by its name.
  quotas: Record<string, number>
}

// Registers the worker with the manager under its name. It ends with the manager.
export async function startWorker(
  manager: ControlPlane,
  name: string,
  { namespaces, quotas }: WorkerOptions,
): Promise<ControlPlane> {
  const worker = await startControlPlane({ karmada: false })
  manager.onStop(() => worker.stopAll())
  await startKueue(worker)
  await worker.apply([
    ...namespaces.map(namespaceNamed),
    ...Object.entries(quotas).flatMap(([queue, quota]) => queues(queue, { namespaces, quota })),
  ])
  const kubeconfig = await readFile(worker.kubeconfig)
  await manager.apply([
    {
      apiVersion: 'v1',
      kind: 'Secret',
      metadata: { name, namespace: KUEUE_NAMESPACE },
      data: { kubeconfig: kubeconfig.toString('base64') },
    },
    workerCluster(name),
  ])
  return worker
}

export function namespaceNamed(name: string): KubeObject {
  return { apiVersion: 'v1', kind: 'Namespace', metadata: { name } }
}

// The MultiKueueCluster of a worker, whose kubeconfig is in the Secret with its name, or with that of another worker.
export function workerCluster(name: string, { secret = name, annotations = {} } = {}): KubeObject {
  return {
    apiVersion: API,
    kind: 'MultiKueueCluster',
    metadata: { name, annotations },
    spec: { clusterSource: { kubeConfig: { location: secret, locationType: 'Secret' } } },
  }
}

// A check of MultiKueue, and the MultiKueueConfig with its worker clusters.
export function multiKueueCheck(name: string, clusters: string[]): KubeObject[] {
  const parameters = { apiGroup: 'kueue.x-k8s.io', kind: 'MultiKueueConfig', name }
  return [
    { apiVersion: API, kind: 'MultiKueueConfig', metadata: { name }, spec: { clusters } },
    {
      apiVersion: API,
      kind: 'AdmissionCheck',
      metadata: { name },
      spec: { controllerName: 'kueue.x-k8s.io/multikueue', parameters },
    },
  ]
}
