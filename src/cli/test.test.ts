import { lstatSync, mkdirSync, readdirSync, readFileSync, rmSync, symlinkSync } from 'node:fs'
import { join } from 'node:path'
import { describe, expect, test } from 'vitest'
import { parse, stringify } from 'yaml'
import { makeClaim, makeCluster, makeObject, makePolicy, makeSource } from '../../test/builders.ts'
import { makeFolder, readFolder, runWords } from './cli.fake.ts'
import { readTests } from './conversations/read-tests.ts'
import { runTest } from './conversations/run-test.ts'
import { updateFiles } from './conversations/update.ts'

const workload = makeObject('apps/v1', 'Deployment', 'app', { spec: { replicas: 2 } })
const given = [makeClaim(), makeSource(), makePolicy()]
const narrowed = {
  description: 'The app follows its data',
  given,
  when: { object: workload },
  expect: { allowed: true, binding: { decision: 'Narrowed', clusters: ['member2'] } },
}

/** A folder with one test, run. */
async function runOne(content: unknown, words: string[] = [], others: Record<string, unknown> = {}) {
  const folder = makeFolder({ 'a.yaml': content, ...others })
  const { status, stdout, stderr } = await runWords(['test', folder, ...words])
  const relative = (text: string) => text.replaceAll(`${folder}/`, '')
  return { folder, status, stdout: relative(stdout), stderr: relative(stderr) }
}

describe('a test', () => {
  test('passes if each expected field is right, and the table says so', async () => {
    const { status, stdout, stderr } = await runOne(narrowed)

    expect({ status, stderr }).toEqual({ status: 0, stderr: '' })
    expect(stdout).toMatch(
      /^RESULT +TEST +DESCRIPTION\npass +a.yaml +The app follows its data\n\n1 test: 1 passed, 0 failed\n$/,
    )
  })

  test('fails with a diff of the expected fields', async () => {
    const wrong = { ...narrowed, expect: { allowed: true, binding: { decision: 'OnHold', clusters: ['member3'] } } }
    const { status, stdout, stderr } = await runOne(wrong)

    expect({ status, stderr }).toEqual({ status: 1, stderr: '' })
    expect(stdout).toMatch(/^fail +a.yaml/m)
    expect(stdout).toContain(
      [
        '✘ a.yaml',
        '      allowed: true',
        '      binding:',
        '    -   decision: OnHold',
        '    +   decision: Narrowed',
        '        clusters:',
        '    -     - member3',
        '    +     - member2',
        '',
        '1 test: 0 passed, 1 failed',
      ].join('\n'),
    )
  })

  test('without expected fields fails, and shows the answer', async () => {
    const { status, stdout } = await runOne({ given, when: { object: workload } })

    expect(status).toBe(1)
    expect(stdout).toContain('    +   reason: default/sales is in member2\n')
  })

  test('ranks clusters by the prices of its configuration', async () => {
    const GiB = 1024 ** 3
    const claimFor = (dataSourceName: string) =>
      makeClaim({ dataSourceName, policy: { enforcement: 'Preferred', preference: 'Cost' } }, { name: dataSourceName })
    const sourceIn = (cluster: string, name: string, bytes: number) =>
      makeSource({ name, locality: { clusterNames: [cluster], bytes } }, { name: `amoro-table-${name}` })
    const divided = { replicaSchedulingType: 'Divided', replicaDivisionPreference: 'Aggregated' }
    const test = {
      config: {
        transferCosts: {
          links: [
            { from: { region: 'near' }, to: { region: 'far' }, pricePerGiB: 9 },
            { from: { region: 'far' }, to: { region: 'near' }, pricePerGiB: 1 },
          ],
        },
      },
      given: [
        makeCluster('member1', { region: 'near' }),
        makeCluster('member2', { region: 'far' }),
        ...[claimFor('small'), sourceIn('member1', 'small', GiB)],
        ...[claimFor('large'), sourceIn('member2', 'large', 5 * GiB)],
        makePolicy({
          placement: { clusterAffinity: { clusterNames: ['member1', 'member2'] }, replicaScheduling: divided },
        }),
      ],
      when: { object: workload },
      // Without prices, the cluster with most bytes is the first: member2.
      expect: { binding: { clusters: ['member1', 'member2'] } },
    }
    const { status, stdout } = await runOne(test)
    expect(stdout).toContain('1 passed')
    expect(status).toBe(0)
  })

  test('reads its objects from files, relative to its own', async () => {
    const test = {
      files: ['../hub', '../policy.yaml'],
      when: { file: '../app/app.yaml', kind: 'Deployment' },
      expect: { binding: { clusters: ['member2'] } },
    }
    const folder = makeFolder({
      'hub/source.yaml': makeSource(),
      'policy.yaml': makePolicy(),
      'app/app.yaml': [makeClaim(), workload],
      'tests/app.yaml': test,
    })

    expect(await runWords(['test', join(folder, 'tests')])).toMatchObject({ status: 0, stderr: '' })
  })

  test('of an update has the object before the change', async () => {
    const spec = { volumeConfigs: [{ id: 'vol1', sourceType: 'FTP' }] }
    const leaving = makeObject('vck.intelai.org/v1alpha1', 'VolumeManager', 'sales', { spec })
    const object = { ...leaving, metadata: { ...leaving.metadata, deletionTimestamp: '2026-01-01T00:00:00Z' } }
    const { status, stdout } = await runOne([
      { when: { object: leaving }, expect: { allowed: false } },
      { when: { object, oldObject: leaving }, expect: { allowed: true } },
    ])

    expect(stdout).toContain('pass     a.yaml#2')
    expect(status).toBe(0)
  })

  test('has the configuration of the server and the time that it names', async () => {
    const given = [makePolicy({ propagateDeps: false })]
    const held = { when: { object: workload }, given: [makeClaim(), makePolicy()] }
    const { status, stdout } = await runOne(
      [
        { given, when: { object: given[0] }, config: { dependencies: { propagate: 'always' } } },
        { ...held, now: '2026-05-05T05:05:05Z' },
      ],
      ['-o', 'json'],
    )

    expect(status).toBe(1)
    expect(stdout).toContain('2026-05-05T05:05:05')
  })

  test('does not depend on the time and the order of runs', async () => {
    const held = { given: [makeClaim(), makePolicy()], when: { object: workload } }
    const folder = makeFolder({ 'a.yaml': held })
    const first = await runWords(['test', folder], { now: () => 0 })
    const second = await runWords(['test', folder], { now: () => 1e12 })
    expect(first.stdout).toBe(second.stdout)
    expect(first.stdout).toContain('OnHold')
  })
})

describe('--update writes the actual results', () => {
  const text = `# The whole team reads this.
description: The app follows its data   # and stays there
given: [ {apiVersion: v1,   kind: Secret, metadata: {name: unused}} ]
files: [hub]
when: { object: ${JSON.stringify(workload)} }
expect:
  # Set by the platform team.
  binding:
    decision: OnHold # as agreed
    # In the order of the policy.
    clusters: [member1]
`
  const others = { 'hub/hub.yaml': given }

  test('in place of the wrong ones, and keeps comments and all other text', async () => {
    const { folder, status, stderr, stdout } = await runOne(text, ['--update'], others)

    expect({ status, stderr }).toEqual({ status: 0, stderr: 'updated a.yaml\n' })
    expect(stdout).toContain('1 test: 1 passed, 0 failed')
    const written = readFolder(folder)[join(folder, 'a.yaml')] ?? ''
    expect(written).toBe(
      text.replace('OnHold # as', 'Narrowed # as').replace('clusters: [member1]\n', 'clusters:\n      - member2\n'),
    )
    expect(await runWords(['test', folder, '--update'])).toMatchObject({ status: 0, stderr: '' })
    expect(readFolder(folder)[join(folder, 'a.yaml')]).toBe(written)
  })

  test.each([
    { name: 'at the end of a file without expect', content: stringify({ given, when: { object: workload } }) },
    { name: 'without a line break at its end', content: stringify({ given, when: { object: workload } }).trimEnd() },
    { name: 'in JSON', content: JSON.stringify({ given, when: { object: workload } }, null, 2) },
  ])('$name', async ({ content }) => {
    const { folder, status } = await runOne(content, ['--update'])

    expect(status).toBe(0)
    expect(parse(readFolder(folder)[join(folder, 'a.yaml')] ?? '')).toMatchObject({
      given: [{ kind: 'DataSourceClaim' }, {}, {}],
      expect: { allowed: true, decision: null, binding: { decision: 'Narrowed', clusters: ['member2'] } },
    })
    expect(await runWords(['test', folder])).toMatchObject({ status: 0, stderr: '' })
  })

  test.each([
    { name: 'an alias', expected: '*e' },
    { name: 'a merge key', expected: '\n  <<: *e\n  allowed: false' },
    { name: 'an alias in the binding', expected: '\n  allowed: true\n  binding: *e' },
  ])('in place of $name', async ({ expected }) => {
    const content = `config: &e {}\nwhen: { object: ${JSON.stringify(workload)} }\nexpect: ${expected}\nnow: 2026-01-01T00:00:00Z\n`
    const { folder, status, stderr } = await runOne(content, ['--update'], others)

    expect({ status, stderr }).toEqual({ status: 0, stderr: 'updated a.yaml\n' })
    expect(parse(readFolder(folder)[join(folder, 'a.yaml')] ?? '')).toMatchObject({
      config: {},
      expect: { allowed: true },
    })
    expect(await runWords(['test', folder])).toMatchObject({ status: 0, stderr: '' })
  })

  test('in several documents of a file', async () => {
    const test = { given, when: { object: workload } }
    const { folder, status } = await runOne([test, narrowed, { ...test, expect: { allowed: false } }], ['--update'])

    expect(status).toBe(0)
    const { stdout } = await runWords(['test', folder])
    expect(stdout).toContain('3 tests: 3 passed, 0 failed')
    expect(readFolder(folder)[join(folder, 'a.yaml')]).toContain(stringify(narrowed))
  })

  test('through a link, which stays', async () => {
    const folder = makeFolder({ 'shared/a.txt': stringify({ given, when: { object: workload } }) })
    symlinkSync('shared/a.txt', join(folder, 'a.yaml'))

    expect(await runWords(['test', folder, '--update'])).toMatchObject({ status: 0 })
    expect(lstatSync(join(folder, 'a.yaml')).isSymbolicLink()).toBe(true)
    expect(readFileSync(join(folder, 'shared/a.txt'), 'utf8')).toContain('decision: Narrowed')
  })

  test('or names a file that cannot be replaced, and leaves no other file behind', async () => {
    const folder = makeFolder({ 'a.yaml': { ...narrowed, expect: { allowed: false } } })
    const file = join(folder, 'a.yaml')
    const { files } = await readTests(folder)
    const results = await Promise.all(files.flatMap(({ tests }) => tests.map(runTest)))
    rmSync(file)
    mkdirSync(file)

    expect(() => updateFiles(files, results)).toThrow(`${file} cannot be written: is a directory, not a file`)
    expect(readdirSync(folder)).toEqual(['a.yaml'])
  })

  test('and leaves a folder alone in which a file is invalid', async () => {
    const folder = makeFolder({ 'a.yaml': { ...narrowed, expect: { allowed: false } }, 'b.yaml': 'when: {' })
    const before = readFolder(folder)

    expect(await runWords(['test', folder, '--update'])).toMatchObject({ status: 2, stdout: '' })
    expect(readFolder(folder)).toEqual(before)
  })
})

describe('an invalid test file exits with 2, prints each error with its line, runs nothing', () => {
  test.each([
    {
      name: 'a mistyped field',
      test: { ...narrowed, gven: [] },
      want: /^a.yaml:\d+: gven: unknown field \(did you mean given\?\)$/m,
    },
    { name: 'no request', test: { given }, want: /: when: is required$/m },
    { name: 'an empty request', test: { when: {} }, want: /: when: object or file is required$/m },
    {
      name: 'two requests',
      test: { when: { object: workload, file: 'x' } },
      want: /: when: object and file exclude each other$/m,
    },
    { name: 'a wrong type', test: { ...narrowed, given: {} }, want: /: given: must be of type array$/m },
    {
      name: 'a list',
      test: '[1]',
      want: /^a.yaml:1: is neither a test, which has when, nor a manifest, which has apiVersion and kind$/m,
    },
    {
      name: 'a file of something else',
      test: 'replicaCount: 3\nimage: app\n',
      want: /^a.yaml:1: is neither a test, .* kind\n$/,
    },
    {
      name: 'a field behind an alias, at its own line',
      test: `given: [&o ${JSON.stringify(workload)}]\nwhen: { object: *o }\nexpect:\n  binding: { allowd: true }\n`,
      want: /^a.yaml:4: expect.binding.allowd: unknown field \(did you mean allowed\?\)$/m,
    },
    {
      name: 'a folder of manifests that is a device',
      test: { ...narrowed, files: ['/dev/null'] },
      want: /: files\[0\]: \/dev\/null is neither a file nor a folder$/m,
    },
    {
      name: 'a mistyped expectation',
      test: { ...narrowed, expect: { decison: 'x' } },
      want: /: expect.decison: unknown field \(did you mean decision\?\)$/m,
    },
    {
      name: 'a given object without a kind',
      test: { ...narrowed, given: [{ apiVersion: 'v1' }] },
      want: /: given\[0\]: kind is missing/,
    },
    {
      name: 'an invalid given object',
      test: { ...narrowed, given: [makeClaim({ system: '' })] },
      want: /: given\[0\].spec.system: /,
    },
    {
      name: 'an object that is a list',
      test: { when: { object: [] } },
      want: /: when.object: must be of type object$/m,
    },
    { name: 'a time', test: { ...narrowed, now: 'noon' }, want: /: now: must be a time such as 2026-/ },
    {
      name: 'a configuration',
      test: { ...narrowed, config: { clams: {} } },
      want: /: config: clams: unknown field \(did you mean claims\?\)$/m,
    },
    {
      name: 'a missing file',
      test: { ...narrowed, files: ['none.yaml'] },
      want: /: files\[0\]: none.yaml does not exist$/m,
    },
    { name: 'a request from a folder', test: { when: { file: '.' } }, want: /: when.file: .* is not a file$/m },
    { name: 'invalid YAML', test: 'when: {', want: /^a.yaml:\d+: is not valid YAML: / },
    { name: 'nesting', test: '['.repeat(5000), want: /^a.yaml: more than 1000 brackets/ },
    { name: 'an object that contains itself', test: 'when: &a {object: *a}', want: /^a.yaml: .*circular/ },
  ])('$name', async ({ test: content, want }) => {
    const { status, stdout, stderr } = await runOne(content)

    expect({ status, stdout }).toEqual({ status: 2, stdout: '' })
    expect(stderr).toMatch(want)
    expect(stderr).not.toMatch(/^\s+at /m)
  })

  test('a mistake in a folder that several tests name, for each of them', async () => {
    const test = { files: ['hub'], when: { object: workload } }
    const { status, stderr } = await runOne([test, test], [], { 'hub/x.yaml': 'apiVersion: v1\nkind: ConfigMap\n' })
    expect(status).toBe(2)
    expect(stderr).toMatch(
      /: files\[0\]: hub\/x.yaml:1: metadata is missing.*\n.*: files\[0\]: hub\/x.yaml:1: metadata/,
    )
  })

  test('a mistyped name in a file of manifests', async () => {
    const app = { 'app.yaml': [workload, makePolicy()] }
    const named = await runOne({ when: { file: 'app.yaml', name: 'ap' } }, [], app)
    expect(named.stderr).toMatch(/^a.yaml:\d+: when.file: .*app.yaml has no object ap \(did you mean app\?\)\n$/)
    const several = await runOne({ when: { file: 'app.yaml' } }, [], app)
    expect(several.stderr).toMatch(/has 2 matching objects; set when.kind and when.name\n$/)
  })

  test('a name that would steer a terminal', async () => {
    const { stderr } = await runOne({ ...narrowed, 'given\u001b[2J': [] })
    expect(stderr).toMatch(/^a.yaml:\d+: given \[2J: unknown field/)
  })

  test('a folder without tests', async () => {
    const { status, stderr } = await runOne(makePolicy())
    expect(status).toBe(2)
    expect(stderr).toMatch(/^lodestone test: no test in .*; see docs\/guides\/test.md for the format\n$/)
  })

  test('a link to itself', async () => {
    const link = join(makeFolder({}), 'loop')
    symlinkSync('loop', link)
    const { status, stderr } = await runWords(['test', link])
    expect({ status, stderr }).toEqual({ status: 2, stderr: expect.stringContaining('cannot be read: ELOOP') })
  })

  test('a link that leads nowhere', async () => {
    const folder = makeFolder({ 'a.yaml': narrowed })
    symlinkSync('nowhere.yaml', join(folder, 'b.yaml'))
    expect(await runWords(['test', folder])).toMatchObject({ status: 2, stdout: '' })
  })
})

describe('--run', () => {
  test.each([
    { pattern: 'follows', want: ['a.yaml#1'] },
    { pattern: '#2$', want: ['a.yaml#2'] },
    { pattern: 'app|2', want: ['a.yaml#1', 'a.yaml#2'] },
  ])('$pattern runs the tests with a name or description that matches', async ({ pattern, want }) => {
    const { stdout } = await runOne(
      [narrowed, { ...narrowed, description: 'Another' }],
      ['--run', pattern, '-o', 'json'],
    )
    expect(JSON.parse(stdout).map(({ name }: { name: string }) => name)).toEqual(want)
  })

  test.each([
    { pattern: 'nothing', want: 'no test matches --run nothing' },
    { pattern: '(', want: '--run takes a regular expression, not (' },
  ])('$pattern is an error', async ({ pattern, want }) => {
    const { status, stdout, stderr } = await runOne(narrowed, ['--run', pattern])
    expect({ status, stdout, stderr }).toEqual({ status: 2, stdout: '', stderr: `lodestone test: ${want}\n` })
  })
})

test('Ctrl-C ends the run between two tests', async () => {
  const folder = makeFolder({ 'a.yaml': [narrowed, narrowed] })
  const signal = AbortSignal.abort()
  expect(await runWords(['test', folder], { signal })).toMatchObject({ status: 130, stdout: '' })
})

describe('reports', () => {
  const failing = { ...narrowed, description: 'a <b> & "c"\u0001', expect: { allowed: false, decision: null } }

  test('-o json has each test with its expected and actual fields', async () => {
    const { status, stdout } = await runOne([narrowed, failing], ['-o', 'json'])

    expect(status).toBe(1)
    expect(JSON.parse(stdout)).toEqual([
      {
        name: 'a.yaml#1',
        description: narrowed.description,
        result: 'pass',
        expected: narrowed.expect,
        actual: narrowed.expect,
      },
      {
        name: 'a.yaml#2',
        description: failing.description,
        result: 'fail',
        expected: { allowed: false, decision: null },
        actual: { allowed: true, decision: null },
      },
    ])
  })

  test('-o junit has a test case each, with the diff of a failure', async () => {
    const { status, stdout } = await runOne([narrowed, failing], ['-o', 'junit'])

    expect(status).toBe(1)
    expect(stdout).toBe(`<?xml version="1.0" encoding="UTF-8"?>
<testsuites>
  <testsuite name="lodestone test" tests="2" failures="1" errors="0" skipped="0">
    <testcase name="The app follows its data" classname="a.yaml#1"/>
    <testcase name="a &lt;b&gt; &amp; &quot;c&quot;\ufffd" classname="a.yaml#2">
      <failure message="differs in expect.allowed">    - allowed: false
    + allowed: true
      decision: null</failure>
    </testcase>
  </testsuite>
</testsuites>
`)
  })
})

test('docs/guides/test.md shows a test, and what the command prints for it', async () => {
  const page = readFileSync('docs/guides/test.md', 'utf8')
  const [, example = ''] = /```yaml\n([\s\S]*?)```/.exec(page) ?? []
  const [, printed] = /^\$ lodestone test tests\/\n([\s\S]*?)```/m.exec(page) ?? []
  const folder = makeFolder({ 'tests/trainer.yaml': example })
  const { status, stdout } = await runWords(['test', join(folder, 'tests')])

  expect(status).toBe(0)
  // The columns are as wide as the path of the temporary folder.
  expect(stdout.replaceAll(`${folder}/`, '').replaceAll(/ {2,}/g, '  ')).toBe(printed?.replaceAll(/ {2,}/g, '  '))
})
