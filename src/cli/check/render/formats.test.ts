/** Runs `lodestone check` with the formats of CI systems, and validates the output against the published schemas. */
import { readFileSync } from 'node:fs'
import { join } from 'node:path'
import { Ajv } from 'ajv'
import { describe, expect, test } from 'vitest'
import { validateXML } from 'xmllint-wasm'
import { makeClaim, makePolicy, makeSource } from '../../../../test/builders.ts'
import { makeFolder, runWords } from '../../cli.fake.ts'
import { FINDINGS } from '../findings/findings.ts'

const SCHEMAS = join('test', 'data', 'schemas')
const metadata = { name: 'app', namespace: 'default' }
const workload = { apiVersion: 'apps/v1', kind: 'Deployment', metadata, spec: { replicas: 1 } }
const lonely = { ...workload, metadata: { ...metadata, name: 'lonely' } }
const denied = { ...makeClaim({ system: '' }), metadata: { name: 'bad', namespace: 'default' } }
const narrowed = [workload, makePolicy(), makeClaim(), makeSource()]

const inputs = {
  'no finding': { 'a.yaml': narrowed },
  'every severity': { 'a.yaml': [workload, makePolicy(), lonely, denied] },
  'a hold': { 'a.yaml': [workload, makePolicy(), makeClaim()] },
  'an invalid file': { 'a.yaml': narrowed, 'b.yaml': 'a: [' },
  'no manifest': { 'a.yaml': '# nothing' },
  'hostile texts': {
    'a, b: 100%.yaml': {
      ...denied,
      spec: { ...denied.spec, 'x<&>"\u0001]]>\n::error::': 1, [`y${'é'.repeat(3)}`]: 1 },
    },
  },
}

async function check(format: string, files: Record<string, unknown>, ...words: string[]) {
  const folder = makeFolder(files)
  return { folder, ...(await runWords(['check', '-f', folder, '-o', format, ...words])) }
}

function sarifSchema() {
  // ajv rejects the old keyword `id` of the schema, which has no effect here; no other keyword changed its meaning.
  const { id: _, $schema: __, ...schema } = JSON.parse(readFileSync(join(SCHEMAS, 'sarif-2.1.0.json'), 'utf8'))
  const formats = {
    uri: /^[a-z][a-z0-9+.-]*:[^\s]*$/i,
    'uri-reference': /^[^\s\\<>"]*$/,
    'date-time': /^\d{4}-\d\d-\d\dT.*Z$/,
  }
  return new Ajv({ strict: false, allErrors: true, validateSchema: false, formats }).compile(schema)
}

describe('-o sarif', () => {
  const validate = sarifSchema()

  test.each(Object.entries(inputs))('is valid: %s', async (_, files) => {
    const { stdout, stderr } = await check('sarif', files)

    const log = JSON.parse(stdout)
    expect({ isValid: validate(log), errors: validate.errors, stderr }).toEqual({
      isValid: true,
      errors: null,
      stderr: '',
    })
  })

  test('the schema rejects a log with an unknown level', async () => {
    const { stdout } = await check('sarif', inputs['every severity'])

    expect(validate(JSON.parse(stdout.replace('"level": "note"', '"level": "info"')))).toBe(false)
  })

  test('has the place and the rule of each finding', async () => {
    const { folder, stdout, status } = await check('sarif', { 'a.yaml': [denied] })

    const [{ tool, results }] = JSON.parse(stdout).runs
    expect(status).toBe(1)
    expect(tool.driver.rules.map(({ id }: { id: string }) => id)).toEqual(Object.keys(FINDINGS))
    expect(results).toEqual([
      {
        ruleId: 'denied-object',
        ruleIndex: Object.keys(FINDINGS).indexOf('denied-object'),
        level: 'error',
        message: { text: 'DataSourceClaim default/bad: spec.system: must not be empty' },
        locations: [
          {
            physicalLocation: {
              artifactLocation: { uri: `file://${folder}/a.yaml` },
              region: { startLine: 7, startColumn: 3 },
            },
          },
        ],
      },
    ])
  })

  test('has relative URIs for files below the current directory', async () => {
    const { stdout } = await runWords([
      'check',
      '-f',
      './README.md',
      '-f',
      join(process.cwd(), 'LICENSE'),
      '-o',
      'sarif',
    ])

    const uris = JSON.parse(stdout).runs[0].results.map(
      (result: { locations: { physicalLocation: { artifactLocation: { uri: string } } }[] }) =>
        result.locations[0]?.physicalLocation.artifactLocation.uri,
    )
    expect(uris).toEqual(['README.md', 'LICENSE'])
  })
})

describe('-o junit', () => {
  const schema = readFileSync(join(SCHEMAS, 'junit-10.xsd'), 'utf8')
  const errorsOf = async (contents: string) =>
    (await validateXML({ xml: [{ fileName: 'report.xml', contents }], schema: [schema] })).errors

  test.each(Object.entries(inputs))('is valid: %s', async (_, files) => {
    const { stdout, stderr } = await check('junit', files)

    expect({ errors: await errorsOf(stdout), stderr }).toEqual({ errors: [], stderr: '' })
  })

  test('the schema rejects a test case without a name', async () => {
    const { stdout } = await check('junit', inputs['no finding'])

    expect(await errorsOf(stdout.replace('<testcase name=', '<testcase label='))).not.toEqual([])
  })

  test('an object passes, fails with its findings, or is skipped if nothing was decided', async () => {
    const { folder, stdout } = await check('junit', { 'a.yaml': [...narrowed, lonely, denied] })

    expect(stdout).toContain('<testsuite name="lodestone check" tests="6" failures="1" errors="0" skipped="1">')
    expect(stdout).toContain(`<testcase name="Deployment default/app" classname="${folder}/a.yaml"/>`)
    expect(stdout).toContain('<skipped message="no known policy or claim selects it, so nothing was decided;')
    expect(stdout).toContain(
      '<failure message="spec.system: must not be empty">' +
        `${folder}/a.yaml:66:3: error: spec.system: must not be empty (denied-object)</failure>`,
    )
  })

  test('a test case has its other findings as output', async () => {
    const held = [workload, makePolicy(), makeClaim({ policy: { holdTimeoutSeconds: 60 } })]
    const unplaced = { apiVersion: 'v1', kind: 'ConfigMap', metadata: { name: 'settings' } }

    const { folder, stdout, status } = await check('junit', { 'a.yaml': [...held, unplaced] })

    expect({ status, failures: stdout.match(/failures="(\d+)"/)?.[1] }).toEqual({ status: 0, failures: '0' })
    expect(stdout).toContain(`<system-out>${folder}/a.yaml:1:1: warning: waits for its data: `)
    expect(stdout).toMatch(/<system-out>[^<]*: warning: metadata\.namespace is missing, [^<]* \(no-namespace\)/)
  })

  test.each([
    { words: [], failures: 0 },
    { words: ['--fail-on', 'warning'], failures: 1 },
  ])('has $failures failures with $words', async ({ words, failures }) => {
    const { stdout } = await check('junit', { 'a.yaml': lonely }, ...words)

    expect(stdout).toContain(`failures="${failures}"`)
  })
})

describe('names of manifests that steer a terminal or a CI system', () => {
  const hostile = 'a\u001b[2J\u009b2J\u202e\n::error::b]]>\u0000'
  const files = {
    'a.yaml': [
      { ...workload, metadata: { name: hostile, namespace: hostile } },
      { ...workload, kind: hostile, metadata },
      { ...denied, spec: { ...denied.spec, dataSourceName: hostile, [hostile]: 1 } },
      { ...narrowed[1], metadata: { name: 'app', namespace: 'default', annotations: { [hostile]: hostile } } },
    ],
  }

  test.each(['text', 'diff', 'github', 'junit', 'sarif'])('are shown in one line by -o %s', async (format) => {
    const { stdout, stderr } = await check(format, files)

    const lines = `${stdout}${stderr}`.split('\n')
    expect(lines.filter((line) => /[\p{Cc}\p{Bidi_Control}]|^::error::b/u.test(line))).toEqual([])
  })
})

describe('-o github', () => {
  test('is a workflow command per finding, with file, line and column', async () => {
    const { folder, stdout, stderr } = await check('github', { 'a.yaml': [denied, lonely] })

    expect({ stdout, stderr }).toEqual({
      stdout: [
        `::error file=${folder}/a.yaml,line=7,col=3,title=Admission rejects the object (denied-object)::DataSourceClaim default/bad: spec.system: must not be empty`,
        `::warning file=${folder}/a.yaml,line=15,col=1,title=No known policy selects the workload (no-policy)::Deployment default/lonely: no known policy or claim selects it, so nothing was decided; add them to the input`,
        '',
      ].join('\n'),
      stderr: '',
    })
  })

  test('escapes line breaks and delimiters, so that no text can end or begin a command', async () => {
    const { stdout } = await check('github', inputs['hostile texts'])

    const lines = stdout.trimEnd().split('\n')
    expect(lines.every((line) => /^::(error|warning|notice) [^:]*::/.test(line))).toBe(true)
    expect(stdout).toContain('a%2C b%3A 100%25.yaml,line=')
    expect(stdout).not.toContain('%0A')
  })

  test('has no file for an input without a manifest', async () => {
    const { stdout } = await check('github', inputs['no manifest'])

    expect(stdout).toMatch(/^::error title=The input has no manifest \(no-manifest\)::no manifest in /)
  })

  test('is empty without a finding', async () => {
    expect(await check('github', inputs['no finding'])).toMatchObject({ status: 0, stdout: '', stderr: '' })
  })
})
