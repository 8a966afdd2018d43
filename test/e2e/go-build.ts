/** Builds programs with Go, in a module that pins the versions. */
import { mkdir, readdir, readFile, writeFile } from 'node:fs/promises'
import { basename, join } from 'node:path'
import { logToStderr } from './log.ts'
import type { GoModule } from './matrix/go-module.ts'
import { runCommand } from './processes.ts'

export const crdsInKarmadaModule = 'charts/karmada/_crds/bases'
// For one program, downloads and a cold compiler cache included.
export const buildTimeoutMs = 30 * 60_000

interface BuildOptions {
  module: GoModule
  into: string
}

/** Builds each program of `packages` (program → package) into the folder `into`. */
export async function buildPrograms(
  packages: Readonly<Record<string, string>>,
  { module, into }: BuildOptions,
): Promise<void> {
  const ldflags = versionFlags(module.versions).join(' ')
  for (const [program, path] of Object.entries(packages)) {
    const startedAt = Date.now()
    logToStderr(`building ${program} (${path})`)
    const flags = [...module.flags, '-trimpath', '-ldflags', ldflags]
    await go(module.folder, ['build', ...flags, '-o', join(into, program), path])
    logToStderr(`built ${program} in ${Math.round((Date.now() - startedAt) / 1000)} s`)
  }
}

/** Runs `go` in a folder and returns what it prints. Throws if it fails. */
export async function go(folder: string, args: string[]): Promise<string> {
  // The sources of Kubernetes have a go.work, which names folders that the Go module proxy does not have.
  const env = { ...(process.env as Record<string, string>), GOWORK: 'off' }
  const { stdout, stderr, code } = await runCommand('go', args, { cwd: folder, env, timeoutMs: buildTimeoutMs })
  // `go mod download -json` writes its error to the standard output.
  if (code !== 0) throw new Error(`go ${args.join(' ')} ended with ${code}: ${(stderr || stdout).trim().slice(-4000)}`)
  return stdout
}

/** Writes the CRDs below a folder into a new one. Files of the Go module cache are read-only, and a copy would be as well. */
export async function copyCrds(from: string, into: string): Promise<void> {
  await mkdir(into)
  for (const file of await readdir(from, { recursive: true })) {
    if (file.endsWith('.yaml')) await writeFile(join(into, basename(file)), await readFile(join(from, file)))
  }
}

/** Returns a field of a dependency of the module in a folder. */
export async function dependency(folder: string, path: string, field: 'Dir' | 'Version'): Promise<string> {
  return (await go(folder, ['list', '-m', '-f', `{{.${field}}}`, path])).trim()
}

// kube-apiserver derives API behavior from its version and refuses to run without a sensible one.
function versionFlags({ kubernetes, karmada }: GoModule['versions']): string[] {
  const [major, minor] = kubernetes?.split('.') ?? []
  return [
    '-s -w',
    ...(kubernetes
      ? [
          `-X k8s.io/component-base/version.gitVersion=v${kubernetes}`,
          `-X k8s.io/component-base/version.gitMajor=${major}`,
          `-X k8s.io/component-base/version.gitMinor=${minor}`,
        ]
      : []),
    ...(karmada ? [`-X github.com/karmada-io/karmada/pkg/version.gitVersion=v${karmada}`] : []),
  ]
}
