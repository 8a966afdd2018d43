import { describe, expect, test } from 'vitest'
import type { K8sObject } from '../../api/meta.ts'
import { SHIPPED_KINDS } from '../workload-kinds/kinds.ts'
import { interpretWorkload, podVolumeAnnotations, workloadWithVolumesOnly } from './workload.ts'

function deployment(template: unknown, more: object = {}): K8sObject {
  const metadata = { name: 'app', namespace: 'shop', labels: { own: 'label' } }
  return { apiVersion: 'apps/v1', kind: 'Deployment', metadata, spec: { template }, ...more } as K8sObject
}

test('a workload is reduced to identity, metadata and dependencies', () => {
  const raw = deployment(
    { metadata: { labels: { app: 'x' } }, spec: { serviceAccountName: 'sa' } },
    { status: { replicas: 1 } },
  )
  const workload = interpretWorkload(raw, SHIPPED_KINDS)
  expect(workload).toEqual({
    apiVersion: 'apps/v1',
    kind: 'Deployment',
    metadata: raw.metadata,
    dependencies: {
      references: [{ apiVersion: 'v1', kind: 'ServiceAccount', namespace: 'shop', name: 'sa' }],
      furtherReferences: [],
      podLabels: [{ app: 'x' }],
      volumeManagers: [],
      preferredVolumeManagers: [],
      backends: [],
      usesDefaultServiceAccount: false,
    },
  })
  expect(workload.metadata).toBe(raw.metadata)
})

test('an object of a kind that is not interpreted has no dependencies', () => {
  const { dependencies } = interpretWorkload(
    { ...deployment({ spec: { serviceAccountName: 'sa' } }), kind: 'Gadget' },
    SHIPPED_KINDS,
  )
  expect(dependencies).toEqual({
    references: [],
    furtherReferences: [],
    podLabels: [],
    volumeManagers: [],
    preferredVolumeManagers: [],
    backends: [],
    usesDefaultServiceAccount: false,
  })
})

test('references are sorted by apiVersion, kind, namespace and name, each once', () => {
  const raw = deployment({
    spec: {
      serviceAccountName: 'sa',
      imagePullSecrets: [{ name: 'b' }, { name: 'a.b' }, { name: 'a-b' }, { name: 'a' }, { name: 'b' }],
      volumes: [{ configMap: { name: 'z' } }, { persistentVolumeClaim: { claimName: 'p' } }],
    },
  })
  expect(
    interpretWorkload(raw, SHIPPED_KINDS).dependencies.references.map(({ kind, name }) => `${kind} ${name}`),
  ).toEqual([
    'ConfigMap z',
    'PersistentVolumeClaim p',
    'Secret a',
    'Secret a-b',
    'Secret a.b',
    'Secret b',
    'ServiceAccount sa',
  ])
})

test('the namespace in a pod template does not count', () => {
  const raw = deployment({ metadata: { namespace: 'other' }, spec: { serviceAccountName: 'sa' } })
  expect(interpretWorkload(raw, SHIPPED_KINDS).dependencies.references).toMatchObject([{ namespace: 'shop' }])
})

test('the claim that an ephemeral volume clones is a reference that Karmada lacks', () => {
  const dataSource = { kind: 'PersistentVolumeClaim', name: 'golden' }
  const raw = deployment({ spec: { volumes: [{ ephemeral: { volumeClaimTemplate: { spec: { dataSource } } } }] } })
  expect(interpretWorkload(raw, SHIPPED_KINDS).dependencies).toMatchObject({
    references: [],
    furtherReferences: [{ apiVersion: 'v1', kind: 'PersistentVolumeClaim', namespace: 'shop', name: 'golden' }],
  })
})

describe('the templates of PersistentVolumeClaims', () => {
  const template = { spec: { volumes: [{ name: 'log', persistentVolumeClaim: { claimName: 'log' } }] } }
  const templates = ['log', 'data'].map((name) => ({ metadata: { name } }))

  test('of a StatefulSet are no dependencies, and are known by name', () => {
    const raw = { ...deployment({}), kind: 'StatefulSet', spec: { template, volumeClaimTemplates: templates } }
    const workload = interpretWorkload(raw, SHIPPED_KINDS)
    expect(workload.dependencies).toMatchObject({ references: [], claimTemplates: ['data', 'log'] })
    expect(workloadWithVolumesOnly(workload).dependencies.claimTemplates).toEqual(['data', 'log'])
  })

  test('of a runtime are those of other workloads', () => {
    const spec = { template: { spec: { volumeClaimPolicies: [{ templates }] } } }
    const raw = { ...deployment({}), apiVersion: 'trainer.kubeflow.org/v1alpha1', kind: 'TrainingRuntime', spec }
    expect(interpretWorkload(raw, SHIPPED_KINDS).dependencies).not.toHaveProperty('claimTemplates')
  })
})

describe('the labels of pods', () => {
  test.each([
    { name: 'no labels', templates: [{}, { metadata: { labels: {} } }, { metadata: null }], want: [] },
    {
      name: 'each set once, for any order of keys and templates',
      templates: [
        { metadata: { labels: { b: '1', a: '2' } } },
        { metadata: { labels: { a: '1' } } },
        { metadata: { labels: { a: '2', b: '1' } } },
      ],
      want: [{ a: '1' }, { a: '2', b: '1' }],
    },
    {
      name: 'without values that are not strings',
      templates: [{ metadata: { labels: { a: 1, b: 'x' } } }],
      want: [{ b: 'x' }],
    },
  ])('$name', ({ templates, want }) => {
    const spec = { tasks: templates.map((template) => ({ template })) }
    const raw = { ...deployment({}), apiVersion: 'batch.volcano.sh/v1alpha1', kind: 'Job', spec }
    expect(interpretWorkload(raw, SHIPPED_KINDS).dependencies.podLabels).toEqual(want)
  })
})

test('a Pod has labels of its own', () => {
  const metadata = { name: 'p', namespace: 'shop', labels: { app: 'x' } }
  expect(interpretWorkload({ apiVersion: 'v1', kind: 'Pod', metadata }, SHIPPED_KINDS).dependencies.podLabels).toEqual([
    { app: 'x' },
  ])
})

describe('the annotation lodestone.dev/volumes', () => {
  test.each([
    { text: '{"name":"sales","mountPath":"/data"}', want: ['sales'] },
    { text: '[{"name":"b"},{"name":"a"},{"name":"b"}]', want: ['a', 'b'] },
    { text: '[{"name":""},{"name":1},{},null,"sales",["x"]]', want: [] },
    { text: '"sales"', want: [] },
    { text: 'null', want: [] },
    { text: '{"name":', want: [] },
    { text: '', want: [] },
    { text: 5, want: [] },
  ])('$text names $want', ({ text, want }) => {
    const raw = deployment({ metadata: { annotations: { 'lodestone.dev/volumes': text } } })
    expect(interpretWorkload(raw, SHIPPED_KINDS).dependencies.volumeManagers).toEqual(want)
  })

  test('is read in Pods and pod templates only', () => {
    const metadata = { name: 'app', namespace: 'shop', annotations: { 'lodestone.dev/volumes': '{"name":"sales"}' } }
    expect(
      interpretWorkload({ apiVersion: 'v1', kind: 'Pod', metadata }, SHIPPED_KINDS).dependencies.volumeManagers,
    ).toEqual(['sales'])
    expect(interpretWorkload(deployment({}, { metadata }), SHIPPED_KINDS).dependencies.volumeManagers).toEqual([])
  })
})

test('the backends of an Ingress are the Services of its rules and its default', () => {
  const to = (name: string) => ({ backend: { service: { name } } })
  const raw = {
    ...deployment({}),
    apiVersion: 'networking.k8s.io/v1',
    kind: 'Ingress',
    spec: {
      defaultBackend: { service: { name: 'fallback' } },
      rules: [
        { http: { paths: [to('web'), to('api'), to('web'), { backend: { resource: { name: 'bucket' } } }] } },
        {},
      ],
    },
  }
  expect(interpretWorkload(raw, SHIPPED_KINDS).dependencies.backends).toEqual(['api', 'fallback', 'web'])
})

test('a limited number of sets of pod labels is compared with Services', () => {
  const steps = Array.from({ length: 150 }, (_, i) => ({ metadata: { labels: { step: `s${i}` } } }))
  const workflow = {
    apiVersion: 'argoproj.io/v1alpha1',
    kind: 'Workflow',
    metadata: { name: 'flow', namespace: 'shop' },
    spec: { templates: steps },
  }
  expect(interpretWorkload(workflow, SHIPPED_KINDS).dependencies.podLabels).toHaveLength(100)
})

describe('the annotations that request volumes are', () => {
  const annotations = { 'lodestone.dev/volumes': '{"name":"a"}' }
  const own = { name: 'app', namespace: 'shop', annotations }
  const trainJob = {
    apiVersion: 'trainer.kubeflow.org/v1alpha1',
    kind: 'TrainJob',
    metadata: own,
    spec: {},
  } as K8sObject
  test.each<{ name: string; raw: K8sObject; found: string[] }>([
    { name: 'those of a pod template', raw: deployment({ metadata: { annotations } }), found: ['{"name":"a"}'] },
    {
      name: 'not those of a template with the label "false"',
      raw: deployment({ metadata: { annotations, labels: { 'lodestone.dev/inject': 'false' } } }),
      found: [],
    },
    {
      name: 'not the own one, which admission copies into templates',
      raw: deployment({}, { metadata: own }),
      found: [],
    },
    { name: 'the own one of a kind whose workloads inherit it', raw: trainJob, found: ['{"name":"a"}'] },
    {
      name: 'none that is no text',
      raw: deployment({ metadata: { annotations: { 'lodestone.dev/volumes': 3 } } }),
      found: [],
    },
    {
      name: 'none of an unknown kind',
      raw: { ...deployment({ metadata: { annotations } }), kind: 'Gadget' },
      found: [],
    },
  ])('$name', ({ raw, found }) => {
    expect(podVolumeAnnotations(raw, SHIPPED_KINDS)).toEqual(found)
  })
})

test('a snapshot has neither the requests of volumes nor the controller of a workload', () => {
  const workload = interpretWorkload(deployment({}), SHIPPED_KINDS)
  const controller = { apiVersion: 'example.com/v1', kind: 'App', name: 'app' }
  expect(workloadWithVolumesOnly({ ...workload, controller, volumeRequests: ['{"name":"a"}'] })).toEqual(
    workloadWithVolumesOnly(workload),
  )
})
