// The image of `npm run image`: the same in each build, small, and complete. It runs in a container against a real API server.
// `npm run e2e:full` runs it.
import { execFile } from 'node:child_process'
import { chmod, chown, cp, mkdir, mkdtemp, readFile, rm, writeFile } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { promisify } from 'node:util'
import { request } from 'undici'
import { afterAll, beforeAll, expect, onTestFinished, test } from 'vitest'
import { stringify } from 'yaml'
import { filesBelow } from '../../.ci/release/files.ts'
import { loadCommands } from '../../src/cli/index.ts'
import { prepareContainer, runInContainer, type UnpackedImage, unpackImage } from './containers.ts'
import { startControlPlane } from './control-plane.ts'
import { installLodestone, leaseRights } from './lodestone.ts'
import { freePorts, startProcess } from './processes.ts'

const run = promisify(execFile)
const builder = join(import.meta.dirname, '..', '..', '.ci', 'release', 'image.ts')
const mostMegabytesAboveNode = 120
const memoryMib = 512

let root: string
let printed: string[]
let image: UnpackedImage
let files: string[]
// What the builds have in place of a repository.
const revision = { COMMIT: 'a'.repeat(40), SOURCE_DATE_EPOCH: '1700000000' }

beforeAll(async () => {
  root = await mkdtemp(join(tmpdir(), 'lodestone-image-'))
  await chmod(root, 0o755)
  // With the cache of this user, and without any as a user who is not root.
  printed = [await build('first', {}), await build('second', await withoutRootRights())]
  image = await unpackImage(join(root, 'first', 'image'))
  files = await filesBelow(image.rootfs)
})
afterAll(() => rm(root, { recursive: true, force: true }))

async function build(name: string, user: { uid?: number; env?: Record<string, string> }): Promise<string> {
  const out = join(root, name)
  await mkdir(out)
  if (user.uid !== undefined) await chown(out, user.uid, user.uid)
  const { stdout } = await run(process.execPath, [builder, '--out', out], {
    ...(user.uid !== undefined && { uid: user.uid, gid: user.uid }),
    env: { ...process.env, ...revision, ...user.env },
  })
  return stdout
}

async function withoutRootRights() {
  const home = join(root, 'home')
  await mkdir(home)
  const env = { HOME: home, XDG_CACHE_HOME: home, npm_config_cache: join(home, 'npm') }
  if (process.getuid?.() !== 0) return { env }
  await chown(home, 65532, 65532)
  return { env, uid: 65532 }
}

test('two builds have the same digest, one of them by a user without root rights', () => {
  const [first, second] = printed.map((text) => /^digest +(sha256:[0-9a-f]{64})$/m.exec(text)?.[1])
  expect(first).toBeDefined()
  expect(second).toBe(first)
})

test(`the image has at most ${mostMegabytesAboveNode} MB above the Node binary`, () => {
  process.stderr.write(`[e2e] ${printed[0]?.trim()}\n`)
  const megabytes = Number(/, ([\d.]+) MB above Node/.exec(printed[0] ?? '')?.[1])
  expect(megabytes).toBeGreaterThan(5)
  expect(megabytes).toBeLessThan(mostMegabytesAboveNode)
})

test('the image has only Node, its libraries and the application: no shell and no npm', () => {
  const programs = files.filter((path) => /^(usr\/)?s?bin\//.test(path))
  expect(programs).toEqual(['usr/bin/lodestone', 'usr/bin/node'])
  const folders = [...new Set(files.map((path) => path.replace(/^(usr\/[^/]+|[^/]+)\/.*/, '$1')))]
  expect(folders.sort()).toEqual(['etc', 'lib', 'lib64', 'lodestone', 'usr/bin', 'usr/lib', 'usr/share', 'var'])
  expect(
    files.filter((path) => /\.(map|ts|test\.js)$|\/(readme|changelog)|client-node\/dist\/gen\//i.test(path)),
  ).toEqual([])
})

test('the bill of materials has each npm package and Debian package of the image', async () => {
  const file = join(root, 'first', `lodestone-0.1.0-image-${process.arch === 'arm64' ? 'arm64' : 'amd64'}.spdx.json`)
  const sbom = JSON.parse(await readFile(file, 'utf8')) as { packages: { name: string; SPDXID: string }[] }
  const listed = sbom.packages.filter(({ SPDXID }) => SPDXID !== 'SPDXRef-Subject').map(({ name }) => name)
  const ofNpm = files
    .filter((path) => /node_modules\/(@[^/]+\/)?[^/]+\/package\.json$/.test(path))
    .map((path) => path.replace(/^.*node_modules\/(.*)\/package\.json$/, '$1'))
  const ofDebian = files.filter((path) => path.startsWith('var/lib/dpkg/status.d/')).map((path) => path.slice(22))
  expect([...new Set(listed)].sort()).toEqual([...new Set([...ofNpm, ...ofDebian, 'node'])].sort())
})

test('lodestone is on the PATH, and prints its version and commit', async () => {
  const { code, stdout, stderr } = await runInContainer(image, ['lodestone', 'version'], { entrypoint: [] })
  expect({ code, stderr }).toEqual({ code: 0, stderr: '' })
  expect(stdout).toContain(`Commit      ${revision.COMMIT}`)
})

test('every command starts', async () => {
  for (const { name } of await loadCommands()) {
    expect({ name, ...(await runInContainer(image, [name, '--help'])) }).toMatchObject({ name, code: 0, stderr: '' })
  }
})

test('every module of the build finds what it imports', async () => {
  const modules = files.filter((path) => /^lodestone\/dist\/.*\.js$/.test(path) && path !== 'lodestone/dist/main.js')
  const script = [
    // It runs in a thread, and ends without one.
    ...modules.filter((path) => !path.endsWith('/health-thread.js')).map((path) => `await import('/${path}')`),
    `console.log('all')`,
  ]
  const words = ['node', '--input-type=module', '--eval', script.join('\n')]
  const { code, stdout, stderr } = await runInContainer(image, words, { entrypoint: [] })
  expect({ code, stdout, stderr }).toEqual({ code: 0, stdout: 'all\n', stderr: '' })
})

test('a stack trace names modules and functions', async () => {
  const script = `import { readBuildInfo } from '/lodestone/dist/telemetry/build-info.js'; readBuildInfo(new URL('file:///etc'))`
  const words = ['node', '--input-type=module', '--eval', script]
  const { stderr } = await runInContainer(image, words, { entrypoint: [] })
  expect(stderr).toMatch(/at readBuildInfo \(file:\/\/\/lodestone\/dist\/telemetry\/build-info\.js:\d+:\d+\)/)
})

test('it has no shell', async () => {
  const { code, stderr } = await runInContainer(image, ['/bin/sh', '-c', 'true'], { entrypoint: [] })
  expect(code).not.toBe(0)
  expect(stderr).toContain('no such file or directory')
})

test('it serves a folder', async () => {
  const folder = join(root, 'hub')
  await cp('examples/hub', folder, { recursive: true })
  const [port = 0, healthPort = 0] = await freePorts(2)
  const ports = ['--port', String(port), '--health-port', String(healthPort)]
  const container = await prepareContainer(image, ['serve', '--folder', '/hub', ...ports], {
    mounts: [{ from: folder, to: '/hub' }],
    // A folder is served with certificates in the cache directory.
    env: ['XDG_CACHE_HOME=/tmp'],
  })
  onTestFinished(container.remove)
  const lodestone = await startProcess({
    ...container,
    name: 'the container',
    cwd: root,
    logFile: join(root, 'folder.log'),
    ready: () => isReady(healthPort),
  })
  await lodestone.stop()
})

test(`the image is ready read-only, as an unprivileged user and with ${memoryMib} MiB`, async () => {
  const plane = await startControlPlane({ karmada: false })
  onTestFinished(() => plane.stopAll())
  const [port = 0, healthPort = 0] = await freePorts(2)
  const mounted = join(root, 'mounted')
  await mkdir(mounted)
  await cp(await installLodestone(plane), join(mounted, 'kubeconfig'))
  await plane.apply(leaseRights())
  const config = {
    server: { host: '127.0.0.1', port, healthHost: '127.0.0.1', healthPort, drainSeconds: 0 },
    registration: { mode: 'none' },
    certificates: { directory: '/tmp/certificates' },
  }
  await writeFile(join(mounted, 'config.yaml'), stringify(config))
  for (const name of ['kubeconfig', 'config.yaml']) await chmod(join(mounted, name), 0o644)
  const words = ['serve', '--kubeconfig', '/mounted/kubeconfig', '--config', '/mounted/config.yaml']
  const container = await prepareContainer(image, words, { mounts: [{ from: mounted, to: '/mounted' }] })
  onTestFinished(container.remove)
  const logFile = join(root, 'cluster.log')
  const lodestone = await startProcess({
    ...container,
    name: 'the container',
    cwd: root,
    logFile,
    ready: () => isReady(healthPort),
  })
  const log = await readFile(logFile, 'utf8')
  // Without root rights, the container has no limit, and the process needs less all the same.
  const limit = process.getuid?.() === 0 ? `"containerMib":${memoryMib}` : '"msg":"memory limits"'
  expect(log).toContain(limit)
  expect(await residentMib(healthPort)).toBeLessThan(memoryMib)
  await lodestone.stop()
})

/** The memory of the process, from its metrics. */
async function residentMib(port: number): Promise<number> {
  const { body } = await request(`http://127.0.0.1:${port}/metrics`)
  const [, bytes] = /^process_resident_memory_bytes (\S+)$/m.exec(await body.text()) ?? []
  return Number(bytes) / 2 ** 20
}

async function isReady(port: number): Promise<boolean> {
  const { statusCode, body } = await request(`http://127.0.0.1:${port}/readyz`)
  await body.dump()
  return statusCode === 200
}
