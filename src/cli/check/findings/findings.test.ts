/** Runs `lodestone check` for each finding, and for each value of `--fail-on`. */
import { existsSync, readFileSync } from 'node:fs'
import { join } from 'node:path'
import { describe, expect, test } from 'vitest'
import { parseAllDocuments } from 'yaml'
import {
  makeBinding,
  makeClaim,
  makePod,
  makePolicy,
  makeSource,
  makeVolumeManager,
} from '../../../../test/builders.ts'
import { makeFolder, runWords } from '../../cli.fake.ts'
import { documentationOf, FINDINGS, type Finding } from './findings.ts'

const metadata = { name: 'app', namespace: 'default' }
const workload = { apiVersion: 'apps/v1', kind: 'Deployment', metadata, spec: { replicas: 1 } }
const trainr = makeClaim({ workload: { apiVersion: 'apps/v1', kind: 'Deployment', name: 'trainr' } })
const trainer = { ...workload, metadata: { ...metadata, name: 'trainer' } }
const volumes = (name: string) => ({ annotations: { 'lodestone.dev/volumes': `{"name":"${name}"}` } })
const withVolumes = {
  ...workload,
  metadata: { ...metadata, ...volumes('sales') },
  spec: { template: { spec: { containers: [{ name: 'main' }] } } },
}
const requiring = {
  ...makePolicy(),
  metadata: { ...makePolicy().metadata, annotations: { 'lodestone.dev/requires-claim': 'true' } },
}
const elsewhere = makeSource({ locality: { clusterNames: ['member9'] } })
const amoro = { 'systems/amoro.yaml': { system: 'amoro', endpoint: { url: 'http://127.0.0.1:9' } } }

/** Writes one file and checks it. Returns the findings without their file, which is the same for all. */
async function check(content: unknown, ...words: string[]) {
  const folder = makeFolder({ 'given.yaml': content })
  const { status, stdout, stderr } = await runWords(['check', '-f', join(folder, 'given.yaml'), '-o', 'json', ...words])
  const { findings }: { findings: Finding[] } = JSON.parse(stdout)
  return { status, stderr, findings }
}

const summaryOf = ({ id, object, line, column }: Finding) => ({ id, object, line, column })

test.each([
  { id: 'no-policy', object: 'Deployment default/app', given: [workload], line: 1, status: 0 },
  {
    id: 'no-claim',
    object: 'ResourceBinding default/app-deployment',
    given: [workload, makePolicy()],
    line: 1,
    status: 0,
  },
  { id: 'dangling-claim', object: 'DataSourceClaim default/sales', given: [trainr], line: 10, column: 3, status: 1 },
  {
    id: 'endless-hold',
    object: 'ResourceBinding default/app-deployment',
    given: [workload, makePolicy(), makeClaim()],
    line: 1,
    status: 1,
  },
  {
    id: 'endless-hold',
    object: 'ResourceBinding default/app-deployment',
    given: [workload, makePolicy(), makeClaim(), elsewhere],
    line: 1,
    status: 1,
  },
  {
    id: 'endless-hold',
    object: 'ResourceBinding default/app-deployment',
    given: [workload, requiring],
    line: 1,
    status: 1,
  },
  {
    id: 'hold',
    object: 'ResourceBinding default/app-deployment',
    given: [workload, makePolicy(), makeClaim({ policy: { holdTimeoutSeconds: 60 } })],
    line: 1,
    status: 0,
  },
  {
    id: 'hold',
    object: 'Pod default/trainer',
    given: [makePod({ name: 'sales' }), makeVolumeManager()],
    line: 1,
    status: 0,
  },
  {
    id: 'ignored-claim',
    object: 'ResourceBinding default/app-deployment',
    given: [workload, makePolicy(), makeClaim({ policy: { onUnresolved: 'Ignore' } })],
    line: 1,
    status: 0,
  },
  {
    id: 'missing-volume-manager',
    object: 'Deployment default/app',
    given: [withVolumes],
    line: 7,
    column: 5,
    status: 1,
  },
  {
    id: 'unknown-kind',
    object: 'Train default/app',
    given: [{ apiVersion: 'example.org/v1', kind: 'Train', metadata: { ...metadata, ...volumes('sales') } }],
    line: 6,
    column: 3,
    status: 1,
  },
  {
    id: 'excluded-namespace',
    object: 'DataSourceClaim karmada-system/sales',
    given: [makeClaim({ system: '' }, { namespace: 'karmada-system' })],
    line: 1,
    status: 1,
  },
  {
    id: 'excluded-namespace',
    object: 'Pod kube-system/trainer',
    given: [makePod({ name: 'sales' }, {}, { namespace: 'kube-system' })],
    line: 1,
    status: 1,
  },
  {
    id: 'no-namespace',
    object: 'ConfigMap default/a',
    given: [{ apiVersion: 'v1', kind: 'ConfigMap', metadata: { name: 'a' } }],
    line: 3,
    status: 0,
  },
  {
    id: 'invalid-manifest',
    object: undefined,
    given: [{ ...workload, metadata: { ...metadata, ownerReferences: [null] } }],
    line: 1,
    status: 1,
  },
  {
    id: 'invalid-manifest',
    object: undefined,
    given: [{ ...workload, metadata: { ...metadata, ownerReferences: 4 } }],
    line: 1,
    status: 1,
  },
  { id: 'invalid-manifest', object: undefined, given: 'a: [', line: 1, column: 5, status: 1 },
])('$id, status $status', async ({ id, object, given, line, column = 1, status }) => {
  const answer = await check(given)

  expect(answer.stderr).toBe('')
  expect(answer.findings.map(summaryOf)).toContainEqual({ id, object, line, column })
  expect(answer.status).toBe(status)
})

test('a claim for an attached dependency of the hub is ignored, with the reason', async () => {
  const reference = { apiVersion: 'v1', kind: 'ConfigMap', name: 'settings' }
  const { placement: _absent, ...spec } = makeBinding({ resource: { ...reference, namespace: 'default' } }).spec
  const configMap = { apiVersion: 'v1', kind: 'ConfigMap', metadata: { ...metadata, name: 'settings' } }
  const attached = { ...makeBinding({}, { name: 'settings-configmap' }), spec }
  const hub = makeFolder({ 'a.yaml': [configMap, attached] })

  const { findings } = await check([makeClaim({ workload: reference })], '--folder', hub)

  expect(findings.find(({ id }) => id === 'ineffective-claim')?.message).toBe(
    'is ignored: ConfigMap settings is a dependency, and follows the workloads that need it; name such a workload instead',
  )
})

test('an object of the folder that cannot be read is a finding', async () => {
  const binding = makeBinding()
  const hub = makeFolder({ 'a.yaml': [{ ...binding, metadata: { ...binding.metadata, finalizers: 7 } }] })

  const { findings, status } = await check([makeClaim()], '--folder', hub)

  const found = findings.find(({ id }) => id === 'invalid-manifest')
  expect(found?.message).toContain('ResourceBinding default/app-deployment cannot be cached: ')
  expect(status).toBe(1)
})

describe('a claim whose workload is not in the input', () => {
  test.each([
    { name: 'a similar name', given: [trainr, trainer], hint: '(did you mean trainer?)' },
    {
      name: 'another kind',
      given: [makeClaim({ workload: { apiVersion: 'apps/v1', kind: 'StatefulSet', name: 'app' } }), workload],
      hint: '(did you mean Deployment default/app of apps/v1?)',
    },
    {
      name: 'another namespace',
      given: [makeClaim(), { ...workload, metadata: { ...metadata, namespace: 'other' } }],
      hint: '(did you mean Deployment other/app of apps/v1?)',
    },
  ])('has a suggestion: $name', async ({ given, hint }) => {
    const { findings } = await check(given)

    expect(findings.find(({ id }) => id === 'dangling-claim')?.message).toContain(`is not in the input ${hint}; `)
  })

  test('in the folder has a place there; reported only if it seems to mean a workload', async () => {
    const hub = makeFolder({ 'a.yaml': [trainr, { ...trainr, metadata: { name: 'other', namespace: 'far' } }] })

    const { findings } = await check([trainer, makePolicy()], '--folder', hub)

    const dangling = findings.filter(({ id }) => id === 'dangling-claim')
    expect(dangling.map(({ file, line, column }) => ({ file, line, column }))).toEqual([
      { file: join(hub, 'a.yaml'), line: 1, column: 1 },
    ])
  })

  test.each([
    { name: 'the workload', stored: workload },
    { name: 'its binding', stored: makeBinding() },
  ])('is not reported if the folder has $name', async ({ stored }) => {
    const hub = makeFolder({ 'a.yaml': stored })

    expect((await check([makeClaim()], '--folder', hub)).findings).toEqual([])
  })
})

test('a hold for an unknown location can end if the configuration has the data system', async () => {
  const config = makeFolder(amoro)
  const file = join(makeFolder({ 'c.yaml': { systems: { directory: join(config, 'systems') } } }), 'c.yaml')

  const { status, findings } = await check([workload, makePolicy(), makeClaim()], '--config', file)

  expect({ status, ids: findings.map(({ id }) => id) }).toEqual({ status: 0, ids: ['hold'] })
})

test.each([
  { name: 'Helm', annotations: { 'helm.sh/hook': 'test' } },
  { name: 'Argo CD', annotations: { 'argocd.argoproj.io/hook': 'PreSync' } },
])('a hook of $name needs no policy', async ({ annotations }) => {
  const hook = { ...workload, metadata: { ...metadata, annotations } }

  expect((await check([hook])).findings).toEqual([])
})

describe('an object to which no rule applies', () => {
  const kindOf = (apiVersion: string, kind: string) => ({ apiVersion, kind, metadata })
  const settings = { ...kindOf('v1', 'ConfigMap'), data: {} }
  const valid = [workload, makePolicy(), makeClaim(), makeSource()]

  test.each([
    { name: 'of Kubernetes', given: settings, says: 'no rule of Lodestone applies to a ConfigMap' },
    {
      name: 'of an unknown kind',
      given: kindOf('example.org/v1', 'Train'),
      says: 'no rule of Lodestone applies to Train.example.org; if it has pods, add the kind to workloadKinds',
    },
    {
      name: 'of a mistyped kind',
      given: kindOf('kubeflow.org/v1', 'PyTorchJobs'),
      says: 'no rule of Lodestone applies to PyTorchJobs.kubeflow.org (did you mean PyTorchJob?); if it has pods, add the kind to workloadKinds',
    },
  ])('has a finding that never fails: $name', async ({ given, says }) => {
    const { status, findings } = await check(given, '--fail-on', 'warning')

    expect({ status, findings }).toMatchObject({
      status: 0,
      findings: [{ id: 'not-checked', severity: 'info', message: says, line: 1, column: 1 }],
    })
  })

  test('is in its line of the text, and the last line counts', async () => {
    const folder = makeFolder({ 'given.yaml': [...valid, settings, kindOf('v1', 'Service')] })

    const { status, stdout } = await runWords(['check', '-f', folder])

    expect(status).toBe(0)
    expect(stdout.trimEnd().split('\n').slice(-3)).toEqual([
      '- ConfigMap default/app: not checked: no rule of Lodestone applies to a ConfigMap',
      '- Service default/app: not checked: no rule of Lodestone applies to a Service',
      '4 objects checked, 2 not',
    ])
  })

  test('is checked if a policy selects it, because it has a binding then', async () => {
    const policy = makePolicy({ resourceSelectors: [{ apiVersion: 'v1', kind: 'ConfigMap' }] })

    expect((await check([settings, policy])).findings).toEqual([])
  })

  test('is a skipped test case of JUnit', async () => {
    const folder = makeFolder({ 'given.yaml': settings })

    const { stdout } = await runWords(['check', '-f', folder, '-o', 'junit'])

    expect(stdout).toContain('tests="1" failures="0" errors="0" skipped="1"')
    expect(stdout).toContain('<skipped message="no rule of Lodestone applies to a ConfigMap"/>')
  })
})

describe('an object that the API server does not send to Lodestone has no finding', () => {
  const owned = { ownerReferences: [{ apiVersion: 'v1', kind: 'A', name: 'a', uid: 'u', controller: true }] }

  test.each([
    {
      name: 'an annotated object of an unknown kind that a controller owns',
      given: { apiVersion: 'example.org/v1', kind: 'Train', metadata: { ...metadata, ...volumes('sales'), ...owned } },
    },
    {
      name: 'an annotated cluster-scoped object',
      given: { apiVersion: 'storage.k8s.io/v1', kind: 'CSIDriver', metadata: { name: 'a', ...volumes('sales') } },
    },
    {
      name: 'a MultiKueueCluster with the name of its cluster, as in docs/guides/kueue.md',
      given: {
        apiVersion: 'kueue.x-k8s.io/v1beta2',
        kind: 'MultiKueueCluster',
        metadata: { name: 'worker1', annotations: { 'lodestone.dev/cluster-name': 'paris' } },
      },
    },
    {
      name: 'an object of an excluded namespace that admission would not change',
      given: { apiVersion: 'v1', kind: 'ConfigMap', metadata: { name: 'a', namespace: 'kube-system' } },
    },
  ])('$name', async ({ given }) => {
    const { status, findings } = await check(given)

    expect({ status, others: findings.filter(({ id }) => id !== 'not-checked') }).toEqual({ status: 0, others: [] })
  })

  test('the update of a pod, whose volumes cannot be changed', async () => {
    const pod = makePod({ name: 'absent' })
    const hub = makeFolder({ 'pod.yaml': pod })

    expect((await check(pod, '--folder', hub)).findings.filter(({ severity }) => severity === 'error')).toEqual([])
  })
})

describe('--fail-on', () => {
  const rejected = [makeClaim({ system: '' })]
  const endless = [workload, makePolicy(), makeClaim()]
  const held = [workload, makePolicy(), makeClaim({ policy: { holdTimeoutSeconds: 60 } })]
  const gated = [makePod({ name: 'sales' }), makeVolumeManager()]
  const info = [workload, makePolicy()]

  test.each([
    { words: [], want: { rejected: 1, endless: 1, held: 0, gated: 0, warning: 0, info: 0 } },
    { words: ['--fail-on', 'rejected'], want: { rejected: 1, endless: 0, held: 0, gated: 0, warning: 0, info: 0 } },
    { words: ['--fail-on', 'held'], want: { rejected: 1, endless: 1, held: 1, gated: 1, warning: 0, info: 0 } },
    { words: ['--fail-on', 'warning'], want: { rejected: 1, endless: 1, held: 1, gated: 1, warning: 1, info: 0 } },
  ])('$words', async ({ words, want }) => {
    const cases = { rejected, endless, held, gated, warning: [workload], info }
    const statuses = Object.fromEntries(
      await Promise.all(
        Object.entries(cases).map(async ([name, given]) => [name, (await check(given, ...words)).status]),
      ),
    )

    expect(statuses).toEqual(want)
  })
})

describe('-n', () => {
  const claim = makeClaim()
  const { namespace: _claim, ...claimMetadata } = claim.metadata
  const { namespace: _policy, ...policyMetadata } = makePolicy().metadata
  const unplaced = [
    { ...workload, metadata: { name: 'app' } },
    { ...claim, metadata: claimMetadata },
    { ...makePolicy(), metadata: policyMetadata },
    makeSource(),
  ]

  test('sets the namespace of manifests without one', async () => {
    const folder = makeFolder({ 'given.yaml': unplaced })

    const { status, stdout } = await runWords(['check', '-f', folder, '-n', 'demo'])

    expect(status).toBe(0)
    expect(stdout).toContain('✔ Deployment demo/app → ResourceBinding demo/app-deployment: narrowed\n')
    expect(stdout).not.toContain('no-namespace')
  })

  test('does not change the namespace of the others', async () => {
    const folder = makeFolder({ 'given.yaml': claim })

    expect((await runWords(['check', '-f', folder, '-n', 'demo'])).stdout).toContain('DataSourceClaim default/sales')
  })
})

describe('the scope of a kind', () => {
  const cluster = { apiVersion: 'cluster.karmada.io/v1alpha1', kind: 'Cluster', metadata: { name: 'member1' } }
  const crd = {
    apiVersion: 'apiextensions.k8s.io/v1',
    kind: 'CustomResourceDefinition',
    metadata: { name: 'trains.example.org' },
    spec: { group: 'example.org', scope: 'Cluster', names: { kind: 'Train' } },
  }

  test.each([
    { name: 'Cluster', given: [cluster], want: '✔ Cluster member1: allowed\n' },
    {
      name: 'a kind of the list',
      given: [{ apiVersion: 'storage.k8s.io/v1', kind: 'CSIDriver', metadata: { name: 'disk' } }],
      want: '- CSIDriver disk: not checked: no rule of Lodestone applies to a CSIDriver\n0 objects checked, 1 not\n',
    },
    {
      name: 'a kind with its CustomResourceDefinition',
      given: [{ apiVersion: 'example.org/v1', kind: 'Train', metadata: { name: 'a' } }, crd],
      want: [
        '- Train a: not checked: no rule of Lodestone applies to Train.example.org; if it has pods, add the kind to workloadKinds',
        '- CustomResourceDefinition trains.example.org: not checked: no rule of Lodestone applies to a CustomResourceDefinition',
        '0 objects checked, 2 not',
        '',
      ].join('\n'),
    },
  ])('$name has no namespace', async ({ given, want }) => {
    const folder = makeFolder({ 'given.yaml': given })

    expect(await runWords(['check', '-f', folder])).toEqual({ status: 0, stdout: want, stderr: '' })
  })

  test('is the same in the input and in the folder: Clusters affect decisions', async () => {
    const given = [workload, makePolicy(), makeClaim(), makeSource()]
    const clusters = ['member1', 'member2', 'member3'].map((name) => ({ ...cluster, metadata: { name } }))
    const hub = makeFolder({ 'clusters.yaml': clusters })

    const answers = await Promise.all([
      runWords(['check', '-f', makeFolder({ 'a.yaml': [...given, ...clusters] }), '-o', 'yaml']),
      runWords(['check', '-f', makeFolder({ 'a.yaml': given }), '--folder', hub, '-o', 'yaml']),
    ])

    const [input, folder] = answers.map(({ stdout }) => parseAllDocuments(stdout).map((document) => document.toJS()))
    expect(input?.slice(0, folder?.length)).toEqual(folder)
    expect(folder?.[0].spec.placement.clusterAffinity).toEqual({ clusterNames: ['member2'] })
  })
})

describe('generateName', () => {
  const generated = {
    apiVersion: 'batch/v1',
    kind: 'Job',
    metadata: { generateName: 'train-', namespace: 'default' },
    spec: { template: {} },
  }

  test('is accepted, and each manifest is an object', async () => {
    const folder = makeFolder({ 'given.yaml': [generated, generated] })

    const { status, stdout } = await runWords(['check', '-f', folder])

    expect(status).toBe(0)
    expect(stdout.match(/^● Job default\/train-[a-z0-9]{5}: allowed$/gm)).toHaveLength(2)
  })

  test('gives the binding a generated name', async () => {
    const policy = makePolicy({ resourceSelectors: [{ apiVersion: 'batch/v1', kind: 'Job' }] })
    const folder = makeFolder({ 'given.yaml': [generated, policy] })

    const { stdout } = await runWords(['check', '-f', folder])

    expect(stdout).toMatch(/Job default\/(train-[a-z0-9]{5}) → ResourceBinding default\/\1-job: allowed/)
  })
})

describe('one message', () => {
  test('for a file that is no manifest, such as README.md', async () => {
    const { status, stdout } = await runWords(['check', '-f', 'README.md', '-o', 'json'])

    expect(status).toBe(1)
    expect(JSON.parse(stdout).findings).toMatchObject([{ id: 'invalid-manifest', file: 'README.md' }])
  })

  test('for a file that is not UTF-8, and for one that is too large', async () => {
    const folder = makeFolder({ 'large.yaml': `# ${'x'.repeat(9 * 1024 * 1024)}` })

    const { stdout } = await runWords(['check', '-f', folder, '-f', process.execPath])

    expect(stdout).toContain(`${join(folder, 'large.yaml')}: error: is larger than 8 MiB, and was not read`)
    expect(stdout).toContain(`${process.execPath}: error: is larger than 8 MiB, and was not read`)
    expect(stdout.trimEnd().split('\n')).toHaveLength(2)
  })

  test('for two manifests of one object, with both places', async () => {
    const folder = makeFolder({ 'a.yaml': workload, 'b.yaml': workload })

    const { status, stdout } = await runWords(['check', '-f', folder])

    expect(status).toBe(1)
    const message = `Deployment default/app: is already in ${join(folder, 'a.yaml')}:1, which is used; remove one of them`
    expect(stdout).toContain(`${join(folder, 'b.yaml')}:1:1: error: `)
    expect(stdout).toContain(message.replace('Deployment default/app: ', ''))
  })
})

test('docs/guides/check.md describes each finding with its severity and a remedy', () => {
  const [, text = ''] = readFileSync('docs/guides/check.md', 'utf8').split('\n## Findings\n')
  const sections = text.split('\n### ').slice(1)
  const words = { error: 'Error', warning: 'Warning', info: 'Information' }

  expect(sections.map((section) => section.split('\n')[0]).sort()).toEqual(Object.keys(FINDINGS).sort())
  const wrong = Object.entries(FINDINGS).filter(([id, { severity }]) => {
    const section = sections.find((each) => each.startsWith(`${id}\n`))
    return !section?.startsWith(`${id}\n\n${words[severity]}. `) || !section.includes('\nRemedy: ')
  })
  expect(wrong).toEqual([])
})

test('the documentation of each finding is a file of the npm package', () => {
  const { files }: { files: string[] } = JSON.parse(readFileSync('package.json', 'utf8'))
  const pages = new Set(Object.keys(FINDINGS).map((id) => documentationOf(id as keyof typeof FINDINGS).split('#')[0]))

  expect([...pages].filter((page = '') => !existsSync(page) || !files.includes(page.split('/')[0] ?? ''))).toEqual([])
})
