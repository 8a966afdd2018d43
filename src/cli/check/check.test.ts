import { join } from 'node:path'
import { describe, expect, test } from 'vitest'
import { parse, parseAllDocuments } from 'yaml'
import {
  makeBinding,
  makeClaim,
  makeForeignClaim,
  makeNamespace,
  makeObject,
  makePolicy,
  makeSource,
  makeVolumeManager,
} from '../../../test/builders.ts'
import { makeFolder, readFolder, runWords } from '../cli.fake.ts'

const workload = makeObject('apps/v1', 'Deployment', 'app', { spec: { replicas: 2 } })
const brokenClaim = makeClaim({ system: '', workload: { apiVersion: 'apps/v1', kind: '', name: 'app' } })
const title = 'Deployment default/app → ResourceBinding default/app-deployment'

/** A hub with a policy for three clusters and data in member2. */
function makeHub(files: Record<string, unknown> = {}): string {
  return makeFolder({ 'hub.yaml': [makeClaim(), makeSource(), makePolicy()], ...files })
}

function makeFile(content: unknown, name = 'given.yaml'): string {
  return join(makeFolder({ [name]: content }), name)
}

describe('a workload', () => {
  test('is shown with its binding, narrowed to its data, as a diff', async () => {
    const { status, stdout, stderr } = await runWords(['check', '-f', makeFile(workload), '--folder', makeHub()])

    expect({ status, stderr }).toEqual({ status: 0, stderr: '' })
    expect(stdout).toContain(`✔ ${title}: narrowed\n    default/sales is in member2\n`)
    expect(stdout).toContain('-         - member1\n              - member2\n    -         - member3\n')
    expect(stdout).toContain('lodestone.dev/base-affinity')
  })

  test('with data at an unknown location is shown on hold, with the reason', async () => {
    const hub = makeFolder({ 'hub.yaml': [makeClaim(), makePolicy()] })

    const { status, stdout } = await runWords(['check', makeFile(workload), '--folder', hub])

    expect(status).toBe(1)
    expect(stdout).toContain(`● ${title}: on hold\n`)
    expect(stdout).toContain('scheduling: true')
  })

  test('that no policy selects is allowed unchanged, and the output has no decision', async () => {
    const file = makeFile(workload)

    const { status, stdout } = await runWords(['check', file])

    const message = 'no known policy or claim selects it, so nothing was decided; add them to the input (no-policy)'
    expect({ status, stdout }).toEqual({
      status: 0,
      stdout: `● Deployment default/app: allowed\n    ${file}:1:1: warning: ${message}\n`,
    })
  })

  test('without a namespace is in default, as with kubectl', async () => {
    const file = makeFile({ ...workload, metadata: { name: 'app' } })

    const { stdout } = await runWords(['check', file, '--folder', makeHub()])

    expect(stdout).toContain(`${title}: narrowed`)
  })

  test.each([
    { order: 'claim last', objects: [workload, makePolicy(), makeSource(), makeClaim()] },
    { order: 'claim first', objects: [makeClaim(), makeSource(), makePolicy(), workload] },
    { order: 'policy last', objects: [makeSource(), workload, makeClaim(), makePolicy()] },
  ])('is narrowed by the objects in its own file, in any order: $order', async ({ objects }) => {
    const { stdout } = await runWords(['check', makeFile(objects)])

    expect(stdout).toContain(`${title}: narrowed\n    default/sales is in member2\n`)
  })

  test('is narrowed by the objects in another file', async () => {
    const others = makeFile([makeClaim(), makeSource(), makePolicy()])

    const { stdout } = await runWords(['check', '-f', makeFile(workload), '-f', others])

    expect(stdout).toContain(`${title}: narrowed`)
    expect(stdout).toContain('✔ DataSourceClaim default/sales: allowed\n')
  })

  test('is checked in a folder of manifests', async () => {
    const folder = makeHub({ 'team/workload.yaml': workload, 'README.md': 'no manifest' })

    const { status, stdout } = await runWords(['check', '-f', folder])

    expect(status).toBe(0)
    expect(stdout).toContain(`${title}: narrowed`)
  })
})

describe('an existing binding', () => {
  test('is reviewed as an update, and stays scheduled although its data has no location', async () => {
    const stored = makeBinding({
      clusters: [{ name: 'member1' }],
      placement: { clusterAffinity: { clusterNames: ['member1'] } },
    })
    const hub = makeFolder({ 'hub.yaml': [makeClaim(), makePolicy(), stored] })

    const { stdout } = await runWords(['check', makeFile(workload), '--folder', hub, '-o', 'json'])

    const [review] = JSON.parse(stdout).objects
    expect(review).toMatchObject({
      object: 'ResourceBinding default/app-deployment',
      derivedFrom: 'Deployment default/app',
      operation: 'UPDATE',
    })
    expect(review.decision).not.toBe('OnHold')
  })

  test('is narrowed when it is the checked manifest', async () => {
    const { stdout } = await runWords(['check', makeFile(makeBinding()), '--folder', makeHub()])

    expect(stdout).toContain('✔ ResourceBinding default/app-deployment: narrowed\n')
  })
})

describe('a policy', () => {
  const policyTitle = 'PropagationPolicy default/app'

  test.each([
    { order: 'claim last', objects: [workload, makePolicy(), makeSource(), makeClaim()] },
    { order: 'claim first', objects: [makeClaim(), makeSource(), makePolicy(), workload] },
  ])('propagates dependencies of a data-bound workload, as does the binding: $order', async ({ objects }) => {
    const { stdout } = await runWords(['check', makeFile(objects), '-o', 'json'])

    const rows: { object: string }[] = JSON.parse(stdout).objects
    expect(rows.find(({ object }) => object === policyTitle)).toMatchObject({
      decision: 'Propagated',
      reason: 'DataSourceClaim default/sales names Deployment default/app',
      patch: [
        { op: 'add', path: '/metadata/annotations', value: { 'lodestone.dev/propagate-deps-set': 'true' } },
        { op: 'add', path: '/spec/propagateDeps', value: true },
      ],
    })
    const { stdout: stored } = await runWords(['check', makeFile(objects), '-o', 'yaml'])
    const binding = parseAllDocuments(stored)
      .map((document) => document.toJS())
      .find(({ kind }) => kind === 'ResourceBinding')
    expect(binding.spec.propagateDeps).toBe(true)
  })

  test('is shown with the reason', async () => {
    const { stdout } = await runWords(['check', makeFile(makePolicy()), '--folder', makeHub()])

    expect(stdout).toContain(
      `✔ ${policyTitle}: propagated\n    DataSourceClaim default/sales names Deployment default/app\n`,
    )
    expect(stdout).toContain('+   propagateDeps: true\n')
  })

  test.each([
    { mode: 'never', want: 'allowed' },
    { mode: 'always', want: 'propagated' },
  ])('with propagate $mode in the configuration of the server is $want', async ({ mode, want }) => {
    const config = makeFile({ dependencies: { propagate: mode } }, 'config.yaml')

    const { stdout } = await runWords(['check', makeFile(makePolicy()), '--folder', makeHub(), '--config', config])

    expect(stdout).toContain(`✔ ${policyTitle}: ${want}\n`)
  })
})

describe('a denied object', () => {
  test('is shown with every path, and the exit status is 1', async () => {
    const file = makeFile(brokenClaim)

    const { status, stdout } = await runWords(['check', file])

    expect(status).toBe(1)
    expect(stdout).toBe(
      [
        '✘ DataSourceClaim default/sales: denied',
        `    ${file}:7:3: error: spec.system: must not be empty (denied-object)`,
        `    ${file}:12:5: error: spec.workload.kind: must not be empty (denied-object)`,
        '',
      ].join('\n'),
    )
  })

  test('does not prevent the check of the other objects', async () => {
    const { status, stdout } = await runWords(['check', makeFile([brokenClaim, workload]), '--folder', makeHub()])

    expect(status).toBe(1)
    expect(stdout).toContain(`${title}: narrowed`)
  })

  test('has no effect: a denied claim narrows nothing', async () => {
    const objects = [{ ...brokenClaim, metadata: { name: 'other', namespace: 'default' } }, makePolicy(), workload]

    const { stdout } = await runWords(['check', makeFile(objects)])

    expect(stdout).not.toContain('narrowed')
  })

  test.each([{ format: 'diff' }, { format: 'yaml' }])(
    'is not in the output of -o $format, and its errors are on standard error',
    async ({ format }) => {
      const { status, stdout, stderr } = await runWords(['check', makeFile(brokenClaim), '-o', format])

      expect({ status, stdout }).toEqual({ status: 1, stdout: '' })
      expect(stderr).toContain('error: DataSourceClaim default/sales: spec.system: must not be empty (denied-object)\n')
    },
  )
})

test('an invalid document of a file is shown with its line', async () => {
  const file = makeFile('null\n---\napiVersion: v1\nkind: Pod\n')

  const { status, stdout } = await runWords(['check', '-f', file])

  expect(status).toBe(1)
  expect(stdout).toContain(`${file}:3:1: error: metadata is missing`)
})

describe('with an invalid manifest, the decision on another one is unknown', () => {
  const wrong = makePolicy({ placement: { clusterAffinity: { clusterNames: 'member1' as never } } })
  const given = { 'claim.yaml': makeClaim(), 'source.yaml': makeSource() }
  const unknown = '? Deployment default/app: unknown\n'

  test.each([
    { name: 'a policy of the folder has the wrong type', files: { 'policy.yaml': wrong } },
    { name: 'a file of the folder cannot be parsed', files: { 'policy.yaml': 'kind: [' } },
  ])('$name', async ({ files }) => {
    const { status, stdout } = await runWords([
      'check',
      makeFile(workload),
      '--folder',
      makeFolder({ ...given, ...files }),
    ])

    expect(status).toBe(1)
    expect(stdout).toContain(unknown)
    expect(stdout).toContain('error: another given manifest is invalid')
    expect(stdout).not.toContain('allowed')
    expect(stdout).toContain('policy.yaml:')
  })

  test('a checked folder has an invalid policy', async () => {
    const folder = makeFolder({ ...given, 'workload.yaml': workload, 'policy.yaml': wrong })

    const { status, stdout } = await runWords(['check', '-f', folder])

    expect(status).toBe(1)
    expect(stdout).toContain(unknown)
    expect(stdout).not.toContain('allowed')
  })

  test('its own errors are still shown', async () => {
    const claim = makeFile(makeClaim({ system: '' }))

    const { stdout } = await runWords(['check', claim, '--folder', makeFolder({ 'policy.yaml': wrong })])

    expect(stdout).toContain(`✘ DataSourceClaim default/sales: denied\n    ${claim}:7:3: error: spec.system: must not`)
  })

  test.each(['yaml', 'diff'])('-o %s shows no object, and the reason on standard error', async (format) => {
    const folder = makeFolder({ ...given, 'policy.yaml': wrong })

    const { status, stdout, stderr } = await runWords(['check', makeFile(workload), '--folder', folder, '-o', format])

    expect({ status, stdout }).toEqual({ status: 1, stdout: '' })
    expect(stderr).toContain('Deployment default/app: another given manifest is invalid')
  })
})

test.each([
  { name: 'an empty file', content: '' },
  { name: 'a file of comments', content: '# nothing\n---\n' },
])('$name causes exit status 1', async ({ content }) => {
  const file = makeFile(content)

  const answer = await runWords(['check', file])

  expect(answer).toEqual({
    status: 1,
    stdout: `error: no manifest in ${file}; check the path, and the command before a pipe (no-manifest)\n`,
    stderr: '',
  })
})

describe('the output for programs', () => {
  test('-o json has an entry for each object, with its patch', async () => {
    const file = makeFile([workload, makeClaim()])

    const { stdout } = await runWords(['check', file, '--folder', makeHub(), '-o', 'json'])

    expect(JSON.parse(stdout)).toEqual({
      apiVersion: 'cli.lodestone.dev/v1alpha1',
      kind: 'CheckReport',
      findings: [],
      objects: [
        {
          object: 'ResourceBinding default/app-deployment',
          derivedFrom: 'Deployment default/app',
          file,
          line: 1,
          column: 1,
          operation: 'CREATE',
          outcome: 'patched',
          decision: 'Narrowed',
          reason: 'default/sales is in member2',
          warnings: [],
          errors: [],
          patch: expect.arrayContaining([
            { op: 'replace', path: '/spec/placement/clusterAffinity/clusterNames', value: ['member2'] },
          ]),
        },
        {
          object: 'DataSourceClaim default/sales',
          file,
          line: 9,
          column: 1,
          operation: 'UPDATE',
          outcome: 'allowed',
          warnings: [],
          errors: [],
          patch: [],
        },
      ],
    })
  })

  test('-o json of a denied object has every path', async () => {
    const { status, stdout } = await runWords(['check', makeFile(brokenClaim), '-o', 'json'])

    expect(status).toBe(1)
    expect(JSON.parse(stdout)).toMatchObject({
      objects: [{ outcome: 'denied', errors: [{ path: 'spec.system' }, { path: 'spec.workload.kind' }] }],
      findings: [{ id: 'denied-object', severity: 'error', documentation: 'docs/guides/check.md#denied-object' }, {}],
    })
  })

  test('-o yaml has the objects as the API server would store them', async () => {
    const file = makeFile([workload, makeClaim()])

    const { stdout } = await runWords(['check', file, '--folder', makeHub(), '-o', 'yaml'])

    const [binding, claim] = parseAllDocuments(stdout).map((document) => document.toJS())
    expect(binding.spec.placement.clusterAffinity).toEqual({ clusterNames: ['member2'] })
    expect(claim).toEqual(makeClaim())
  })

  test('-o yaml can be checked again, and then changes nothing', async () => {
    const hub = makeHub()
    const first = await runWords(['check', makeFile(workload), '--folder', hub, '-o', 'yaml'])

    const second = await runWords(['check', makeFile(first.stdout), '--folder', hub, '-o', 'yaml'])

    expect(parse(second.stdout)).toEqual(parse(first.stdout))
  })

  test('-o diff has only the changes', async () => {
    const hub = makeHub()

    const narrowed = await runWords(['check', makeFile([makeClaim(), workload]), '--folder', hub, '-o', 'diff'])
    const untouched = await runWords(['check', makeFile(makeSource()), '--folder', hub, '-o', 'diff'])

    expect(narrowed.stdout).toMatch(/^ {2}…\n/)
    expect(narrowed.stdout).toMatch(/^- {9}- member1$/m)
    expect(untouched).toEqual({ status: 0, stdout: '', stderr: '' })
  })
})

test('a manifest of -f replaces the same object of the folder', async () => {
  const elsewhere = makeSource({ locality: { clusterNames: ['member3'] } })

  const { stdout } = await runWords(['check', makeFile([elsewhere, workload]), '--folder', makeHub()])

  expect(stdout).toContain(`${title}: narrowed\n    default/sales is in member3\n`)
})

test.each(['aipg.intel.com/v1', 'kvc.kubeflow.org/v1', 'vck.intelai.org/v1'])(
  'a VolumeManager of %s, an old API version, has an error with the current version',
  async (apiVersion) => {
    const { status, stdout } = await runWords(['check', makeFile([{ ...makeVolumeManager(), apiVersion }])])

    expect(status).toBe(1)
    expect(stdout).toContain(`apiVersion: ${apiVersion} is no longer the version of VolumeManagers`)
    expect(stdout).toContain('write apiVersion: vck.intelai.org/v1alpha1')
  },
)

describe('volumes of pods', () => {
  const asked = (kind: string, apiVersion: string, rest: object) => ({
    apiVersion,
    kind,
    metadata: { name: 'train', annotations: { 'lodestone.dev/volumes': '{"name":"sales"}' }, ...rest },
  })
  const spec = { containers: [{ name: 'main' }] }
  const pod = { ...asked('Pod', 'v1', { labels: { 'lodestone.dev/inject': 'true' } }), spec }
  const deployment = { ...asked('Deployment', 'apps/v1', {}), spec: { template: { spec } } }

  test.each([
    { order: 'after their VolumeManager', objects: [makeVolumeManager(), pod, deployment] },
    { order: 'before it', objects: [deployment, pod, makeVolumeManager()] },
  ])('are shown as admission injects them, $order', async ({ objects }) => {
    const { status, stdout } = await runWords(['check', makeFile(objects)])

    expect(status).toBe(0)
    expect(stdout).toContain('● Pod default/train: gated\n')
    expect(stdout).toMatch(/\+ +- name: sales--vol1\n/)
    expect(stdout).toContain('✔ Deployment default/train: labeled\n')
  })

  test('are denied with their fields, as in admission', async () => {
    const file = makeFile({ ...pod, metadata: { ...pod.metadata, namespace: 'default' } })

    const { status, stdout } = await runWords(['check', file])

    const message = 'there is no VolumeManager sales in this namespace; create it first'
    expect(status).toBe(1)
    expect(stdout).toBe(
      `✘ Pod default/train: denied\n    ${file}:6:5: error: metadata.annotations[lodestone.dev/volumes].name: ${message} (denied-object)\n`,
    )
  })

  test('are shown with the binding of a workload that a policy selects', async () => {
    const selected = { ...deployment, metadata: { ...deployment.metadata, name: 'app' } }

    const running = { aggregatedStatus: [{ clusterName: 'member2', status: { state: 'Running' } }] }
    const resource = {
      apiVersion: 'vck.intelai.org/v1alpha1',
      kind: 'VolumeManager',
      name: 'sales',
      namespace: 'default',
    }
    const hub = makeHub({
      'vm.yaml': { ...makeBinding({ resource }, { name: 'sales-volumemanager' }), status: running },
    })

    const { stdout } = await runWords(['check', makeFile([selected, makeVolumeManager()]), '--folder', hub])

    expect(stdout).toContain('✔ Deployment default/app: labeled\n')
    expect(stdout).toContain(
      `✔ ${title}: narrowed\n    VolumeManager default/sales is in member2; default/sales is in member2\n`,
    )
  })
})

describe('a claim of another namespace', () => {
  const check = (...objects: unknown[]) => runWords(['check', makeFile(objects)])

  test('is denied, with the command that allows it', async () => {
    const { status, stdout } = await check(makeForeignClaim())

    expect(status).toBe(1)
    expect(stdout).toContain('kubectl annotate namespace default lodestone.dev/allow-claims-from=other')
  })

  test.each([
    { name: 'before it', objects: [makeNamespace('default', 'other'), makeForeignClaim()] },
    { name: 'after it', objects: [makeForeignClaim(), makeNamespace('default', 'other')] },
  ])('is allowed by a namespace $name', async ({ objects }) => {
    const { status, stdout } = await check(...objects, makeSource(), makePolicy(), workload)

    expect(status).toBe(0)
    expect(stdout).toContain(`✔ ${title}: narrowed\n    other/sales is in member2\n`)
  })
})

test('a claim for a cluster-scoped workload works if the configuration allows it', async () => {
  const volume = { apiVersion: 'v1', kind: 'PersistentVolume', metadata: { name: 'disk' } }
  const policy = {
    ...makePolicy({ resourceSelectors: [{ apiVersion: 'v1', kind: 'PersistentVolume' }] }),
    kind: 'ClusterPropagationPolicy',
    metadata: { name: 'disks' },
  }
  const claim = makeClaim({ workload: { apiVersion: 'v1', kind: 'PersistentVolume', name: 'disk' } })
  const words = ['check', makeFile([claim, makeSource(), policy, volume])]
  const config = makeFile({ claims: { clusterScoped: 'allowed' } }, 'lodestone.yaml')

  expect((await runWords(words)).stdout).not.toContain('default/sales is in member2')
  expect((await runWords([...words, '--config', config])).stdout).toContain('default/sales is in member2')
})

test('a VolumeManager cannot choose a priority class that is not allowed for movers', async () => {
  const manager = makeVolumeManager([{ mover: { priorityClassName: 'batch' } }])
  const checkWith = (movers: object) =>
    runWords(['check', makeFile([manager]), '--config', makeFile({ volumes: { movers } }, 'lodestone.yaml')])

  const denied = await checkWith({ namespace: 'movers' })
  expect(denied.status).toBe(1)
  expect(denied.stdout).toContain('spec.volumeConfigs[0].mover.priorityClassName: ')
  expect((await checkWith({ namespace: 'movers', allowedPriorityClassNames: ['batch'] })).status).toBe(0)
  expect((await checkWith({})).status).toBe(0)
})

test('no file is written', async () => {
  const hub = makeHub()
  const file = makeFile([workload, makeSource({ locality: { clusterNames: ['member3'] } })])
  const before = { ...readFolder(hub), ...readFolder(join(file, '..')) }

  for (const format of ['text', 'diff', 'json', 'yaml']) await runWords(['check', file, '--folder', hub, '-o', format])

  expect({ ...readFolder(hub), ...readFolder(join(file, '..')) }).toEqual(before)
})

describe('colors', () => {
  const ESCAPE = '\u001b['

  test.each([
    { name: 'are for a terminal', isTTY: true, env: {}, want: true },
    { name: 'are off when NO_COLOR is set', isTTY: true, env: { NO_COLOR: '1' }, want: false },
    { name: 'are on when NO_COLOR is empty', isTTY: true, env: { NO_COLOR: '' }, want: true },
    { name: 'are off in a pipe', isTTY: false, env: {}, want: false },
  ])('$name', async ({ isTTY, env, want }) => {
    const { stdout } = await runWords(['check', makeFile(workload), '--folder', makeHub()], { isTTY, env })

    expect(stdout.includes(ESCAPE)).toBe(want)
  })

  test.each([{ format: 'json' }, { format: 'yaml' }])('are never in -o $format', async ({ format }) => {
    const words = ['check', makeFile(workload), '--folder', makeHub(), '-o', format]

    const { stdout } = await runWords(words, { isTTY: true })

    expect(stdout).not.toContain(ESCAPE)
  })
})
