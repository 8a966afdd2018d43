// The programs of the machine that peers and shells are built and run with. Which one is missing is said in one line.
import { globSync } from 'node:fs'
import { runCommand } from '../processes.ts'

const oldestJava = 17

const runtimes = {
  java: { args: ['-version'], install: `Java ${oldestJava} or newer` },
  mvn: { args: ['-version'], install: `Maven, with a JDK of Java ${oldestJava} or newer` },
  npm: { args: ['--version'], install: 'npm, which comes with Node' },
  go: { args: ['version'], install: 'Go; its version is in test/e2e/peers/s3/go.mod' },
  script: { args: ['--version'], install: 'script, a part of util-linux' },
  'apt-get': { args: ['--version'], install: 'the shell; Debian and Ubuntu fetch it themselves' },
} as const

export type Runtime = keyof typeof runtimes

export class MissingRuntimeError extends Error {
  override readonly name = 'MissingRuntimeError'
  readonly runtime: Runtime

  constructor(peer: string, runtime: Runtime, seen: string, install: string = runtimes[runtime].install) {
    super(`no ${peer} here: "${runtime}" ${seen} (install ${install})`)
    this.runtime = runtime
  }
}

export async function requireRuntime(peer: string, runtime: Runtime, env = environment()): Promise<void> {
  const options = { cwd: import.meta.dirname, env }
  const said = await runCommand(runtime, [...runtimes[runtime].args], options).catch(() => undefined)
  // 127: the program that ties it to this process did not find it either.
  if (!said || said.code === 127) throw new MissingRuntimeError(peer, runtime, 'is not on the PATH')
  if (said.code !== 0) throw new MissingRuntimeError(peer, runtime, `does not work, it ends with ${said.code}`)
  if (runtime !== 'java' && runtime !== 'mvn') return
  const version = javaVersion(said.stdout + said.stderr)
  if (version < oldestJava) throw new MissingRuntimeError(peer, runtime, `is of Java ${version}`)
}

// Returns a Java of the wanted versions: of the PATH, of JAVA_HOME, or of the folder in which Linux distributions install several.
export async function requireJava(peer: string, { least, most }: { least: number; most?: number }): Promise<string> {
  const wanted = most === undefined ? `Java ${least} or newer` : `Java ${least} to ${most}`
  const { JAVA_HOME } = process.env
  const own = JAVA_HOME === undefined ? [] : [`${JAVA_HOME}/bin/java`]
  const options = { cwd: import.meta.dirname, env: environment() }
  for (const command of ['java', ...own, ...globSync('/usr/lib/jvm/*/bin/java').sort()]) {
    const said = await runCommand(command, ['-version'], options).catch(() => undefined)
    const version = said?.code === 0 ? javaVersion(said.stdout + said.stderr) : 0
    if (version >= least && version <= (most ?? version)) return command
  }
  throw new MissingRuntimeError(peer, 'java', `is not ${wanted}`, wanted)
}

// For a test: `const s3 = await orSkip(context, startS3(dir))` skips it with the line that says what is missing.
export async function orSkip<Peer>(context: Skippable, starting: Promise<Peer>): Promise<Peer> {
  try {
    return await starting
  } catch (error) {
    if (!(error instanceof MissingRuntimeError)) throw error
    process.stderr.write(`[e2e] skipped: ${error.message}\n`)
    return context.skip(error.message)
  }
}

interface Skippable {
  skip(note?: string): never
}

export function environment(): Record<string, string> {
  return process.env as Record<string, string>
}

// `openjdk version "17.0.15"` of java, `Java version: 17.0.15` of mvn, `1.8.0_401` of an old one. An unknown text
// counts as new enough: the peer itself reports what it rejects.
function javaVersion(output: string): number {
  const [, major, minor] = /version:? "?(\d+)(?:\.(\d+))?/.exec(output.replace(/^Apache Maven.*$/m, '')) ?? []
  return Number(major === '1' ? minor : (major ?? oldestJava))
}
