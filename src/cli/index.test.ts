import { describe, expect, test } from 'vitest'
import { runWords } from './cli.fake.ts'
import { loadCommands } from './index.ts'

const commands = await loadCommands()

describe('the overview', () => {
  test.each([{ words: ['help'] }, { words: ['--help'] }, { words: ['-h'] }])(
    '$words names every command and what it is for',
    async ({ words }) => {
      const { status, stdout, stderr } = await runWords(words)

      expect({ status, stderr }).toEqual({ status: 0, stderr: '' })
      const width = Math.max(...commands.map(({ name }) => name.length))
      const lines = commands.map(({ name, summary }) => `  ${name.padEnd(width)}  ${summary}\n`)
      expect(stdout).toContain(`Commands:\n${lines.join('')}\n`)
    },
  )

  test('is shown without arguments too, with exit status 2', async () => {
    const { status, stdout } = await runWords([])

    expect(status).toBe(2)
    expect(stdout).toContain('Usage: lodestone COMMAND')
  })
})

describe.each(commands)('the help of $name', ({ name, options, examples }) => {
  test.each([
    { words: [name, '--help'] },
    { words: [name, '-h'] },
    { words: ['help', name] },
    { words: ['--help', name] },
  ])('$words shows every option and the examples', async ({ words }) => {
    const { status, stdout, stderr } = await runWords(words)

    expect({ status, stderr }).toEqual({ status: 0, stderr: '' })
    for (const [option, { description }] of Object.entries(options)) {
      expect(stdout).toMatch(new RegExp(`--${option}\\b.* {2}`))
      expect(stdout).toContain(description)
    }
    for (const { command, does } of examples) expect(stdout).toContain(`  # ${does}\n  ${command}\n`)
    expect(examples.length).toBeGreaterThan(1)
    expect(stdout.endsWith('\n')).toBe(true)
  })

  test('has examples with existing options', () => {
    for (const { command } of examples) {
      const [, words = ''] = /lodestone (.*?)(?: \||$)/.exec(command) ?? []
      const used = [...words.matchAll(/ (--[a-z-]+|-[a-z])\b/g)].map(([, option]) => option)
      const known = Object.entries(options).flatMap(([long, { short }]) => [`--${long}`, `-${short}`])
      expect(known, command).toEqual(expect.arrayContaining(used))
    }
  })

  test('has examples that succeed with the files that they name', async () => {
    const reading = examples.filter(({ command }) =>
      /^lodestone (?:check|explain|status|what-if) [^|>]*examples\//.test(command),
    )
    for (const { command } of reading) {
      const { status, stderr } = await runWords(command.split(' ').slice(1))
      expect({ status, stderr }, command).toEqual({ status: 0, stderr: '' })
    }
  })
})

/** test/integration/mistakes-*.test.ts has the exact message of each mistake. */
describe('invalid arguments cause exit status 2, no standard output, and a remedy', () => {
  test.each([
    { name: 'a command', words: ['chek'], want: 'unknown command chek (did you mean check?)' },
    { name: 'a command in capitals', words: ['EXPLAIN'], want: 'unknown command EXPLAIN (did you mean explain?)' },
    { name: 'a command after help', words: ['help', 'serv'], want: 'unknown command serv (did you mean serve?)' },
    { name: 'a command that resembles no other', words: ['frobnicate'], want: /unknown command frobnicate\n/ },
    {
      name: 'a mistyped option without a command',
      words: ['--verison'],
      want: 'unknown option --verison (did you mean --version?)',
    },
    {
      name: 'an option before the command',
      words: ['-n', 'demo', 'status'],
      want: /unknown option -n; options follow the command\n/,
    },
    {
      name: 'an option without its value',
      words: ['check', '-f'],
      want: "--file needs a value: --file=FILE\nSee 'lodestone check --help'.",
    },
    {
      name: 'a value that would steer a terminal',
      words: ['explain', 'red\u001b[31m/x', '--folder', 'examples/hub'],
      want: /unknown kind red \[31m/,
    },
    { name: 'a command that would steer a terminal', words: ['red\u001b[31m'], want: /unknown command red \[31m\n/ },
  ])('$name: $words', async ({ words, want }) => {
    const { status, stdout, stderr } = await runWords(words)

    expect({ status, stdout }).toEqual({ status: 2, stdout: '' })
    expect(stderr).toMatch(/^lodestone/)
    expect(stderr).toMatch(want instanceof RegExp ? want : new RegExp(want.replaceAll(/[.?()]/g, '\\$&')))
    expect(stderr).not.toMatch(/^\s+at /m)
    expect(stderr.endsWith('\n')).toBe(true)
  })
})

test('only the entry point prints an error that the user cannot fix', async () => {
  const failure = new Error('write EPIPE')
  const printed: string[] = []
  const stdout = {
    write() {
      throw failure
    },
  }
  const run = runWords(['manifests', 'crds'], { stdout, stderr: { write: (text) => printed.push(`${text}`) } })

  await expect(run).rejects.toBe(failure)
  expect(printed).toEqual([])
})
