/** `lodestone serve --folder` as a child process: started, measured, and started again when it ends. */
import { type ChildProcess, spawn } from 'node:child_process'
import {
  closeSync,
  existsSync,
  mkdirSync,
  openSync,
  readFileSync,
  statSync,
  truncateSync,
  writeFileSync,
} from 'node:fs'
import { type AddressInfo, createServer } from 'node:net'
import { join } from 'node:path'
import { setTimeout as sleep } from 'node:timers/promises'
import { memoryMiB } from '../../bench/harness/process.ts'
import { mainThreadMs } from './cpu-time.ts'

const MAIN = join(import.meta.dirname, '..', '..', 'dist', 'main.js')
const STARTUP_MS = 60_000
const MAX_STARTS = 3
const MAX_LOG_BYTES = 32 * 1024 * 1024

export class ServerProcess {
  readonly folder: string
  readonly #work: string
  #child: ChildProcess | undefined
  readonly #logFile: string
  #ended = true
  port = 0
  ca = ''

  /** @param folder the manifests that are served; `work` is a folder for everything else */
  constructor(folder: string, work: string) {
    this.folder = folder
    this.#work = work
    this.#logFile = join(work, 'server.log')
    mkdirSync(work, { recursive: true })
  }

  get isRunning(): boolean {
    return !this.#ended
  }

  /** Another program may take a free port before the server does, so a server that does not start is started again on others. */
  async start(): Promise<void> {
    for (let attempt = 1; !(await this.#startsOnFreePorts()); attempt++) {
      if (attempt === MAX_STARTS) throw new Error(`the server does not start: ${this.lastWords()}`)
      await this.stop()
    }
  }

  async #startsOnFreePorts(): Promise<boolean> {
    const [port, healthPort] = await Promise.all([freePort(), freePort()])
    const certificates = join(this.#work, 'certificates')
    const config = join(this.#work, 'config.json')
    writeFileSync(
      config,
      JSON.stringify({
        server: { host: '127.0.0.1', port, healthHost: '127.0.0.1', healthPort, drainSeconds: 0 },
        certificates: { directory: certificates },
        // Only the folder decides the answers, so that the test can make the same decisions itself.
        loops: { enabled: false },
        log: { level: 'info', format: 'json' },
      }),
    )
    // Appended, so that the file can be emptied under the process that writes it.
    const log = openSync(this.#logFile, 'a')
    const child = spawn(process.execPath, [MAIN, 'serve', '--folder', this.folder, '--config', config], {
      stdio: ['ignore', 'ignore', log],
      env: { PATH: process.env['PATH'] ?? '', NODE_OPTIONS: '--max-semi-space-size=16' },
    })
    closeSync(log)
    this.#child = child
    this.#ended = false
    child.once('exit', () => {
      this.#ended = true
    })
    const deadline = Date.now() + STARTUP_MS
    while (!(await isReady(healthPort))) {
      if (this.#ended || Date.now() > deadline) return false
      await sleep(50)
    }
    this.port = port
    this.ca = readFileSync(join(certificates, 'ca.crt'), 'utf8')
    return true
  }

  /** CPU time of its main thread in ms, which depends less on other processes of the machine than the time of a clock. */
  mainThreadMs(): number {
    return this.#ended ? 0 : mainThreadMs(this.#child?.pid ?? 0)
  }

  /** The end of its log, with the stack of what ended it. */
  lastWords(): string {
    return existsSync(this.#logFile) ? readFileSync(this.#logFile, 'utf8').slice(-3_000) : ''
  }

  /** A million log lines are made, since making one must not fail, but they are not kept. */
  emptyLog(): void {
    if (existsSync(this.#logFile) && statSync(this.#logFile).size > MAX_LOG_BYTES) truncateSync(this.#logFile)
  }

  memoryMiB(): { now: number; peak: number } {
    return this.#ended ? { now: 0, peak: 0 } : memoryMiB(this.#child?.pid ?? 0)
  }

  async stop(): Promise<void> {
    const child = this.#child
    if (!child || this.#ended) return
    const ended = new Promise((resolve) => child.once('exit', resolve))
    child.kill('SIGKILL')
    await ended
  }
}

async function isReady(healthPort: number): Promise<boolean> {
  try {
    return (await fetch(`http://127.0.0.1:${healthPort}/readyz`)).status === 200
  } catch {
    return false // It refuses the connection: it is still starting.
  }
}

function freePort(): Promise<number> {
  return new Promise((resolve, reject) => {
    const server = createServer()
    server.once('error', reject)
    server.listen(0, '127.0.0.1', () => {
      const { port } = server.address() as AddressInfo
      server.close(() => resolve(port))
    })
  })
}
