// A program in a terminal of its own, and the keys that a user presses in it. `script` of util-linux makes the terminal.
import { spawn } from 'node:child_process'
import { eventually } from './poll.ts'

export interface Terminal {
  // Presses the keys, and returns the first match in what the program prints afterwards.
  press(keys: string, expected: RegExp): Promise<RegExpExecArray>
  close(): void
}

export interface TerminalInput {
  // A command line for sh.
  command: string
  cwd: string
  env: Record<string, string>
}

export function openTerminal({ command, cwd, env }: TerminalInput): Terminal {
  // Wide enough for every line: a shell repeats parts of a line that it wraps. The program ends with its terminal, which ends with this process.
  const inTerminal = ['-qfc', `stty columns 300 rows 50; exec ${command}`, '/dev/null']
  const child = spawn('script', inTerminal, { cwd, env: { TERM: 'dumb', ...env }, stdio: ['pipe', 'pipe', 'ignore'] })
  let screen = ''
  let failure: Error | undefined
  child.once('error', (error) => {
    failure = error
  })
  child.stdin.on('error', (error) => {
    failure ??= error
  })
  child.stdout.setEncoding('utf8').on('data', (text: string) => {
    screen += text
  })
  return {
    async press(keys, expected) {
      const from = screen.length
      child.stdin.write(keys)
      const look = async () => {
        if (failure) throw failure
        const printed = screen.slice(from)
        const match = expected.exec(printed)
        if (!match) throw new Error(JSON.stringify(printed))
        return match
      }
      return eventually(`${command} prints ${expected}`, look, 60_000, 20)
    },
    close: () => void child.kill(),
  }
}
