// What uses the data of volumes: pods and workloads that ask for it by the annotation, and nothing else.
const containers = [{ name: 'main', image: 'reader:1' }]

// `volumes` is the name of a VolumeManager, or the whole annotation.
function askFor(volumes: string): Record<string, string> {
  const text = /^[[{]/.test(volumes) ? volumes : JSON.stringify({ name: volumes, 'mount-path': '/data' })
  return { 'lodestone.dev/volumes': text }
}

export function podOf(name: string, volumes: string, spec: object = {}, namespace = 'default'): object {
  const labels = { app: name, 'lodestone.dev/inject': 'true' }
  const metadata = { name, namespace, labels, annotations: askFor(volumes) }
  return { apiVersion: 'v1', kind: 'Pod', metadata, spec: { containers, ...spec } }
}

// Annotated at the workload: that is enough.
export function deploymentOf(name: string, volumes: string, replicas: number): object {
  const labels = { app: name }
  return {
    apiVersion: 'apps/v1',
    kind: 'Deployment',
    metadata: { name, namespace: 'default', annotations: askFor(volumes) },
    spec: { replicas, selector: { matchLabels: labels }, template: { metadata: { labels }, spec: { containers } } },
  }
}

// One pod on each Linux node that its affinity allows.
export function daemonSetOf(name: string, volumes: string): object {
  const labels = { app: name }
  const spec = { containers, nodeSelector: { 'kubernetes.io/os': 'linux', 'kubernetes.io/arch': 'amd64' } }
  return {
    apiVersion: 'apps/v1',
    kind: 'DaemonSet',
    metadata: { name, namespace: 'default', annotations: askFor(volumes) },
    spec: { selector: { matchLabels: labels }, template: { metadata: { labels }, spec } },
  }
}

export function jobOf(
  name: string,
  volumes: string,
  completions: number,
  spec: object = {},
  namespace = 'default',
): object {
  const template = { metadata: { labels: { app: name } }, spec: { containers, restartPolicy: 'Never', ...spec } }
  return {
    apiVersion: 'batch/v1',
    kind: 'Job',
    metadata: { name, namespace, annotations: askFor(volumes) },
    spec: { completions, parallelism: completions, template },
  }
}
