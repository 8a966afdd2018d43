/** Mistakes in files of data systems, and what each command that reads them prints: check, status and serve. */
import { mkdirSync, mkdtempSync, rmSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { afterAll, beforeAll, describe, expect, test } from 'vitest'
import { runWords } from '../../src/cli/cli.fake.ts'

interface SystemMistake {
  file: string
  text: string
  /** Each error with its place: `line:column: message`, or `line: message` for a text that cannot be parsed. */
  errors: string[]
}

const PLUGINS = 'amoro, hive-metastore, iceberg-rest, s3, static, webhdfs'
const URL_EXAMPLE = 'must be a URL such as https://catalog.example.com'
const amoro = (rest: string) => `system: amoro\nendpoint:\n  url: http://ams:1630\n${rest}`

const MISTAKES: readonly SystemMistake[] = [
  {
    file: 'plugin',
    text: 'system: lake\nplugin: iceburg\n',
    errors: [`2:1: plugin: must be one of ${PLUGINS} (did you mean iceberg-rest?)`],
  },
  {
    file: 'system-without-plugin',
    text: 'system: lake\n',
    errors: [`1:1: system: must be one of ${PLUGINS}; or name one of them in plugin`],
  },
  {
    file: 'field',
    text: amoro('refreshIntervall: 5m\n'),
    errors: ['4:1: refreshIntervall: unknown field (did you mean refreshInterval?)'],
  },
  {
    file: 'nested-field',
    text: amoro('retryConfig:\n  maxRetry: 3\n'),
    errors: ['5:3: retryConfig.maxRetry: unknown field (did you mean maxRetries?)'],
  },
  {
    file: 'extra-field',
    text: 'system: s3\nextra: { sizes: list }\n',
    errors: ['2:10: extra.sizes: unknown field (did you mean size?)'],
  },
  { file: 'no-system', text: 'plugin: s3\n', errors: ['1:1: system: is required'] },
  {
    file: 'type',
    text: amoro("maxConcurrent: '4'\n"),
    errors: ['4:1: maxConcurrent: must be of type integer'],
  },
  {
    file: 'range',
    text: amoro('maxConcurrent: 0\n'),
    errors: ['4:1: maxConcurrent: must be greater than or equal to 1'],
  },
  {
    file: 'duration',
    text: amoro('refreshInterval: 5 minutes\n'),
    errors: ['4:1: refreshInterval: must be a duration such as 500ms, 10s or 1m30s'],
  },
  { file: 'url', text: 'system: amoro\nendpoint:\n  url: ams:1630\n', errors: [`3:3: endpoint.url: ${URL_EXAMPLE}`] },
  {
    file: 'no-url',
    text: 'system: amoro\n',
    errors: ['1:1: endpoint.url: is required, e.g. https://catalog.example.com'],
  },
  {
    file: 'several-urls',
    text: 'system: amoro\nendpoint:\n  urls: [http://a, http://b]\n',
    errors: ['3:3: endpoint.urls: is not allowed for this system; set endpoint.url'],
  },
  {
    file: 'secret-in-url',
    text: 'system: amoro\nendpoint:\n  url: http://admin:hunter2@ams:1630\n',
    errors: ['3:3: endpoint.url: must not have credentials; set endpoint.auth'],
  },
  {
    file: 'no-secret',
    text: amoro('  auth: { type: bearer }\n'),
    errors: ['4:3: endpoint.auth.token: is required, or tokenFile, with type bearer'],
  },
  {
    file: 'secret-twice',
    text: amoro('  auth: { type: bearer, token: hunter2, tokenFile: token }\n'),
    errors: ['4:25: endpoint.auth.token: must not be given together with tokenFile'],
  },
  {
    file: 'auth-type',
    text: amoro('  auth: { type: baerer, token: hunter2 }\n'),
    errors: ['4:11: endpoint.auth.type: must be one of none, basic, bearer, apikey (did you mean bearer?)'],
  },
  {
    file: 'location',
    text: amoro('locationMapping:\n  warehouse/: [member1]\n'),
    errors: ['5:3: locationMapping[warehouse/]: must be a location such as s3://bucket/path'],
  },
  {
    file: 'cluster',
    text: amoro('locationMapping:\n  s3://lake/: member1\n'),
    errors: ['5:3: locationMapping[s3://lake/]: must be of type array'],
  },
  {
    file: 'many',
    text: 'plugin: amorro\nretries: 3\nrefreshInterval: soon\nmaxConcurrent: many\n',
    errors: [
      '1:1: system: is required',
      '2:1: retries: unknown field',
      '4:1: maxConcurrent: must be of type integer',
      `1:1: plugin: must be one of ${PLUGINS} (did you mean amoro?)`,
      '3:1: refreshInterval: must be a duration such as 500ms, 10s or 1m30s',
    ],
  },
  { file: 'list', text: '- system: amoro\n', errors: ['1:1: (root): must be of type object'] },
  {
    file: 'tabs',
    text: 'system: amoro\nendpoint:\n\turl: http://ams:1630\n',
    errors: ['3: is not valid JSON or YAML: tabs are not allowed as indentation'],
  },
  {
    file: 'twice',
    text: 'system: amoro\nsystem: s3\n',
    errors: ['2: is not valid JSON or YAML: the field is given twice'],
  },
  {
    file: 'two-documents',
    text: 'system: s3\n---\nsystem: static\n',
    errors: ['2: is not valid JSON or YAML: a second document begins here; put each data system into its own file'],
  },
  {
    file: 'comment.json',
    text: '{\n  // the lake\n  "system": "s3"\n}\n',
    errors: ['2: is not valid JSON or YAML: comments begin with #, not with // or /*'],
  },
  { file: 'valid', text: 'system: static\n', errors: [] },
  {
    file: 'valid-copy',
    text: 'system: static\n',
    errors: ['1:1: system: static is already configured in @systems/valid'],
  },
]
const INVALID = MISTAKES.filter(({ errors }) => errors.length > 0)

let folder: string
/** A configuration of Lodestone for each folder of data systems. */
const configOf = (directory: string) => join(folder, `${directory}.yaml`)
const shown = (text: string) => text.replaceAll(`${folder}/`, '@')

beforeAll(() => {
  folder = mkdtempSync(join(tmpdir(), 'lodestone-mistakes-'))
  for (const directory of ['systems', 'hub']) mkdirSync(join(folder, directory))
  for (const { file, text } of MISTAKES) writeFileSync(join(folder, 'systems', file), text)
  writeFileSync(
    join(folder, 'hub', 'map.yaml'),
    'apiVersion: v1\nkind: ConfigMap\nmetadata: { name: map, namespace: demo }\n',
  )
  writeFileSync(
    join(folder, 'claim.yaml'),
    `apiVersion: datadependency.volcano.sh/v1alpha1
kind: DataSourceClaim
metadata: { name: orders, namespace: demo }
spec:
  system: lake
  dataSourceType: table
  dataSourceName: orders
  workload: { apiVersion: apps/v1, kind: Deployment, name: trainer }
`,
  )
  for (const directory of ['systems', 'nowhere', 'hub/map.yaml']) {
    const name = configOf(directory.replace('/', '-'))
    writeFileSync(name, JSON.stringify({ systems: { directory: join(folder, directory) } }))
  }
})
afterAll(() => rmSync(folder, { recursive: true }))

/** The lines that check prints for errors. */
const linesOf = ({ file, errors }: SystemMistake) =>
  errors.map((error) => `@systems/${file}:${error.replace(': ', ': error: ')} (invalid-system)`)

/** The message of a file for a person who reads a log: all errors, with the line of a text that cannot be parsed. */
const messageOf = ({ file, errors }: SystemMistake) =>
  `@systems/${file}: ${errors.map((error) => error.replace(/^\d+:\d+: /, '').replace(/^(\d+): /, 'line $1: ')).join('; ')}`

/** `check -f` takes these for a manifest, or finds no mistake in them without the other files. */
const ONLY_IN_A_FOLDER = ['list', 'comment.json', 'valid-copy']

describe('each mistake in the file of a data system is shown with its place and the remedy', () => {
  test.each(INVALID.filter(({ file }) => !ONLY_IN_A_FOLDER.includes(file)))('by check -f: $file', async (mistake) => {
    const { status, stdout, stderr } = await runWords(['check', '-f', join(folder, 'systems', mistake.file)])

    expect({ status, stderr, lines: shown(stdout).trimEnd().split('\n') }).toEqual({
      status: 1,
      stderr: '',
      lines: linesOf(mistake),
    })
  })

  test('by check with the configuration, all files in one run', async () => {
    const { status, stdout } = await runWords(['check', '-f', join(folder, 'hub'), '-c', configOf('systems')])

    expect(status).toBe(1)
    expect(
      shown(stdout)
        .split('\n')
        .filter((line) => line.includes('invalid-system')),
    ).toEqual(INVALID.toSorted((a, b) => (a.file < b.file ? -1 : 1)).flatMap(linesOf))
    expect(stdout).not.toContain('hunter2')
  })

  test('by status, all files in one run', async () => {
    const { status, stdout } = await runWords(['status', '--folder', join(folder, 'hub'), '-c', configOf('systems')])

    expect(status).toBe(0)
    for (const mistake of INVALID) expect(shown(stdout)).toContain(`invalid configuration: ${messageOf(mistake)}\n`)
    expect(stdout).not.toContain('hunter2')
  })

  test('by the log of serve, all files in one run, and the valid ones are used', async () => {
    const ending = new AbortController()
    let log = ''
    const { status } = await runWords(
      ['serve', '--folder', join(folder, 'hub'), '-c', configOf('systems'), '--port', '0', '--health-port', '0'],
      {
        signal: ending.signal,
        env: { XDG_CACHE_HOME: folder },
        stdout: { write: () => ending.abort() },
        stderr: { write: (text: string) => (log += text) },
      },
    )

    expect(status).toBe(0)
    const lines = log
      .trimEnd()
      .split('\n')
      .map((line) => JSON.parse(line))
    const reasons = lines
      .filter(({ msg }) => msg.startsWith('invalid data system configuration'))
      .map(({ reason }) => shown(reason))
    expect(reasons.toSorted()).toEqual(INVALID.map(messageOf).toSorted())
    expect(lines.filter(({ msg }) => msg === 'data system configured')).toMatchObject([{ system: 'static' }])
    expect(log).not.toContain('hunter2')
  })
})

describe('a folder of data systems that cannot be read', () => {
  test.each([
    { directory: 'nowhere', name: 'nowhere', reason: 'cannot be read: no such file or directory' },
    {
      directory: 'hub/map.yaml',
      name: 'hub-map.yaml',
      reason: 'cannot be read: a part of the path is not a directory',
    },
  ])('is named by check and status: $directory', async ({ directory, name, reason }) => {
    const checked = await runWords(['check', '-f', join(folder, 'claim.yaml'), '-c', configOf(name)])
    expect(checked.status).toBe(1)
    expect(shown(checked.stdout)).toContain(`@${directory}: error: ${reason} (invalid-system)\n`)

    const { stdout } = await runWords(['status', '--folder', join(folder, 'hub'), '-c', configOf(name)])
    expect(shown(stdout)).toContain(`invalid configuration: @${directory}: ${reason}\n`)
  })

  test('is no error of check if no claim needs it, as with another configuration', async () => {
    const { status, stdout } = await runWords(['check', '-f', join(folder, 'hub'), '-c', configOf('nowhere')])
    expect(status).toBe(0)
    expect(stdout).not.toContain('invalid-system')
  })
})
