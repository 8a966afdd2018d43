// Starts and stops the programs of a test run, and sees to it that none of them outlives the run.
import { type ChildProcess, spawn, spawnSync } from 'node:child_process'
import { randomInt } from 'node:crypto'
import { closeSync, openSync, rmSync } from 'node:fs'
import { mkdtemp, readFile, rm } from 'node:fs/promises'
import type { AddressInfo, Server } from 'node:net'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { setTimeout as sleep } from 'node:timers/promises'
import { listening } from './listening.ts'

export interface ProcessSpec {
  name: string
  command: string
  args: string[]
  env: Record<string, string>
  cwd: string
  logFile: string
  ready: () => Promise<boolean>
  readyTimeoutMs?: number
  // Told when the program ends without having been stopped, once it was ready.
  onCrash?: (message: string) => void
}

export interface RunningProcess {
  readonly name: string
  readonly pid: number
  readonly logFile: string
  hasExited(): boolean
  // How it ended; `code` is null for one that was ended by a signal, and for one that did not start.
  readonly ended: Promise<{ code: number | null; signal: NodeJS.Signals | null }>
  stop(graceMs?: number): Promise<void>
  // SIGKILL: the program has no say in it.
  kill(): Promise<void>
}

export interface CommandResult {
  stdout: string
  stderr: string
  code: number
}

export interface CommandOptions {
  env: Record<string, string>
  cwd: string
  input?: string | undefined
  timeoutMs?: number | undefined
}

const children = new Set<ChildProcess>()
const folders = new Set<string>()
let exitHooksInstalled = false
let deathSignalWrapper: string[] | undefined

export async function startProcess(spec: ProcessSpec): Promise<RunningProcess> {
  const log = openSync(spec.logFile, 'a')
  const child = spawnTied(spec.command, spec.args, { cwd: spec.cwd, env: spec.env, stdio: ['ignore', log, log] })
  closeSync(log)
  let failure: Error | undefined
  let exited = false
  let stopping = false
  const end: RunningProcess['ended'] = new Promise((resolve) => {
    child.once('error', (error) => {
      failure = error
      exited = true
      resolve({ code: null, signal: null })
    })
    child.once('exit', (code, signal) => {
      failure = new Error(`ended with ${signal ?? code}`)
      exited = true
      resolve({ code, signal })
    })
  })
  const running: RunningProcess = {
    name: spec.name,
    pid: child.pid ?? -1,
    logFile: spec.logFile,
    hasExited: () => exited,
    ended: end,
    stop: async (graceMs = 5_000) => {
      if (exited) return
      stopping = true
      child.kill('SIGTERM')
      const stopped = await Promise.race([end.then(() => true), sleep(graceMs, false, { ref: false })])
      if (!stopped) child.kill('SIGKILL')
      await end
    },
    kill: async () => {
      stopping = true
      child.kill('SIGKILL')
      await end
    },
  }
  const timeoutMs = spec.readyTimeoutMs ?? 120_000
  const deadline = Date.now() + timeoutMs
  // A refused connection is the normal answer of a program that is still starting.
  while (!(await spec.ready().catch(() => false))) {
    if (exited || Date.now() > deadline) {
      await running.stop()
      const why = Date.now() > deadline ? `is not ready after ${timeoutMs} ms` : (failure?.message ?? 'ended')
      throw new Error(`${spec.name} ${why}; the end of ${spec.logFile}:\n${await tail(spec.logFile)}`)
    }
    await sleep(50)
  }
  child.once('exit', () => {
    if (!stopping) spec.onCrash?.(`${spec.name} ${failure?.message}; see ${spec.logFile}`)
  })
  return running
}

export async function runCommand(command: string, args: string[], options: CommandOptions): Promise<CommandResult> {
  const child = spawnTied(command, args, { cwd: options.cwd, env: options.env, stdio: ['pipe', 'pipe', 'pipe'] })
  return new Promise((resolve, reject) => {
    let stdout = ''
    let stderr = ''
    const timeoutMs = options.timeoutMs ?? 60_000
    const timer = setTimeout(() => {
      stderr += `\nstopped after ${timeoutMs} ms`
      child.kill('SIGKILL')
    }, timeoutMs)
    child.stdout?.setEncoding('utf8').on('data', (chunk: string) => {
      stdout += chunk
    })
    child.stderr?.setEncoding('utf8').on('data', (chunk: string) => {
      stderr += chunk
    })
    // A program that ends without reading its input is no error of ours; its exit code says what happened.
    child.stdin?.on('error', () => undefined)
    child.stdin?.end(options.input ?? '')
    child.once('error', (error) => {
      clearTimeout(timer)
      reject(error)
    })
    child.once('close', (code) => {
      clearTimeout(timer)
      resolve({ stdout, stderr, code: code ?? 1 })
    })
  })
}

// Distinct ports: all are held at once before any is given back. A test file that runs at the same time in another worker takes its ports
// from another range, and programs that connect take theirs above.
export async function freePorts(count: number): Promise<number[]> {
  const held: Server[] = []
  while (held.length < count) {
    const server = await listening({ host: '127.0.0.1', port: randomInt(firstPort, firstPort + portsPerWorker) })
    if (server) held.push(server)
  }
  const ports = held.map((server) => (server.address() as AddressInfo).port)
  await Promise.all(held.map((server) => new Promise((resolve) => server.close(resolve))))
  return ports
}

// The numbers of Vitest's workers begin with 1. Below the ports that Linux gives to connections.
const portsPerWorker = 5_000
const firstPort = 10_000 + portsPerWorker * (Number(process.env['VITEST_POOL_ID'] ?? 0) % 4)

// The folder goes when it is removed below or with this process, unless LODESTONE_E2E_KEEP=1 asks for the logs.
export async function makeTemporaryFolder(): Promise<string> {
  installExitHooks()
  const dir = await mkdtemp(join(tmpdir(), 'lodestone-e2e-'))
  if (process.env['LODESTONE_E2E_KEEP'] !== '1') folders.add(dir)
  return dir
}

export async function removeTemporaryFolder(dir: string): Promise<void> {
  if (folders.delete(dir)) await rm(dir, { recursive: true, force: true })
}

async function tail(file: string, lines = 30): Promise<string> {
  const text = await readFile(file, 'utf8').catch(() => '(no log)')
  return text.trimEnd().split('\n').slice(-lines).join('\n')
}

interface SpawnOptions {
  cwd: string
  env: Record<string, string>
  stdio: ['ignore' | 'pipe', number | 'pipe', number | 'pipe']
}

function spawnTied(command: string, args: string[], options: SpawnOptions): ChildProcess {
  installExitHooks()
  const [program = command, ...rest] = [...tieToParent(), command, ...args]
  const child = spawn(program, rest, { ...options, env: { ...compileCache(), ...options.env } })
  children.add(child)
  child.once('exit', () => children.delete(child))
  child.once('error', () => children.delete(child))
  return child
}

// Lodestone starts some hundred times in a run, and is compiled once: vitest.config.ts says where that is kept.
function compileCache(): Record<string, string> {
  const folder = process.env['NODE_COMPILE_CACHE']
  return folder === undefined ? {} : { NODE_COMPILE_CACHE: folder }
}

// With PR_SET_PDEATHSIG the kernel ends the child even when this process is killed with SIGKILL and no hook of
// ours runs any more. setpriv replaces itself by the program, so the process id stays that of the program.
function tieToParent(): string[] {
  if (deathSignalWrapper === undefined) {
    const [program, ...options] = ['setpriv', '--pdeathsig', 'KILL'] as const
    const works = process.platform === 'linux' && spawnSync(program, [...options, 'true']).status === 0
    deathSignalWrapper = works ? [program, ...options] : []
  }
  return deathSignalWrapper
}

function installExitHooks(): void {
  if (exitHooksInstalled) return
  exitHooksInstalled = true
  process.on('exit', cleanUp)
  // The channel of a forked test worker closes when the test runner is gone. Without this the worker would run on to the
  // end of its file and start programs again.
  process.on('disconnect', () => process.exit())
  for (const signal of ['SIGINT', 'SIGTERM', 'SIGHUP'] as const) {
    process.on(signal, () => {
      cleanUp()
      // A listener disables the default action; if this is the only listener it has to end the process.
      if (process.listenerCount(signal) === 1) process.exit(1)
    })
  }
}

function cleanUp(): void {
  for (const child of children) child.kill('SIGKILL')
  // Best effort: a program that is ending may still write.
  for (const dir of folders) rmSync(dir, { recursive: true, force: true, maxRetries: 5 })
}
