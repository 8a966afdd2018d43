/** The table of commands, and the entry point that runs one. */
import { printable } from '../base/printable.ts'
import { suggest } from '../base/suggest.ts'
import { UserError } from '../base/user-error.ts'
import { type Command, type CommandIo, commandHelp, type NamedCommand, readArguments } from './command.ts'
import { printableLines } from './format.ts'
import { requestFailure } from './read-failure.ts'

/** The exit status of a program that SIGINT ends, as a shell sees it. */
const INTERRUPTED = 130

interface Entry {
  /** The overview shows it without loading the command. */
  summary: string
  /** Imports the command. The modules of all commands take seconds, and would increase the memory of a mover Pod. */
  load(): Promise<Command>
}

/** Every command, in the order of the overview. */
const table: Readonly<Record<string, Entry>> = {
  serve: {
    summary: 'Serve admission webhooks on a hub, in a cluster or on a folder of manifests',
    load: async () => (await import('./serve/serve.ts')).serve,
  },
  check: {
    summary: 'Show what admission would do to manifests, and change nothing',
    load: async () => (await import('./check/check.ts')).check,
  },
  test: {
    summary: 'Run tests: manifests with the expected decision of admission',
    load: async () => (await import('./test.ts')).test,
  },
  explain: {
    summary: 'Explain a workload, its data and its placement, or any object that decides them',
    load: async () => (await import('./explain/explain.ts')).explain,
  },
  'what-if': {
    summary: 'Answer what happens to workloads if a cluster is lost, data moves or manifests are applied',
    load: async () => (await import('./what-if/what-if.ts')).whatIf,
  },
  status: {
    summary: 'Show claims, workloads on hold, volumes, sources and data systems',
    load: async () => (await import('./status/status.ts')).status,
  },
  snapshot: {
    summary: 'Write what decides placements on a hub into a file, for questions without the hub',
    load: async () => (await import('./snapshot/snapshot.ts')).snapshot,
  },
  ui: {
    summary: 'Show what waits, and where data is, on a page in the browser',
    load: async () => (await import('./ui/ui.ts')).ui,
  },
  'kustomize-config': {
    summary: 'Print the kustomize configuration that keeps names in claims and policies right',
    load: async () => (await import('./kustomize-config.ts')).kustomizeConfig,
  },
  manifests: {
    summary: 'Print the CRDs, the webhook registration and the RBAC that a cluster needs',
    load: async () => (await import('./manifests.ts')).manifests,
  },
  kubeconfig: {
    summary: 'Print a kubeconfig with a token of Lodestone, also as a Secret for its pods',
    load: async () => (await import('./kubeconfig/kubeconfig.ts')).kubeconfig,
  },
  'check-install': {
    summary: 'Check that Lodestone is installed and works on an API server',
    load: async () => (await import('./check-install/check-install.ts')).checkInstall,
  },
  migrate: {
    summary: 'Remove finalizers, annotations and suspensions of volcano-global from a hub',
    load: async () => (await import('./migrate/migrate.ts')).migrate,
  },
  uninstall: {
    summary: 'Remove Lodestone and everything that it wrote from a hub or a cluster',
    load: async () => (await import('./uninstall/uninstall.ts')).uninstall,
  },
  certs: {
    summary: 'Create, show or renew the certificates of the server',
    load: async () => (await import('./certs.ts')).certs,
  },
  completion: {
    summary: 'Print the completion script for bash, zsh or fish',
    load: async () => (await import('./completion/completion.ts')).completion,
  },
  mover: {
    summary: 'Download, upload, check or delete the data of a volume, as the Pod of a data mover does',
    load: async () => (await import('./mover/mover.ts')).mover,
  },
  version: {
    summary: 'Print the version, and the supported versions of Kubernetes and Karmada',
    load: async () => (await import('./version.ts')).version,
  },
}

const HELP_OPTION = { help: { type: 'boolean', short: 'h', description: 'Show this help' } } as const

/** Imports every command, in the order of the overview. */
export async function loadCommands(): Promise<NamedCommand[]> {
  const commands = await Promise.all(Object.keys(table).map(loadCommand))
  return commands.filter((command) => command !== undefined)
}

/** Imports a command; undefined if there is none of this name. */
async function loadCommand(name: string): Promise<NamedCommand | undefined> {
  const entry = Object.hasOwn(table, name) ? table[name] : undefined
  if (!entry) return undefined
  const command = await entry.load()
  return { ...command, name, summary: entry.summary, options: { ...command.options, ...HELP_OPTION } }
}

/**
 * Runs the command that the arguments name.
 *
 * @returns the exit status: 0 for success, 1 for a rejection or a failure, 2 for invalid arguments or configuration, 130 after Ctrl-C
 */
export async function runCli(words: readonly string[], io: CommandIo): Promise<number> {
  const [given, second] = words
  const first = given === '--version' ? 'version' : given
  if (first === '__complete') {
    const { runComplete } = await import('./completion/run.ts')
    return runComplete(words.slice(1), io, { names: Object.keys(table), load: loadCommand })
  }
  const asksForHelp = first === '--help' || first === '-h' || first === 'help'
  const [name, rest] = asksForHelp ? [second, ['--help']] : [first, words.slice(1)]
  if (name === undefined) {
    io.stdout.write(overview())
    return asksForHelp ? 0 : 2
  }
  const command = await loadCommand(name)
  if (!command) {
    io.stderr.write(`lodestone: ${printable(unknownName(name))}\nSee 'lodestone --help'.\n`)
    return 2
  }
  if (rest.includes('--help') || rest.includes('-h')) {
    io.stdout.write(commandHelp(command))
    return 0
  }
  try {
    return await command.run(readArguments(command, rest), io)
  } catch (error) {
    const failure = error instanceof UserError ? error : requestFailure(error)
    if (io.signal.aborted && (failure || (error as Error).name === 'AbortError')) return INTERRUPTED
    if (!failure) throw error
    // The message may have names of a file or an API server.
    io.stderr.write(`lodestone ${name}: ${printableLines(failure.message)}\n`)
    return failure.exitStatus
  }
}

function unknownName(name: string): string {
  return name.startsWith('-')
    ? `unknown option ${name}${suggest(name, ['--help', '--version'])}; options follow the command`
    : `unknown command ${name}${suggest(name, Object.keys(table))}`
}

function overview(): string {
  const width = Math.max(...Object.keys(table).map((name) => name.length))
  return [
    'Lodestone pulls workloads to their data.\n',
    'Usage: lodestone COMMAND [OPTIONS]\n',
    'Commands:',
    ...Object.entries(table).map(([name, { summary }]) => `  ${name.padEnd(width)}  ${summary}`),
    "\nRun 'lodestone COMMAND --help' for the options of a command.\n",
  ].join('\n')
}
