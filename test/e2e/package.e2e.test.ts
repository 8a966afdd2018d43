// The package as a plugin of the real kubectl, which finds it in the PATH.
import { mkdtemp, rm } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { delimiter, dirname, join } from 'node:path'
import { afterAll, beforeAll, expect, test } from 'vitest'
import { installPackage } from '../installed-package.ts'
import { ensureKubernetesBinaries } from './binaries.ts'
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
