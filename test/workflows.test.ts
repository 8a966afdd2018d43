/** The workflows of the hosting service: pinned actions, least permissions, and programs that exist. */
import { globSync, readFileSync } from 'node:fs'
import { describe, expect, test } from 'vitest'
import { parse } from 'yaml'

interface Step {
  uses?: string
  run?: string
}

interface Job {
  needs?: string
  permissions?: Record<string, string>
  container?: string
  steps: Step[]
}

interface Workflow {
  permissions: Record<string, string>
  jobs: Record<string, Job>
}

const text = readFileSync('.github/workflows/release.yml', 'utf8')
const { permissions, jobs } = parse(text) as Workflow
const steps = Object.values(jobs).flatMap((job) => job.steps)
const lines = steps.flatMap(({ run }) => run?.trim().split('\n') ?? [])
const { scripts } = JSON.parse(readFileSync('package.json', 'utf8')) as { scripts: Record<string, string> }

describe('the release workflow', () => {
  test('pins actions and the container by digest, actions with their version', () => {
    const actions = text.split('\n').filter((line) => line.includes('uses: '))
    expect(actions.filter((line) => !/uses: [\w-]+\/[\w-]+@[0-9a-f]{40} # v\d+\.\d+\.\d+$/.test(line))).toEqual([])
    expect(actions).toHaveLength(steps.filter(({ uses }) => uses !== undefined).length)
    expect(jobs['build']?.container).toMatch(/^node:24-bookworm@sha256:[0-9a-f]{64}$/)
  })

  test('gives each job only its permissions: one signs, another writes the release', () => {
    expect(permissions).toEqual({ contents: 'read' })
    expect(Object.fromEntries(Object.entries(jobs).map(([name, job]) => [name, job.permissions]))).toEqual({
      build: undefined,
      publish: { contents: 'read', packages: 'write' },
      sign: { contents: 'read', packages: 'write', 'id-token': 'write' },
      announce: { contents: 'write' },
      npm: undefined,
    })
  })

  test('runs scripts of package.json, and programs of the runner', () => {
    const programs = ['cosign', 'gh', 'git', 'helm', 'npm', 'skopeo']
    expect(lines.filter((line) => !programs.includes(line.split(' ')[0] ?? ''))).toEqual([])
    const named = lines.flatMap((line) => /^npm run (?:-s )?([\w:]+)/.exec(line)?.[1] ?? [])
    expect(named).toEqual(['release', 'release:publish'])
    for (const name of named) expect(scripts).toHaveProperty([name])
  })

  test('passes values in variables of the environment, not in the text of a command', () => {
    expect(lines.filter((line) => line.includes('${{'))).toEqual([])
  })

  test('has a page that names each variable and each secret', () => {
    const page = readFileSync('docs/dev/releasing.md', 'utf8')
    const names = [...text.matchAll(/\b(?:vars|secrets)\.(\w+)/g)].map(([, name = '']) => name)
    expect([...new Set(names)].sort()).toEqual([
      'NPM_REGISTRY',
      'NPM_TOKEN',
      'REGISTRY',
      'REGISTRY_PASSWORD',
      'REGISTRY_USER',
    ])
    for (const name of names) expect(page).toContain(`\`${name}\``)
  })
})

test('the workflows and the release programs name no registry', () => {
  const files = globSync(['.github/workflows/*.yml', '.ci/release/*', 'Dockerfile'])
  const host = /\b(docker|ghcr|quay|gcr)\.io|\bnpmjs\.(org|com)|\bdebian\.org/
  expect(files.filter((file) => host.test(readFileSync(file, 'utf8')))).toEqual([])
})
