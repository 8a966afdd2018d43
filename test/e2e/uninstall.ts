// Installs and runs `lodestone uninstall` with the rights of its own role, and looks for what it leaves in all kinds of an API server.
import type { KubeObject } from './api-client.ts'
import { lodestoneOutput, runLodestone } from './command.ts'
import type { ControlPlane } from './control-plane.ts'
import type { CommandResult } from './processes.ts'

export const uninstallerUser = 'system:serviceaccount:lodestone-system:lodestone-uninstall'

export interface Uninstaller {
  uninstall(...args: string[]): Promise<CommandResult>
  checkGone(): Promise<CommandResult>
}

// With the role that `lodestone manifests uninstall` prints, and no other rights.
export async function installUninstaller(plane: ControlPlane): Promise<Uninstaller> {
  await plane.kubectl(['apply', '-f', '-'], { input: await lodestoneOutput(['manifests', 'uninstall']) })
  const kubeconfig = await plane.kubeconfigFor(uninstallerUser)
  return {
    uninstall: (...args) => runLodestone(['uninstall', '--kubeconfig', kubeconfig, ...args]),
    checkGone: () => runLodestone(['check-install', '--gone', '--kubeconfig', plane.kubeconfig]),
  }
}

// The objects that mention Lodestone, as `Kind namespace/name`, in each kind that the API server lists. Events end by themselves. The namespace of
// Lodestone, the CRDs and the role of the uninstallation stay.
export async function mentions(plane: ControlPlane): Promise<string[]> {
  const { stdout: kinds } = await plane.kubectl(['api-resources', '--verbs=list', '-o', 'name'])
  const listed = kinds.split('\n').filter((kind) => kind !== '' && !/^(events|customresourcedefinitions)\b/.test(kind))
  const { stdout } = await plane.kubectl(['get', listed.join(','), '-A', '-o', 'json', '--ignore-not-found'])
  const { items } = JSON.parse(stdout) as { items: KubeObject[] }
  return items
    .filter(({ metadata: { name, namespace = '' } }) => !/^lodestone-(uninstall|system)/.test(`${namespace || name}`))
    .filter(({ kind, metadata: { name } }) => kind !== 'Work' || !name.startsWith('lodestone-system'))
    .filter((object) => JSON.stringify(object).includes('lodestone'))
    .map(({ kind, metadata: { namespace = '', name } }) => `${kind} ${namespace}/${name}`)
    .sort()
}
