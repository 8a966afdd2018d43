/** Runs `lodestone check` with files, folders and pipes that are no manifests, or that cannot be read. */
import { execFileSync } from 'node:child_process'
import { createWriteStream, mkdirSync, symlinkSync } from 'node:fs'
import { join } from 'node:path'
import { describe, expect, test } from 'vitest'
import { parse } from 'yaml'
import { makeClaim, makeDeployment } from '../../../../test/builders.ts'
import { makeFolder, runWords } from '../../cli.fake.ts'

const template = [
  'apiVersion: apps/v1',
  'kind: Deployment',
  'metadata:',
  '  name: {{ include "chart.fullname" . }}',
  '  labels:',
  '    {{- include "chart.labels" . | nindent 4 }}',
].join('\n')

/** Checks a folder. Returns the output without its path. */
async function check(folder: string, ...words: string[]) {
  const answer = await runWords(['check', '-f', folder, ...words])
  return { ...answer, stdout: answer.stdout.replaceAll(`${folder}/`, '').replaceAll(folder, '.') }
}

function makePipe(): string {
  const folder = makeFolder()
  execFileSync('mkfifo', [join(folder, 'pipe.yaml')])
  return folder
}

test.each([
  { name: 'a Helm template', files: { 'a.yaml': template }, want: 'a.yaml:6:7: error: is a Helm template and no' },
  {
    name: 'a Helm template that begins with an action',
    files: { 'a.yaml': '{{- if .Values.a }}\nkind: ConfigMap\n{{- end }}\n' },
    want: 'a.yaml:1:3: error: is a Helm template and no manifest; check the output of helm template',
  },
  {
    name: 'a chart',
    files: { 'Chart.yaml': 'apiVersion: v2\nname: a' },
    want: 'Chart.yaml:1:1: error: is part of a Helm',
  },
  {
    name: 'a kustomization',
    files: { 'kustomization.yaml': 'resources: [a.yaml]' },
    want: 'kustomization.yaml:1:1: error: is the input of kustomize and no manifest; check the output of kustomize build',
  },
  { name: 'a binary file', files: { 'a.yaml': '\u0000\u0001\u0002' }, want: 'a.yaml:1:1: error: ' },
])('$name has one message', async ({ files, want }) => {
  const { status, stdout } = await check(makeFolder(files))

  expect(stdout).toContain(want)
  expect({ status, lines: stdout.trimEnd().split('\n').length }).toEqual({ status: 1, lines: 1 })
})

test('a command in quotes over several lines is read as by kubectl, at any indent', async () => {
  const workflow = [
    'apiVersion: argoproj.io/v1alpha1',
    'kind: Workflow',
    'metadata: { generateName: sidecar-, namespace: demo }',
    'spec:',
    '  templates:',
    '  - name: main',
    '    container:',
    '      args: ["',
    '        echo one;',
    '        echo \\"two\\"',
    '      "]',
  ].join('\n')

  const { status, stdout } = await check(makeFolder({ 'a.yaml': `${workflow}\n` }), '-o', 'yaml')

  expect(status).toBe(0)
  expect(parse(stdout).spec.templates[0].container.args).toEqual([' echo one; echo "two" '])
})

test('a manifest with braces in a text is no Helm template', async () => {
  const message = {
    apiVersion: 'v1',
    kind: 'ConfigMap',
    metadata: { name: 'a', namespace: 'b' },
    data: { a: '{{ .x }}' },
  }

  expect(await check(makeFolder({ 'a.yaml': message }))).toMatchObject({
    status: 0,
    stdout: '- ConfigMap b/a: not checked: no rule of Lodestone applies to a ConfigMap\n0 objects checked, 1 not\n',
  })
})

test('a symlink loop of folders is read once; a symlink to itself has one message', async () => {
  const folder = makeFolder({ 'a.yaml': makeDeployment() })
  mkdirSync(join(folder, 'below'))
  symlinkSync('..', join(folder, 'below', 'up'))
  symlinkSync('self.yaml', join(folder, 'self.yaml'))

  const { status, stdout } = await check(folder)

  expect(status).toBe(1)
  expect(stdout.match(/^self.yaml: error: cannot be read: ELOOP/gm)).toHaveLength(1)
  expect(stdout).not.toContain('is already in')
})

test('a file that is named twice in different ways is read once', async () => {
  const folder = makeFolder({ 'a.yaml': makeDeployment() })

  const { status, stdout } = await check(
    folder,
    '-f',
    join(folder, '.', 'a.yaml'),
    '-f',
    `${folder}/../${folder.split('/').at(-1)}`,
  )

  expect({ status, shown: stdout.match(/Deployment default\/app/g)?.length }).toEqual({ status: 0, shown: 1 })
})

test('a device has one message', async () => {
  expect(await runWords(['check', '-f', '/dev/null'])).toEqual({
    status: 1,
    stdout: '/dev/null: error: is not a file, a folder or a pipe (invalid-manifest)\n',
    stderr: '',
  })
})

test('a symlink to itself as an argument has one message', async () => {
  const folder = makeFolder()
  symlinkSync('self', join(folder, 'self'))

  const { status, stdout } = await runWords(['check', '-f', join(folder, 'self')])

  expect(status).toBe(1)
  expect(stdout).toMatch(/^\S+self: error: cannot be read: ELOOP[^\n]+\(invalid-manifest\)\n$/)
})

test('a pipe is read, as the shell makes one for <(command)', async () => {
  const pipe = join(makePipe(), 'pipe.yaml')
  const writer = createWriteStream(pipe)
  writer.end(JSON.stringify(makeDeployment()))

  const { status, stdout } = await runWords(['check', '-f', pipe])

  expect(status).toBe(0)
  expect(stdout).toContain('● Deployment default/app: allowed\n')
})

test('a pipe without a writer ends with Ctrl-C', async () => {
  const signal = AbortSignal.timeout(50)

  const answer = await runWords(['check', '-f', join(makePipe(), 'pipe.yaml')], { signal })

  expect(answer).toEqual({ status: 130, stdout: '', stderr: '' })
})

test('a pipe in a folder has one message, because a read would block', async () => {
  const { status, stdout } = await check(makePipe())

  expect({ status, stdout }).toEqual({
    status: 1,
    stdout: 'pipe.yaml: error: is not a file, and was not read (invalid-manifest)\n',
  })
})

describe('the group of a kind', () => {
  const object = (apiVersion: string, kind: string) => ({ apiVersion, kind, metadata: { name: 'a', namespace: 'b' } })

  test.each([
    { apiVersion: 'lodestone.dev/v1alpha1', kind: 'DataSourceClaim', right: 'datadependency.volcano.sh/v1alpha1' },
    { apiVersion: 'datadependencies.volcano.sh/v1', kind: 'DataSource', right: 'datadependency.volcano.sh/v1alpha1' },
    { apiVersion: 'policies.karmada.io/v1alpha1', kind: 'PropagationPolicy', right: 'policy.karmada.io/v1alpha1' },
  ])('that is mistyped is an error: $kind of $apiVersion', async ({ apiVersion, kind, right }) => {
    const { status, stdout } = await check(makeFolder({ 'a.yaml': object(apiVersion, kind) }))

    const message = `${kind} b/a: apiVersion: ${apiVersion} is not served; write ${right} (invalid-manifest)`
    expect({ status, stdout }).toEqual({ status: 1, stdout: `a.yaml:1:1: error: ${message}\n` })
  })

  test.each([
    { apiVersion: 'cluster.x-k8s.io/v1beta1', kind: 'Cluster' },
    { apiVersion: 'cdi.kubevirt.io/v1beta1', kind: 'DataSource' },
  ])('of another project is none: $kind of $apiVersion', async ({ apiVersion, kind }) => {
    const { status, stdout } = await check(makeFolder({ 'a.yaml': object(apiVersion, kind) }))

    expect({ status, line: stdout.split(':')[0] }).toEqual({ status: 0, line: `- ${kind} b/a` })
  })
})

describe('a built-in kind with an invalid pod template is invalid', () => {
  const metadata = { name: 'a', namespace: 'b' }
  const job = (spec: unknown) => ({ apiVersion: 'batch/v1', kind: 'Job', metadata, spec })
  const template = (spec: unknown) => ({ template: { spec } })

  test.each([
    { given: { apiVersion: 'v1', kind: 'Pod', metadata, spec: { containers: 5 } }, says: 'spec.containers: must be' },
    {
      given: { apiVersion: 'apps/v1', kind: 'Deployment', metadata, spec: template({ containers: 5 }) },
      says: 'spec.template.spec.containers: must be of type array',
    },
    { given: job(template({ containers: [{}] })), says: 'spec.template.spec.containers[0].name: is required' },
    { given: job(template({})), says: 'spec.template.spec.containers: is required' },
    { given: job(template('main')), says: 'spec.template.spec: must be of type object' },
    { given: job({ template: [] }), says: 'spec.template: must be of type object' },
    { given: job(7), says: 'spec: must be of type object' },
    {
      given: { ...job({ jobTemplate: { spec: template({ containers: 5 }) } }), kind: 'CronJob' },
      says: 'spec.jobTemplate.spec.template.spec.containers: must be of type array',
    },
  ])('$says', async ({ given, says }) => {
    const { status, stdout } = await check(makeFolder({ 'a.yaml': given }))

    expect(status).toBe(1)
    expect(stdout).toMatch(/^a\.yaml:\d+:\d+: error: /)
    expect(stdout).toContain(`: ${given.kind} b/a: ${says}`)
    expect(stdout).toContain('(invalid-manifest)\n')
  })

  test('and a custom kind with the same template is not: an API server may store it', async () => {
    const given = { ...job(template({ containers: 5 })), apiVersion: 'example.org/v1' }

    expect((await check(makeFolder({ 'a.yaml': given }))).status).toBe(0)
  })
})

describe('metadata that an API server rejects is invalid', () => {
  const claim = makeClaim()
  const withMetadata = (object: object, metadata: object) => ({ ...object, metadata: { namespace: 'b', ...metadata } })
  const deployment = makeDeployment()
  const role = { apiVersion: 'rbac.authorization.k8s.io/v1', kind: 'Role' }

  test.each([
    {
      given: withMetadata(claim, { name: 'Orders' }),
      says: 'DataSourceClaim b/Orders: metadata.name: Invalid value: "Orders": must be lower-case letters, digits, "-" and ".", e.g. my-app',
    },
    {
      given: withMetadata(deployment, { name: 'größe' }),
      says: 'Deployment b/größe: metadata.name: Invalid value: "größe": must be lower-case',
    },
    {
      given: withMetadata(deployment, { name: 'a'.repeat(254) }),
      says: 'must be at most 253 characters',
    },
    {
      given: withMetadata(deployment, { generateName: 'App_' }),
      says: 'metadata.generateName: Invalid value: "App_": must be lower-case',
    },
    {
      given: withMetadata(role, { name: 'a/b' }),
      says: 'Role b/a/b: metadata.name: Invalid value: "a/b": must not be "." or ".."',
    },
    {
      given: withMetadata(deployment, { name: 'a', namespace: 'Team_A' }),
      says: 'Deployment Team_A/a: metadata.namespace: Invalid value: "Team_A": must be lower-case',
    },
    {
      given: withMetadata(deployment, { name: 'a', labels: { 'a b': '' } }),
      says: 'Deployment b/a: metadata.labels: Invalid value: "a b": must be the key of a label, e.g. app.kubernetes.io/name',
    },
    {
      given: withMetadata(deployment, { name: 'a', labels: { tier: 'front end' } }),
      says: 'metadata.labels[tier]: Invalid value: "front end": must be the value of a label: at most 63 letters, digits, "-", "_" and "."',
    },
    {
      given: withMetadata(deployment, { name: 'a', annotations: { 'a/b/c': '' } }),
      says: 'metadata.annotations: Invalid value: "a/b/c": must be the key of an annotation, e.g. example.com/owner',
    },
  ])('$says', async ({ given, says }) => {
    const { status, stdout } = await check(makeFolder({ 'a.yaml': given }))

    expect(status).toBe(1)
    expect(stdout).toMatch(/^a\.yaml:\d+:\d+: error: /)
    expect(stdout).toContain(says)
    expect(stdout).toContain('(invalid-manifest)\n')
  })

  test('all errors of an object are found at once', async () => {
    const given = withMetadata(deployment, { name: 'A', namespace: 'B', labels: { c: '-' } })
    const { stdout } = await check(makeFolder({ 'a.yaml': given }))

    expect(stdout.match(/metadata\.\w+/g)).toEqual(['metadata.name', 'metadata.namespace', 'metadata.labels'])
  })

  test('and names of other kinds have their own rules', async () => {
    const names = ['system:reader', 'Reader']
    const given = names.map((name) => withMetadata(role, { name, annotations: { 'Example.com/Owner': 'a b' } }))

    expect((await check(makeFolder({ 'a.yaml': { apiVersion: 'v1', kind: 'List', items: given } }))).status).toBe(0)
  })
})
