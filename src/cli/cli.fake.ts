/** Runs commands in the process of a test, with real folders and captured output. */
import { mkdirSync, readdirSync, readFileSync, writeFileSync } from 'node:fs'
import { dirname, join } from 'node:path'
import { stringify } from 'yaml'
import { temporaryFolder } from '../../test/temporary-folder.ts'
import type { CommandIo } from './command.ts'
import { runCli } from './index.ts'

interface CliAnswer {
  status: number
  stdout: string
  stderr: string
}

/** Runs a command and returns its exit status and output. */
export async function runWords(
  words: string[],
  { isTTY = false, ...io }: Partial<CommandIo> & { isTTY?: boolean } = {},
) {
  const answer: CliAnswer = { status: -1, stdout: '', stderr: '' }
  answer.status = await runCli(words, {
    stdout: { isTTY, write: (text) => (answer.stdout += text) },
    stderr: { isTTY, write: (text) => (answer.stderr += text) },
    env: {},
    signal: new AbortController().signal,
    now: () => Date.parse('2026-11-20T12:00:00Z'),
    ...io,
  })
  return answer
}

/** Creates a folder with these files until the end of the test. Objects are written as YAML, lists as several documents. */
export function makeFolder(files: Record<string, unknown> = {}): string {
  const folder = temporaryFolder()
  for (const [name, content] of Object.entries(files)) {
    mkdirSync(dirname(join(folder, name)), { recursive: true })
    writeFileSync(join(folder, name), typeof content === 'string' ? content : toYaml(content))
  }
  return folder
}

function toYaml(content: unknown): string {
  return (Array.isArray(content) ? content : [content]).map((value) => stringify(value)).join('---\n')
}

/** Creates a kubeconfig file for an API server until the end of the test. `context`: further fields of its context. */
export function makeKubeconfig(server: string, context: { namespace?: string } = {}): string {
  const name = 'hub'
  const kubeconfig = {
    apiVersion: 'v1',
    kind: 'Config',
    'current-context': name,
    clusters: [{ name, cluster: { server } }],
    users: [{ name, user: {} }],
    contexts: [{ name, context: { cluster: name, user: name, ...context } }],
  }
  return join(makeFolder({ [name]: kubeconfig }), name)
}

/** Every file below a folder with its text, to compare before and after. */
export function readFolder(folder: string): Record<string, string> {
  const files = readdirSync(folder, { recursive: true, withFileTypes: true }).filter((entry) => entry.isFile())
  return Object.fromEntries(
    files.map(({ parentPath, name }) => [join(parentPath, name), readFileSync(join(parentPath, name), 'utf8')]),
  )
}
