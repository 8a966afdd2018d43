// The completion scripts in real shells: what the command line is after the user pressed Tab.
import { chmod, cp, writeFile } from 'node:fs/promises'
import { delimiter, join } from 'node:path'
import { describe, expect, onTestFinished, test } from 'vitest'
import { orSkip } from './peers/runtimes.ts'
import { makeTemporaryFolder, removeTemporaryFolder, runCommand } from './processes.ts'
import { findShell, type Shell, type ShellName } from './shells.ts'
import { openTerminal, type Terminal } from './terminal.ts'

const root = join(import.meta.dirname, '..', '..')
const [clearLine, tab, showLine] = ['\x15', '\t', '\x18']

interface Case {
  line: string
  after: string
  offers?: string[]
  // Shown by zsh and fish.
  descriptions?: string[]
}

const cases: Case[] = [
  { line: 'lodestone expl', after: 'lodestone explain ' },
  { line: 'lodestone unknown x', after: 'lodestone unknown x' },
  {
    line: 'lodestone status --con',
    after: 'lodestone status --con',
    offers: ['--config', '--context'],
    descriptions: ['Context of the kubeconfig (default: the current one)'],
  },
  { line: 'lodestone status --kubec', after: 'lodestone status --kubeconfig ' },
  { line: 'lodestone completion ', after: 'lodestone completion ', offers: ['bash', 'fish', 'zsh'] },
  { line: 'lodestone check --output=js', after: 'lodestone check --output=json ' },
  { line: 'lodestone check -o=js', after: 'lodestone check -o=json ' },
  // No space: a name follows.
  { line: 'lodestone explain dep', after: 'lodestone explain deployment/' },
  {
    line: 'lodestone explain --folder ~/hub -n demo deployment/tr',
    after: 'lodestone explain --folder ~/hub -n demo deployment/trainer ',
  },
  {
    line: 'lodestone explain --folder $HOME/hub -n=demo deployment tr',
    after: 'lodestone explain --folder $HOME/hub -n=demo deployment trainer ',
  },
  { line: 'lodestone check -f hub/workl', after: 'lodestone check -f hub/workload.yaml ' },
  { line: 'lodestone status --folder hu', after: 'lodestone status --folder hub/' },
  { line: 'lodestone status --folder=hu', after: 'lodestone status --folder=hub/' },
]

describe.each<ShellName>(['bash', 'zsh', 'fish'])('in a real %s', (name) => {
  test('Tab completes commands, options, values, kinds, names and paths', async (context) => {
    const terminal = await openShell(name, await orSkip(context, findShell(name)))
    for (const { line, after, offers = [], descriptions = [] } of cases) {
      const [printed, shown] = await terminal.press(`${clearLine}${line}${tab}${showLine}`, /^.*?LINE<(.*?)>/s)
      expect.soft({ line, after: shown }).toEqual({ line, after })
      const choices = name === 'bash' ? offers : [...offers, ...descriptions]
      for (const choice of choices) expect.soft(printed).toContain(choice)
    }
  })
})

// Opens the shell in an empty home with the examples in `hub`, with the command `lodestone` and its completion.
async function openShell(name: ShellName, { command, env, setup }: Shell): Promise<Terminal> {
  const home = await makeTemporaryFolder()
  onTestFinished(() => removeTemporaryFolder(home))
  const program = join(home, 'lodestone')
  await writeFile(program, `#!/bin/sh\nexec '${process.execPath}' '${join(root, 'src', 'main.ts')}' "$@"\n`)
  await chmod(program, 0o755)
  const { stdout: script } = await runCommand(program, ['completion', name], { cwd: home, env: {} })
  await cp(join(root, 'examples', 'hub'), join(home, 'hub'), { recursive: true })
  // The command line that is echoed does not match what it prints.
  await writeFile(join(home, 'setup'), `${setup}\n${script}\nprintf 'the shell is %s\\n' ready\n`)
  const path = [home, process.env['PATH']].join(delimiter)
  // Each Tab starts Lodestone.
  const { NODE_COMPILE_CACHE = '' } = process.env
  const terminal = openTerminal({ command, cwd: home, env: { ...env, NODE_COMPILE_CACHE, PATH: path, HOME: home } })
  onTestFinished(() => terminal.close())
  await terminal.press(`source '${join(home, 'setup')}'\r`, /the shell is ready/)
  return terminal
}
