/** Runs `lodestone check` for the common mistakes of users, in each format: a manifest that would not do what it says fails. */
import { join } from 'node:path'
import { describe, expect, test } from 'vitest'
import {
  makeBinding,
  makeClaim,
  makeDeployment,
  makeNamespace,
  makePod,
  makePolicy,
  makeSource,
  makeVolumeManager,
} from '../../../../test/builders.ts'
import { makeFolder, runWords } from '../../cli.fake.ts'
import { FORMATS } from '../render/formats.ts'
import type { FindingId } from './findings.ts'

const FORMAT_NAMES = Object.keys(FORMATS)

const workload = makeDeployment()
const valid = [workload, makePolicy(), makeClaim(), makeSource()]
const claimOf = (reference: object) =>
  makeClaim({ workload: { apiVersion: 'apps/v1', kind: 'Deployment', name: 'app', ...reference } })
const policyOf = (selector: object) =>
  makePolicy({ resourceSelectors: [{ apiVersion: 'apps/v1', kind: 'Deployment', name: 'app', ...selector }] })
const annotated = (key: string, value: string, object: object = workload) => {
  const { metadata } = object as { metadata: object }
  return { ...object, metadata: { ...metadata, annotations: { [key]: value } } }
}
const labeled = (key: string, value: string, object: object) => {
  const { metadata } = object as { metadata: object }
  return { ...object, metadata: { ...metadata, labels: { [key]: value } } }
}
const SALES = '{"name":"sales"}'
const dataSource = makeSource()
const manager = makeVolumeManager()
const template = { spec: { template: { spec: { containers: [{ name: 'main' }] } } } }
const multiKueueCluster = {
  apiVersion: 'kueue.x-k8s.io/v1beta2',
  kind: 'MultiKueueCluster',
  metadata: { name: 'worker1' },
}
const job = { apiVersion: 'batch/v1', kind: 'Job', metadata: { name: 'job', namespace: 'default' }, ...template }

interface Mistake {
  name: string
  given: readonly object[]
  /** The objects of the folder; without it, there is no folder. */
  folder?: readonly object[]
  id: FindingId
}

/** Each would be accepted by the API server, or by most of its clients, and would then not do what it says. */
const mistakes: readonly Mistake[] = [
  {
    name: 'the name of a VolumeManager in a workload',
    given: [makeDeployment({}, ['salse']), manager],
    id: 'missing-volume-manager',
  },
  {
    name: 'the name of a VolumeManager in a pod template',
    given: [
      {
        ...job,
        spec: {
          template: {
            metadata: { annotations: { 'lodestone.dev/volumes': '{"name":"salse"}' } },
            ...template.spec.template,
          },
        },
      },
      manager,
    ],
    id: 'missing-volume-manager',
  },
  { name: 'the name of a VolumeManager in a pod', given: [makePod({ name: 'salse' }), manager], id: 'denied-object' },
  {
    name: 'an annotation of a workload',
    given: [...valid.slice(1), annotated('lodestone.dev/volume', SALES)],
    id: 'ineffective-annotation',
  },
  {
    name: 'the domain of an annotation',
    given: [annotated('lodestone.io/volumes', SALES)],
    id: 'ineffective-annotation',
  },
  {
    name: 'an annotation of a pod',
    given: [labeled('lodestone.dev/inject', 'true', annotated('lodestone.dev/volumse', SALES, makePod('')))],
    id: 'ineffective-annotation',
  },
  {
    name: 'an annotation of an unknown kind',
    given: [annotated('lodestone.dev/volumse', SALES, { ...workload, apiVersion: 'example.org/v1', kind: 'Train' })],
    id: 'ineffective-annotation',
  },
  {
    name: 'an annotation of a policy',
    given: [workload, annotated('lodestone.dev/require-claim', 'true', makePolicy())],
    id: 'ineffective-annotation',
  },
  {
    name: 'a field of a policy',
    given: [workload, { ...makePolicy(), placement: { clusterAffinity: { clusterNames: ['member1'] } } }],
    id: 'invalid-manifest',
  },
  {
    name: 'the value of an annotation of a policy',
    given: [workload, annotated('lodestone.dev/requires-claim', 'enabled', makePolicy())],
    id: 'ineffective-annotation',
  },
  {
    name: 'an annotation of a Namespace',
    given: [annotated('lodestone.dev/allow-claim-from', 'a', makeNamespace('default'))],
    id: 'ineffective-annotation',
  },
  {
    name: 'the value of a label of a Namespace',
    given: [labeled('lodestone.dev/enforce', 'enabled', makeNamespace('default'))],
    id: 'ineffective-annotation',
  },
  {
    name: 'a label of a Namespace',
    given: [labeled('lodestone.dev/enforced', 'true', makeNamespace('default'))],
    id: 'ineffective-annotation',
  },
  {
    name: 'an annotation of a VolumeManager',
    given: [annotated('lodestone.dev/delete-inuse', 'true', manager)],
    id: 'ineffective-annotation',
  },
  {
    name: 'an annotation of a workload on a policy',
    given: [workload, annotated('lodestone.dev/volumes', SALES, makePolicy())],
    id: 'ineffective-annotation',
  },
  {
    name: 'an annotation of a workload on a claim',
    given: [
      ...valid.filter(({ kind }) => kind !== 'DataSourceClaim'),
      annotated('lodestone.dev/volumes', SALES, makeClaim()),
    ],
    id: 'ineffective-annotation',
  },
  {
    name: 'an annotation on a kind without pods',
    given: [
      annotated('lodestone.dev/volumes', SALES, { apiVersion: 'v1', kind: 'ConfigMap', metadata: workload.metadata }),
    ],
    id: 'unknown-kind',
  },
  {
    name: 'the kind of the workload in a claim',
    given: [workload, makePolicy(), claimOf({ kind: 'Deploymnt' }), dataSource],
    id: 'dangling-claim',
  },
  {
    name: 'the name of the workload in a claim',
    given: [workload, makePolicy(), claimOf({ name: 'aps' }), dataSource],
    id: 'dangling-claim',
  },
  {
    name: 'the group of the workload in a claim',
    given: [workload, makePolicy(), claimOf({ apiVersion: 'app/v1' }), dataSource],
    id: 'dangling-claim',
  },
  {
    name: 'the kind of a claim',
    given: [workload, makePolicy(), { ...makeClaim(), kind: 'DataSourceClaims' }],
    id: 'invalid-manifest',
  },
  {
    name: 'the group of a claim',
    given: [{ ...makeClaim(), apiVersion: 'datadependency.volcano/v1alpha1' }],
    id: 'invalid-manifest',
  },
  { name: 'the kind of a workload', given: [{ ...workload, kind: 'Deploymnt' }], id: 'invalid-manifest' },
  { name: 'the group of a workload', given: [{ ...workload, apiVersion: 'v1' }], id: 'invalid-manifest' },
  {
    name: 'the kind of a policy',
    given: [workload, { ...makePolicy(), kind: 'PropagationPolcy' }],
    id: 'invalid-manifest',
  },
  { name: 'the kind of a VolumeManager', given: [{ ...manager, kind: 'VolumeManger' }], id: 'invalid-manifest' },
  { name: 'the name of the workload in a policy', given: [workload, policyOf({ name: 'aps' })], id: 'dangling-policy' },
  {
    name: 'a policy for another workload',
    given: [workload, policyOf({ name: 'web-frontend' })],
    id: 'dangling-policy',
  },
  {
    name: 'the name of the workload in a policy of the folder',
    given: [workload],
    folder: [policyOf({ name: 'aps' })],
    id: 'dangling-policy',
  },
  {
    name: 'the kind of the workload in a policy',
    given: [workload, policyOf({ kind: 'StatefulSet' })],
    id: 'dangling-policy',
  },
  {
    name: 'a kind in a policy that does not exist',
    given: [workload, policyOf({ kind: 'Deploymnt' })],
    id: 'dangling-policy',
  },
  {
    name: 'a namespace in a policy of another one, beside one that selects the workload',
    given: [...valid, { ...policyOf({ namespace: 'other' }), metadata: { name: 'foreign', namespace: 'default' } }],
    id: 'dangling-policy',
  },
  {
    name: 'the namespace of a policy',
    given: [workload, makePolicy({}, { namespace: 'other' })],
    id: 'dangling-policy',
  },
  {
    name: 'a policy that does not select a claimed workload',
    given: [
      workload,
      makeClaim(),
      dataSource,
      policyOf({ name: undefined, labelSelector: { matchLabels: { a: 'b' } } }),
    ],
    id: 'ineffective-claim',
  },
  {
    name: 'the policy of a claim and its workload',
    given: [workload, policyOf({ name: 'aps' }), makeClaim(), dataSource],
    id: 'ineffective-claim',
  },
  {
    name: 'a claim for a dependency',
    given: [makeClaim({ workload: { apiVersion: 'v1', kind: 'ConfigMap', name: 'settings' } })],
    folder: [
      { apiVersion: 'v1', kind: 'ConfigMap', metadata: { name: 'settings', namespace: 'default' } },
      attachedBinding(),
    ],
    id: 'ineffective-claim',
  },
  {
    name: 'the DataSource of a claim',
    given: [workload, makePolicy(), makeClaim({ dataSourceName: 'sals' }), dataSource],
    id: 'endless-hold',
  },
  {
    name: 'an excluded namespace',
    given: [makePod({ name: 'sales' }, {}, { namespace: 'kube-system' })],
    id: 'excluded-namespace',
  },
  { name: 'an empty folder', given: valid, folder: [], id: 'empty-folder' },
  { name: 'an input without manifests', given: [], id: 'no-manifest' },
  {
    name: 'a VolumeManager that does not work',
    given: [makeDeployment({}, ['sales']), unusable()],
    id: 'unusable-volume',
  },
  {
    name: 'a write into a read-only volume',
    given: [makePod({ name: 'sales', readOnly: false }), makeVolumeManager([{ readOnly: true }])],
    id: 'ineffective-annotation',
  },
  {
    name: 'a refresh of volumes that are written',
    given: [annotated('lodestone.dev/refresh', '1', makeVolumeManager([{ readOnly: false }]))],
    id: 'ineffective-annotation',
  },
  {
    name: 'new volumes of a Job that exists',
    given: [annotated('lodestone.dev/volumes', SALES, job), manager],
    folder: [job],
    id: 'ineffective-annotation',
  },
  {
    name: 'an annotation of a MultiKueueCluster',
    given: [annotated('lodestone.dev/clustername', 'paris', multiKueueCluster)],
    id: 'ineffective-annotation',
  },
  {
    name: 'the value of the annotation of a MultiKueueCluster',
    given: [annotated('lodestone.dev/cluster-name', 'Paris 1', multiKueueCluster)],
    id: 'ineffective-annotation',
  },
  {
    name: 'the value of the grant of a Namespace',
    given: [annotated('lodestone.dev/allow-claims-from', 'Team A', makeNamespace('default'))],
    id: 'ineffective-annotation',
  },
  {
    name: 'the value of the label of a pod',
    given: [labeled('lodestone.dev/inject', 'enabled', makePlainPod())],
    id: 'ineffective-annotation',
  },
  {
    name: 'an annotation of a pod that is a label',
    given: [labeled('lodestone.dev/volumes', 'sales', makePlainPod()), manager],
    id: 'ineffective-annotation',
  },
  {
    name: 'a label of a workload that belongs to its pod template',
    given: [labeled('lodestone.dev/inject', 'false', workload), ...valid.slice(1)],
    id: 'ineffective-annotation',
  },
  {
    name: 'the value of the label of a pod template',
    given: [
      {
        ...job,
        spec: { template: { metadata: { labels: { 'lodestone.dev/inject': 'False' } }, ...template.spec.template } },
      },
    ],
    id: 'ineffective-annotation',
  },
  {
    name: 'the label of a pod without an annotation',
    given: [labeled('lodestone.dev/inject', 'true', makePlainPod())],
    id: 'ineffective-annotation',
  },
]

function attachedBinding() {
  const { placement: _absent, ...spec } = makeBinding({
    resource: { apiVersion: 'v1', kind: 'ConfigMap', name: 'settings', namespace: 'default' },
  }).spec
  return { ...makeBinding({}, { name: 'settings-configmap' }), spec }
}

function unusable() {
  return { ...manager, metadata: { ...manager.metadata, deletionTimestamp: '2026-11-20T12:00:00Z' } }
}

function makePlainPod() {
  const { annotations: _, ...metadata } = makePod('').metadata
  return { ...makePod(''), metadata }
}

async function check(
  { given, folder }: Pick<Mistake, 'given' | 'folder'>,
  ...words: string[]
): Promise<{ status: number; stdout: string; stderr: string }> {
  const file = join(makeFolder({ 'given.yaml': given.length === 0 ? '# nothing\n' : given }), 'given.yaml')
  const stored = folder && makeFolder(folder.length > 0 ? { 'stored.yaml': folder } : {})
  return runWords(['check', '-f', file, ...(stored === undefined ? [] : ['--folder', stored]), ...words])
}

describe('a mistake in', () => {
  test.each(mistakes)('$name is an error that each format shows, with exit status 1', async ({ id, ...input }) => {
    const answers = await Promise.all(FORMAT_NAMES.map((format) => check(input, '-o', format)))
    const { findings }: { findings: { id: string; severity: string }[] } = JSON.parse(
      answers[FORMAT_NAMES.indexOf('json')]?.stdout ?? '',
    )

    expect(findings.map((each) => `${each.severity} ${each.id}`)).toContain(`error ${id}`)
    for (const [i, { status, stdout, stderr }] of answers.entries()) {
      const isShown = `${stdout}${stderr}`.includes(id)
      expect({ status, isShown }, FORMAT_NAMES[i]).toEqual({ status: 1, isShown: true })
    }
  })
})

test('a mistyped name of a VolumeManager gets a suggestion', async () => {
  const { stdout } = await check({ given: [makeDeployment({}, ['salse']), manager] })

  expect(stdout).toContain('there is no VolumeManager salse in this namespace (did you mean sales?); create it first')
})

test.each(FORMAT_NAMES)('valid manifests have the exit status 0 with -o %s', async (format) => {
  expect(await check({ given: valid }, '-o', format)).toMatchObject({ status: 0, stderr: '' })
})
