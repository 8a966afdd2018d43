/** Runs the scripts of docs/guides/ci.md, with manifests that pass and with manifests that fail. */
import { execFile } from 'node:child_process'
import { cpSync, mkdirSync, readFileSync, writeFileSync } from 'node:fs'
import { delimiter, join, resolve } from 'node:path'
import { lexer, type Token, walkTokens } from 'marked'
import { describe, expect, test } from 'vitest'
import { parse, parseAllDocuments } from 'yaml'
import { temporaryFolder } from '../temporary-folder.ts'

const page = readFileSync('docs/guides/ci.md', 'utf8')

/** The code blocks of a language below a heading. */
function blocks(heading: string, language: string): string[] {
  const found: string[] = []
  let current = ''
  void walkTokens(lexer(page), (token: Token) => {
    if (token.type === 'heading') current = token['text'] as string
    if (token.type === 'code' && token['lang'] === language && current === heading) found.push(token['text'] as string)
  })
  return found
}

/** The output of `helm template`: comments, an empty document, a hook, and no namespaces. */
function rendered(): string {
  const hook = `# Source: demo/templates/tests/test.yaml
apiVersion: v1
kind: Pod
metadata:
  name: demo-test
  annotations: { "helm.sh/hook": test }
spec: { containers: [{ name: curl }] }
`
  const files = ['claim', 'policy', 'workload'].map((name) =>
    readFileSync(`examples/hub/${name}.yaml`, 'utf8').replaceAll(/^ {2}namespace: .*\n|, namespace: demo/gm, ''),
  )
  return ['# Source: demo/templates/empty.yaml\n', ...files, hook].join('---\n')
}

interface Workspace {
  folder: string
  run(script: string): Promise<{ code: number; stdout: string; stderr: string }>
}

/** A checkout with `manifests/` and `hub/`, in which `lodestone` is a command. `isBroken` mistypes the claimed workload's system. */
function makeWorkspace(isBroken = false): Workspace {
  const folder = temporaryFolder()
  for (const name of ['manifests', 'hub', 'bin']) mkdirSync(join(folder, name))
  for (const name of ['claim', 'policy', 'workload']) {
    cpSync(`examples/hub/${name}.yaml`, join(folder, 'manifests', `${name}.yaml`))
  }
  for (const name of ['source', 'clusters']) cpSync(`examples/hub/${name}.yaml`, join(folder, 'hub', `${name}.yaml`))
  const breakIt = (text: string) => (isBroken ? text.replace(/system: amoro/, 'system: ""') : text)
  const claim = join(folder, 'manifests', 'claim.yaml')
  writeFileSync(claim, breakIt(readFileSync(claim, 'utf8')))
  writeFileSync(join(folder, 'rendered.yaml'), breakIt(rendered()))
  const command = (name: string, text: string) =>
    writeFileSync(join(folder, 'bin', name), `#!/bin/sh\n${text}\n`, { mode: 0o755 })
  command('lodestone', `exec "${process.execPath}" "${resolve('src/main.ts')}" "$@"`)
  command('npm', '[ "$1 $2" = "install --global" ]')
  for (const tool of ['helm', 'kustomize']) command(tool, `exec cat "${folder}/rendered.yaml"`)
  const env = { ...process.env, PATH: `${join(folder, 'bin')}${delimiter}${process.env['PATH']}`, INIT_CWD: folder }
  return {
    folder,
    run: (script) =>
      new Promise((done) => {
        execFile('sh', ['-ec', script], { cwd: folder, env }, (error, stdout, stderr) =>
          done({ code: error ? Number(error.code) : 0, stdout, stderr }),
        )
      }),
  }
}

/** The scripts of the workflows of GitHub Actions. */
function workflowScripts(): string[] {
  return blocks('GitHub Actions', 'yaml').map((text) =>
    (parse(text).jobs.check.steps as { run?: string }[]).flatMap(({ run }) => run ?? []).join('\n'),
  )
}

describe('the script of the page', () => {
  const [script = ''] = blocks('Check manifests in CI', 'sh')

  test('passes with valid manifests, and shows where the workload is placed', async () => {
    const { code, stdout } = await makeWorkspace().run(script)

    expect(code).toBe(0)
    expect(stdout).toContain('✔ Deployment demo/trainer → ResourceBinding demo/trainer-deployment: narrowed\n')
    expect(stdout).not.toMatch(/error:|warning:/)
  })

  test('fails with a rejected claim, at its place', async () => {
    const { code, stdout } = await makeWorkspace(true).run(script)

    expect(code).toBe(1)
    expect(stdout).toMatch(/ {4}manifests\/claim\.yaml:\d+:\d+: error: spec\.system: /)
  })
})

describe('the output of a tool', () => {
  const commands = blocks('Output of Helm and kustomize', 'sh').flatMap((text) => text.split('\n'))
  const [helm = '', kustomize = ''] = commands

  test('the page has the two commands of this test', () => {
    expect(commands.map((line) => line.split(' ')[0])).toEqual(['helm', 'kustomize'])
  })

  test('of helm template is checked in the namespace of the release', async () => {
    const { code, stdout } = await makeWorkspace().run(helm)

    expect(code).toBe(0)
    expect(stdout).toContain('✔ Deployment demo/trainer → ResourceBinding demo/trainer-deployment: narrowed\n')
    expect(stdout).not.toMatch(/error:|warning:/)
  })

  test('of helm template with a rejected claim fails, at a place of the input', async () => {
    const { code, stdout } = await makeWorkspace(true).run(helm)

    expect(code).toBe(1)
    expect(stdout).toMatch(/ {4}\(standard input\):\d+:\d+: error: spec\.system: /)
  })

  test('of kustomize is in default without a namespace, with a finding for each manifest', async () => {
    const { stdout } = await makeWorkspace().run(kustomize)

    expect(stdout.match(/\(no-namespace\)$/gm)).toHaveLength(4)
  })
})

describe('GitHub Actions', () => {
  const [annotations = '', scanning = ''] = workflowScripts()

  test('the workflow passes without annotations', async () => {
    expect(await makeWorkspace().run(annotations)).toEqual({ code: 0, stdout: '', stderr: '' })
  })

  test('the workflow fails with an annotation at the line of the manifest', async () => {
    const { code, stdout } = await makeWorkspace(true).run(annotations)

    expect(code).toBe(1)
    expect(stdout).toMatch(/^::error file=manifests\/claim\.yaml,line=\d+,col=\d+,title=[^:]*::.*spec\.system/m)
  })

  test('the workflow for code scanning writes the file that it uploads', async () => {
    const { folder, run } = makeWorkspace(true)

    expect((await run(scanning)).code).toBe(1)
    const upload = parse(blocks('GitHub Actions', 'yaml')[1] ?? '').jobs.check.steps.at(-1)
    const { version, runs } = JSON.parse(readFileSync(join(folder, upload.with.sarif_file), 'utf8'))
    expect({ version, rule: runs[0].results[0].ruleId }).toEqual({ version: '2.1.0', rule: 'denied-object' })
  })
})

describe('GitLab', () => {
  const { script, artifacts } = parse(blocks('GitLab', 'yaml')[0] ?? '').manifests

  test.each([
    { name: 'passes', isBroken: false, code: 0, failures: 0 },
    { name: 'fails', isBroken: true, code: 1, failures: 1 },
  ])('the job $name, and writes its report', async ({ isBroken, code, failures }) => {
    const { folder, run } = makeWorkspace(isBroken)

    expect((await run(script.join('\n'))).code).toBe(code)
    const report = readFileSync(join(folder, artifacts.reports.junit), 'utf8')
    expect(report).toContain(`failures="${failures}"`)
  })
})

describe('Argo CD', () => {
  const [text = ''] = blocks('Argo CD', 'yaml')
  const [, job] = parseAllDocuments(text).map((document) => document.toJS())
  const [container] = job.spec.template.spec.containers

  test.each([
    { name: 'passes', isBroken: false, code: 0 },
    { name: 'fails', isBroken: true, code: 1 },
  ])('the hook $name', async ({ isBroken, code }) => {
    const { folder, run } = makeWorkspace(isBroken)
    const args: string[] = container.args.map((arg: string) => arg.replace('/check', folder))

    expect((await run(`lodestone ${args.join(' ')}`)).code).toBe(code)
  })

  test('the hook reads the folders that it mounts', () => {
    const mounted = container.volumeMounts.map(({ mountPath }: { mountPath: string }) => mountPath)
    expect(container.args.filter((arg: string) => arg.startsWith('/'))).toEqual(mounted)
  })

  test('its manifests pass the check themselves', async () => {
    const { folder, run } = makeWorkspace()
    writeFileSync(join(folder, 'hook.yaml'), text)

    const { code, stdout } = await run('lodestone check -f hook.yaml --fail-on warning')

    expect({ code, findings: stdout.match(/error:|warning:/g) }).toEqual({ code: 0, findings: null })
  })
})
