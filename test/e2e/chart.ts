// Runs the real helm with the chart against a control plane.
import { mkdtemp, rm, writeFile } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { stringify } from 'yaml'
import { ensureHelm } from './binaries.ts'
import type { ControlPlane } from './control-plane.ts'
import { type CommandResult, runCommand } from './processes.ts'

export const chart = join(import.meta.dirname, '..', '..', 'charts', 'lodestone')
export const namespace = 'lodestone-system'
export const namespaceOf = (name: string, labels = {}) => ({
  apiVersion: 'v1',
  kind: 'Namespace',
  metadata: { name, labels },
})

export interface Helm {
  // Runs helm in the namespace of Lodestone, or in that of the words; a failure is a result too. An uninstallation needs --no-hooks: nothing runs Jobs.
  run(words: string[], values?: object): Promise<CommandResult>
  // Renders the chart without its test; the API server validates the objects.
  render(values: object): Promise<CommandResult>
  // Removes the folder of values and caches.
  close(): Promise<void>
}

export function helmOn(plane: ControlPlane, ensure = ensureHelm): Promise<Helm> {
  return openHelm(plane.kubeconfig, ensure)
}

/** Without a kubeconfig, helm renders and lints only. */
export async function openHelm(kubeconfig = '', ensure = ensureHelm): Promise<Helm> {
  const program = await ensure()
  const folder = await mkdtemp(join(tmpdir(), 'lodestone-chart-'))
  const env = { PATH: process.env['PATH'] ?? '', HOME: folder, KUBECONFIG: kubeconfig }
  const run: Helm['run'] = async (words, values) => {
    const file = join(folder, 'values.yaml')
    if (values) await writeFile(file, stringify(values, { compat: 'yaml-1.1' }))
    const args = ['--namespace', namespace, ...words, ...(values ? ['--values', file] : [])]
    return runCommand(program, args, { cwd: folder, env, timeoutMs: 120_000 })
  }
  return {
    run,
    render: (values) => run(['template', 'lodestone', chart, '--validate', '--skip-tests'], values),
    close: () => rm(folder, { recursive: true, force: true }),
  }
}
