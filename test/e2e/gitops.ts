// Syncs objects as Argo CD and Flux do, and asks their own code for differences and health (gitops/).
import { readFileSync } from 'node:fs'
import { join } from 'node:path'
import { parseAllDocuments } from 'yaml'
import type { KubeObject } from './api-client.ts'
import { ensureGitops } from './binaries.ts'
import type { ControlPlane } from './control-plane.ts'
import { runCommand } from './processes.ts'

/** Argo CD with each of its diff strategies, Flux's kustomize-controller, and the drift detection of its helm-controller. */
export const TOOLS = ['argocd', 'argocd-structured-merge', 'argocd-server-side', 'flux', 'flux-helm'] as const

export type Tool = (typeof TOOLS)[number]

/** As in an Application of Argo CD. */
export interface Settings {
  ignoreDifferences: { group: string; kind: string; jqPathExpressions: string[] }[]
  respectIgnoreDifferences: boolean
}

interface Answer {
  object: string
  differences?: string[]
  change?: string
  error?: string
}

export interface Health {
  object: string
  kstatus: string
  health: string
}

export interface Gitops {
  sync(objects: readonly KubeObject[], settings?: Settings): Promise<Answer[]>
  // The differences of each object that has some, as `operation path`.
  diff(objects: readonly KubeObject[], settings?: Settings): Promise<Record<string, string[]>>
}

export async function gitopsOn(plane: ControlPlane, tool: Tool): Promise<Gitops> {
  const run = (action: string, objects: readonly KubeObject[], settings?: Settings) =>
    runProgram(plane, { tool, action, namespace: 'lodestone-system', objects, ...settings }) as Promise<Answer[]>
  return {
    sync: (objects, settings) => run('sync', objects, settings),
    async diff(objects, settings) {
      const answers = await run('diff', objects, settings)
      return Object.fromEntries(
        answers.flatMap(({ object, differences = [], error }) => {
          const found = error === undefined ? differences : [error]
          return found.length > 0 ? [[object, found]] : []
        }),
      )
    },
  }
}

/** What kstatus, which Flux uses, and the script for Argo CD say about stored objects. */
export async function healthOf(plane: ControlPlane, objects: readonly KubeObject[], script: string): Promise<Health[]> {
  return (await runProgram(plane, { action: 'health', objects, script })) as Health[]
}

async function runProgram(plane: ControlPlane, request: object): Promise<unknown> {
  const env = { PATH: process.env['PATH'] ?? '', HOME: plane.dir, KUBECONFIG: plane.kubeconfig }
  const { stdout, stderr, code } = await runCommand(await ensureGitops(), [], {
    cwd: plane.dir,
    env,
    input: JSON.stringify(request),
    timeoutMs: 120_000,
  })
  if (code !== 0) throw new Error(`gitops ended with ${code}: ${stderr}`)
  return JSON.parse(stdout)
}

/** What docs/guides/gitops.md tells users to set: in the Application of Lodestone, in both Applications together, and as a health check. */
export function documentedSettings(): { release: Settings; all: Settings; script: string } {
  const page = readFileSync(join(import.meta.dirname, '..', '..', 'docs', 'guides', 'gitops.md'), 'utf8')
  const documents = [...page.matchAll(/^```yaml\n(.*?)^```$/gms)].flatMap(([, text = '']) =>
    parseAllDocuments(text).map((document) => document.toJS()),
  )
  const applications = documents.filter(({ kind }) => kind === 'Application')
  const customizations = documents.find(({ metadata }) => metadata?.name === 'argocd-cm').data as Record<string, string>
  return {
    release: settingsOf(applications.slice(0, 1)),
    all: settingsOf(applications),
    script: Object.values(customizations)[0] ?? '',
  }
}

function settingsOf(
  applications: { spec: { ignoreDifferences: object[]; syncPolicy: { syncOptions: string[] } } }[],
): Settings {
  return {
    ignoreDifferences: applications.flatMap(({ spec }) => spec.ignoreDifferences as Settings['ignoreDifferences']),
    respectIgnoreDifferences: applications.every(({ spec }) =>
      spec.syncPolicy.syncOptions.includes('RespectIgnoreDifferences=true'),
    ),
  }
}
