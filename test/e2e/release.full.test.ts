// The files of a release: complete, the same in each build, and accepted by npm, helm and a registry. `npm run e2e:full` runs it.
import { execFile } from 'node:child_process'
import { mkdir, mkdtemp, readdir, readFile, rm, writeFile } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { delimiter, dirname, join } from 'node:path'
import { promisify } from 'node:util'
import { request } from 'undici'
import { afterAll, beforeAll, expect, onTestFinished, test } from 'vitest'
import { stringify } from 'yaml'
import { readLock } from '../../.ci/release/lock.ts'
import { ensureHelm } from './binaries.ts'
import { debianPrograms } from './debian-programs.ts'
import { freePorts, startProcess } from './processes.ts'

const run = promisify(execFile)
const scripts = join(import.meta.dirname, '..', '..', '.ci', 'release')
// With the libraries of skopeo that a minimal Debian lacks.
const packages = ['docker-registry', 'skopeo', 'libgpgme11', 'libassuan0', 'libdevmapper1.02.1']
const { version } = JSON.parse(await readFile('package.json', 'utf8')) as { version: string }

let root: string
let release: string

beforeAll(async () => {
  root = await mkdtemp(join(tmpdir(), 'lodestone-release-'))
  release = join(root, 'release')
  await run(process.execPath, [join(scripts, 'release.ts'), '--out', release])
})
afterAll(() => rm(root, { recursive: true, force: true }))

test('the files of a release are complete, and their checksums are right', async () => {
  const files = [
    'IMAGE_DIGEST',
    'NOTES.md',
    ...['amd64', 'arm64'].map((architecture) => `lodestone-${version}-image-${architecture}.spdx.json`),
    ...['-chart.tgz', '-image.tar', '.spdx.json', '.tgz'].map((end) => `lodestone-${version}${end}`),
  ]
  expect((await readdir(release)).sort()).toEqual([...files, 'SHA256SUMS', 'image'].sort())
  const { stdout } = await run('sha256sum', ['--check', '--strict', 'SHA256SUMS'], { cwd: release })
  expect(stdout.trim().split('\n').sort()).toEqual(files.map((file) => `${file}: OK`).sort())
})

test('npm installs the package with the locked dependencies', async () => {
  const prefix = join(root, 'npm')
  await run('npm', [
    'install',
    '--global',
    '--prefix',
    prefix,
    '--no-audit',
    '--no-fund',
    join(release, `lodestone-${version}.tgz`),
  ])
  const env = {
    PATH: [join(prefix, 'bin'), dirname(process.execPath), process.env['PATH']].join(delimiter),
    HOME: root,
  }
  const { stdout } = await run('lodestone', ['version'], { env })
  expect(stdout).toContain(`Lodestone   ${version}`)
  const { packages: locked } = readLock('.')
  for (const name of ['fastify', 'undici', '@kubernetes/client-node']) {
    const file = join(prefix, 'lib', 'node_modules', 'lodestone', 'node_modules', name, 'package.json')
    expect(JSON.parse(await readFile(file, 'utf8'))).toMatchObject({ version: locked[`node_modules/${name}`]?.version })
  }
})

test('helm accepts the chart, and a registry has the digests of the release', async () => {
  const { env } = await debianPrograms('registry', packages)
  const [port = 0] = await freePorts(1)
  const configuration = join(root, 'registry.yaml')
  const storage = { filesystem: { rootdirectory: join(root, 'registry') } }
  await writeFile(configuration, stringify({ version: 0.1, http: { addr: `127.0.0.1:${port}` }, storage }))
  const registry = await startProcess({
    name: 'registry',
    command: 'docker-registry',
    args: ['serve', configuration],
    env,
    cwd: root,
    logFile: join(root, 'registry.log'),
    ready: async () => (await request(`http://127.0.0.1:${port}/v2/`)).statusCode === 200,
  })
  onTestFinished(() => registry.stop())
  const settings = join(root, '.config', 'containers')
  await mkdir(settings, { recursive: true })
  await writeFile(join(settings, 'policy.json'), JSON.stringify({ default: [{ type: 'insecureAcceptAnything' }] }))
  const helm = await ensureHelm()
  const withHelm = { ...env, PATH: [dirname(helm), env['PATH']].join(delimiter), HOME: root }
  const chart = join(release, `lodestone-${version}-chart.tgz`)
  expect((await run(helm, ['lint', '--strict', chart], { env: withHelm })).stdout).toContain('0 chart(s) failed')

  const words = ['--registry', `127.0.0.1:${port}/team`, '--from', release, '--plain-http']
  const { stdout } = await run(process.execPath, [join(scripts, 'publish.ts'), ...words], { env: withHelm })

  const digest = (await readFile(join(release, 'IMAGE_DIGEST'), 'utf8')).trim()
  const [, imageReference = ''] = /^image=(.*)$/m.exec(stdout) ?? []
  const [, chartReference = ''] = /^chart=(.*)$/m.exec(stdout) ?? []
  expect(imageReference).toBe(`127.0.0.1:${port}/team/lodestone@${digest}`)
  for (const reference of [imageReference, chartReference]) {
    const [name = '', hash = ''] = reference.split('@')
    const path = name.slice(name.indexOf('/') + 1)
    const accept = 'application/vnd.oci.image.index.v1+json, application/vnd.oci.image.manifest.v1+json'
    const { statusCode } = await request(`http://127.0.0.1:${port}/v2/${path}/manifests/${hash}`, {
      headers: { accept },
    })
    expect({ reference, statusCode }).toEqual({ reference, statusCode: 200 })
  }
  const pulled = await run(
    helm,
    ['show', 'chart', `oci://127.0.0.1:${port}/team/charts/lodestone`, '--version', version, '--plain-http'],
    {
      env: withHelm,
    },
  )
  expect(pulled.stdout).toContain(`version: ${version}`)
})
