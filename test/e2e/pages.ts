// The shell blocks of the documentation, as commands that a test can run.
import { readFileSync } from 'node:fs'
import { join } from 'node:path'

const repository = join(import.meta.dirname, '..', '..')

export interface Block {
  page: string
  // In order; a command may have several lines.
  commands: string[]
}

/** Returns the blocks of a page that a user may run: those of the languages sh and console, also in lists. */
export function blocksOf(page: string): Block[] {
  const text = readFileSync(join(repository, page), 'utf8')
  return [...text.matchAll(/^( *)```(sh|console)\n(.*?)^\1```$/gms)].map(([, indent = '', language, body = '']) => {
    const lines = body.split('\n').map((line) => line.slice(indent.length))
    return { page, commands: language === 'sh' ? commandsOf(lines) : promptedOf(lines) }
  })
}

/** Every line is input. */
function commandsOf(lines: readonly string[]): string[] {
  const commands: string[] = []
  for (let at = 0; at < lines.length; ) {
    const end = endOf(lines, at)
    const command = lines.slice(at, end).join('\n')
    if (!/^\s*(#|$)/.test(command)) commands.push(command)
    at = end
  }
  return commands
}

/** Input follows a prompt. The other lines are output. */
function promptedOf(lines: readonly string[]): string[] {
  return lines.flatMap((line, at) => {
    if (!line.startsWith('$ ')) return []
    const input = [line.slice(2), ...lines.slice(at + 1)]
    return [input.slice(0, endOf(input, 0)).join('\n')]
  })
}

/** The line after a command: it goes on after a backslash or an operator, within quotes, and to the end of a here document. */
function endOf(lines: readonly string[], from: number): number {
  let end = from
  for (;;) {
    const line = lines[end++] ?? ''
    const [, marker] = /<<'?(\w+)'?/.exec(line) ?? []
    if (marker !== undefined) {
      while (end < lines.length && lines[end] !== marker) end++
      return end + 1
    }
    const isOpen = lines.slice(from, end).join('\n').split("'").length % 2 === 0
    if (end >= lines.length || !(isOpen || /(\\|&&|\|)$/.test(line))) return end
  }
}
