import { mkdtempSync, readFileSync, rmSync } from 'node:fs'
import { createServer } from 'node:net'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { afterAll, describe, expect, onTestFinished, test } from 'vitest'
import { makeFolder, runWords } from '../../src/cli/cli.fake.ts'
import { cacheDirectoryOf } from '../../src/cli/serve/serve-config.ts'
import { sendTo } from '../../src/cli/ui/ui.fake.ts'

const FREE = ['--port', '0', '--health-port', '0']
/** The certificates of the tests that are not about them: they are made once. */
const SHARED_CACHE = mkdtempSync(join(tmpdir(), 'lodestone-serve-'))
afterAll(() => rmSync(SHARED_CACHE, { recursive: true }))

/** Serves a folder until the hints are printed. */
async function serveUntilReady(words: string[], { isTTY = false, env = {} }: { isTTY?: boolean; env?: object } = {}) {
  const ending = new AbortController()
  const printed = { stdout: '', stderr: '' }
  const status = await runWords(['serve', ...FREE, ...words], {
    signal: ending.signal,
    env: { XDG_CACHE_HOME: SHARED_CACHE, ...env },
    stdout: {
      write(text: string) {
        printed.stdout += text
        ending.abort()
      },
    },
    stderr: { isTTY, write: (text: string) => (printed.stderr += text) },
  })
  return { ...printed, status: status.status }
}

/** Takes a free port of loopback until the end of the test. */
function takePort(): Promise<number> {
  const server = createServer()
  onTestFinished(() => void server.close())
  return new Promise((resolve) => {
    server.listen(0, '127.0.0.1', () => resolve((server.address() as { port: number }).port))
  })
}

describe('the log at a terminal', () => {
  const ESCAPE = '\u001b['

  test('has colors', async () => {
    const { stderr } = await serveUntilReady(['--folder', 'examples/hub'], { isTTY: true })
    expect(stderr).toContain(ESCAPE)
  })

  test.each([
    { name: 'NO_COLOR is set', isTTY: true, env: { NO_COLOR: '1' } },
    { name: 'it is no terminal', isTTY: false, env: {} },
  ])('has none if $name', async ({ isTTY, env }) => {
    const { stderr } = await serveUntilReady(['--folder', 'examples/hub'], { isTTY, env })
    expect(stderr).toContain('serving')
    expect(stderr).not.toContain(ESCAPE)
  })
})

describe('a port in use', () => {
  test.each([
    { option: '--port', key: 'server.port' },
    { option: '--health-port', key: 'server.healthPort' },
  ])('is named with $option and the way out', async ({ option, key }) => {
    const port = await takePort()
    const run = runWords(['serve', ...FREE, '--folder', 'examples/hub', option, String(port)], {
      env: { XDG_CACHE_HOME: SHARED_CACHE },
    })

    await expect(run).rejects.toThrow(
      `cannot listen on 127.0.0.1:${port}: another process uses the port; choose another one with ${option} or ${key}, 0 for a free one`,
    )
  })

  test('is named too if both ports are the same', async () => {
    const probe = createServer()
    const port = await new Promise<number>((resolve) => {
      probe.listen(0, '127.0.0.1', () => resolve((probe.address() as { port: number }).port))
    })
    await new Promise((resolve) => probe.close(resolve))
    const words = ['--port', String(port), '--health-port', String(port)]

    const run = runWords(['serve', '--folder', 'examples/hub', ...words], { env: { XDG_CACHE_HOME: SHARED_CACHE } })

    await expect(run).rejects.toThrow(`cannot listen on 127.0.0.1:${port}: another process uses the port; `)
  })
})

test('a host that is not of this machine is named with its key', async () => {
  const file = join(makeFolder({ 'lodestone.yaml': { server: { host: '192.0.2.1' } } }), 'lodestone.yaml')
  const run = runWords(['serve', ...FREE, '--folder', 'examples/hub', '--config', file], {
    env: { XDG_CACHE_HOME: SHARED_CACHE },
  })

  await expect(run).rejects.toThrow(
    'cannot listen on 192.0.2.1:0: the host is not an address of this machine; change server.host',
  )
})

describe('the certificates of a served folder', () => {
  test('are in the cache directory of the user, and the printed command names them', async () => {
    const cache = makeFolder()

    const { status, stdout } = await serveUntilReady(['--folder', 'examples/hub'], { env: { XDG_CACHE_HOME: cache } })

    const file = join(cacheDirectoryOf('examples/hub', { XDG_CACHE_HOME: cache }), 'ca.crt')
    expect(status).toBe(0)
    expect(stdout).toContain(`curl -s --cacert ${file} -H`)
    expect(readFileSync(file, 'utf8')).toContain('BEGIN CERTIFICATE')
  })

  test('are where the configuration says', async () => {
    const own = join(makeFolder(), 'own certs')
    const folder = makeFolder({
      'lodestone.yaml': {
        server: { host: '127.0.0.1', healthHost: '127.0.0.1', drainSeconds: 0 },
        certificates: { directory: own },
      },
    })

    const { stdout } = await serveUntilReady(['--folder', 'examples/hub', '--config', join(folder, 'lodestone.yaml')])

    expect(stdout).toContain(`--cacert '${own}/ca.crt' `)
    expect(readFileSync(join(own, 'ca.crt'), 'utf8')).toContain('BEGIN CERTIFICATE')
  })

  test('cause one line if the cache directory cannot be created', async () => {
    const run = runWords(['serve', ...FREE, '--folder', 'examples/hub'], { env: { XDG_CACHE_HOME: '/proc/x' } })
    await expect(run).rejects.toThrow('cannot create the folder /proc/x; choose another one')
  })
})

test('the page of a served folder has the configuration of the server', async () => {
  const systems = makeFolder({ lake: { system: 'lake', plugin: 'static', extra: { sources: [] } } })
  const server = { host: '127.0.0.1', healthHost: '127.0.0.1', drainSeconds: 0 }
  const certificates = { directory: join(makeFolder(), 'certs') }
  const folder = makeFolder({ 'lodestone.yaml': { server, certificates, systems: { directory: systems } } })
  const words = ['--folder', 'examples/hub', '--page', '--config', join(folder, 'lodestone.yaml')]
  const ending = new AbortController()
  const opened = Promise.withResolvers<string>()
  const write = (text: string | Uint8Array) => {
    const [link] = /http:\S+\/open\?token=\S+/.exec(`${text}`) ?? []
    if (link !== undefined) opened.resolve(link)
  }
  const running = runWords(['serve', ...FREE, ...words], { signal: ending.signal, stdout: { write } })

  const link = await opened.promise
  const cookie = (await sendTo(link)).headers['set-cookie']?.[0] ?? ''
  const { items } = (await sendTo(`${new URL(link).origin}/v1/systems`, { headers: { cookie } })).json() as {
    items: { name: string }[]
  }
  ending.abort()

  expect(items.map(({ name }) => name)).toContain('lake')
  expect((await running).status).toBe(0)
})

describe('the printed commands', () => {
  test('are those of the installed program, with relative paths', async () => {
    const { stdout } = await serveUntilReady(['--folder', join(process.cwd(), 'examples', 'hub')])
    expect(stdout).toContain('\nServing examples/hub. ')
    expect(stdout).toContain('  lodestone check -f examples/hub/workload.yaml --folder examples/hub\n')
    expect(stdout).toContain('--data @examples/review.json ')
  })

  test('are those of npm when npm started it', async () => {
    const { stdout } = await serveUntilReady(['--folder', 'examples/hub'], { env: { npm_lifecycle_event: 'start' } })
    expect(stdout).toContain('  npm run -s lodestone -- check -f examples/hub/workload.yaml --folder examples/hub\n')
  })
})
