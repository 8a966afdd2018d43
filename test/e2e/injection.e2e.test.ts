// Pods and workloads that ask for volumes, on a real kube-apiserver: what it stores, what it refuses, and what it lets be changed later.
import { afterAll, beforeAll, describe, expect, onTestFinished, test } from 'vitest'
import { stringify } from 'yaml'
import type { KubeObject } from './api-client.ts'
import { type ControlPlane, startControlPlane } from './control-plane.ts'
import { customResourceDefinition } from './interpreted-workloads.ts'
import { installLodestone, type Lodestone, startLodestone } from './lodestone.ts'
import { stopAndCheckRights } from './rights.ts'

const VOLUMES = 'lodestone.dev/volumes'
const INJECT = 'lodestone.dev/inject'
const ADDED = 'lodestone.dev/added'
const managers = 'volumemanagers.vck.intelai.org'

let plane: ControlPlane
let kubeconfig: string
let lodestone: Lodestone

beforeAll(async () => {
  const controllers = ['job-controller', 'serviceaccount-controller', 'pod-garbage-collector-controller']
  const flags = { 'kube-controller-manager': [`--controllers=${controllers}`] }
  plane = await startControlPlane({ karmada: false, garbageCollector: true, flags })
  kubeconfig = await installLodestone(plane)
  const kinds = [
    { apiVersion: 'kubeflow.org/v1', kind: 'TFJob', plural: 'tfjobs' },
    { apiVersion: 'batch.volcano.sh/v1alpha1', kind: 'Job', plural: 'jobs' },
    { apiVersion: 'sparkoperator.k8s.io/v1beta2', kind: 'SparkApplication', plural: 'sparkapplications' },
  ]
  await plane.apply(kinds.map(({ plural, ...workload }) => customResourceDefinition({ plural, workload })))
  lodestone = await startLodestone(plane, { kubeconfig })
  await volumeManager('mnist', { label: 'data/mnist' })
})

afterAll(() => stopAndCheckRights({ plane, lodestones: [lodestone] }))

describe('a pod that names a volume which is there', () => {
  test('is stored with it, mounted in all containers, on the nodes that have it', async () => {
    await plane.create(
      pod('ready', '{"name": "mnist", "mount-path": "/data"}', {
        initContainers: [
          { name: 'setup', image: 'setup:1' },
          { name: 'proxy', image: 'proxy:1', restartPolicy: 'Always' },
        ],
        affinity: affinityTo('gpu', 'tpu'),
      }),
    )

    const { spec } = await stored('ready')
    expect(spec.volumes).toEqual([
      { name: 'mnist--vol1', hostPath: { path: '/var/datasets/mnist', type: 'Directory' } },
    ])
    const mounts = [{ name: 'mnist--vol1', mountPath: '/data' }]
    expect(spec.containers.map(({ volumeMounts }) => volumeMounts)).toEqual([mounts])
    expect(spec.initContainers?.map(({ volumeMounts }) => volumeMounts)).toEqual([mounts, mounts])
    expect(termsOf(spec)).toEqual([
      ['gpu', 'data/mnist'],
      ['tpu', 'data/mnist'],
    ])
    expect(spec.schedulingGates).toBeUndefined()
  })

  test('is shown by a dry run, and not stored', async () => {
    const { stdout } = await plane.kubectl(['create', '--dry-run=server', '-o', 'json', '-f', '-'], {
      input: stringify(pod('asked', '{"name": "mnist"}')),
    })

    expect((JSON.parse(stdout) as PodObject).spec.volumes).toHaveLength(1)
    expect(await plane.getJson('pods', 'asked', 'default')).toBeUndefined()
  })

  test('stays as it is when everything was pasted by hand', async () => {
    const pasted = pod('pasted', '{"name": "mnist"}', {
      containers: [{ name: 'main', image: 'main:1', volumeMounts: [{ name: 'dataset', mountPath: '/var/data' }] }],
      volumes: [{ name: 'dataset', hostPath: { path: '/var/datasets/mnist' } }],
      affinity: affinityTo('data/mnist'),
    })
    await plane.create(pasted)

    const { spec } = await stored('pasted')
    expect(spec.volumes?.map(({ name }) => name)).toEqual(['dataset'])
    expect(spec.containers[0]?.volumeMounts).toEqual([{ name: 'dataset', mountPath: '/var/data' }])
    expect(termsOf(spec)).toEqual([['data/mnist']])
  })

  test('gets the label too, without which it would not be sent', async () => {
    await plane.create(pod('unlabelled', '{"name": "mnist"}', {}, {}))

    const { metadata, spec } = await stored('unlabelled')
    expect(metadata.labels).toEqual({ [INJECT]: 'true' })
    expect(spec.volumes?.map(({ name }) => name)).toEqual(['mnist--vol1'])
  })

  test('is refused without the label, if the annotation is wrong', async () => {
    const { stderr } = await plane.tryCreate(pod('unlabelled-wrong', 'no JSON', {}, {}))
    expect(stderr).toContain('admission webhook "annotated-pod.lodestone.dev" denied the request')
    expect(stderr).toContain('is not JSON')
  })

  test('is not sent if it opts out', async () => {
    const before = [await reviews('pod'), await reviews('annotated-pod')]
    await plane.create(pod('opted-out', 'no JSON', {}, { [INJECT]: 'false' }))

    expect((await stored('opted-out')).spec.volumes).toBeUndefined()
    expect([await reviews('pod'), await reviews('annotated-pod')]).toEqual(before)
  })

  test('with a mistyped key is created with a warning', async () => {
    const { metadata, ...rest } = pod('mistyped', '{"name": "mnist"}', {}, {})
    const annotations = { 'lodestone.dev/volums': '{"name": "mnist"}' }
    const { stderr } = await plane.create({ ...rest, metadata: { ...metadata, annotations } } as KubeObject)
    expect(stderr).toContain('unknown annotation lodestone.dev/volums (did you mean lodestone.dev/volumes?)')
  })

  test('can be changed and deleted as any other', async () => {
    await plane.create(pod('changed', '{"name": "mnist"}'))

    await plane.kubectl(['label', 'pod', 'changed', 'touched=yes'])
    await plane.kubectl(['delete', 'pod', 'changed', '--grace-period=0', '--force'])
    expect(await plane.getJson('pods', 'changed', 'default')).toBeUndefined()
  })
})

describe('refused with the field and the reason is a pod', () => {
  test.each([
    [
      'of a VolumeManager that is not there',
      '{"name": "absent"}',
      'there is no VolumeManager absent in this namespace',
    ],
    ['of a volume that is not there', '{"name": "mnist", "id": "x"}', 'has no such volume; it has vol1'],
    ['with an annotation that is wrong', '{"name": "mnist", "mountPath": "/d"}', 'unknown field; use mount-path'],
    [
      'that has no such container',
      '{"name": "mnist", "containers": [{"name": "x"}]}',
      'there is no container x; the pod has main',
    ],
  ])('%s', async (_name, annotation, message) => {
    const { code, stderr } = await plane.tryCreate(pod('refused', annotation))

    expect(code).not.toBe(0)
    expect(stderr).toContain(
      'admission webhook "pod.lodestone.dev" denied the request: metadata.annotations[lodestone.dev/volumes]',
    )
    expect(stderr).toContain(message)
  })

  test('whose data is not available, with the message of the VolumeManager', async () => {
    await volumeManager('failed', { state: 'Failed', message: '404: no such bucket' })

    const { stderr } = await plane.tryCreate(pod('refused', '{"name": "failed"}'))

    expect(stderr).toContain('VolumeManager failed cannot be used: it is Failed (404: no such bucket)')
  })
})

describe('a pod whose data is on the way', () => {
  test('waits with a gate, and goes when the data is there', async () => {
    await volumeManager('late', { message: '0 of 1 replicas', label: 'data/late' })

    const { stderr } = await plane.create(pod('late', '{"name": "late"}', { affinity: affinityTo('gpu', 'tpu') }))

    expect(stderr).toContain('Warning: lodestone: waits for VolumeManager late/vol1')
    const waiting = await stored('late')
    expect(waiting.spec.schedulingGates).toEqual([{ name: VOLUMES }])
    expect(waiting.spec.volumes).toHaveLength(1)
    const { stdout } = await plane.kubectl(['get', 'pod', 'late', '--no-headers'])
    expect(stdout).toContain('SchedulingGated')

    await volumeManager('late', { label: 'data/late' })

    await plane.eventually('the gate is gone', async () => (await stored('late')).spec.schedulingGates === undefined)
    expect(withoutGates(await stored('late'))).toEqual(withoutGates(waiting))
    await plane.eventually('an Event tells so', async () =>
      (await plane.kubectl(['describe', 'pod', 'late'])).stdout.includes('VolumesReady'),
    )
  })

  test('of a Job is replaced if the data changes, and does not end the Job', async () => {
    await volumeManager('early', { message: '0 of 1 replicas', path: '/var/datasets/old' })
    const metadata = { labels: { app: 'training' } }
    const template = { metadata, spec: { containers: [{ name: 'main', image: 'main:1' }], restartPolicy: 'Never' } }
    const spec = { completions: 3, parallelism: 3, backoffLimit: 0, template }
    await plane.create(object('batch/v1', 'Job', 'training', spec, '{"name": "early"}'))
    const podsOfJob = async () => {
      const all = (await plane.listJson('pods', 'default')) as PodObject[]
      return all.filter((one) => one.metadata.labels?.['app'] === 'training')
    }
    const before = await plane.eventually('three pods wait', async () => {
      const names = (await podsOfJob()).map((one) => one.metadata.name)
      return names.length === 3 && names
    })

    await volumeManager('early', { path: '/var/datasets/new' })

    await plane.eventually('three other pods have no gate', async () => {
      const free = (await podsOfJob()).filter(({ spec }) => spec.schedulingGates === undefined)
      return free.length === 3 && free.every((one) => !before.includes(one.metadata.name))
    })
    const { status } = (await plane.getJson('jobs', 'training', 'default')) as { status?: object }
    expect(status).toMatchObject({ active: 3 })
    expect(status).not.toHaveProperty('failed')
  })

  test('keeps the gates of others', async () => {
    await volumeManager('shared', { message: '0 of 1 replicas' })
    await plane.create(pod('shared', '{"name": "shared"}', { schedulingGates: [{ name: 'example.com/quota' }] }))

    await volumeManager('shared', {})

    await plane.eventually('only the other gate is left', async () => {
      expect((await stored('shared')).spec.schedulingGates).toEqual([{ name: 'example.com/quota' }])
      return true
    })
  })

  test('is narrowed before it goes when the data came to fewer nodes', async () => {
    await volumeManager('moved', { message: '0 of 1 replicas', label: 'data/before' })
    await plane.create(pod('moved', '{"name": "moved"}', { affinity: affinityTo('gpu') }))

    await volumeManager('moved', { label: 'data/after' })

    await plane.eventually('the gate is gone', async () => (await stored('moved')).spec.schedulingGates === undefined)
    expect(termsOf((await stored('moved')).spec)).toEqual([['gpu', 'data/before', 'data/after']])
  })

  test('is replaced by its controller when its data has another directory', async () => {
    await volumeManager('swapped', { message: '0 of 1 replicas' })
    const owner = { apiVersion: 'batch/v1', kind: 'Job', name: 'train', uid: 'a2f0c7d2-0000-4000-8000-000000000000' }
    const owned = pod('swapped', '{"name": "swapped"}')
    await plane.create({
      ...owned,
      metadata: { ...owned.metadata, ownerReferences: [{ ...owner, controller: true }] },
    } as never)
    await plane.create(pod('swapped-alone', '{"name": "swapped"}'))

    await volumeManager('swapped', { path: '/var/datasets/other' })

    await plane.eventually('it is gone', async () => !(await plane.getJson('pods', 'swapped', 'default')))
    await plane.eventually('a pod without a controller gets the advice', async () =>
      (await plane.kubectl(['describe', 'pod', 'swapped-alone'])).stdout.includes('recreate the pod'),
    )
    expect((await stored('swapped-alone')).spec.schedulingGates).toEqual([{ name: VOLUMES }])
  })
})

describe('a workload that asks for volumes', () => {
  test('as a whole has its pods sent to admission, and can be changed as any other', async () => {
    await plane.create(deployment('server', '{"name": "mnist"}'))
    const { labels, annotations } = await templateOf('deployments', 'server')
    expect(labels).toEqual({ app: 'server', [INJECT]: 'true' })
    expect(annotations).toEqual({ [VOLUMES]: '{"name": "mnist"}', [ADDED]: expect.any(String) })

    await plane.kubectl(['set', 'image', 'deployment/server', 'main=main:2'])
    await plane.kubectl([
      'annotate',
      '--overwrite',
      'deployment',
      'server',
      `${VOLUMES}={"name": "mnist", "readOnly": true}`,
    ])

    expect((await templateOf('deployments', 'server')).annotations).toMatchObject({
      [VOLUMES]: '{"name": "mnist", "readOnly": true}',
    })
  })

  test('is applied again and again without a change', async () => {
    const input = stringify(deployment('applied', '{"name": "mnist"}'))
    await plane.kubectl(['apply', '-f', '-'], { input })
    const { stdout } = await plane.kubectl(['apply', '-f', '-'], { input })
    expect(stdout).toContain('unchanged')
    expect((await templateOf('deployments', 'applied')).labels).toMatchObject({ [INJECT]: 'true' })
  })

  test('is refused when its pods would be', async () => {
    const { stderr } = await plane.tryCreate(deployment('wrong', '{"name": "mnist", "containers": [{"name": "x"}]}'))
    expect(stderr).toContain('admission webhook "workload.lodestone.dev" denied the request')
    expect(stderr).toContain('there is no container x; the pod has main')
  })

  test('may come before its VolumeManager', async () => {
    const { stderr } = await plane.create(deployment('early', '{"name": "not-yet"}'))
    expect(stderr).toContain('Warning: lodestone: there is no VolumeManager not-yet in this namespace')
  })

  test('may be a Job, whose template is immutable', async () => {
    const template = { spec: { restartPolicy: 'Never', containers: [{ name: 'main', image: 'main:1' }] } }
    await plane.create(object('batch/v1', 'Job', 'train', { template }, '{"name": "mnist"}'))
    await plane.create(object('batch/v1', 'Job', 'plain', { template }))

    await plane.kubectl(['label', 'job', 'train', 'touched=yes'])
    await plane.kubectl(['annotate', 'job', 'plain', `${VOLUMES}={"name": "mnist"}`])

    expect((await templateOf('jobs', 'train')).labels).toMatchObject({ [INJECT]: 'true' })
    expect((await templateOf('jobs', 'plain')).labels).not.toHaveProperty(INJECT)
  })

  const template = {
    metadata: { annotations: { [VOLUMES]: '{"name": "mnist"}' } },
    spec: { containers: [{ name: 'main' }] },
  }

  test.each([
    ['TFJob', 'kubeflow.org/v1', 'tfjobs.kubeflow.org', { tfReplicaSpecs: { Worker: { replicas: 1, template } } }],
    [
      'Job of Volcano',
      'batch.volcano.sh/v1alpha1',
      'jobs.batch.volcano.sh',
      { minAvailable: 1, tasks: [{ name: 'w' }, { template }] },
    ],
    [
      'SparkApplication',
      'sparkoperator.k8s.io/v1beta2',
      'sparkapplications.sparkoperator.k8s.io',
      { mode: 'cluster', driver: { template } },
    ],
  ])('may be a %s, with its pods in a list or a map', async (title, apiVersion, resource, spec) => {
    const kind = title.split(' ')[0] ?? ''
    await plane.create(object(apiVersion, kind, 'third-party', spec))
    expect(JSON.stringify(await plane.getJson(resource, 'third-party', 'default'))).toContain(`"${INJECT}":"true"`)
  })

  test('is the only one that is sent, and the API server never fails to find out', async () => {
    const before = await reviews('workload')
    await plane.create(deployment('other'))
    await plane.create(
      object('batch/v1', 'CronJob', 'other', {
        schedule: '0 3 * * *',
        jobTemplate: {
          spec: { template: { spec: { restartPolicy: 'Never', containers: [{ name: 'main', image: 'main:1' }] } } },
        },
      }),
    )
    await plane.create(
      object('sparkoperator.k8s.io/v1beta2', 'SparkApplication', 'other', {
        mode: 'cluster',
        driver: { cores: 1 },
        sparkConf: { a: 'b' },
        deps: { jars: ['x'] },
      }),
    )
    await plane.create(object('kubeflow.org/v1', 'TFJob', 'other', { tfReplicaSpecs: { Worker: { replicas: 1 } } }))
    await plane.kubectl(['scale', 'deployment', 'other', '--replicas=2'])

    expect(await reviews('workload')).toBe(before)
    const { stdout } = await plane.kubectl(['get', '--raw', '/metrics'])
    const failures = stdout
      .split('\n')
      .filter((line) => line.startsWith('apiserver_admission_match_condition_evaluation_errors_total'))
    expect(failures.filter((line) => !line.endsWith(' 0'))).toEqual([])
  })
})

test('while Lodestone is away only pods that ask for data have to wait for it', async () => {
  onTestFinished(() => lodestone.restart())
  await lodestone.stop()

  const asking = await plane.tryCreate(pod('away', '{"name": "mnist"}'))
  const unlabelled = await plane.tryCreate(pod('away-unlabelled', '{"name": "mnist"}', {}, {}))
  const { metadata, ...rest } = pod('away-other', '', {}, {})
  await plane.create({ ...rest, metadata: { ...metadata, annotations: { 'example.com/note': 'x' } } } as KubeObject)
  await plane.create(deployment('away', '{"name": "mnist"}'))

  expect(asking.stderr).toContain('failed calling webhook "pod.lodestone.dev"')
  expect(unlabelled.stderr).toContain('failed calling webhook "annotated-pod.lodestone.dev"')
})

test('without gates, a pod whose data is on the way is rejected with the cause', async () => {
  await lodestone.stop()
  const gateless = await startLodestone(plane, {
    kubeconfig,
    name: 'gateless',
    config: { volumes: { whenNotReady: 'refuse' } },
  })
  onTestFinished(async () => {
    await gateless.stop()
    await lodestone.restart()
    // The API server hears of the new address a moment after it is registered.
    await volumeManager('mnist', { label: 'data/mnist' })
  })
  await volumeManager('slow', { message: '0 of 1 replicas' })

  const { stderr } = await plane.eventually('it is refused', async () => {
    const result = await plane.tryCreate(pod('slow', '{"name": "slow"}'))
    return result.stderr.includes('denied') && result
  })

  expect(stderr).toContain("retry after kubectl wait --for=jsonpath='{.status.state}'=Running volumemanager/slow")
  expect(await plane.getJson('pods', 'slow', 'default')).toBeUndefined()
})

interface StoredContainer {
  name: string
  volumeMounts?: unknown[]
}

interface PodObject extends KubeObject {
  spec: {
    containers: StoredContainer[]
    initContainers?: StoredContainer[]
    volumes?: { name: string }[]
    schedulingGates?: unknown[]
    affinity?: ReturnType<typeof affinityTo>
  }
}

async function stored(name: string): Promise<PodObject> {
  return (await plane.getJson('pods', name, 'default')) as PodObject
}

function withoutGates({ spec: { schedulingGates: _gates, ...spec } }: PodObject) {
  return spec
}

/** How many reviews a webhook has had. */
function reviews(webhook: string): Promise<number> {
  return lodestone.metric('controller_runtime_webhook_requests_total', `webhook="${webhook}"`)
}

async function templateOf(resource: string, name: string): Promise<{ labels?: object; annotations?: object }> {
  const { spec } = (await plane.getJson(resource, name, 'default')) as KubeObject & {
    spec: { template: { metadata: object } }
  }
  return spec.template.metadata
}

/** The labels that each term asks for. */
function termsOf({ affinity }: PodObject['spec']): string[][] {
  const terms = affinity?.nodeAffinity.requiredDuringSchedulingIgnoredDuringExecution.nodeSelectorTerms ?? []
  return terms.map(({ matchExpressions }) => matchExpressions.map(({ key }) => key))
}

function affinityTo(...labels: string[]) {
  const nodeSelectorTerms = labels.map((key) => ({ matchExpressions: [{ key, operator: 'Exists' }] }))
  return { nodeAffinity: { requiredDuringSchedulingIgnoredDuringExecution: { nodeSelectorTerms } } }
}

function pod(
  name: string,
  annotation: string,
  spec: object = {},
  labels: Record<string, string> = { [INJECT]: 'true' },
): KubeObject {
  return {
    apiVersion: 'v1',
    kind: 'Pod',
    metadata: { name, namespace: 'default', labels, annotations: { [VOLUMES]: annotation } },
    spec: { containers: [{ name: 'main', image: 'main:1' }], ...spec },
  }
}

function object(apiVersion: string, kind: string, name: string, spec: object, annotation?: string): KubeObject {
  const annotations = annotation === undefined ? {} : { annotations: { [VOLUMES]: annotation } }
  return { apiVersion, kind, metadata: { name, namespace: 'default', ...annotations }, spec } as KubeObject
}

function deployment(name: string, annotation?: string): KubeObject {
  const labels = { app: name }
  const template = { metadata: { labels }, spec: { containers: [{ name: 'main', image: 'main:1' }] } }
  return object('apps/v1', 'Deployment', name, { selector: { matchLabels: labels }, template }, annotation)
}

/** A VolumeManager in a state that its loop would write. */
async function volumeManager(
  name: string,
  {
    state,
    message = 'success',
    label = `data/${name}`,
    path = `/var/datasets/${name}`,
  }: { state?: string; message?: string; label?: string; path?: string },
): Promise<void> {
  const volume = {
    id: 'vol1',
    replicas: 1,
    sourceType: 'S3',
    accessMode: 'ReadWriteOnce',
    capacity: '1Gi',
    labels: { team: 'vision' },
    options: { awsCredentialsSecretName: 'aws-creds', sourceURL: `s3://datasets/${name}/` },
  }
  await plane.apply(object('vck.intelai.org/v1alpha1', 'VolumeManager', name, { volumeConfigs: [volume] }))
  const status = {
    state: state ?? (message === 'success' ? 'Running' : 'Pending'),
    message: state ? `it is ${state}` : 'as it is',
    volumes: [
      { id: 'vol1', message, volumeSource: { hostPath: { path } }, nodeAffinity: affinityTo(label).nodeAffinity },
    ],
  }
  await plane.kubectl([
    'patch',
    managers,
    name,
    '--subresource=status',
    '--type=merge',
    '-p',
    JSON.stringify({ status }),
  ])
  await plane.eventually('Lodestone knows of it', async () => {
    const { stderr } = await plane.kubectl(['create', '--dry-run=server', '-f', '-'], {
      input: stringify(pod(`probe-${name}`, JSON.stringify({ name }))),
      allowFailure: true,
    })
    const isGated = stderr.includes('waits for') || stderr.includes('is not ready yet')
    return state ? stderr.includes('cannot be used') : message === 'success' ? stderr === '' : isGated
  })
}
