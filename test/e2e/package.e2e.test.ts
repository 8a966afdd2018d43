// The package as a plugin of the real kubectl, which finds it in the PATH.
import { mkdtemp, rm } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { delimiter, dirname, join } from 'node:path'
import { afterAll, beforeAll, expect, onTestFinished, test } from 'vitest'
import { installPackage } from '../installed-package.ts'
import { ensureKubernetesBinaries } from './binaries.ts'
import { startControlPlane } from './control-plane.ts'
import { type CommandResult, runCommand } from './processes.ts'

let prefix: string
let installed: string
let kubectl: string

beforeAll(async () => {
  prefix = await mkdtemp(join(tmpdir(), 'lodestone-plugin-'))
  installed = await installPackage(prefix)
  kubectl = (await ensureKubernetesBinaries()).kubectl
})
afterAll(() => rm(prefix, { recursive: true, force: true }))

function runKubectl(...words: string[]): Promise<CommandResult> {
  const path = [join(prefix, 'bin'), dirname(process.execPath), process.env['PATH']].join(delimiter)
  return runCommand(kubectl, words, { cwd: installed, env: { PATH: path, HOME: prefix }, timeoutMs: 60_000 })
}

test('kubectl lists the plugin', async () => {
  const { stdout } = await runKubectl('plugin', 'list')
  expect(stdout).toContain(join(prefix, 'bin', 'kubectl-lodestone'))
})

test('kubectl lodestone explain explains a workload', async () => {
  const { code, stdout, stderr } = await runKubectl(
    ...['lodestone', 'explain', 'deployment/trainer', '-n', 'demo', '--folder', 'examples/hub'],
  )
  expect({ code, stderr }).toEqual({ code: 0, stderr: '' })
  expect(stdout).toContain('member2')
})

test('kubectl passes the exit status of the plugin on', async () => {
  expect(await runKubectl('lodestone', 'explain', 'deployment')).toMatchObject({ code: 2, stdout: '' })
})

test.each([
  { words: ['expl'], printed: ['explain', ':4'] },
  { words: ['explain', 'datasourcec'], printed: ['datasourceclaim/', ':6'] },
  { words: ['check', '--output=js'], printed: ['json', ':4'] },
  {
    words: ['explain', '--folder', 'examples/hub', '-n', 'demo', 'deployment/'],
    printed: ['deployment/trainer', ':4'],
  },
])('kubectl completes the plugin: $words', async ({ words, printed }) => {
  const { code, stdout } = await runKubectl('__complete', 'lodestone', ...words)
  expect({ code, printed: stdout.trimEnd().split('\n') }).toEqual({ code: 0, printed })
})

test.each(['bash', 'zsh', 'fish'])('the package has the completion script of %s', async (shell) => {
  const { code, stdout, stderr } = await runKubectl('lodestone', 'completion', shell)
  expect({ code, stderr }).toEqual({ code: 0, stderr: '' })
  expect(stdout).toContain('__complete')
})

test('check-install of the package prints a finding per check of an API server', async () => {
  const plane = await startControlPlane({ karmada: false })
  onTestFinished(() => plane.stopAll())
  const { code, stdout, stderr } = await runKubectl('lodestone', 'check-install', '--kubeconfig', plane.kubeconfig)
  expect({ code, stderr }).toEqual({ code: 1, stderr: '' })
  expect(stdout).toMatch(/^✔ kubernetes {4}v1\./)
  expect(stdout).toMatch(/^✘ registration {2}missing: .*\n {16}→ create it with the chart/m)
})
