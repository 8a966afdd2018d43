import { describe, expect, test } from 'vitest'
import { makeUsable, managers, nodesWith } from '../../../test/builders.ts'
import { ADDED_ANNOTATION, INJECT_LABEL, VOLUMES_ANNOTATION } from '../../api/lodestone.ts'
import type { K8sObject, ObjectMeta } from '../../api/meta.ts'
import { defined } from '../../base/json.ts'
import { valuesAt } from '../../base/json-path.ts'
import { SHIPPED_KINDS } from '../workload-kinds/kinds.ts'
import { decideWorkload, type WorkloadInput } from './decide-workload.ts'
import { volumeName } from './injection/inject.ts'

const MNIST = '{"name":"mnist"}'
const LABELLED = { [INJECT_LABEL]: 'true' }
const asks = (annotation = MNIST) => ({ [VOLUMES_ANNOTATION]: annotation })
const template = (metadata: ObjectMeta = {}, containers = ['main']) =>
  defined({
    metadata: Object.keys(metadata).length > 0 ? metadata : undefined,
    spec: { containers: containers.map((name) => ({ name })) },
  })
type WithSpec = K8sObject & { spec?: unknown }
const workload = (kind: string, spec: unknown, metadata: ObjectMeta = {}, apiVersion = 'apps/v1'): WithSpec => ({
  apiVersion,
  kind,
  metadata: { name: 'train', namespace: 'default', ...metadata },
  spec,
})
const deployment = (inTemplate: ObjectMeta = {}, metadata: ObjectMeta = {}) =>
  workload('Deployment', { replicas: 2, template: template(inTemplate) }, metadata)
const job = (inTemplate: ObjectMeta = {}, metadata: ObjectMeta = {}) =>
  workload('Job', { template: template(inTemplate) }, metadata, 'batch/v1')

const ready = managers({ name: 'mnist', volumes: [makeUsable('vol1')] })

function decide(object: K8sObject, stored?: K8sObject, rest: Partial<WorkloadInput> = {}) {
  const kind = SHIPPED_KINDS.find(object.apiVersion, object.kind)
  return decideWorkload({ object, stored, kind, managers: ready, isHub: false, ...rest })
}

function refused(object: K8sObject, rest?: Partial<WorkloadInput>) {
  const outcome = decide(object, undefined, rest)
  return outcome.kind === 'deny' && outcome.errors.map(({ path, message }) => [path, message])
}

describe('a workload that requests volumes', () => {
  test('in its template gets the label in the template', () => {
    expect(decide(deployment({ annotations: asks() }))).toEqual({
      kind: 'patch',
      object: deployment({ labels: LABELLED, annotations: { ...asks(), [ADDED_ANNOTATION]: '{"inject":true}' } }),
      auditAnnotations: { decision: 'Labeled', reason: 'its pods get their volumes when they are created' },
    })
  })

  test('in its own metadata requests them for all of its pods', () => {
    expect(decide(deployment({ labels: { app: 'x' } }, { annotations: asks() }))).toMatchObject({
      object: deployment({ labels: { app: 'x', ...LABELLED }, annotations: asks() }, { annotations: asks() }),
    })
  })

  test('uses the annotation of its template before its own', () => {
    const own = asks('{"name":"mnist","id":"vol1"}')
    expect(decide(deployment({ annotations: own }, { annotations: asks() }))).toMatchObject({
      object: deployment({ labels: LABELLED, annotations: own }, { annotations: asks() }),
    })
  })

  test('with the label and the copy stays as it is', () => {
    const done = deployment({ labels: LABELLED, annotations: asks() }, { annotations: asks() })
    expect(decide(done)).toEqual({ kind: 'allow' })
    expect(decide(done, done)).toEqual({ kind: 'allow' })
  })

  test.each([
    ['Deployment', 'apps/v1', { template: template() }, 'spec.template'],
    ['StatefulSet', 'apps/v1', { template: template() }, 'spec.template'],
    ['DaemonSet', 'apps/v1', { template: template() }, 'spec.template'],
    ['ReplicaSet', 'apps/v1', { template: template() }, 'spec.template'],
    ['Job', 'batch/v1', { template: template() }, 'spec.template'],
    ['CronJob', 'batch/v1', { jobTemplate: { spec: { template: template() } } }, 'spec.jobTemplate.spec.template'],
    ['Job', 'batch.volcano.sh/v1alpha1', { tasks: [{ template: template() }] }, 'spec.tasks.*.template'],
    [
      'TFJob',
      'kubeflow.org/v1',
      { tfReplicaSpecs: { Worker: { template: template() } } },
      'spec.tfReplicaSpecs.*.template',
    ],
    ['RayCluster', 'ray.io/v1', { headGroupSpec: { template: template() } }, 'spec.headGroupSpec.template'],
    [
      'SparkApplication',
      'sparkoperator.k8s.io/v1beta2',
      { mode: 'cluster', driver: { template: template() } },
      'spec.driver.template',
    ],
  ])('may be a %s of %s', (kind, apiVersion, spec, at) => {
    const outcome = decide(workload(kind, spec, { annotations: asks() }, apiVersion))
    const [metadata] = outcome.kind === 'patch' ? valuesAt(outcome.object, `${at}.metadata`) : []
    expect(metadata).toEqual({ labels: LABELLED, annotations: { ...asks(), [ADDED_ANNOTATION]: expect.any(String) } })
  })

  test('requests them for every template without its own annotation', () => {
    const tasks = [
      { template: template() },
      { template: template({ annotations: asks('{"name":"mnist","readOnly":true}') }) },
    ]
    const outcome = decide(workload('Job', { tasks }, { annotations: asks() }, 'batch.volcano.sh/v1alpha1'))
    const labels = outcome.kind === 'patch' ? valuesAt(outcome.object, 'spec.tasks.*.template.metadata.labels') : []
    expect(labels).toEqual([LABELLED, LABELLED])
  })
})

describe('a workload is rejected before its pods', () => {
  test.each<[string, K8sObject, string]>([
    [
      'whose template has an invalid annotation',
      deployment({ annotations: asks('x') }),
      'spec.template.metadata.annotations[lodestone.dev/volumes]',
    ],
    [
      'whose template has an annotation that is no text',
      deployment({ annotations: { [VOLUMES_ANNOTATION]: null as never } }, { annotations: asks() }),
      'spec.template.metadata.annotations[lodestone.dev/volumes]',
    ],
    [
      'whose own annotation is invalid',
      deployment({}, { annotations: asks('[{}]') }),
      'metadata.annotations[lodestone.dev/volumes][0].name',
    ],
    [
      'that names a container that does not exist',
      deployment({}, { annotations: asks('{"name":"mnist","containers":[{"name":"x"}]}') }),
      'metadata.annotations[lodestone.dev/volumes].containers[0].name',
    ],
    [
      'that names such a container for a VolumeManager that does not exist yet',
      deployment({}, { annotations: asks('{"name":"absent","containers":[{"name":"x"}]}') }),
      'metadata.annotations[lodestone.dev/volumes].containers[0].name',
    ],
    [
      'that names a volume that its VolumeManager does not have',
      deployment({}, { annotations: asks('{"name":"mnist","id":"x"}') }),
      'metadata.annotations[lodestone.dev/volumes].id',
    ],
    [
      'with two volumes at one path',
      deployment({}, { annotations: asks('[{"name":"mnist","mount-path":"/a"},{"name":"other","mount-path":"/a"}]') }),
      'metadata.annotations[lodestone.dev/volumes][1]',
    ],
  ])('%s', (_name, object, path) => {
    const two = managers(
      { name: 'mnist', volumes: [makeUsable('vol1')] },
      { name: 'other', volumes: [makeUsable('vol2')] },
    )
    expect(refused(object, { managers: two })).toEqual([[path, expect.any(String)]])
  })

  test('once for all of its templates', () => {
    const tasks = [{ template: template() }, { template: template() }]
    expect(refused(workload('Job', { tasks }, { annotations: asks('x') }, 'batch.volcano.sh/v1alpha1'))).toHaveLength(1)
  })
})

describe('a workload whose VolumeManager', () => {
  test('does not exist yet is allowed with a warning: manifests are applied in any order', () => {
    expect(decide(deployment({}, { annotations: asks('{"name":"absent"}') }))).toMatchObject({
      kind: 'patch',
      warnings: ['lodestone: there is no VolumeManager absent in this namespace; create it first'],
    })
  })

  test('has failed is allowed with a warning', () => {
    const failed = managers({ name: 'mnist', refusal: 'no such bucket', volumes: [makeUsable('vol1')] })
    const { warnings } = decide(deployment({}, { annotations: asks() }), undefined, { managers: failed })
    expect(warnings).toEqual([expect.stringMatching(/cannot be used: no such bucket/)])
  })

  test('has volumes that no node has together is allowed with a warning', () => {
    const apart = managers({
      name: 'mnist',
      volumes: [makeUsable('vol1', { nodes: ['n1'] }), makeUsable('vol2', { nodes: ['n2'] })],
    })
    const annotation = '[{"name":"mnist"},{"name":"mnist","id":"vol2","mount-path":"/d"}]'
    const { warnings } = decide(deployment({}, { annotations: asks(annotation) }), undefined, { managers: apart })
    expect(warnings).toEqual(['lodestone: no node has all of mnist/vol1, mnist/vol2; give them the same nodeAffinity'])
  })

  test('exists only in members gets no warning on a hub', () => {
    const outcome = decide(deployment({}, { annotations: asks('{"name":"absent"}') }), undefined, { isHub: true })
    expect(outcome).toMatchObject({ kind: 'patch' })
    expect(outcome).not.toHaveProperty('warnings')
  })
})

describe('errors and warnings', () => {
  const both = '[{"name":"absent"},{"name":"mnist","id":"x","mount-path":"/x"}]'

  test('are returned together when some volumes are missing and others are invalid', () => {
    expect(decide(deployment({}, { annotations: asks(both) }))).toEqual({
      kind: 'deny',
      errors: [expect.objectContaining({ path: 'metadata.annotations[lodestone.dev/volumes][1].id' })],
      warnings: ['lodestone: there is no VolumeManager absent in this namespace; create it first'],
    })
  })

  test('have no empty list of warnings', () => {
    expect(decide(deployment({}, { annotations: asks('x') }))).toEqual({ kind: 'deny', errors: [expect.anything()] })
    expect(decide(deployment({}, { annotations: asks('{"name":"mnist","id":"x"}') }))).toEqual({
      kind: 'deny',
      errors: [expect.anything()],
    })
  })

  test('include warnings for a workload without changes', () => {
    const annotations = asks('{"name":"absent"}')
    expect(decide(deployment({ labels: LABELLED, annotations }, { annotations }))).toEqual({
      kind: 'allow',
      warnings: ['lodestone: there is no VolumeManager absent in this namespace; create it first'],
    })
  })

  test('contain the path of each template with an invalid annotation', () => {
    const tasks = ['x', 'x'].map((wrong) => ({ template: template({ annotations: asks(wrong) }) }))
    const object = workload('Job', { tasks }, {}, 'batch.volcano.sh/v1alpha1')
    expect(refused(object)).toEqual([
      ['spec.tasks[0].template.metadata.annotations[lodestone.dev/volumes]', expect.any(String)],
      ['spec.tasks[1].template.metadata.annotations[lodestone.dev/volumes]', expect.any(String)],
    ])
  })

  test('contain the path of the template in which a volume conflicts', () => {
    const name = volumeName('mnist', 'vol1', undefined)
    const spec = { ...template().spec, volumes: [{ name, emptyDir: {} }] }
    const object = workload('Deployment', { template: { spec } }, { annotations: asks() })
    expect(refused(object)).toEqual([['spec.template.spec.volumes[0].name', expect.any(String)]])
  })

  test.each(['main', 'init'])(
    'do not include container %s of the template, also before a VolumeManager exists',
    (name) => {
      const spec = { ...template().spec, initContainers: [{ name: 'init' }] }
      const annotations = asks(JSON.stringify({ name: 'absent', containers: [{ name }] }))
      expect(decide(workload('Deployment', { template: { spec } }, { annotations })).kind).toBe('patch')
    },
  )
})

test('a template with the label but without the annotation gets the annotation', () => {
  expect(decide(deployment({ labels: LABELLED }, { annotations: asks() }))).toMatchObject({
    object: deployment({ labels: LABELLED, annotations: asks() }, { annotations: asks() }),
  })
})

describe('an update', () => {
  const own = (annotation = MNIST) => deployment({}, { annotations: asks(annotation) })
  const copied = (annotation: string, copy = annotation) =>
    deployment({ labels: LABELLED, annotations: asks(copy) }, { annotations: asks(annotation) })
  test('without a change of volumes is allowed, even if it was never checked', () => {
    const unchecked = own('x')
    const scaled = { ...unchecked, spec: { ...(unchecked as K8sObject & { spec: object }).spec, replicas: 3 } }
    expect(decide(scaled, unchecked)).toEqual({ kind: 'allow' })
  })

  test('that requests volumes for the first time labels the pod template', () => {
    expect(decide(own(), deployment())).toMatchObject({ object: copied(MNIST) })
  })

  test('that requests another volume updates the copy in the template', () => {
    const other = '{"name":"mnist","readOnly":true}'
    expect(decide(copied(other, MNIST), copied(MNIST))).toMatchObject({ object: copied(other) })
  })

  test('that requests another volume keeps the own annotation of the template', () => {
    const template = '{"name":"mnist","mount-path":"/d"}'
    expect(decide(copied('{"name":"mnist","readOnly":true}', template), copied(MNIST, template))).toEqual({
      kind: 'allow',
    })
  })

  test.each([
    ['Job', job],
    [
      'Job of Volcano',
      (inTemplate?: ObjectMeta, metadata?: ObjectMeta) =>
        workload('Job', { tasks: [{ template: template(inTemplate) }] }, metadata, 'batch.volcano.sh/v1alpha1'),
    ],
  ])('of a %s changes nothing: its pod template is immutable', (_name, make) => {
    expect(decide(make({}, { annotations: asks() }), make())).toEqual({
      kind: 'allow',
      warnings: ['lodestone: the pod template of a Job is immutable; recreate the Job to change its volumes'],
    })
  })
})

test('after a rollback to an earlier request, a DaemonSet keeps all nodes of its user', () => {
  const volumes = [makeUsable('vol1', { nodeAffinity: nodesWith('vck.intelai.org/1-0123456789abc') })]
  const rest = { managers: managers({ name: 'mnist', volumes }) }
  const manifest = workload('DaemonSet', { template: template() })
  const after = (object: K8sObject, stored?: K8sObject) => {
    const outcome = decide(object, stored, rest)
    return outcome.kind === 'patch' ? outcome.object : object
  }
  const requested = workload('DaemonSet', { template: template() }, { annotations: asks() })
  const before = after(requested) as K8sObject & { spec: unknown }
  expect(JSON.stringify(before.spec)).toContain('vck.intelai.org')

  const restored = after({ ...manifest, spec: before.spec } as K8sObject, manifest)
  expect(JSON.parse(JSON.stringify(restored))).toMatchObject(manifest)
  expect(JSON.stringify(restored)).not.toContain('vck.intelai.org')
})

describe('a workload is not changed', () => {
  const OWNER = { apiVersion: 'apps/v1', kind: 'Deployment', name: 'd', uid: 'u', controller: true }

  test.each([
    ['that requests nothing', deployment()],
    ['that is being deleted', deployment({}, { annotations: asks('x'), deletionTimestamp: '2026-01-01T00:00:00Z' })],
    ['that a controller created', deployment({}, { annotations: asks('x'), ownerReferences: [OWNER] })],
    [
      'that a controller created and that has another owner',
      deployment({}, { annotations: asks('x'), ownerReferences: [{ ...OWNER, controller: false }, OWNER] }),
    ],
    [
      'whose template has inject false',
      deployment({ labels: { [INJECT_LABEL]: 'false' } }, { annotations: asks('x') }),
    ],
  ])('%s', (_name, object) => {
    expect(decide(object)).toEqual({ kind: 'allow' })
  })
})

test('a workload without a pod template gets a warning', () => {
  expect(decide(workload('Rollout', { workloadRef: {} }, { annotations: asks() }, 'argoproj.io/v1alpha1'))).toEqual({
    kind: 'allow',
    warnings: ['lodestone: no pod gets the volumes: this Rollout has no pod template'],
  })
})

describe('the annotation of a workload is written', () => {
  const metadata = { labels: LABELLED, annotations: asks() }
  const podTemplate = { metadata: { labels: { app: 'x' } }, spec: { nodeName: 'n' } }

  test.each<[string, string, string, object, object]>([
    ['for all pods, where a kind has such a place', 'argoproj.io/v1alpha1', 'Workflow', {}, { podMetadata: metadata }],
    [
      'for all pods, instead of in each template',
      'flink.apache.org/v1beta1',
      'FlinkDeployment',
      { podTemplate, taskManager: { podTemplate: { spec: {} } } },
      {
        podTemplate: { metadata: { ...metadata, labels: { app: 'x', ...LABELLED } }, spec: { nodeName: 'n' } },
        taskManager: { podTemplate: { spec: {} } },
      },
    ],
    [
      'in fields with the metadata of pods, and in the templates below them',
      'sparkoperator.k8s.io/v1beta2',
      'SparkApplication',
      { driver: { template: template() }, executor: {} },
      { driver: { ...metadata, template: { ...template(), metadata } }, executor: metadata },
    ],
    [
      'in the components of a service, but creates none',
      'serving.kserve.io/v1beta1',
      'InferenceService',
      { predictor: { model: {} } },
      { predictor: { model: {}, ...metadata } },
    ],
  ])('%s', (_name, apiVersion, kind, spec, want) => {
    expect(decide(workload(kind, spec, { annotations: asks() }, apiVersion))).toMatchObject({
      kind: 'patch',
      object: workload(kind, want, { annotations: asks() }, apiVersion),
    })
  })
})

describe('a workload that inherits the annotation of its owner', () => {
  const ownerReferences = [
    { apiVersion: 'trainer.kubeflow.org/v1alpha1', kind: 'TrainJob', name: 't', uid: 'u', controller: true },
  ]
  const jobSet = (inTemplate: ObjectMeta = {}) =>
    workload(
      'JobSet',
      { replicatedJobs: [{ name: 'node', template: { spec: { template: template(inTemplate) } } }] },
      { ownerReferences },
      'jobset.x-k8s.io/v1alpha2',
    )

  test('gets it in its templates', () => {
    const outcome = decide(jobSet(), undefined, { owner: { title: 'TrainJob t', annotation: MNIST } })
    expect(outcome).toMatchObject({ kind: 'patch', object: jobSet({ labels: LABELLED, annotations: asks() }) })
  })

  test('is not changed if the owner requests nothing', () => {
    expect(decide(jobSet(), undefined, { owner: { title: 'TrainJob t', annotation: undefined } })).toEqual({
      kind: 'allow',
    })
  })

  test('is rejected until the owner is known, since its controller retries', () => {
    const owner = { title: 'TrainJob t', isUnknown: true } as const
    expect(decide(jobSet(), undefined, { owner })).toEqual({
      kind: 'deny',
      errors: [{ path: 'metadata.ownerReferences', code: 'Invalid', message: expect.stringContaining('TrainJob t') }],
    })
    expect(decide(jobSet(), jobSet(), { owner })).toEqual({ kind: 'allow' })
  })

  test('loses it when its controller writes it after the owner lost it', () => {
    const notebook = { apiVersion: 'kubeflow.org/v1', kind: 'Notebook', name: 'n', uid: 'u', controller: true }
    const child = workload('StatefulSet', { template: template() }, { ownerReferences: [notebook] })
    const title = 'Notebook n'
    const created = decide(child, undefined, { owner: { title, annotation: MNIST } })
    const stored = created.kind === 'patch' ? created.object : child
    expect(decide(stored, stored, { owner: { title, annotation: undefined } })).toMatchObject({
      kind: 'patch',
      object: workload('StatefulSet', { template: { metadata: {}, ...template() } }, { ownerReferences: [notebook] }),
    })
  })

  test('names no wrong volume: its owner was checked', () => {
    const trainJob = workload('TrainJob', {}, { annotations: asks('x') }, 'trainer.kubeflow.org/v1alpha1')
    expect(refused(trainJob)).toEqual([['metadata.annotations[lodestone.dev/volumes]', expect.any(String)]])
    const missing = { ...trainJob, metadata: { ...trainJob.metadata, annotations: asks('{"name":"absent"}') } }
    expect(decide(missing)).toEqual({
      kind: 'allow',
      warnings: ['lodestone: there is no VolumeManager absent in this namespace; create it first'],
    })
  })
})
