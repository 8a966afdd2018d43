/** `lodestone check-install`: checks an installation, and waits until it works. */
import { setTimeout as sleep } from 'node:timers/promises'
import { loadConfig } from '../../app/config/config.ts'
import { printable } from '../../base/printable.ts'
import { UserError } from '../../base/user-error.ts'
import { RequestError } from '../../store/cluster/api-error.ts'
import { type Arguments, type Command, type CommandIo, type Paint, painter } from '../command.ts'
import { CONNECTION_OPTIONS, connect } from '../options/connect.ts'
import { namespaceOption, readNamespace } from '../options/namespace.ts'
import { configOption } from '../options/read-config.ts'
import { readDuration } from '../options/read-values.ts'
import { readServiceAccount, SERVICE_ACCOUNT_OPTION } from '../options/service-account.ts'
import { OUTPUT_API_VERSION, PLAIN_FORMATS, PLAIN_OUTPUT_OPTION, readFormat, renderData } from '../output.ts'
import { absence } from './absence.ts'
import { admission, narrowing } from './admission.ts'
import { type Check, type CheckContext, type NamedFinding, type Result, runChecks } from './check.ts'
import { credentials } from './credentials.ts'
import { findTraces } from './gone.ts'
import { accountPermissions, userPermissions } from './permissions.ts'
import { certificateAuthority, registration } from './registration.ts'
import { crds, karmadaVersion, kubernetesVersion } from './versions.ts'

export const checkInstall: Command = {
  usage: '[--kubeconfig FILE] [--gone] [--wait DURATION] [-o text|json|yaml]',
  options: {
    ...CONNECTION_OPTIONS,
    ...configOption(),
    ...namespaceOption('Namespace for dry runs (default: that of the context). Nothing is created'),
    ...SERVICE_ACCOUNT_OPTION,
    gone: { type: 'boolean', description: 'Check instead that lodestone uninstall left nothing' },
    wait: { type: 'string', value: 'DURATION', description: 'Repeat the checks until all pass, e.g. 2m or 90s' },
    ...PLAIN_OUTPUT_OPTION,
  },
  examples: [
    { command: 'lodestone check-install --kubeconfig karmada.config', does: 'Check a hub' },
    { command: 'lodestone check-install --wait 2m', does: 'Wait for an installation, e.g. in a pipeline' },
    { command: 'lodestone check-install --gone', does: 'Check that an uninstallation left nothing' },
  ],
  run: runCheckInstall,
}

const CHECKS: readonly Check[] = [
  kubernetesVersion,
  karmadaVersion,
  credentials,
  crds,
  registration,
  certificateAuthority,
  admission,
  narrowing,
  absence,
  userPermissions,
  accountPermissions,
]
const RETRY_MS = 2_000

async function runCheckInstall(args: Arguments, io: CommandIo): Promise<number> {
  const format = readFormat(args, PLAIN_FORMATS)
  const deadline = performance.now() + readDuration('wait', args.text('wait') ?? '0s')
  const serviceAccount = readServiceAccount(args)
  const configFile = args.text('config')
  const config = loadConfig(configFile)
  const namespace = await readNamespace(args, io)
  const progress = new Progress(io)
  for (;;) {
    const mayRetry = performance.now() + RETRY_MS < deadline
    const findings = await attempt(args, io, { config, configFile, namespace, serviceAccount }, mayRetry)
    const problems = typeof findings === 'string' ? [findings] : namesWithResult(findings, 'failed')
    if (typeof findings !== 'string' && (problems.length === 0 || !mayRetry)) {
      io.stdout.write(format === 'text' ? renderText(findings, painter(io.stdout, io.env)) : report(findings, format))
      return problems.length === 0 ? 0 : 1
    }
    progress.show(problems)
    await sleep(RETRY_MS, undefined, { signal: io.signal })
  }
}

/** Runs all checks. Returns the message instead, if the API server does not respond and may still start. */
async function attempt(
  args: Arguments,
  io: CommandIo,
  input: Pick<CheckContext, 'config' | 'configFile' | 'namespace' | 'serviceAccount'>,
  mayRetry: boolean,
): Promise<NamedFinding[] | string> {
  try {
    const connection = await connect(args, io)
    try {
      const context = { ...input, connection, signal: io.signal, now: io.now() }
      return await (args.flag('gone') ? findTraces(context) : runChecks(CHECKS, context))
    } finally {
      await connection.close()
    }
  } catch (error) {
    io.signal.throwIfAborted()
    // The API server may also be gone after its first response.
    const mayPass = error instanceof RequestError || (error instanceof UserError && error.exitStatus === 1)
    if (mayRetry && mayPass) return error.message
    throw error
  }
}

/** Prints to stderr what the command waits for, when that changes. */
class Progress {
  readonly #io: CommandIo
  #last = ''

  constructor(io: CommandIo) {
    this.#io = io
  }

  show(problems: readonly string[]): void {
    const text = problems.join(', ')
    if (text !== this.#last) this.#io.stderr.write(`lodestone check-install: waiting for ${text}\n`)
    this.#last = text
  }
}

function namesWithResult(findings: readonly NamedFinding[], result: Result): string[] {
  return findings.filter((finding) => finding.result === result).map(({ name }) => name)
}

const SIGNS = { passed: '✔', warning: '!', failed: '✘', skipped: '-' } as const
const COLORS = { passed: 'green', warning: 'yellow', failed: 'red', skipped: 'gray' } as const

function renderText(findings: readonly NamedFinding[], paint: Paint): string {
  const width = Math.max(...findings.map(({ name }) => name.length))
  return findings
    .map(({ name, result, message, remedy }) => {
      // A message may have names and texts of objects.
      const line = `${paint(COLORS[result], SIGNS[result])} ${name.padEnd(width)}  ${printable(message)}\n`
      return remedy ? `${line}${' '.repeat(width + 4)}→ ${printable(remedy)}\n` : line
    })
    .join('')
}

function report(findings: readonly NamedFinding[], format: 'json' | 'yaml'): string {
  const result = findings.some((finding) => finding.result === 'failed') ? 'failed' : 'passed'
  return renderData({ apiVersion: OUTPUT_API_VERSION, kind: 'CheckInstall', result, checks: findings }, format)
}
