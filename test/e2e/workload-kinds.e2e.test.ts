// Workloads of third-party and configured kinds that ask for volumes, on a real kube-apiserver with a definition for each kind.
import { afterAll, beforeAll, describe, expect, test } from 'vitest'
import type { ResourceType } from '../../src/api/meta.ts'
import { clusterRoles } from '../../src/app/roles/rbac.ts'
import { valuesAt } from '../../src/base/json-path.ts'
import type { WorkloadKindEntry } from '../../src/core/workload-kinds/entry.ts'
import { buildWorkloadKinds } from '../../src/core/workload-kinds/kinds.ts'
import type { KubeObject } from './api-client.ts'
import { type ControlPlane, startControlPlane } from './control-plane.ts'
import { customResourceDefinition } from './interpreted-workloads.ts'
import { installLodestone, type Lodestone, startLodestone } from './lodestone.ts'
import { stopAndCheckRights } from './rights.ts'

const VOLUMES = 'lodestone.dev/volumes'
const INJECT = 'lodestone.dev/inject'
const MNIST = '{"name": "mnist"}'
const written = { labels: { [INJECT]: 'true' }, annotations: expect.objectContaining({ [VOLUMES]: MNIST }) }

const gadget: WorkloadKindEntry = {
  group: 'example.com',
  versions: ['v1'],
  kind: 'Gadget',
  plural: 'gadgets',
  templates: ['spec.parts[*].template'],
}
const kinds = buildWorkloadKinds([gadget])
/** The API server serves only an older version of these. */
const OLDER: Record<string, string> = { RayJob: 'v1alpha1', MPIJob: 'v1', Notebook: 'v1beta1' }

let plane: ControlPlane
let lodestone: Lodestone

beforeAll(async () => {
  plane = await startControlPlane({ karmada: false })
  const kubeconfig = await installLodestone(plane)
  const types = kinds.all.map(({ type }) => type).filter(isDefined)
  await Promise.all(types.map((type) => plane.apply(definition(type))))
  await plane.apply(clusterRoles(kinds) as KubeObject[])
  await Promise.all(
    types.map((type) => {
      const path = pathOf(servedVersion(type), type.kind)
      return plane.eventually(`${path} is served`, async () => (await plane.api.request('GET', path)).status === 200)
    }),
  )
  lodestone = await startLodestone(plane, { kubeconfig, config: { workloadKinds: [gadget] } })
})

afterAll(() => stopAndCheckRights({ plane, lodestones: [lodestone] }))

const template = { spec: { containers: [{ name: 'main', image: 'main:1' }] } }

test.each<[string, string, object, string[]]>([
  ['argoproj.io/v1alpha1', 'Rollout', { template }, ['spec.template.metadata']],
  ['argoproj.io/v1alpha1', 'Workflow', { templates: [{ name: 'a', container: {} }] }, ['spec.podMetadata']],
  ['argoproj.io/v1alpha1', 'CronWorkflow', { workflowSpec: {} }, ['spec.workflowSpec.podMetadata']],
  ['flink.apache.org/v1beta1', 'FlinkDeployment', { image: 'flink:1' }, ['spec.podTemplate.metadata']],
  [
    'jobset.x-k8s.io/v1alpha2',
    'JobSet',
    { replicatedJobs: [{ name: 'a', template: { spec: { template } } }] },
    ['spec.replicatedJobs[*].template.spec.template.metadata'],
  ],
  [
    'sparkoperator.k8s.io/v1beta2',
    'ScheduledSparkApplication',
    { template: { driver: { cores: 1 }, executor: {} } },
    ['spec.template.driver', 'spec.template.executor'],
  ],
  [
    'kubeflow.org/v1',
    'XGBoostJob',
    { xgbReplicaSpecs: { Master: { template } } },
    ['spec.xgbReplicaSpecs.Master.template.metadata'],
  ],
  [
    'kubeflow.org/v1',
    'MPIJob',
    { mpiReplicaSpecs: { Worker: { template } } },
    ['spec.mpiReplicaSpecs.Worker.template.metadata'],
  ],
  [
    'ray.io/v1alpha1',
    'RayJob',
    { rayClusterSpec: { headGroupSpec: { template }, workerGroupSpecs: [{ template }] } },
    [
      'spec.rayClusterSpec.headGroupSpec.template.metadata',
      'spec.rayClusterSpec.workerGroupSpecs[*].template.metadata',
    ],
  ],
  [
    'leaderworkerset.x-k8s.io/v1',
    'LeaderWorkerSet',
    { leaderWorkerTemplate: { leaderTemplate: template, workerTemplate: template } },
    ['spec.leaderWorkerTemplate.leaderTemplate.metadata', 'spec.leaderWorkerTemplate.workerTemplate.metadata'],
  ],
  ['serving.kserve.io/v1beta1', 'InferenceService', { predictor: { model: {} } }, ['spec.predictor']],
  [
    'serving.kserve.io/v1alpha2',
    'LLMInferenceService',
    { template: template.spec, prefill: { template: template.spec } },
    ['spec', 'spec.prefill'],
  ],
  [
    'spark.apache.org/v1',
    'SparkApplication',
    { driverSpec: { podTemplateSpec: template }, executorSpec: { podTemplateSpec: template } },
    ['spec.driverSpec.podTemplateSpec.metadata', 'spec.executorSpec.podTemplateSpec.metadata'],
  ],
  [
    'training.volcano.sh/v1alpha1',
    'HyperJob',
    { replicatedJobs: [{ templateSpec: { tasks: [{ template }] } }] },
    ['spec.replicatedJobs[*].templateSpec.tasks[*].template.metadata'],
  ],
  [
    'ray.io/v1',
    'RayCronJob',
    { jobTemplate: { rayClusterSpec: { headGroupSpec: { template } } } },
    ['spec.jobTemplate.rayClusterSpec.headGroupSpec.template.metadata'],
  ],
  ['example.com/v1', 'Gadget', { parts: [{ template }] }, ['spec.parts[*].template.metadata']],
])('the pods of a %s %s are sent to admission', async (apiVersion, kind, spec, places) => {
  await create(object(apiVersion, kind, spec, { annotations: { [VOLUMES]: MNIST } }))

  const stored = await read(apiVersion, kind)
  expect(places.flatMap((path) => valuesAt(stored, path))).toEqual(places.map(() => expect.objectContaining(written)))
})

test.each<[string, string, object, string, string, object, string]>([
  [
    'trainer.kubeflow.org/v1alpha1',
    'TrainJob',
    { runtimeRef: { name: 'torch' } },
    'jobset.x-k8s.io/v1alpha2',
    'JobSet',
    { replicatedJobs: [{ name: 'node', template: { spec: { template } } }] },
    'spec.replicatedJobs[*].template.spec.template.metadata',
  ],
  [
    'kubeflow.org/v1beta1',
    'Notebook',
    { template },
    'apps/v1',
    'StatefulSet',
    {
      serviceName: 'n',
      selector: { matchLabels: { app: 'n' } },
      template: { ...template, metadata: { labels: { app: 'n' } } },
    },
    'spec.template.metadata',
  ],
])(
  'what the controller of a %s %s creates inherits its volumes',
  async (apiVersion, kind, spec, ...[childVersion, childKind, childSpec, place]) => {
    const owner = object(apiVersion, kind, spec, { name: 'owner', annotations: { [VOLUMES]: MNIST } })
    await create(owner)
    const { metadata } = await read(apiVersion, kind, 'owner')
    const ownerReferences = [{ apiVersion, kind, name: 'owner', uid: metadata['uid'] ?? '', controller: true }]
    const child = object(childVersion, childKind, childSpec, { name: 'owned', ownerReferences })

    // Its controller retries too until Lodestone has read the owner.
    await plane.eventually('it is created', async () => {
      const { status } = await plane.api.request('POST', pathOf(childVersion, childKind), child)
      return status === 201
    })

    const labels = { ...(childKind === 'StatefulSet' && { app: 'n' }), ...written.labels }
    expect(valuesAt(await read(childVersion, childKind, 'owned'), place)).toEqual([{ ...written, labels }])
  },
)

test('the API server never fails to find out which workloads ask for volumes', async () => {
  const odd = { template: 'x', tasks: { a: 1 }, templates: [[1], null], driver: [], replicatedJobs: 'y', predictor: 3 }
  for (const type of kinds.all.map(({ type }) => type).filter(({ group }) => group === 'argoproj.io')) {
    await create(object(`argoproj.io/${type.version}`, type.kind, odd, { name: 'odd' }))
  }

  const { stdout } = await plane.kubectl(['get', '--raw', '/metrics'])
  const failures = stdout
    .split('\n')
    .filter((line) => line.startsWith('apiserver_admission_match_condition_evaluation_errors_total'))
  expect(failures.filter((line) => !line.endsWith(' 0'))).toEqual([])
})

/** Whether the test defines the kind; the API server has the others. */
function isDefined({ group, namespaced }: ResourceType): boolean {
  return namespaced && group.includes('.') && group !== 'networking.k8s.io'
}

function servedVersion({ group, version, kind }: ResourceType): string {
  return `${group}/${OLDER[kind] ?? version}`
}

describe('feedback about', () => {
  const unknown = { group: 'example.com', version: 'v1', kind: 'Widget', plural: 'widgets', namespaced: true }
  const widget = (name: string, annotations: object) => object('example.com/v1', 'Widget', {}, { name, annotations })

  beforeAll(async () => {
    await plane.apply(definition(unknown))
    await plane.kubectl(['wait', '--for=condition=Established', 'crd', 'widgets.example.com', '--timeout=60s'])
    await plane.eventually('it is served', async () => {
      const { code } = await plane.kubectl(['get', 'widgets'], { allowFailure: true })
      return code === 0
    })
  })

  test('an unknown kind has the remedy, once', async () => {
    const created = await kubectlCreate(widget('asking', { [VOLUMES]: 'not json' }))
    expect(created).toContain('add its kind to workloadKinds: Widget.example.com')
    expect(created).toContain('is not JSON')

    const { stderr } = await plane.kubectl(['label', 'widget', 'asking', 'touched=yes'])
    expect(stderr).not.toContain('lodestone')
  })

  test('an unknown kind is left out if a controller owns it, or without our annotation', async () => {
    const owner = { apiVersion: 'example.com/v1', kind: 'Widget', name: 'x', uid: 'x', controller: true }
    const owned = widget('owned', { [VOLUMES]: MNIST })
    expect(await kubectlCreate({ ...owned, metadata: { ...owned.metadata, ownerReferences: [owner] } })).toBe('')
    expect(await kubectlCreate(widget('other', { 'example.com/volumes': 'x' }))).toBe('')
  })

  test.each(['ConfigMap', 'Deployment', 'Workflow', 'TrainJob'])(
    'a mistyped key has the right one, for a %s',
    async (kind) => {
      const apiVersion =
        { ConfigMap: 'v1', Deployment: 'apps/v1', Workflow: 'argoproj.io/v1alpha1' }[kind] ??
        'trainer.kubeflow.org/v1alpha1'
      const metadata = { name: 'mistyped', annotations: { 'lodestone.dev/volums': MNIST } }
      const labels = { app: 'mistyped' }
      const spec =
        kind === 'Deployment'
          ? { selector: { matchLabels: labels }, template: { ...template, metadata: { labels } } }
          : {}
      const { spec: _, ...withoutSpec } = object(apiVersion, kind, spec, metadata)
      const stderr = await kubectlCreate(kind === 'ConfigMap' ? withoutSpec : object(apiVersion, kind, spec, metadata))
      expect(stderr).toContain('did you mean lodestone.dev/volumes?')
    },
  )

  test.each([
    { declared: '[{"kind": "HorizontalPodAutoscaler", "name": "web"}]', says: '' },
    { declared: 'not json', says: 'metadata.annotations[lodestone.dev/depends-on]: is not JSON' },
  ])('on a member, the declared dependencies $declared have the answer "$says"', async ({ declared, says }) => {
    const annotations = { 'lodestone.dev/depends-on': declared }
    const stderr = await kubectlCreate(
      object('argoproj.io/v1alpha1', 'Workflow', {}, { name: 'declaring', annotations }),
    )
    expect(stderr).toContain(says)
    expect(stderr.includes('lodestone.dev')).toBe(says !== '')
  })

  test.each(['Workflow', 'TrainJob'])('an annotation that is not JSON is a refusal, for a %s', async (kind) => {
    const apiVersion = kind === 'Workflow' ? 'argoproj.io/v1alpha1' : 'trainer.kubeflow.org/v1alpha1'
    const stderr = await kubectlCreate(
      object(apiVersion, kind, {}, { name: 'wrong', annotations: { [VOLUMES]: 'not json' } }),
    )
    expect(stderr).toContain('metadata.annotations[lodestone.dev/volumes]: is not JSON')
  })
})

/** What kubectl prints for warnings and refusals. */
async function kubectlCreate(given: KubeObject): Promise<string> {
  return (await plane.tryCreate(given)).stderr
}

function definition(type: ResourceType): KubeObject {
  const { kind, plural } = type
  return customResourceDefinition({ workload: { apiVersion: servedVersion(type), kind }, plural })
}

function object(apiVersion: string, kind: string, spec: object, metadata: object): KubeObject {
  return { apiVersion, kind, metadata: { name: 'asking', namespace: 'default', ...metadata }, spec } as KubeObject
}

function pathOf(apiVersion: string, kind: string): string {
  const plural = kinds.find(apiVersion, kind)?.type.plural ?? ''
  return `/apis/${apiVersion}/namespaces/default/${plural}`
}

async function read(apiVersion: string, kind: string, name = 'asking'): Promise<KubeObject> {
  return (await plane.api.expect('GET', `${pathOf(apiVersion, kind)}/${name}`)) as KubeObject
}

function create(given: KubeObject) {
  return plane.api.expect('POST', pathOf(given.apiVersion, given.kind), given)
}
