/** The table of commands, and the entry point that runs one. */
import { suggest } from '../base/suggest.ts'
import { UserError } from '../base/user-error.ts'
import { type Command, type CommandIo, commandHelp, readArguments } from './command.ts'
import { requestFailure } from './read-failure.ts'

/** The exit status of a program that SIGINT ends, as a shell sees it. */
const INTERRUPTED = 130

/** Imports commands on demand, because the modules of the server would increase the memory of a mover Pod. */
const loaders: Readonly<Record<string, () => Promise<Command>>> = {
  serve: async () => (await import('./serve/serve.ts')).serve,
  check: async () => (await import('./check/check.ts')).check,
  test: async () => (await import('./test.ts')).test,
  explain: async () => (await import('./explain/explain.ts')).explain,
  status: async () => (await import('./status/status.ts')).status,
  'kustomize-config': async () => (await import('./kustomize-config.ts')).kustomizeConfig,
  manifests: async () => (await import('./manifests.ts')).manifests,
  'check-install': async () => (await import('./check-install/check-install.ts')).checkInstall,
  migrate: async () => (await import('./migrate/migrate.ts')).migrate,
  certs: async () => (await import('./certs.ts')).certs,
  completion: async () => (await import('./completion/completion.ts')).completion,
  mover: async () => (await import('./mover/mover.ts')).mover,
  version: async () => (await import('./version.ts')).version,
}

/** Every command, in the order of the overview. */
export function loadCommands(): Promise<Command[]> {
  return Promise.all(Object.values(loaders).map((load) => load()))
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
    return runComplete(words.slice(1), io, { names: Object.keys(loaders), load: (name) => loaderOf(name)?.() })
  }
  const asksForHelp = first === '--help' || first === '-h' || first === 'help'
  const [name, rest] = asksForHelp ? [second, ['--help']] : [first, words.slice(1)]
  if (name === undefined) {
    io.stdout.write(await overview())
    return asksForHelp ? 0 : 2
  }
  const load = loaderOf(name)
  if (!load) {
    io.stderr.write(`lodestone: ${unknownName(name)}\nSee 'lodestone --help'.\n`)
    return 2
  }
  const command = await load()
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
    io.stderr.write(`lodestone ${name}: ${failure.message}\n`)
    return failure.exitStatus
  }
}

function unknownName(name: string): string {
  return name.startsWith('-')
    ? `unknown option ${name}${suggest(name, ['--help', '--version'])}; options follow the command`
    : `unknown command ${name}${suggest(name, Object.keys(loaders))}`
}

function loaderOf(name: string): (() => Promise<Command>) | undefined {
  return Object.hasOwn(loaders, name) ? loaders[name] : undefined
}

async function overview(): Promise<string> {
  const commands = await loadCommands()
  const width = Math.max(...commands.map(({ name }) => name.length))
  return [
    'Lodestone pulls workloads to their data.\n',
    'Usage: lodestone COMMAND [OPTIONS]\n',
    'Commands:',
    ...commands.map(({ name, summary }) => `  ${name.padEnd(width)}  ${summary}`),
    "\nRun 'lodestone COMMAND --help' for the options of a command.\n",
  ].join('\n')
}
