/** One check of an installation: its input, its result, and how the requests of a check fail. */
import type { Config } from '../../app/config/config.ts'
import { shellWord } from '../../base/shell-word.ts'
import type { ApiConnection } from '../../store/cluster/api-connection.ts'
import { ApiError } from '../../store/cluster/api-error.ts'

/** The input of checks that only read objects. The page runs these. */
export interface ReadContext {
  connection: ApiConnection
  config: Config
  signal: AbortSignal
  /** Milliseconds since the epoch. */
  now: number
}

export interface CheckContext extends ReadContext {
  /** The file of the configuration; undefined for the defaults. */
  configFile: string | undefined
  /** The namespace of objects that are created with a dry run. */
  namespace: string
  /** The account of Lodestone on this API server. */
  serviceAccount: { namespace: string; name: string }
}

/** `warning` and `skipped` do not fail the command. */
export type Result = 'passed' | 'warning' | 'failed' | 'skipped'

export interface Finding {
  result: Result
  message: string
  /** How to correct it: for each failure and warning. */
  remedy?: string
}

export interface Check<Context extends ReadContext = CheckContext> {
  name: string
  run(context: Context): Promise<Finding>
}

export interface NamedFinding extends Finding {
  name: string
}

export const passed = (message: string): Finding => ({ result: 'passed', message })
export const skipped = (message: string): Finding => ({ result: 'skipped', message })
export const warning = (message: string, remedy: string): Finding => ({ result: 'warning', message, remedy })
export const failed = (message: string, remedy: string): Finding => ({ result: 'failed', message, remedy })

/** Returns the option of a remedy that names the configuration of this command, with a space before it; empty without one. */
export function configWords({ configFile }: Pick<CheckContext, 'configFile'>): string {
  return configFile === undefined ? '' : ` --config ${shellWord(configFile)}`
}

/** Runs the checks one after another. A request that the API server rejects fails its check only. */
export async function runChecks<Context extends ReadContext>(
  checks: readonly Check<Context>[],
  context: Context,
): Promise<NamedFinding[]> {
  const findings: NamedFinding[] = []
  for (const { name, run } of checks) {
    context.signal.throwIfAborted()
    findings.push({ name, ...(await runCheck(() => run(context))) })
  }
  return findings
}

async function runCheck(run: () => Promise<Finding>): Promise<Finding> {
  try {
    return await run()
  } catch (error) {
    if (!(error instanceof ApiError)) throw error
    const remedy =
      error.status === 403
        ? 'run the command as an administrator, or grant the user this permission'
        : 'correct the API server, and run the command again'
    return failed(error.message, remedy)
  }
}
