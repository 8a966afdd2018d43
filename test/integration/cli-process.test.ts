/** Tests commands as processes: in a pipeline whose reader ends first, with Ctrl-C, and from another directory through npm. */
import { execFile, spawn } from 'node:child_process'
import { once } from 'node:events'
import { closeSync, openSync, writeFileSync } from 'node:fs'
import { type AddressInfo, createServer } from 'node:net'
import { delimiter, dirname, join } from 'node:path'
import type { Readable } from 'node:stream'
import { promisify } from 'node:util'
import { describe, expect, onTestFinished, test } from 'vitest'
import { collectionPath } from '../../src/api/meta.ts'
import { makeKubeconfig } from '../../src/cli/cli.fake.ts'
import { startFakeApiServer } from '../../src/store/cluster/api-server.fake.ts'
import { type Lease, leases, UNINSTALLING_ANNOTATION } from '../../src/store/cluster/lease.ts'
import { temporaryFolder } from '../temporary-folder.ts'
import { printingLines, usePrintingCommands } from './printing-commands.ts'
import { PROCESS_ENVIRONMENT } from './process-environment.ts'

const run = promisify(execFile)

/** Runs a command with these streams closed by their reader before it writes. */
function runClosed(
  words: string[],
  closed: ('stdout' | 'stderr')[],
  env: Record<string, string> = {},
  atEnd: typeof onTestFinished = onTestFinished,
) {
  const child = spawn(process.execPath, ['src/main.ts', ...words], {
    stdio: ['ignore', 'pipe', 'pipe'],
    env: { ...PROCESS_ENVIRONMENT, ...env },
  })
  atEnd(() => void child.kill('SIGKILL'))
  for (const name of closed) child[name].destroy()
  let stderr = ''
  child.stderr.on('data', (text) => {
    stderr += text
  })
  return new Promise<{ code: number | null; signal: string | null; stderr: string }>((resolve) => {
    child.once('close', (code, signal) => resolve({ code, signal, stderr }))
  })
}

// Nothing is read, so a command need not print much.
const wordsOf = usePrintingCommands(1)
const lines = await printingLines()

describe.concurrent('without a reader of its output, a command ends without an error message', () => {
  test.for(lines)('%s', async (line, { expect, onTestFinished: atEnd }) => {
    const { code, stderr } = await runClosed(wordsOf(line), ['stdout'], {}, atEnd)
    // A mover moves data, also when its log has no reader.
    expect(code).toBe(line.startsWith('mover') ? 0 : 1)
    // With some formats, `check` prints its findings there; `kubeconfig` prints when its token ends.
    const expected = /^(.*\/all\.yaml:.* warning: .*|lodestone kubeconfig: the token .*)?$/
    expect(stderr.split('\n').filter((said) => !expected.test(said))).toEqual([])
  })

  test('an error message that has no reader', async ({ expect, onTestFinished: atEnd }) => {
    const ended = await runClosed(['chek'], ['stdout', 'stderr'], {}, atEnd)
    expect(ended).toMatchObject({ code: 1, signal: null })
  })

  test('a reader that ends after the first line', async () => {
    // More than a pipe holds, so the last write fails.
    const script = '"$0" src/main.ts manifests | head -n 1'
    const { stdout, stderr } = await run('sh', ['-c', script, process.execPath])
    expect({ stdout, stderr }).toEqual({ stdout: 'apiVersion: apiextensions.k8s.io/v1\n', stderr: '' })
  })
})

describe('with standard error on a full disk', () => {
  const startOnFullDisk = (words: string[]) => {
    const full = openSync('/dev/full', 'w')
    const child = spawn(process.execPath, ['src/main.ts', ...words], {
      stdio: ['ignore', 'pipe', full],
      env: { ...PROCESS_ENVIRONMENT, XDG_CACHE_HOME: temporaryFolder() },
    })
    closeSync(full)
    onTestFinished(() => void child.kill('SIGKILL'))
    return child
  }

  test('a command with an error message ends', async () => {
    expect(await once(startOnFullDisk(['chek']), 'close')).toEqual([1, null])
  })

  test('serve answers without its log, until a signal ends it', async () => {
    const config = join(temporaryFolder(), 'lodestone.yaml')
    writeFileSync(config, 'server: { port: 0, healthPort: 0, drainSeconds: 0 }\nlog: { format: pretty }\n')
    const child = startOnFullDisk(['serve', '--folder', 'examples/hub', '--config', config])
    const ended = once(child, 'close')
    const [hints] = await once(child.stdout as Readable, 'data')
    const [, authority] = /(localhost:\d+)\/readyz/.exec(String(hints)) ?? []
    expect((await fetch(`http://${authority}/livez`)).status).toBe(200)
    child.kill('SIGTERM')
    expect(await ended).toEqual([0, null])
  })
})

test('Ctrl-C ends check-install --wait without an error message', async () => {
  const words = ['src/main.ts', 'check-install', '--wait', '5m', '--kubeconfig', makeKubeconfig('https://127.0.0.1:1')]
  const child = spawn(process.execPath, words, { stdio: ['ignore', 'pipe', 'pipe'] })
  onTestFinished(() => void child.kill('SIGKILL'))
  let [stdout, stderr] = ['', '']
  child.stdout.on('data', (text) => (stdout += text))
  child.stderr.on('data', (text) => {
    stderr += text
    child.kill('SIGINT')
  })
  const code = await new Promise((resolve) => child.once('close', resolve))
  expect({ code, stdout }).toEqual({ code: 130, stdout: '' })
  expect(stderr).toMatch(
    /^lodestone check-install: waiting for API server https:\/\/127\.0\.0\.1:1: connection refused[^\n]*\n$/,
  )
})

test.for(['SIGINT', 'SIGTERM', 'SIGHUP'] as const)('uninstall takes its mark back on %s', async (signal) => {
  const server = await startFakeApiServer([leases])
  const metadata = { namespace: 'lodestone-system', name: 'lodestone' }
  const held = { holderIdentity: 'host_1', leaseDurationSeconds: 60, acquireTime: '2026-11-20T12:00:00.000000Z' }
  const lease: Lease = { apiVersion: 'coordination.k8s.io/v1', kind: 'Lease', metadata, spec: held }
  server.put(leases, lease)
  const marks = () => {
    const stored = server.objects.get(collectionPath(leases), metadata.namespace, metadata.name)
    return Object.keys(stored?.metadata.annotations ?? {})
  }
  const words = ['src/main.ts', 'uninstall', '--yes', '--kubeconfig', makeKubeconfig(server.url)]
  const child = spawn(process.execPath, words, { stdio: 'ignore' })
  onTestFinished(() => void child.kill('SIGKILL'))
  const ended = once(child, 'close')
  await expect.poll(marks, { timeout: 60_000 }).toEqual([UNINSTALLING_ANNOTATION])

  child.kill(signal)
  // When a terminal is closed, the shell and the kernel send it.
  const again = signal === 'SIGHUP' ? setInterval(() => child.kill(signal), 1) : undefined

  await ended
  clearInterval(again)
  expect(marks()).toEqual([])
})

test('serve ends with status 0 while its requests to an API server have no answer', async () => {
  const connected = Promise.withResolvers<void>()
  const silent = createServer(() => connected.resolve())
  await new Promise<void>((resolve) => silent.listen(0, '127.0.0.1', resolve))
  onTestFinished(() => void silent.close())
  const hub = makeKubeconfig(`http://127.0.0.1:${(silent.address() as AddressInfo).port}`)
  const config = join(temporaryFolder(), 'lodestone.yaml')
  writeFileSync(config, 'server: { port: 0, healthPort: 0, drainSeconds: 0 }\n')
  const words = ['src/main.ts', 'serve', '--kubeconfig', hub, '--config', config]
  const child = spawn(process.execPath, words, { stdio: 'ignore' })
  onTestFinished(() => void child.kill('SIGKILL'))
  await connected.promise
  child.kill('SIGTERM')
  expect(await new Promise((resolve) => child.once('close', resolve))).toBe(0)
})

describe('serve ends in order', () => {
  const words = ['serve', '--folder', 'examples/hub', '--port', '0', '--health-port', '0']

  test('when the reader of its hints ends', async () => {
    const { code, stderr } = await runClosed(words, ['stdout'], { XDG_CACHE_HOME: temporaryFolder() })
    const lines = stderr.trim().split('\n')
    expect(code).toBe(0)
    expect(JSON.parse(lines.at(-1) ?? '')).toMatchObject({ level: 'info', msg: 'stopped' })
  })

  test('when the reader of its log ends', async () => {
    const child = runClosed(words, ['stderr'], { XDG_CACHE_HOME: temporaryFolder() })
    expect(await child).toMatchObject({ code: 0, signal: null })
  })
})

describe('through npm, relative paths are relative to the directory of the caller', () => {
  const root = process.cwd()
  const PATH = [dirname(process.execPath), process.env['PATH']].join(delimiter)
  const env = { ...PROCESS_ENVIRONMENT, PATH }

  test('npm run lodestone', async () => {
    const words = ['run', '-s', 'lodestone', '--', 'check', '-f', 'workload.yaml', '--folder', '.']
    const { stdout } = await run('npm', words, { cwd: join(root, 'examples', 'hub'), env })
    expect(stdout).toContain('demo/orders is in member2')
  })

  test('npm start, which serves the examples from every directory', async () => {
    const folder = temporaryFolder()
    writeFileSync(join(folder, 'own.yaml'), 'log: { level: loud }\n')
    const words = ['start', '-s', '--prefix', root, '--', '--config', 'own.yaml']
    await expect(run('npm', words, { cwd: folder, env })).rejects.toMatchObject({
      code: 2,
      stderr: expect.stringContaining('log.level'),
    })
  })

  test('npm start, which prints a link to the page', async () => {
    const words = ['start', '-s', '--', '--port', '0', '--health-port', '0']
    const child = spawn('npm', words, { env: { ...env, XDG_CACHE_HOME: temporaryFolder() }, detached: true })
    onTestFinished(async () => {
      process.kill(-(child.pid ?? 0), 'SIGTERM')
      await once(child, 'close')
    })
    let text = ''
    for await (const chunk of child.stdout) {
      text += chunk
      if (text.includes('Press Ctrl-C')) break
    }
    const [link = ''] = /http:\/\/127\.0\.0\.1:\d+\/open\?token=\S+/.exec(text) ?? []
    expect((await fetch(link, { redirect: 'manual' })).status).toBe(303)
  })

  test('but not through the script of another package', async () => {
    const folder = temporaryFolder()
    writeFileSync(join(folder, 'package.json'), JSON.stringify({ name: 'other', scripts: { lodestone: 'exit 1' } }))
    const { stdout } = await run(process.execPath, ['src/main.ts', 'status', '--folder', 'examples/hub'], {
      env: { ...env, INIT_CWD: folder, npm_package_name: 'other', npm_lifecycle_event: 'lodestone' },
    })
    expect(stdout).toContain('demo/orders')
  })
})
