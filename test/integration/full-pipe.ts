/** Runs a command whose output goes into a full pipe, which is read later than the command ends. */
import { type ChildProcess, execFileSync, spawn } from 'node:child_process'
import { closeSync, constants, mkdtempSync, openSync, rmSync, writeSync } from 'node:fs'
import { Socket } from 'node:net'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { createInterface } from 'node:readline'
import { setTimeout as delay } from 'node:timers/promises'
import { PROCESS_ENVIRONMENT } from './process-environment.ts'

/** An ended command may live so long without its reader, and a while more, since a machine can be slow. */
const PAUSE_MS = 1200

export interface LateOutput {
  code: number | null
  /** How many bytes of standard output and standard error arrived. */
  arrived: number
  /** How many bytes the command printed. */
  printed: number
}

export interface CommandInFullPipe {
  child: ChildProcess
  /** Resolves when the command prints for the first time. */
  prints: Promise<void>
  /** Pauses, and reads everything. */
  readLate(): Promise<LateOutput>
}

/** Starts a command. Both its outputs go into one pipe that is full before. */
export function startInFullPipe(words: readonly string[], env: Record<string, string> = {}): CommandInFullPipe {
  const pipe = openFullPipe()
  const child = spawn(
    process.execPath,
    ['--import', new URL('./print-reporter.ts', import.meta.url).href, 'src/main.ts', ...words],
    {
      stdio: ['ignore', pipe.input, pipe.input, 'pipe'],
      env: { ...PROCESS_ENVIRONMENT, ...env },
    },
  )
  closeSync(pipe.input)
  const ended = new Promise<number | null>((resolve) => child.once('close', resolve))
  const reports: string[] = []
  const { promise: prints, resolve: startsToPrint } = Promise.withResolvers<void>()
  createInterface({ input: child.stdio[3] as Socket }).on('line', (line) => {
    reports.push(line)
    startsToPrint()
  })
  return {
    child,
    prints,
    async readLate() {
      await Promise.race([prints, ended])
      await delay(PAUSE_MS)
      const [arrived, code] = await Promise.all([pipe.readAll(), ended])
      return { code, arrived, printed: Number(reports.at(-1)) }
    },
  }
}

/** A named pipe without room for one more byte. */
function openFullPipe() {
  const folder = mkdtempSync(join(tmpdir(), 'lodestone-pipe-'))
  const path = join(folder, 'pipe')
  execFileSync('mkfifo', [path])
  const output = openSync(path, constants.O_RDONLY | constants.O_NONBLOCK)
  const input = openSync(path, constants.O_WRONLY | constants.O_NONBLOCK)
  rmSync(folder, { recursive: true })
  const filling = fill(input)
  return {
    input,
    /** Returns the number of bytes after those that filled the pipe. */
    async readAll(): Promise<number> {
      let bytes = -filling
      const socket = new Socket({ fd: output, readable: true, writable: false })
      for await (const chunk of socket) bytes += (chunk as Buffer).length
      return bytes
    },
  }
}

/** Writes until the pipe is full. Returns the number of bytes. */
function fill(input: number): number {
  const bytes = Buffer.alloc(64 * 1024)
  let written = 0
  for (;;) {
    try {
      written += writeSync(input, bytes)
    } catch (error) {
      if ((error as NodeJS.ErrnoException).code !== 'EAGAIN') throw error
      return written
    }
  }
}
