import { join } from 'node:path'
import { describe, expect, test } from 'vitest'
import { makeFolder, runWords } from './cli.fake.ts'
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
    { name: 'an option', words: ['check', '--fodler', 'x'], want: 'unknown option --fodler (did you mean --folder?)' },
    {
      name: 'an option that resembles no other',
      words: ['serve', '--frobnicate'],
      want: /unknown option --frobnicate\n/,
    },
    { name: 'a short option', words: ['check', '-x'], want: 'unknown option -x' },
    {
      name: 'an option without its value',
      words: ['check', '-f'],
      want: "--file needs a value: --file=FILE\nSee 'lodestone check --help'.",
    },
    { name: 'an unexpected argument', words: ['serve', 'examples/hub'], want: 'unexpected argument examples/hub' },
    { name: 'an output format', words: ['check', 'x', '-o', 'jsno'], want: 'not jsno (did you mean json?)' },
    {
      name: 'a value that would steer a terminal',
      words: ['explain', 'red\u001b[31m/x', '--folder', 'examples/hub'],
      want: /unknown kind red \[31m/,
    },
    { name: 'a command that would steer a terminal', words: ['red\u001b[31m'], want: /unknown command red \[31m\n/ },
    { name: 'no file to check', words: ['check'], want: 'missing -f FILE: a file, a folder, or - for standard input' },
    { name: 'a missing file', words: ['check', '-f', 'no.yaml'], want: 'no.yaml does not exist' },
    {
      name: 'a URL, which kubectl reads',
      words: ['check', '-f', 'https://example.com/app.yaml'],
      want: 'https://example.com/app.yaml is a URL, and only files are read; pipe its text into -f -',
    },
    { name: 'no argument to explain', words: ['explain'], want: 'expected KIND/NAME or KIND NAME' },
    { name: 'two arguments to explain', words: ['explain', 'a/b', 'c/d'], want: 'not a/b c/d' },
    {
      name: 'a kind without a name',
      words: ['explain', 'deployment'],
      want: 'e.g. deployment/trainer, not deployment',
    },
    {
      name: 'a kind',
      words: ['explain', 'deploymnet/web', '--folder', 'examples/hub'],
      want: 'unknown kind deploymnet (did you mean deployment?); write another kind with its version',
    },
    {
      name: 'a kind that only an API server knows',
      words: ['explain', 'foo.example.com/x', '--folder', 'examples/hub'],
      want: 'with its version and group, e.g. RayJob.v1.ray.io',
    },
    {
      name: 'a folder and a kubeconfig to explain',
      words: ['explain', 'A.b/c', '--folder', '.', '--kubeconfig', 'x'],
      want: 'exclude',
    },
    {
      name: 'a folder and a kubeconfig to serve',
      words: ['serve', '--folder', '.', '--kubeconfig', 'x'],
      want: 'exclude each other',
    },
    {
      name: 'a missing folder to explain',
      words: ['explain', 'A.b/c', '--folder', 'none'],
      want: 'folder none does not exist',
    },
    {
      name: 'a missing folder to check with',
      words: ['check', 'package.json', '--folder', 'none'],
      want: 'none does not exist',
    },
    { name: 'a missing folder to serve', words: ['serve', '--folder', 'none'], want: 'the folder none does not exist' },
    { name: 'a part of the manifests', words: ['manifests', 'crd'], want: '(did you mean crds?)' },
    { name: 'a log level', words: ['serve', '--log-level', 'inf'], want: 'not inf (did you mean info?)' },
    { name: 'a port', words: ['serve', '--port', '99999'], want: '--port takes a port from 0 to 65535, not 99999' },
    { name: 'another port', words: ['serve', '--health-port', 'x'], want: '--health-port takes a port' },
    { name: 'a kubeconfig', words: ['serve', '--kubeconfig', 'none'], want: 'kubeconfig none: ' },
    {
      name: 'a host',
      words: ['certs', '--host', 'no_host!'],
      want: '--host: "no_host!" is neither a DNS name nor an IP',
    },
    { name: 'a URL', words: ['manifests', '--url', 'http://x'], want: '--url takes an https URL' },
    { name: 'a CA file', words: ['manifests', '--ca', 'none'], want: '--ca none: no such file or directory' },
    {
      name: 'a CA file without a certificate',
      words: ['manifests', '--ca', 'package.json'],
      want: 'has no certificate',
    },
  ])('$name: $words', async ({ words, want }) => {
    const { status, stdout, stderr } = await runWords(words)

    expect({ status, stdout }).toEqual({ status: 2, stdout: '' })
    expect(stderr).toMatch(/^lodestone/)
    expect(stderr).toMatch(want instanceof RegExp ? want : new RegExp(want.replaceAll(/[.?()]/g, '\\$&')))
    expect(stderr).not.toMatch(/^\s+at /m)
    expect(stderr.endsWith('\n')).toBe(true)
  })
})

describe('an invalid configuration file causes exit status 2, with the file and every path', () => {
  test.each([{ command: 'serve' }, { command: 'certs' }, { command: 'manifests' }])('$command', async ({ command }) => {
    const folder = makeFolder({ 'lodestone.yaml': { server: { prot: 1, host: '' }, log: { level: 'loud' } } })
    const file = join(folder, 'lodestone.yaml')

    const { status, stdout, stderr } = await runWords([command, '--config', file])

    expect({ status, stdout }).toEqual({ status: 2, stdout: '' })
    expect(stderr).toContain(`lodestone ${command}: ${file}: `)
    for (const path of ['server.prot', 'server.host', 'log.level']) expect(stderr).toContain(`${path}: `)
  })

  test('that does not exist', async () => {
    const { status, stderr } = await runWords(['serve', '--config', 'none.yaml'])

    expect(status).toBe(2)
    expect(stderr).toContain('none.yaml: no such file or directory')
  })

  test('that is not YAML', async () => {
    const file = join(makeFolder({ 'lodestone.yaml': 'server: [' }), 'lodestone.yaml')

    const { status, stderr } = await runWords(['serve', '--config', file])

    expect(status).toBe(2)
    expect(stderr).toContain(`${file}:1: is not valid YAML: `)
  })
})

describe('an error of a command', () => {
  test.each([
    {
      name: 'in the arguments',
      words: ['explain', 'deployment/app', '--kubeconfig', 'none', '--folder', 'none'],
      want: 'lodestone explain: --folder and --kubeconfig exclude each other: a folder is used without a cluster\n',
    },
    {
      name: 'in the configuration',
      words: ['certs', '--config', 'none.yaml'],
      want: 'lodestone certs: none.yaml: no such file or directory\n',
    },
    {
      name: 'in the kubeconfig',
      words: ['status', '--kubeconfig', 'none'],
      want: 'lodestone status: kubeconfig none: no such file or directory\n',
    },
  ])('$name causes exit status 2 and one line', async ({ words, want }) => {
    expect(await runWords(words)).toEqual({ status: 2, stdout: '', stderr: want })
  })

  test('that the user cannot fix is thrown unchanged, and only the entry point prints it', async () => {
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
})
