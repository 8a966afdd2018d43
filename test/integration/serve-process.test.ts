/** `lodestone serve` as a process of its own: its memory limits, and its end on SIGTERM. */
import { type ChildProcess, spawn } from 'node:child_process'
import { readFileSync, writeFileSync } from 'node:fs'
import { connect } from 'node:net'
import { join } from 'node:path'
import { createInterface } from 'node:readline'
import { expect, onTestFinished, test } from 'vitest'
import { parse, stringify } from 'yaml'
import type { LogLine } from '../../src/telemetry/logger.fake.ts'
import { temporaryFolder } from '../temporary-folder.ts'
import { LOOPBACK } from './loopback.ts'
import { PROCESS_ENVIRONMENT } from './process-environment.ts'

/** Starts it; killed when the test ends. */
function serve(env: Record<string, string> = {}, server: object = {}) {
  const folder = temporaryFolder()
  const file = join(folder, 'lodestone.yaml')
  writeFileSync(
    file,
    stringify({ server: { ...LOOPBACK, ...server }, certificates: { directory: join(folder, 'certs') } }),
  )
  const child = spawn(process.execPath, ['src/main.ts', 'serve', '--folder', 'examples/hub', '--config', file], {
    env: { ...PROCESS_ENVIRONMENT, ...env },
    stdio: ['ignore', 'ignore', 'pipe'],
  })
  onTestFinished(() => void child.kill('SIGKILL'))
  const lines: LogLine[] = []
  createInterface({ input: child.stderr as NodeJS.ReadableStream }).on('line', (line) => {
    if (line.startsWith('{')) lines.push(JSON.parse(line))
    else lines.push({ msg: line, level: 'none' })
  })
  const line = async (msg: string): Promise<LogLine> => {
    await expect.poll(() => lines.map((one) => one.msg)).toContain(msg)
    return lines.find((one) => one.msg === msg) as LogLine
  }
  return { child, line, lines }
}

function ended(child: ChildProcess): Promise<{ code: number | null; signal: string | null }> {
  return new Promise((resolve) => child.once('exit', (code, signal) => resolve({ code, signal })))
}

test('with a memory limit, the heap limit follows from it, takes effect, and is logged', async () => {
  const { line, lines } = serve({ LODESTONE_MEMORY_LIMIT: '512Mi' })

  const limits = await line('memory limits')

  // The old generation of 192 MiB, and the young one.
  expect(limits).toMatchObject({ containerMib: 512, heapLimitMib: 240, bytesInFlightMib: 64 })
  await line('ready')
  expect(lines.filter(({ level }) => level !== 'info' && level !== 'warn')).toEqual([])
})

test('a heap limit that is given stays, with a warning when it does not fit', async () => {
  const { line } = serve({ LODESTONE_MEMORY_LIMIT: '512Mi', NODE_OPTIONS: '--max-old-space-size=600' })

  expect(Number((await line('memory limits'))['heapLimitMib'])).toBeGreaterThanOrEqual(600)
  await expect(line('ready')).resolves.toBeDefined()
})

test('the folder in PLUGIN_CONFIG_PATH has the data systems, in the form of the guide', async () => {
  const plugins = temporaryFolder()
  const { data } = parse(readFileSync('test/data/deploy-guide/config-map.yaml', 'utf8'))
  writeFileSync(join(plugins, 'amoro'), data.amoro)

  const { line } = serve({ PLUGIN_CONFIG_PATH: plugins })

  expect(await line('data system configured')).toMatchObject({ system: 'amoro', file: join(plugins, 'amoro') })
})

test('without a memory limit V8 decides', async () => {
  const { line } = serve()

  const limits = await line('memory limits')

  expect(limits).not.toHaveProperty('containerMib')
})

test('SIGTERM ends it with status 0, also if a silent client stays connected', async () => {
  const { child, line } = serve({}, { drainSeconds: 1 })
  const { admissionPort } = await line('serving')
  await line('ready')
  const silent = connect({ host: '127.0.0.1', port: Number(admissionPort), allowHalfOpen: true })
  silent.on('error', () => undefined)
  onTestFinished(() => void silent.destroy())
  await new Promise((resolve) => silent.once('connect', resolve))

  child.kill('SIGTERM')

  expect(await ended(child)).toEqual({ code: 0, signal: null })
})
