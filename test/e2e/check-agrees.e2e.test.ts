// `lodestone check` has no API server that evaluates the match conditions of webhooks. Here it must say what a real API server does.
import { spawnSync } from 'node:child_process'
import { mkdir, writeFile } from 'node:fs/promises'
import { join } from 'node:path'
import { afterAll, beforeAll, expect, test } from 'vitest'
import { stringify } from 'yaml'
import type { KubeObject } from './api-client.ts'
import { type ControlPlane, startControlPlane } from './control-plane.ts'
import { installLodestone, type Lodestone, startLodestone } from './lodestone.ts'
import { stopAndCheckRights } from './rights.ts'

const VOLUMES = 'lodestone.dev/volumes'
const DEPENDS_ON = 'lodestone.dev/depends-on'
const INJECT = 'lodestone.dev/inject'
const ANNOTATED = { [VOLUMES]: '{"name": "mnist"}' }
const MISTYPED = { 'lodestone.dev/volums': '{"name": "mnist"}' }
const INVALID_DEPENDENCY = { [DEPENDS_ON]: 'ConfigMap/a' }
const UNKNOWN_DEPENDENCY = { [DEPENDS_ON]: '[{"kind": "Gadget", "name": "a"}]' }
const OWNED = [{ apiVersion: 'apps/v1', kind: 'StatefulSet', name: 'owner', uid: 'owner', controller: true }]
const containers = [{ name: 'main', image: 'main:1' }]

let plane: ControlPlane
let lodestone: Lodestone
let folder: string

beforeAll(async () => {
  plane = await startControlPlane({ karmada: false })
  const kubeconfig = await installLodestone(plane)
  lodestone = await startLodestone(plane, { kubeconfig })
  folder = join(plane.dir, 'check-agrees')
  await mkdir(folder)
  await plane.apply(volumeManager)
  const patch = JSON.stringify({ status })
  await plane.kubectl(['patch', 'volumemanager', 'mnist', '--subresource=status', '--type=merge', '-p', patch])
  await writeFile(join(folder, 'mnist.yaml'), stringify({ ...volumeManager, status }))
  await plane.eventually(
    'Lodestone reads the VolumeManager',
    async () => (await ofServer(pod(ANNOTATED))).warnings.length === 0,
  )
})

afterAll(() => stopAndCheckRights({ plane, lodestones: [lodestone] }))

test.each<{ what: string; object: KubeObject; want: Answer['outcome'] }>([
  { what: 'a pod without annotations', object: pod({}), want: 'allowed' },
  { what: 'a pod that asks for a volume', object: pod(ANNOTATED), want: 'patched' },
  {
    what: 'a pod that asks for a volume, with the label',
    object: pod(ANNOTATED, { [INJECT]: 'true' }),
    want: 'patched',
  },
  { what: 'a pod that opted out', object: pod({ [VOLUMES]: 'no JSON' }, { [INJECT]: 'false' }), want: 'allowed' },
  { what: 'a pod with the label alone', object: pod({}, { [INJECT]: 'true' }), want: 'allowed' },
  { what: 'a pod with an invalid request', object: pod({ [VOLUMES]: 'no JSON' }), want: 'denied' },
  { what: 'a pod of an unknown volume', object: pod({ [VOLUMES]: '{"name": "absent"}' }), want: 'denied' },
  { what: 'a pod with a mistyped annotation', object: pod(MISTYPED), want: 'allowed' },
  { what: 'a pod with an invalid dependency', object: pod(INVALID_DEPENDENCY), want: 'denied' },
  {
    what: 'a pod that opted out, with an invalid dependency',
    object: pod(INVALID_DEPENDENCY, { [INJECT]: 'false' }),
    want: 'denied',
  },
  { what: 'a pod with a dependency of a kind that only a hub knows', object: pod(UNKNOWN_DEPENDENCY), want: 'allowed' },
  { what: 'a Deployment without annotations', object: deployment({}, {}), want: 'allowed' },
  { what: 'a Deployment with the annotation', object: deployment(ANNOTATED, {}), want: 'patched' },
  { what: 'a Deployment with an annotated template', object: deployment({}, ANNOTATED), want: 'patched' },
  { what: 'a Deployment with an invalid request', object: deployment({}, { [VOLUMES]: 'no JSON' }), want: 'denied' },
  { what: 'a Deployment with a mistyped annotation', object: deployment({}, MISTYPED), want: 'allowed' },
  { what: 'an annotated kind without pods', object: configMap(ANNOTATED), want: 'allowed' },
  {
    what: 'an annotated kind without pods that a controller made',
    object: configMap(ANNOTATED, { ownerReferences: OWNED }),
    want: 'allowed',
  },
  { what: 'a kind without pods with a dependency', object: configMap(UNKNOWN_DEPENDENCY), want: 'allowed' },
  { what: 'an annotated pod in an excluded namespace', object: pod(ANNOTATED, {}, 'kube-system'), want: 'allowed' },
  {
    what: 'an invalid Deployment in a namespace of Kubernetes',
    object: deployment({}, { [VOLUMES]: 'no JSON' }, 'kube-public'),
    want: 'allowed',
  },
])('$what', async ({ object, want }) => {
  const server = await ofServer(object)

  expect(server.outcome, server.stderr).toBe(want)
  expect(ofCheck(object)).toEqual({ outcome: server.outcome, warnings: server.warnings })
})

test('the objects that it prints are accepted by the API server as they are', async () => {
  const objects = [pod(ANNOTATED), deployment({}, ANNOTATED), configMap({})]
  const given = objects.map((object) => stringify(object)).join('---\n')

  const { stdout } = runCheck(given, 'yaml')
  const { stdout: applied, stderr } = await plane.kubectl(['apply', '--dry-run=server', '-f', '-'], { input: stdout })

  expect(stdout).toContain('name: mnist--vol1')
  expect(stderr).toBe('')
  expect(applied.trim().split('\n')).toEqual([
    'pod/asked created (server dry run)',
    'deployment.apps/asked created (server dry run)',
    'configmap/asked created (server dry run)',
  ])
})

interface Answer {
  outcome: 'allowed' | 'patched' | 'denied'
  /** Of Lodestone; an API server has warnings of its own. */
  warnings: string[]
}

/** What the API server answers to a dry run. A patch shows in the volume, or in the label of a template. */
async function ofServer(object: KubeObject): Promise<Answer & { stderr: string }> {
  const { code, stdout, stderr } = await plane.kubectl(['create', '--dry-run=server', '-o', 'json', '-f', '-'], {
    input: stringify(object),
    allowFailure: true,
  })
  const warnings = [...stderr.matchAll(/^Warning: (lodestone: .*)$/gm)].map(([, text = '']) => text)
  if (code !== 0) return { outcome: 'denied', warnings: [], stderr }
  const isPatched = stdout.includes('mnist--vol1') || countLabels(stdout) > countLabels(JSON.stringify(object))
  return { outcome: isPatched ? 'patched' : 'allowed', warnings, stderr }
}

function countLabels(json: string): number {
  return json.match(/"lodestone\.dev\/inject": ?"true"/g)?.length ?? 0
}

function ofCheck(object: KubeObject): Answer {
  const { objects } = JSON.parse(runCheck(stringify(object), 'json').stdout) as { objects: Answer[] }
  const { outcome, warnings } = objects[0] as Answer
  return { outcome, warnings }
}

function runCheck(input: string, format: string) {
  const options = ['check', '-f', '-', '--folder', folder, '-o', format]
  return spawnSync(process.execPath, ['src/main.ts', ...options], { input, encoding: 'utf8' })
}

const volumeManager: KubeObject & { spec: object } = {
  apiVersion: 'vck.intelai.org/v1alpha1',
  kind: 'VolumeManager',
  metadata: { name: 'mnist', namespace: 'default' },
  spec: {
    volumeConfigs: [
      {
        id: 'vol1',
        replicas: 1,
        sourceType: 'S3',
        accessMode: 'ReadWriteOnce',
        capacity: '1Gi',
        labels: { team: 'vision' },
        options: { awsCredentialsSecretName: 'aws', sourceURL: 's3://data/mnist/' },
      },
    ],
  },
}

const nodeSelectorTerms = [{ matchExpressions: [{ key: 'data/mnist', operator: 'Exists' }] }]
const status = {
  state: 'Running',
  message: 'all volumes are ready',
  volumes: [
    {
      id: 'vol1',
      message: 'success',
      volumeSource: { hostPath: { path: '/var/datasets/mnist' } },
      nodeAffinity: { requiredDuringSchedulingIgnoredDuringExecution: { nodeSelectorTerms } },
    },
  ],
}

function pod(annotations: object, labels: object = {}, namespace = 'default'): KubeObject {
  const metadata = { name: 'asked', namespace, annotations, labels }
  return { apiVersion: 'v1', kind: 'Pod', metadata, spec: { containers } } as KubeObject
}

function deployment(annotations: object, ofTemplate: object, namespace = 'default'): KubeObject {
  const labels = { app: 'asked' }
  const template = { metadata: { labels, annotations: ofTemplate }, spec: { containers } }
  const spec = { selector: { matchLabels: labels }, template }
  return {
    apiVersion: 'apps/v1',
    kind: 'Deployment',
    metadata: { name: 'asked', namespace, annotations },
    spec,
  } as KubeObject
}

function configMap(annotations: object, more: object = {}): KubeObject {
  return {
    apiVersion: 'v1',
    kind: 'ConfigMap',
    metadata: { name: 'asked', namespace: 'default', annotations, ...more },
  } as KubeObject
}
