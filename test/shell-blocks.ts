/** The shell blocks of the documentation, as commands that a test can run. */
import { readFileSync } from 'node:fs'
import { join } from 'node:path'

const repository = join(import.meta.dirname, '..')

export interface Block {
  page: string
  /** The heading above it. */
  section: string
  /** In order; a command may have several lines. */
  commands: string[]
  /** What the page shows below each command. Empty for a block of the language sh, which shows none. */
  outputs: string[]
}

/** Returns the blocks of a page that a user may run: those of the languages sh and console, also in lists. */
export function blocksOf(page: string): Block[] {
  const text = readFileSync(join(repository, page), 'utf8')
  return [...text.matchAll(/^( *)```(sh|console)\n(.*?)^\1```$/gms)].map(
    ({ 1: indent = '', 2: language, 3: body = '', index }) => {
      const section = [...text.slice(0, index).matchAll(/^#+ (.*)$/gm)].at(-1)?.[1] ?? ''
      const lines = body.split('\n').map((line) => line.slice(indent.length))
      const content = language === 'sh' ? { commands: commandsOf(lines), outputs: [] } : promptedOf(lines)
      return { page, section, ...content }
    },
  )
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
function promptedOf(lines: readonly string[]): Pick<Block, 'commands' | 'outputs'> {
  const [commands, outputs]: [string[], string[]] = [[], []]
  for (let at = 0; at < lines.length; ) {
    const isInput = lines[at]?.startsWith('$ ') === true
    const input = [lines[at]?.slice(2) ?? '', ...lines.slice(at + 1)]
    const end = isInput ? endOf(input, 0) : 1
    if (isInput) {
      commands.push(input.slice(0, end).join('\n'))
      outputs.push('')
      // The line after the last one is no output.
    } else if (at < lines.length - 1) outputs.push(`${outputs.pop() ?? ''}${lines[at]}\n`)
    at += end
  }
  return { commands, outputs }
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

/**
 * The arguments of `lodestone` for each command of a block, if all of them only read manifests of the examples. They need no shell, no API
 * server, and no file that a block before them writes.
 */
export function wordsOnExamples({ commands }: Block): string[][] | undefined {
  const words = commands.map(
    (command) =>
      /^(?:npm run -s )?lodestone (?:-- )?((?:check|explain|status|what-if) .*)$/.exec(command)?.[1]?.split(' ') ?? [],
  )
  return words.every(readExamples) ? words : undefined
}

function readExamples(words: readonly string[]): boolean {
  const isFile = (_: string, i: number) => ['-f', '--folder', '--policy'].includes(words[i - 1] ?? '')
  const files = words.filter(isFile)
  const plain = words.every((word) => /^[\w./=:-]+$/.test(word)) && !words.includes('-o')
  return plain && files.length > 0 && files.every((file) => file.startsWith('examples/'))
}

/** A block by its page and the beginning of its first command, and by its section if others begin so. */
export type BlockName = readonly [page: string, begin: string, section?: string]

/** @throws if not exactly one block of the page begins so */
export function findBlock([page, begin, section]: BlockName): Block {
  const found = blocksOf(page).filter(
    (block) => block.commands[0]?.startsWith(begin) && (section === undefined || block.section === section),
  )
  if (found[0] === undefined || found.length > 1) throw new Error(`${page}: ${found.length} blocks begin with ${begin}`)
  return found[0]
}

export const nameOf = ({ page, section, commands }: Block) => `${page}, ${section}: ${commands[0]}`
