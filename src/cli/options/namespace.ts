/** The namespace of a command: that of `-n`, or else that of the context, as kubectl chooses it. */
import { labelProblem } from '../../base/names.ts'
import { connectionNamespace } from '../../store/cluster/connection.ts'
import { type Arguments, type CommandIo, UsageError } from '../command.ts'
import { selectConnection } from './connect.ts'

/** Returns the option `-n` of a command with this description. */
export function namespaceOption(description: string) {
  return { namespace: { type: 'string', short: 'n', value: 'NAMESPACE', description } } as const
}

/** The namespace of kubectl without `-n` and without one in its context. */
export const DEFAULT_NAMESPACE = 'default'

/** Returns the namespace of `-n`, or else of the context, or else `default`. Throws `UserError` for one that is not a name. */
export async function readNamespace(args: Arguments, io: CommandIo): Promise<string> {
  return givenNamespace(args) ?? (await contextNamespace(args, io)) ?? DEFAULT_NAMESPACE
}

/** Returns the namespace of `-n`. Throws `UsageError` for one that is not a name. */
export function givenNamespace(args: Arguments): string | undefined {
  const namespace = args.text('namespace')
  const problem = namespace === undefined ? undefined : labelProblem(namespace)
  if (problem) throw new UsageError(`-n ${namespace}: ${problem}`)
  return namespace
}

/** Returns the namespace of the context of the kubeconfig, or of the ServiceAccount of the pod. A folder has no context. */
export async function contextNamespace(args: Arguments, io: CommandIo): Promise<string | undefined> {
  if (args.text('folder') !== undefined) return undefined
  return connectionNamespace(selectConnection(args, io, { usesHome: true }))
}
