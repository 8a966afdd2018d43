import { describe, expect, test } from 'vitest'
import { volumeManagers } from '../api/volume-manager.ts'
import { buildWorkloadKinds, SHIPPED_KINDS } from '../core/workload-kinds/kinds.ts'
import { kindNames, kindOfManifest, kindsNamed, knownKinds, readTarget } from './kinds.ts'

const known = knownKinds(SHIPPED_KINDS)
const named = (word: string) =>
  kindsNamed(word, known).map(({ kind, version, group }) => [kind, version, group].filter(Boolean).join('.'))

describe('a kind is found by each of its names', () => {
  test.each([
    { word: 'deploy', want: ['Deployment.v1.apps'] },
    { word: 'Deployment', want: ['Deployment.v1.apps'] },
    { word: 'deployments', want: ['Deployment.v1.apps'] },
    { word: 'DEPLOYMENT', want: ['Deployment.v1.apps'] },
    { word: 'deployment.apps', want: ['Deployment.v1.apps'] },
    { word: 'deployments.v1.apps', want: ['Deployment.v1.apps'] },
    { word: 'deploy.apps', want: ['Deployment.v1.apps'] },
    { word: 'po', want: ['Pod.v1'] },
    { word: 'pods.v1.', want: ['Pod.v1'] },
    { word: 'rayjobs.ray.io', want: ['RayJob.v1.ray.io'] },
    { word: 'RayJob.v1alpha1.ray.io', want: ['RayJob.v1alpha1.ray.io'] },
    { word: 'flinkdep', want: ['FlinkDeployment.v1beta1.flink.apache.org'] },
    { word: 'dsc', want: ['DataSourceClaim.v1alpha1.datadependency.volcano.sh'] },
    { word: 'vmgr', want: ['VolumeManager.v1alpha1.vck.intelai.org'] },
    { word: 'pp', want: ['PropagationPolicy.v1alpha1.policy.karmada.io'] },
    { word: 'ing', want: ['Ingress.v1.networking.k8s.io'] },
    { word: 'job', want: ['Job.v1.batch', 'Job.v1alpha1.batch.volcano.sh'] },
    { word: 'job.batch', want: ['Job.v1.batch'] },
    { word: 'vcjob', want: ['Job.v1alpha1.batch.volcano.sh'] },
    { word: 'ds', want: ['DaemonSet.v1.apps', 'DataSource.v1alpha1.datadependency.volcano.sh'] },
    { word: 'deployment.v2.apps', want: [] },
    { word: 'deployment.apps.example.com', want: [] },
    { word: 'toString', want: [] },
    { word: '', want: [] },
  ])('$word', ({ word, want }) => {
    expect(named(word)).toEqual(want)
  })
})

test('every known kind is found by kind, plural, and both with its group and version', () => {
  const entry = { group: 'example.com', versions: ['v2', 'v1'], kind: 'Render', plural: 'renders' }
  const types = knownKinds(buildWorkloadKinds([entry]))

  for (const type of types) {
    const { kind, plural, version, otherVersions = [], group } = type
    for (const name of [kind, kind.toLowerCase(), plural]) {
      expect(kindsNamed(name, types), name).toContain(type)
      expect(kindsNamed([name, group].filter(Boolean).join('.'), types), name).toContain(type)
      for (const each of [version, ...otherVersions]) {
        expect(kindsNamed(`${name}.${each}.${group}`, types), `${name}.${each}`).toMatchObject([
          { kind, version: each, group },
        ])
      }
    }
  }
  expect(types.map(({ kind }) => kind)).toEqual(expect.arrayContaining(['Render', 'Secret', volumeManagers.kind]))
})

test('each name for completion means one kind first', () => {
  const names = kindNames(known)

  expect(names).toHaveLength(known.length)
  expect(names).toEqual(
    expect.arrayContaining(['deployment', 'job', 'job.batch.volcano.sh', 'pod', 'propagationpolicy']),
  )
  expect(names.map((name) => kindsNamed(name, known)[0])).toEqual(known)
})

describe('a target is', () => {
  test.each([
    { words: ['deploy/app'], want: { kind: 'deploy', name: 'app' } },
    { words: ['deploy', 'app'], want: { kind: 'deploy', name: 'app' } },
    { words: ['rb', 'system:node'], want: { kind: 'rb', name: 'system:node' } },
  ])('$words', ({ words, want }) => {
    expect(readTarget(words)).toEqual(want)
  })

  test.each([
    { words: [] },
    { words: ['deploy'] },
    { words: ['deploy/'] },
    { words: ['/app'] },
    { words: ['deploy/a/b'] },
    { words: ['deploy/a', 'deploy/b'] },
    { words: ['deploy', 'a', 'b'] },
    { words: ['deploy', 'a/b'] },
    { words: ['deploy', ''] },
  ])('not $words', ({ words }) => {
    expect(() => readTarget(words)).toThrow(/^expected KIND\/NAME or KIND NAME, e\.g\. deployment\/trainer, not /)
  })
})

test.each([
  { word: 'Foo.v1.example.com', want: { group: 'example.com', version: 'v1', kind: 'Foo', plural: 'foos' } },
  { word: 'Policy.v1beta1.example.com', want: { kind: 'Policy', plural: 'policies' } },
  { word: 'Class.v1.', want: { group: '', version: 'v1', plural: 'classes' } },
])('the type of $word follows from its manifest', ({ word, want }) => {
  expect(kindOfManifest(word)).toMatchObject(want)
})

test.each(['foo.v1.example.com', 'Foo.example.com', 'Foo', 'Foo.v1', ''])(
  '%s is not the form of a manifest',
  (word) => {
    expect(kindOfManifest(word)).toBeUndefined()
  },
)
